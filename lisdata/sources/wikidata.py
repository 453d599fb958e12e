"""Wikidata (any Wikibase): the entities of JSON dumps, of an answer of the API, or one a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import BLOCK_BYTES, InputSlice
from lisdata.registry import Reject
from lisdata.sources.cycle_collection import no_cycle_collection
from lisdata.sources.lines import LineBlocks, LineLimit, find_line, line_bounds
from lisdata.sources.wikidata_columns import EntityRecords
from lisdata.sources.wikidata_documents import ARRAY, BOM, find_records, is_line_wise
from lisdata.sources.wikidata_entities import EntityWriter
from lisdata.sources.wikidata_facts import FlatFacts
from lisdata.sources.wikidata_json import WrongRecordError, add_entity
from lisdata.sources.wikidata_layout import WikidataOptions
from lisdata.sources.wikidata_scanned import ScannedBlock, new_scanner

if TYPE_CHECKING:
    from lisdata.kernels.entity_scanner import EntityScanner

RECORD = "entity"
MIN_SCANNED_BYTES = 8 << 20
"""Of a block: a shorter one is read by the writer alone before the scan is loaded, let alone compiled."""
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class WikidataSource:
    """Reads entities in Wikibase's JSON: items, properties, lexemes with forms and senses, media info, redirects.

    A statement is an instance called by its property (an IRI), its id for a handle: the entity is its subject, then
    come the value and its details (value.precision, value.unit ...), the rank, qualifiers in their order, a property's
    own ones by position, and references. A reference is an instance named by its hash, once in each structure that uses
    it. Texts in languages and links between entities are instances called as in RDF, with one subject and an object for
    each text or link. What contents and roles do not say by themselves stands in the entity's own instance, "entity".
    """

    name: str = "wikidata"
    summary: str = "Entities of Wikidata or another Wikibase in JSON: dumps, answers of the API, single files"
    suffixes: tuple[str, ...] = (".ndjson", ".json", ".jsonl")
    converter: str = "facts"
    exporter: str = "wikidata"
    splits: bool = True
    options_type: type[WikidataOptions] = WikidataOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: WikidataOptions) -> int:
        """Return where a line begins; a file that is one JSON value over many lines is not cut."""
        if not is_line_wise(piece, options.max_document_bytes):
            return piece.file.size if piece.end is None else piece.end
        return find_line(piece, wanted)

    def read(self, piece: InputSlice, options: WikidataOptions, reject: Reject) -> Iterator[EntityRecords]:
        """Yield the entities of `piece`; a record that is none is rejected."""
        if piece.begin or is_line_wise(piece, options.max_document_bytes):
            yield from _LineReader(piece, options, reject).read()
        else:
            yield from _read_document(piece, options, reject)


class _LineReader:
    """Reads a slice with an entity a line, perhaps in an array over the whole file."""

    def __init__(self, piece: InputSlice, options: WikidataOptions, reject: Reject) -> None:
        self._piece, self._options, self._reject = piece, options, reject
        limit = LineLimit(unit=RECORD, max_bytes=options.max_document_bytes, reject=reject)
        self._blocks = LineBlocks(piece, BLOCK_BYTES, limit=limit)
        self._scanner: EntityScanner | None = None  # from the first block on that is worth it
        self._is_first = piece.begin == 0  # until the first record
        self._is_closed = False
        self._ends_open = False  # whether a comma follows the last record

    def read(self) -> Iterator[EntityRecords]:
        for offset, data in self._blocks:
            writer = EntityWriter(self._options, self._piece.file.scope)
            with no_cycle_collection():
                num_good, facts = self._read_block(writer, data, offset)
            if len(facts.label):
                yield writer.columns.to_records(self._piece.file, num_good, writer.counts(), facts)
        if self._ends_open and not self._is_closed and self._piece.is_last:
            nothing = EntityWriter(self._options, self._piece.file.scope).columns
            yield nothing.to_records(self._piece.file, 0, {"arrays without an end": 1})

    def _read_block(self, writer: EntityWriter, data: bytes, offset: int) -> tuple[int, FlatFacts]:
        """Return how many good records the block at `offset` has, and their facts."""
        bounds = line_bounds(data)
        if self._scanner is None and len(data) >= MIN_SCANNED_BYTES:
            self._scanner = new_scanner(self._options)
        block = ScannedBlock(None if self._is_closed else self._scanner, writer, data, offset, bounds)
        num_good = 0
        for line in block.lines_left():
            self._pass(block, line)
            num_good += self._read_line(writer, data, int(bounds[line]), int(bounds[line + 1]), offset)
        self._pass(block, len(bounds) - 1)
        return num_good + int(np.count_nonzero(block.is_taken)), block.facts()

    def _pass(self, block: ScannedBlock, line: int) -> None:
        """Note what the line before this one was, if it was taken by the scan."""
        if line and block.is_taken[line - 1]:
            self._is_first, self._ends_open = False, bool(block.has_comma[line - 1])

    def _read_line(self, writer: EntityWriter, data: bytes, begin: int, end: int, offset: int) -> bool:
        """Read the line data[begin:end] of the block at `offset`; tell whether it is a good record."""
        first, last = _trimmed(data, begin, end)
        if self._is_first:
            if data.startswith(BOM, first):
                first, last = _trimmed(data, first + len(BOM), last)
            if data.startswith(b"[", first):
                writer.add_document(ARRAY, {}, offset + first, offset + first + 1)
                first, last = _trimmed(data, first + 1, last)
        closes = data.endswith(b"]", first, last) and not data.startswith(b"[", first)
        if closes:
            _, last = _trimmed(data, first, last - 1)
        has_comma = data.endswith(b",", first, last)
        is_good = False
        if first < last:
            self._is_first, self._ends_open = False, has_comma
            try:
                self._check_line(end - begin)
                add_entity(writer, data[first : last - has_comma], offset + begin, offset + end)
                is_good = True
            except WrongRecordError as error:
                self._reject(_rejected(self._blocks.place, data, error, (begin, first, end), offset))
        self._is_closed |= closes
        return is_good

    def _check_line(self, size: int) -> None:
        if size > self._options.max_document_bytes:
            raise WrongRecordError(0, _limit(RECORD, self._options), f"{size} bytes")
        if self._is_closed:
            raise WrongRecordError(0, "nothing behind the end of the array", "a further line")


def _trimmed(data: bytes, begin: int, end: int) -> tuple[int, int]:
    """Return data[begin:end] without the white space around it, as begin and end."""
    while begin < end and data[begin] in _SPACE:
        begin += 1
    while begin < end and data[end - 1] in _SPACE:
        end -= 1
    return begin, end


def _read_document(piece: InputSlice, options: WikidataOptions, reject: Reject) -> Iterator[EntityRecords]:
    """Read a file that is one JSON value; where that cannot be read, the file is one bad record."""
    whole, size = _read_whole(piece, options.max_document_bytes)
    if size > options.max_document_bytes:
        error = WrongRecordError(0, _limit("document", options), f"{size} bytes")
        place = Place(piece.file.name, offset=0, line=1, column=1)
        reject(BadRecordError(place, expected=error.expected, found=error.found, begin=0, end=size))
        return
    writer = EntityWriter(options, piece.file.scope)
    num_good = 0
    with no_cycle_collection():
        for begin, end, key in _records_of(writer, piece, whole, reject):
            try:
                add_entity(writer, whole[begin:end], begin, end, key)
                num_good += 1
            except WrongRecordError as error:
                reject(_rejected(piece.place, whole, error, (begin, begin, end)))
    if writer.columns.num_facts:
        yield writer.columns.to_records(piece.file, num_good, writer.counts())


def _read_whole(piece: InputSlice, limit: int) -> tuple[bytes, int]:
    """Return the bytes of a file, no more than `limit` of them, and how many there are."""
    with piece.file.open() as stream:
        data = stream.read(limit)
        size = len(data)
        while more := stream.read(BLOCK_BYTES):
            size += len(more)
    return data, size


def _records_of(
    writer: EntityWriter, piece: InputSlice, data: bytes, reject: Reject
) -> tuple[tuple[int, int, str | None], ...]:
    """Return the places of a document's records; none, and the document is rejected, where it cannot be read."""
    begin = len(BOM) if data.startswith(BOM) else 0
    if not data[begin:].strip():
        return ()
    try:
        document = find_records(data[begin:])
    except WrongRecordError as error:
        reject(_rejected(piece.place, data, error, (0, begin, len(data))))
        return ()
    if document.form is not None:
        writer.add_document(document.form, document.members, 0, len(data))
    return tuple((first + begin, end + begin, key) for first, end, key in document.records)


def _rejected(
    place: Callable[[int], Place], data: bytes, error: WrongRecordError, bounds: tuple[int, int, int], offset: int = 0
) -> BadRecordError:
    """Return the error of a record of the block `data` at `offset`; bounds: its begin, its first byte of JSON, end."""
    begin, first, end = bounds
    return BadRecordError(
        place(offset + first + error.at),
        expected=error.expected,
        found=error.found,
        begin=offset + begin,
        end=offset + end,
        data=data[begin:end],
    )


def _limit(unit: str, options: WikidataOptions) -> str:
    return f"a {unit} of at most {options.max_document_bytes} bytes (max_document_bytes)"


WIKIDATA = WikidataSource()
