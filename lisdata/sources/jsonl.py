"""JSONL: an object a line, with a text and perhaps linked mentions in it; the lines come back byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import ContentBuilder, LabelBuilder, Role, encode_text
from lisdata.inputs import InputFile, InputSlice
from lisdata.kernels.arrays import binary_buffers
from lisdata.records import TextRecords
from lisdata.registry import Reject
from lisdata.schema import ContentKind
from lisdata.sources.character_offsets import bytes_of_characters, characters_of_bytes
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_contents import is_side, json_to_content
from lisdata.sources.jsonl_layout import FIELD, FIELDS, LAYOUT, LINE, JsonlOptions
from lisdata.sources.jsonl_record import JsonlRecord, Mention, parse_line
from lisdata.sources.lines import LineBlocks, LineError, LineLimit, find_line, iter_parsed

UNIT, MENTION = "record", "mention"
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class JsonlSource:
    """Reads JSON Lines.

    Members of a record other than the text and the entities are fields of it (role record#field:NAME), those of an
    entity other than start, end and id are fields of the mention (mention#field:NAME); where a name cannot stand in a
    role, all of them together are one JSON content (record#fields). record#layout and record#line say how a line is
    written when it is not the usual way.
    """

    name: str = "jsonl"
    summary: str = "JSON Lines with a text a record and linked mentions in it"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")
    converter: str = "text"
    exporter: str = "jsonl"
    splits: bool = True
    options_type: type[JsonlOptions] = JsonlOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: JsonlOptions) -> int:
        """Return where a line begins."""
        return find_line(piece, wanted)

    def read(self, piece: InputSlice, options: JsonlOptions, reject: Reject) -> Iterator[TextRecords]:
        """Yield the records of `piece`; a line that is none is rejected."""
        prefixes = IdPrefixes.parse(options.id_prefix)
        limit = LineLimit(unit=UNIT, max_bytes=options.max_document_bytes, reject=reject)
        blocks = LineBlocks(piece, limit=limit)
        for offset, data in blocks:
            records = _read_block(blocks, offset, data, limit, partial(_parse, options=options, prefixes=prefixes))
            if records.num_records:
                yield records


def _read_block(
    blocks: LineBlocks, offset: int, data: bytes, limit: LineLimit, parse: Callable[[bytes, int], JsonlRecord]
) -> TextRecords:
    """Return the records of a block; of a long text nothing but these is left when it is done."""
    batch = TextBatch()
    for record, begin, end in iter_parsed(blocks, offset, data, limit, parse):
        batch.append(record, begin, end)
    return batch.to_records(blocks.file)


def _parse(line: bytes, offset: int, options: JsonlOptions, prefixes: IdPrefixes) -> JsonlRecord:
    if offset or not line.startswith(_BOM):
        return parse_line(line, options, prefixes)
    try:
        record = parse_line(line[len(_BOM) :], options, prefixes)
    except LineError as error:
        raise LineError(error.at + len(_BOM), error.expected, error.found) from error
    return JsonlRecord(text=record.text, mentions=record.mentions, members=record.members, line=line)


@dataclass(slots=True)
class TextBatch:
    """Flat columns of the records of one block; `contents` and `labels` may be shared with other columns."""

    contents: ContentBuilder = field(default_factory=lambda: ContentBuilder(LabelBuilder()))
    documents: list[bytes] = field(default_factory=list)
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    mention_ends: list[int] = field(default_factory=lambda: [0])
    mention_begin: list[int] = field(default_factory=list)
    mention_end: list[int] = field(default_factory=list)
    mention_content: list[int] = field(default_factory=list)
    field_ends: list[int] = field(default_factory=lambda: [0])
    field_role: list[int] = field(default_factory=list)
    field_content: list[int] = field(default_factory=list)
    field_mention: list[int] = field(default_factory=list)
    _roles: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def labels(self) -> LabelBuilder:
        """The labels that roles and contents refer to."""
        return self.contents.labels

    def append(self, record: JsonlRecord, begin: int, end: int) -> None:
        """Add a record from bytes [begin, end) of the input."""
        document = encode_text(record.text)
        self._append_members(UNIT, record.members, -1)
        if record.mentions:
            self._append_mentions(record.mentions)
        if record.layout is not None:
            self._append_field(UNIT, LAYOUT, (ContentKind.JSON, record.layout.encode()), -1)
        if record.line is not None:
            self._append_field(UNIT, LINE, (ContentKind.BYTES, record.line), -1)
        self.documents.append(document)
        self.begin.append(begin)
        self.end.append(end)
        self.mention_ends.append(len(self.mention_content))
        self.field_ends.append(len(self.field_content))

    def _append_mentions(self, mentions: tuple[Mention, ...]) -> None:
        for mention in mentions:
            self._append_members(MENTION, mention.members, len(self.mention_content))
            self.mention_begin.append(mention.begin)
            self.mention_end.append(mention.end)
            self.mention_content.append(self.contents.add(ContentKind.ENTITY, encode_text(mention.name)))

    def _append_members(self, relation: str, members: dict[str, Any], mention: int) -> None:
        if all(map(is_side, members)):
            for name, value in members.items():
                self._append_field(relation, FIELD + name, json_to_content(value), mention)
        else:
            self._append_field(relation, FIELDS, json_to_content(members), mention)

    def _append_field(self, relation: str, side: str, content: tuple[ContentKind, bytes], mention: int) -> None:
        code = self._roles.get((relation, side))
        if code is None:
            code = self._roles[relation, side] = self.labels.role(Role(relation, side))
        self.field_role.append(code)
        self.field_content.append(self.contents.add(*content))
        self.field_mention.append(mention)

    def to_records(self, file: InputFile) -> TextRecords:
        """Return the table of what was added."""
        contents = self.contents.to_arrow()
        documents = pa.array(self.documents, pa.large_binary())
        mention_offsets = np.array(self.mention_ends, np.int64)
        begin, end = (
            _bytes_of_units(documents, mention_offsets, np.array(numbers, np.int64))
            for numbers in (self.mention_begin, self.mention_end)
        )
        return TextRecords(
            file=file,
            unit=UNIT,
            documents=documents,
            begin=np.array(self.begin, np.uint64),
            end=np.array(self.end, np.uint64),
            contents=contents,
            labels=self.labels.to_arrow(),
            mention_offsets=mention_offsets,
            mention_begin=begin,
            mention_end=end,
            mention_content=np.array(self.mention_content, np.uint32),
            field_offsets=np.array(self.field_ends, np.int64),
            field_role=np.array(self.field_role, np.uint32),
            field_content=np.array(self.field_content, np.uint32),
            field_mention=np.array(self.field_mention, np.int64),
        )


def _bytes_of_units(documents: pa.LargeBinaryArray, unit_offsets: Int64, characters: Int64) -> UInt64:
    """Return the bytes of characters, both counted in their unit; unit n has unit_offsets[n] : unit_offsets[n + 1]."""
    if not len(characters):
        return np.empty(0, np.uint64)
    offsets, data = binary_buffers(documents)
    data = data[: offsets[-1]]
    begins, counts = offsets[:-1], np.diff(unit_offsets)
    before = np.repeat(characters_of_bytes(data, begins), counts)
    return (bytes_of_characters(data, before + characters) - np.repeat(begins, counts)).astype(np.uint64)


JSONL = JsonlSource()
