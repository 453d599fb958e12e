"""Rows of KGTK cells to facts, a column at a time: a Python object a distinct value that needs one, none a cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import LabelBuilder, Role
from lisdata.inputs import InputFile
from lisdata.kernels.arrays import binary_buffers
from lisdata.kernels.csv_scan import NO_QUOTE, gather_column
from lisdata.records import FactRecords
from lisdata.schema import NO_ROW, ContentKind, LabelKind
from lisdata.sources.fact_columns import ContentColumn, ContentRows, ParticipantTable
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.kgtk_layout import (
    EDGE,
    EDGE_LABEL,
    HEADER,
    HEADER_DECLARED,
    HEADER_ENDING,
    HEADER_MARK,
    HEADER_NAMES,
    LINE,
    LINE_TEXT,
    OBJECT,
    ROW_ENDING,
    SUBJECT,
    Columns,
    KgtkOptions,
    written,
)
from lisdata.sources.kgtk_runs import Block, EdgeIds, Header, starts_of
from lisdata.sources.kgtk_values import ItemReader, split_list

Bools = npt.NDArray[np.bool_]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
IsEdge = Callable[[pa.LargeBinaryArray, int], Bools]
_BINARY = pa.large_binary()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Items:
    """Distinct cells, and the items in them: those of cell n are `items` offsets[n] : offsets[n + 1]."""

    offsets: Int64
    items: pa.LargeBinaryArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadItems:
    """Distinct cells as contents: numbers of the contents of their items, and of how odd items are written."""

    offsets: Int64
    content: UInt32
    is_odd: Bools
    written: UInt32  # NO_ROW but where odd


class FactMaker:
    """Makes the facts of one block after another; `ids` are the keys of the ids of edges, if nodes may be edges."""

    def __init__(
        self, file: InputFile, header: Header, options: KgtkOptions, prefixes: IdPrefixes, ids: EdgeIds | None
    ) -> None:
        self._file, self._header, self._options = file, header, options
        self._prefixes, self._ids = prefixes, ids
        self._has_begun = False

    def starts(self, block: Block) -> Int64:
        """Return the facts of a block that begin a structure."""
        return starts_of(block, self._header.columns, self._options.group)

    def to_records(self, block: Block, starts: Int64) -> FactRecords:
        """Return the facts of a block, in structures that begin with the facts `starts`."""
        batch = _Batch(block, self._header, self._options, self._prefixes, self._file)
        if not self._has_begun:
            batch.add_header()
            self._has_begun = True
        if block.cells.num_rows:
            batch.add_rows(self._is_edge)
        batch.add_kept_lines()
        return batch.to_records(starts)

    def _is_edge(self, items: pa.LargeBinaryArray, column: int) -> Bools:
        """Tell which of the items of node1 or node2 name an edge."""
        if self._options.edges_about != "auto":
            is_all = self._options.edges_about == "edges" and column == self._header.columns.node1
            return np.full(len(items), is_all)
        if self._ids is None or not len(items):
            return np.zeros(len(items), np.bool_)
        return self._ids.has(items)


class _Batch:
    """The facts of one block in the making."""

    def __init__(
        self, block: Block, header: Header, options: KgtkOptions, prefixes: IdPrefixes, file: InputFile
    ) -> None:
        self._block, self._header, self._options, self._file = block, header, options, file
        self._prefixes = prefixes
        self._labels = LabelBuilder()
        self._contents, self._participants = ContentRows(self._labels), ParticipantTable()
        self._begins = block.begins
        self._rows = np.searchsorted(self._begins, block.cells.row_begin)
        self._first = 0  # 1 where the header is the first fact
        self._label = np.zeros(len(self._begins), np.uint32)
        self._handle = np.full(len(self._begins), NO_ROW, np.uint32)
        self._header_label = NO_ROW
        is_global = options.scope == "global"
        self._scope = NO_ROW if is_global else self._labels.code(LabelKind.SCOPE, file.scope)

    def add_header(self) -> None:
        header = self._header
        self._first = 1
        self._header_label = self._labels.code(LabelKind.INSTANCE, HEADER)
        names = [name.encode() for name in header.columns.names]
        if header.is_written:
            self._say(0, HEADER_NAMES, names)
        else:
            self._say(0, HEADER_DECLARED, names)
        self._say(0, HEADER_ENDING, [header.ending])
        if header.mark:
            self._say(0, HEADER_MARK, [header.mark])

    def _say(self, fact: int, role: Role, texts: list[bytes]) -> None:
        first = self._contents.add(ContentColumn.of_kind(ContentKind.TEXT, pa.array(texts, _BINARY)))
        rows = np.arange(first, first + len(texts), dtype=np.uint32)
        self._participants.add(np.full(len(texts), fact), rows, self._labels.role(role), np.arange(len(texts)))

    def add_rows(self, is_edge: IsEdge) -> None:
        """Add the facts of the good rows."""
        columns = self._header.columns
        if columns.kind == EDGE:
            self._add_edges(columns, is_edge)
        else:
            self._label[self._rows] = self._labels.code(LabelKind.INSTANCE, columns.kind)
            if columns.id is not None:
                self._add_column(columns.id, columns.role(columns.id))
        for number in columns.others:
            self._add_column(number, columns.role(number))
        self._add_endings()

    def _add_edges(self, columns: Columns, is_edge: IsEdge) -> None:
        labels = self._gather(columns.label).dictionary_encode()
        names, is_odd = self._prefixes.expand_all(labels.dictionary)
        relations = [name.decode() for name in names.to_pylist()]
        codes = np.asarray(labels.indices).astype(np.int64)
        of_label = np.array([self._labels.code(LabelKind.INSTANCE, name) for name in relations], np.uint32)
        self._label[self._rows] = of_label[codes]
        for number, side in ((columns.node1, SUBJECT), (columns.node2, OBJECT)):
            roles = [Role(name, side) for name in relations]
            self._add_column(number, roles, of_row=codes, is_edge=is_edge)
        if is_odd.any():
            at = self._contents.add(ContentColumn.of_kind(ContentKind.TEXT, labels.dictionary))
            rows = np.flatnonzero(is_odd[codes])
            content = (at + codes[rows]).astype(np.uint32)
            self._participants.add(self._rows[rows] + self._first, content, self._labels.role(EDGE_LABEL))
        if columns.id is not None:
            ids = self._gather(columns.id)
            has_id = self._block.cells.size[:, columns.id] > 0
            at = self._contents.add(ContentColumn.of_kind(ContentKind.INSTANCE, ids, scope=self._scope))
            self._handle[self._rows] = np.where(has_id, at + np.arange(len(ids)), NO_ROW)

    def _gather(self, column: int) -> pa.LargeBinaryArray:
        return gather_column(self._block.view, self._block.cells, column, NO_QUOTE)

    def _add_column(
        self, number: int, role: Role | list[Role], *, of_row: Int64 | None = None, is_edge: IsEdge | None = None
    ) -> None:
        """Add the cells of a column; `role` is one for each number in `of_row`, or one for all."""
        cells = self._gather(number).dictionary_encode()
        read = self._read(_items(cells.dictionary), number, is_edge)
        codes = np.asarray(cells.indices).astype(np.int64)
        counts = np.diff(read.offsets)[codes]
        fact = np.repeat(self._rows + self._first, counts)
        position = np.arange(len(fact)) - np.repeat(np.cumsum(counts) - counts, counts)
        item = np.repeat(read.offsets[codes], counts) + position
        roles = [role] if isinstance(role, Role) else role
        of_item = np.zeros(len(fact), np.int64) if of_row is None else np.repeat(of_row, counts)
        codes_of_roles = np.array([self._labels.role(r) for r in roles], np.uint32)
        self._participants.add(fact, read.content[item], codes_of_roles[of_item], position)
        if read.is_odd.any():
            odd = np.flatnonzero(read.is_odd[item])
            written_codes = np.array([self._labels.role(written(r)) for r in roles], np.uint32)
            texts, of_odd = read.written[item[odd]], of_item[odd]
            self._participants.add(fact[odd], texts, written_codes[of_odd], position[odd])

    def _read(self, cells: _Items, number: int, is_edge: IsEdge | None) -> _ReadItems:
        column, is_odd = ItemReader(self._labels, self._prefixes).read(cells.items)
        content = self._contents.add(column) + np.arange(len(cells.items), dtype=np.uint32)
        if is_edge is not None and (names_edge := is_edge(cells.items, number)).any():
            edges = cells.items.filter(pa.array(names_edge))
            at = self._contents.add(ContentColumn.of_kind(ContentKind.INSTANCE, edges, scope=self._scope))
            content[names_edge] = at + np.arange(len(edges))
            is_odd &= ~names_edge
        how = np.full(len(cells.items), NO_ROW, np.uint32)
        if is_odd.any():
            texts = cells.items.filter(pa.array(is_odd))
            how[is_odd] = self._contents.add(ContentColumn.of_kind(ContentKind.TEXT, texts)) + np.arange(len(texts))
        return _ReadItems(offsets=cells.offsets, content=content.astype(np.uint32), is_odd=is_odd, written=how)

    def _add_endings(self) -> None:
        """Say of rows whose line ending is not the header's what it is."""
        cells = self._block.cells
        usual = len(self._header.ending)
        rows = np.flatnonzero(cells.ending != usual)
        if len(rows):
            texts = [(b"", b"\n", b"\r\n")[size] for size in cells.ending[rows].tolist()]
            at = self._contents.add(ContentColumn.of_kind(ContentKind.TEXT, pa.array(texts, _BINARY)))
            content = np.arange(at, at + len(texts), dtype=np.uint32)
            self._participants.add(self._rows[rows] + self._first, content, self._labels.role(ROW_ENDING))

    def add_kept_lines(self) -> None:
        """Add comments and blank lines."""
        if not self._block.kept:
            return
        texts = pa.array([self._block.data[begin:end] for begin, end in self._block.kept], _BINARY)
        fact = np.searchsorted(self._begins, [begin for begin, _ in self._block.kept])
        at = self._contents.add(ContentColumn.of_kind(ContentKind.TEXT, texts))
        self._label[fact] = self._labels.code(LabelKind.INSTANCE, LINE)
        content = np.arange(at, at + len(texts), dtype=np.uint32)
        self._participants.add(fact + self._first, content, self._labels.role(LINE_TEXT))

    def to_records(self, starts: Int64) -> FactRecords:
        """Return the facts, in structures that begin with the facts `starts` of the block."""
        first, base = self._first, self._block.base
        contents, rows = self._contents.finish()
        offsets, content, role, position = self._participants.finish(first + len(self._begins))
        begins = self._begins + base
        ends = self._ends() + base
        last = np.append(starts, len(begins))[1:] - 1
        own = np.arange(first)
        handle = np.full(first + len(begins), NO_ROW, np.uint32)
        has_handle = np.flatnonzero(self._handle != NO_ROW)
        handle[has_handle + first] = rows[self._handle[has_handle]]
        return FactRecords(
            file=self._file,
            contents=contents,
            labels=self._labels.to_arrow(),
            structure_offsets=np.concatenate((own, starts + first, [first + len(begins)])).astype(np.int64),
            fact_label=np.concatenate((np.full(first, self._header_label), self._label)).astype(np.uint32),
            fact_handle=handle,
            fact_ordinal=np.concatenate((np.zeros(first), begins)).astype(np.uint64),
            begin=np.concatenate((np.zeros(first), begins[starts])).astype(np.uint64),
            end=np.concatenate((np.full(first, self._header.begin), ends[last])).astype(np.uint64),
            participant_offsets=offsets,
            participant_content=rows[content],
            participant_role=role,
            participant_position=position,
            num_records=len(begins),
        )

    def _ends(self) -> Int64:
        """Return where each fact ends."""
        ends = np.empty(len(self._begins), np.int64)
        ends[self._rows] = self._block.cells.row_end
        for begin, end in self._block.kept:
            ends[np.searchsorted(self._begins, begin)] = end
        return ends


def _items(cells: pa.LargeBinaryArray) -> _Items:
    """Return the items of distinct cells: none of an empty one, several of a list."""
    counts = np.minimum(np.diff(binary_buffers(cells)[0]), 1)
    lists = np.flatnonzero(pc.match_substring(cells, "|"))
    if not len(lists) and counts.all():
        return _Items(offsets=np.arange(len(cells) + 1), items=cells)
    parts = [split_list(cell) for cell in cells.take(pa.array(lists)).to_pylist()]
    counts[lists] = [len(part) for part in parts]
    offsets = np.concatenate(([0], np.cumsum(counts)))
    is_single = np.ones(len(cells), np.bool_)
    is_single[lists] = False
    is_single &= counts > 0
    items = pa.concat_arrays([cells, pa.array([item for part in parts for item in part], _BINARY)])
    order = np.empty(int(offsets[-1]), np.int64)
    order[offsets[:-1][is_single]] = np.flatnonzero(is_single)
    at = len(cells)
    for row, part in zip(lists.tolist(), parts, strict=True):
        order[offsets[row] : offsets[row + 1]] = np.arange(at, at + len(part))
        at += len(part)
    return _Items(offsets=offsets, items=items.take(pa.array(order)))
