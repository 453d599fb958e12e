"""Lines of a KGTK file in blocks, and which adjacent edges make one structure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.kernels.arrays import binary_buffers
from lisdata.kernels.csv_scan import NO_QUOTE, Cells, gather_column
from lisdata.kernels.key_table import KeyTable
from lisdata.kernels.keys import content_keys
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.kgtk_layout import EDGE, NODE, Columns

Bools = npt.NDArray[np.bool_]
UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns of a file, whose rows begin at byte `begin`; `is_written` where its first line names them."""

    columns: Columns
    begin: int
    ending: bytes
    mark: bytes
    is_written: bool

    @property
    def required(self) -> tuple[int, ...]:
        """The numbers of the columns that may not be empty; an edge may have no node2."""
        columns = self.columns
        if columns.kind == EDGE:
            return columns.node1, columns.label
        return (columns.id,) if columns.kind == NODE and columns.id is not None else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines of a file from byte `base` on: the cells of good rows, and (begin, end) of the lines that are kept as such.

    Facts are numbered by their place in the block, rows and kept lines together.
    """

    data: bytes
    base: int
    view: UInt8
    cells: Cells
    kept: list[tuple[int, int]]

    @property
    def begins(self) -> Int64:
        """Where facts begin."""
        return np.sort(np.concatenate((self.cells.row_begin, [begin for begin, _ in self.kept])).astype(np.int64))

    def until(self, end: int) -> Block:
        """Return the lines before byte `end` of the block."""
        num_rows = int(np.searchsorted(self.cells.row_begin, end))
        rows = {f.name: getattr(self.cells, f.name)[:num_rows] for f in fields(self.cells)}
        return replace(self, cells=Cells(**rows), kept=[line for line in self.kept if line[0] < end])


class EdgeIds:
    """The ids of the edges of a file, as 16-byte keys; of nodes that are looked up too, so that each is hashed once."""

    def __init__(self) -> None:
        self._keys = KeyTable()
        self._num_ids = 0

    def add(self, ids: pa.LargeBinaryArray) -> None:
        """Add ids; all of them before the first look."""
        self._keys.find_or_add(_text_keys(ids))
        self._num_ids = len(self._keys)

    def has(self, names: pa.LargeBinaryArray) -> Bools:
        """Tell which of the names are ids."""
        found: Bools = self._keys.find_or_add(_text_keys(names))[0] < self._num_ids
        return found


def _text_keys(texts: pa.LargeBinaryArray) -> UInt8:
    kinds = np.full(len(texts), ContentKind.INSTANCE, np.uint8)
    none = np.full((len(texts), 3), NO_ROW, np.uint32)
    return content_keys(kinds, *binary_buffers(texts), none, np.zeros(1, np.int64), np.zeros(0, np.uint8))


def starts_of(block: Block, columns: Columns, group: str) -> Int64:
    """Return the facts that begin a structure.

    Under group "node1" an edge goes on with the run of edges before it that have its node1, and with the edge just
    before it where that is what it is about; a run also goes on behind such edges about its edges.
    """
    num_rows, begins = block.cells.num_rows, block.begins
    if columns.kind != EDGE or group == "edge" or num_rows < 2:
        return np.arange(len(begins))
    numbered = gather_column(block.view, block.cells, columns.node1, NO_QUOTE)
    if columns.id is not None:
        numbered = pa.concat_arrays([numbered, gather_column(block.view, block.cells, columns.id, NO_QUOTE)])
    codes = np.asarray(numbered.dictionary_encode().indices).astype(np.int64)
    subject, own = codes[:num_rows], codes[num_rows:]
    goes_on = np.zeros(num_rows, np.bool_)
    goes_on[1:] = subject[1:] == subject[:-1]
    if columns.id is not None:
        is_about = np.zeros(num_rows, np.bool_)
        is_about[1:] = (subject[1:] == own[:-1]) & (block.cells.size[:-1, columns.id] > 0)
        goes_on |= is_about
        goes_on |= _returns(subject, goes_on, is_about)
    fact = np.searchsorted(begins, block.cells.row_begin)
    goes_on[1:] &= np.diff(fact) == 1  # a comment parts structures
    is_start = np.ones(len(begins), np.bool_)
    is_start[fact] = ~goes_on
    return np.flatnonzero(is_start)


def _returns(subject: Int64, goes_on: Bools, is_about: Bools) -> Bools:
    """Tell which edges have the node1 of the last run that only edges about its edges followed."""
    first = np.flatnonzero(~goes_on | is_about)  # of each run of one node1
    run = np.repeat(np.arange(len(first)), np.diff(first, append=len(subject)))
    is_inner = is_about[first][run]
    last_outer = np.maximum.accumulate(np.where(is_inner, -1, np.arange(len(subject))))
    before = np.concatenate(([-1], last_outer[:-1]))
    follows_inner = np.concatenate(([False], is_inner[:-1]))
    found: Bools = follows_inner & ~is_inner & ~goes_on & (before >= 0)
    found &= subject == subject[np.maximum(before, 0)]
    return found
