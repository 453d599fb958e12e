"""Grids in the view `endpoints`: implied incidences, made on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.endpoints_view import token_rows
from lisdata.encoding.part_tables import NO_CONTENT, RoleTable
from lisdata.encoding.pieces import Int64, offsets_of, ragged_index, row_numbers
from lisdata.encoding.structure_rows import StructureRows
from lisdata.encoding.surfaces import cell_texts
from lisdata.encoding.token_rows import Columns, TokenRows
from lisdata.encoding.tokenizers import Tokenizer
from lisdata.errors import LisDataError
from lisdata.patches import lay_patches, parse_patch
from lisdata.tensors import plain_dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTexts:
    """The distinct texts of a grid's cells, which of them each cell has, and how many cells were cut.

    Cells are in the order of `endpoint` (patch by patch; without patches row-major), which has the endpoint that each
    is of; `first_cell` is the first cell of each endpoint, row-major in the grid.
    """

    texts: list[str]
    which: Int64
    endpoint: Int64
    first_cell: Int64
    num_left_out: int


def grid_texts(rows: StructureRows, row: int, config: EncodeConfig) -> GridTexts:
    """Return the cells of a grid as text; raises LisDataError at one of more cells than `config` allows."""
    dtype, shape, data = rows.tensor(row)
    values = np.frombuffer(data, plain_dtype(dtype))
    limit = len(values) if config.grid_max_cells is None else config.grid_max_cells
    if len(values) > limit and config.grid_overflow == "error":
        raise LisDataError(
            f"{rows.record_ids[row]}: expected at most {limit} cells, found {len(values)} (shape {shape}): "
            "raise grid_max_cells, or let grid_overflow truncate"
        )
    cells, endpoint = _in_patches(shape, config, rows.record_ids[row])
    distinct, which = _distinct(values[cells[:limit]])
    texts = [config.separator + text for text in cell_texts(distinct)]
    return GridTexts(
        texts=texts,
        which=which,
        endpoint=endpoint[:limit],
        first_cell=cells[np.flatnonzero(np.diff(endpoint, prepend=-1))],
        num_left_out=max(0, len(values) - limit),
    )


def _in_patches(shape: list[int], config: EncodeConfig, record_id: object) -> tuple[Int64, Int64]:
    """Return the cells in their order, and the endpoint of each: itself without patches."""
    if config.patch is None:
        cells = np.arange(math.prod(shape))
        return cells, cells
    try:
        layout = lay_patches(shape, parse_patch(config.patch))
    except ValueError as error:
        raise LisDataError(f"{record_id}: {error}") from error
    return layout.cells, row_numbers(layout.offsets)


class GridEncoder:
    """Makes the endpoints of grids: cells (or patches of cells) in row-major order, spelled by values, all in one role.

    The pieces of endpoint n have the positions n * stride + 0, 1, ..., where the stride is the longest endpoint's
    number of pieces in that grid: positions of neighbours along an axis always differ by the same, and are the cell
    number itself where each cell is one piece. A patch is spelled by its cells, row-major. `occurrence` is the cell,
    of a patch its first one; cells have no content of their own (column `content` is 0).
    """

    def __init__(self, tokenizer: Tokenizer, config: EncodeConfig) -> None:
        self._tokenizer, self._config = tokenizer, config

    def rows(self, rows: StructureRows, roles: RoleTable, counts: EncodeCounts, *, target: int) -> TokenRows:
        """Return a row for each grid (one at least)."""
        grids = [self._grid(rows, row, roles, counts) for row in range(rows.num_rows)]
        columns = {name: np.concatenate([grid[name] for grid in grids]) for name in grids[0]}
        lengths = np.array([len(grid["input_ids"]) for grid in grids], np.int64)
        return token_rows(rows, columns, lengths, target)

    def _grid(self, rows: StructureRows, row: int, roles: RoleTable, counts: EncodeCounts) -> Columns:
        cells = grid_texts(rows, row, self._config)
        pieces = self._tokenizer.encode_batch(cells.texts)
        of_cells = np.diff(pieces.offsets)[cells.which]
        num_endpoints = int(cells.endpoint[-1]) + 1 if len(cells.endpoint) else 0
        lengths = np.bincount(cells.endpoint, of_cells, num_endpoints).astype(np.int64)
        counts.cells_left_out += cells.num_left_out
        counts.characters_replaced += pieces.num_replaced
        counts.endpoints += int(np.count_nonzero(lengths))
        counts.endpoints_without_pieces += int(np.count_nonzero(lengths == 0))
        offsets = offsets_of(lengths)
        endpoint = row_numbers(offsets)
        stride = max(1, int(lengths.max(initial=0)))
        label = rows.instance_label[rows.instance_offsets[row]]
        return {
            "input_ids": pieces.ids[ragged_index(pieces.offsets[cells.which], of_cells)],
            "role": np.full(len(endpoint), roles.cell_number[label], np.int64),
            "instance": np.zeros(len(endpoint), np.int64),
            "position": endpoint * stride + np.arange(len(endpoint)) - offsets[endpoint],
            "occurrence": cells.first_cell[endpoint],
            "content": np.full(len(endpoint), NO_CONTENT, np.int64),
        }


def _distinct(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int64]:
    """Return values that differ in their bytes (0.0 and -0.0 do), and for each value which of them it is."""
    if values.dtype.itemsize not in (1, 2, 4, 8):
        return values, np.arange(len(values))
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    _, first, which = np.unique(values.view(unsigned), return_index=True, return_inverse=True)
    return values[first], which.reshape(-1)
