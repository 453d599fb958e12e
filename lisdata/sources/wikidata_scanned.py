"""Lines of entities that a compiled scan took, between those that are read otherwise, in one order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Role
from lisdata.kernels import entity_words as words
from lisdata.schema import LabelKind
from lisdata.sources.wikidata_entities import EntityWriter
from lisdata.sources.wikidata_facts import Ends, FlatFacts, Piece, join_pieces
from lisdata.sources.wikidata_layout import (
    BADGE,
    COMMONS_DATA,
    COMMONS_FILE,
    DATATYPE,
    ENTITY,
    LAYOUT,
    MEMBER,
    OBJECT,
    RANK,
    REFERENCE,
    SITE,
    SITELINK,
    STATEMENT,
    SUBJECT,
    TERMS,
    TITLE,
    TYPE,
    URL,
    WikidataOptions,
)

if TYPE_CHECKING:
    from lisdata.kernels.entity_scanner import EntityScanner, ScannedWindow

Bool = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]

_BY_WRITER = -1


def new_scanner(options: WikidataOptions) -> EntityScanner | None:
    """Return a scanner of entities, None where the options ask for what it cannot do."""
    keeps_all = options.labels and options.descriptions and options.aliases and options.sitelinks and options.hashes
    own = options.entity_iri
    is_odd = any(iri.startswith(own) or own.startswith(iri) for iri in (COMMONS_FILE, COMMONS_DATA))
    if not keeps_all or options.truthy or options.language or options.property or is_odd:
        return None
    from lisdata.kernels.entity_scanner import EntityScanner  # compiled on import

    return EntityScanner(
        entity_iri=options.entity_iri,
        reference_iri=options.reference_iri,
        max_bytes=options.max_document_bytes,
        ends_structures=options.group == "statement",
    )


class ScannedBlock:
    """The lines of a block at `offset` of the input; without a scanner none is taken.

    `is_taken` and `has_comma` say of each line whether it was taken and has a comma behind the entity, as far as
    `lines_left` has come.
    """

    def __init__(
        self, scanner: EntityScanner | None, writer: EntityWriter, data: bytes, offset: int, bounds: Int64
    ) -> None:
        self._writer = writer
        self._windows: Iterator[ScannedWindow] = iter(())
        if scanner is not None and _is_utf8(data):
            self._windows = scanner.windows(data, offset, bounds)
        self._scanned: list[FlatFacts] = []  # a window
        self._pieces: list[tuple[int, Ends, Ends]] = []  # in order: of which window, or of the writer; first, last
        self.is_taken: Bool = np.zeros(len(bounds) - 1, np.bool_)
        self.has_comma: Bool = np.zeros(len(bounds) - 1, np.bool_)

    def lines_left(self) -> Iterator[int]:
        """Yield each line that was not taken, when it is its turn to be read by the writer."""
        first = 0
        for window in self._windows:
            yield from self._lines_left_in(window, first)
            first += len(window.lines)
        for line in range(first, len(self.is_taken)):
            yield from self._read_apart(line)

    def facts(self) -> FlatFacts:
        """Return the facts of all lines, in their order."""
        read = self._writer.columns.to_flat()
        if not self._pieces:
            return read
        sources = [*self._scanned, read]  # so that _BY_WRITER is the last
        return join_pieces([Piece(sources[number], first, last) for number, first, last in self._pieces])

    def _lines_left_in(self, window: ScannedWindow, first: int) -> Iterator[int]:
        lines, number, begin = window.lines, len(self._scanned), Ends()
        behind = first + len(lines)
        self.is_taken[first:behind], self.has_comma[first:behind] = lines["is_taken"], lines["has_comma"]
        names = _Names(self._writer, window.labels)
        for line in np.flatnonzero(lines["is_taken"] == 0).tolist():
            names.name(int(lines["labels"][line]))
            end = _ends_at(lines, line)
            self._add_piece(number, begin, end)
            begin = end
            yield from self._read_apart(first + line)
        names.name(len(window.labels))
        self._add_piece(number, begin, _ends_at(lines, -1))
        self._scanned.append(names.flat(window))

    def _read_apart(self, line: int) -> Iterator[int]:
        """Yield a line, and note what was made of it then."""
        before = self._writer.columns.ends()
        yield line
        self._add_piece(_BY_WRITER, before, self._writer.columns.ends())

    def _add_piece(self, source: int, first: Ends, last: Ends) -> None:
        if first != last:
            self._pieces.append((source, first, last))


class _Names:
    """Gives groups and labels of a window their numbers in a writer's columns, in the order of their first use."""

    def __init__(self, writer: EntityWriter, labels: list[tuple[str | None, int]]) -> None:
        self._labels, self._languages = writer.columns.labels, writer.values.languages
        self._iri, self._names = writer.options.entity_iri, labels
        numbers = writer.group_numbers()
        self._groups = [numbers[name] for name in words.GROUPS]
        self._codes: list[int] = []  # of labels, and numbers of groups

    def name(self, end: int) -> None:
        """Go on to the label number `end`."""
        for spelled, number in self._names[len(self._codes) : end]:
            if number == words.GROUP_OF and spelled is not None:
                self._codes.append(self._languages[spelled])
            else:
                self._codes.append(self._code(*_label(self._iri, spelled, number)))

    def _code(self, relation: str, side: str) -> int:
        return self._labels.role(Role(relation, side)) if side else self._labels.code(LabelKind.INSTANCE, relation)

    def flat(self, window: ScannedWindow) -> FlatFacts:
        """Return what was scanned in these numbers."""
        codes, groups = np.array(self._codes, np.uint32), np.array(self._groups + self._codes, np.uint32)
        participants, facts, structures = window.participants, window.facts, window.structures
        return FlatFacts(
            group=groups[window.content_group],
            lexicals=window.lexicals,
            content=participants["content"].astype(np.uint32),
            role=codes[participants["label"]],
            position=participants["position"].astype(np.int64),
            label=codes[facts["label"]],
            handle=facts["handle"].astype(np.uint32),  # NO_HANDLE becomes NO_ROW
            ordinal=facts["ordinal"].astype(np.uint64),
            num_participants=np.diff(facts["end"], prepend=0).astype(np.int64),
            begin=structures["begin"].astype(np.uint64),
            end=structures["end"].astype(np.uint64),
            num_facts=np.diff(structures["fact_end"], prepend=0),
        )


def _label(iri: str, spelled: str | None, number: int) -> tuple[str, str]:
    """Return relation and side of a label of the scan, which of instances is ""."""
    if spelled is None:
        return _GENERAL[number]
    if number == words.MEMBER_OF:
        return ENTITY, MEMBER + spelled
    return iri + spelled, _SIDES[number]


def _ends_at(lines: npt.NDArray[np.void], line: int) -> Ends:
    row = lines[line]
    return Ends(int(row["contents"]), int(row["participants"]), int(row["facts"]), int(row["structures"]))


def _is_utf8(data: bytes) -> bool:
    offsets = pa.py_buffer(np.array([0, len(data)], np.int64))
    text = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# Relation and side by number, as in `entity_words`; an instance has no side.
_GENERAL = (
    (STATEMENT, RANK), (STATEMENT, REFERENCE), (REFERENCE, ""),
    (ENTITY, ""), (ENTITY, SUBJECT), (ENTITY, TYPE), (ENTITY, DATATYPE), (ENTITY, LAYOUT),
    (SITELINK, ""), (SITELINK, SUBJECT), (SITELINK, SITE), (SITELINK, TITLE), (SITELINK, URL), (SITELINK, BADGE),
    *product((TERMS["labels"], TERMS["descriptions"], TERMS["aliases"]), ("", SUBJECT, OBJECT)),
)  # fmt: skip
_DETAILS = product(words.SIDES, words.DETAILS)
_SIDES = ("", SUBJECT, "", "", *(f"{side}.{detail}" if detail else side for side, detail in _DETAILS))
