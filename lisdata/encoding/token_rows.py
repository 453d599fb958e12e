"""Rows of tokens in memory: equally long columns cut at the same offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.encoding.pieces import Int64, offsets_of, ragged_index

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRows:
    """N rows; row n has the tokens offsets[n] : offsets[n + 1] of every column.

    `kinds` and `record_ids` are those of the row's structure, `num_instances` how many instances it has.
    """

    offsets: Int64
    columns: Columns
    kinds: npt.NDArray[np.uint8]
    num_instances: Int64
    record_ids: pa.Array

    @property
    def num_rows(self) -> int:
        """Rows."""
        return len(self.kinds)

    @property
    def lengths(self) -> Int64:
        """Tokens of each row."""
        return np.diff(self.offsets)

    def with_columns(self, names: Sequence[str]) -> TokenRows:
        """Return the rows with some of their columns."""
        return replace(self, columns={name: self.columns[name] for name in names})

    def slice(self, begin: int, end: int) -> TokenRows:
        """Return rows [begin, end), without a copy of their tokens."""
        first, last = int(self.offsets[begin]), int(self.offsets[end])
        return TokenRows(
            offsets=self.offsets[begin : end + 1] - first,
            columns={name: values[first:last] for name, values in self.columns.items()},
            kinds=self.kinds[begin:end],
            num_instances=self.num_instances[begin:end],
            record_ids=self.record_ids[begin:end],
        )

    def take(self, rows: Int64) -> TokenRows:
        """Return some of the rows, in the order asked for."""
        return self.cut(rows, self.offsets[rows], self.lengths[rows])

    def cut(self, rows: Int64, begins: Int64, lengths: Int64) -> TokenRows:
        """Return a row for each of `rows`, made of `lengths` tokens from token `begins` (counted through all rows)."""
        index = ragged_index(begins, lengths)
        return TokenRows(
            offsets=offsets_of(lengths),
            columns={name: values[index] for name, values in self.columns.items()},
            kinds=self.kinds[rows],
            num_instances=self.num_instances[rows],
            record_ids=self.record_ids.take(pa.array(rows)),
        )

    @staticmethod
    def concatenate(blocks: Sequence[TokenRows]) -> TokenRows:
        """Return the rows of all blocks, of which there is at least one, one after the other."""
        if len(blocks) == 1:
            return blocks[0]
        names = blocks[0].columns
        return TokenRows(
            offsets=offsets_of(np.concatenate([b.lengths for b in blocks])),
            columns={name: np.concatenate([b.columns[name] for b in blocks]) for name in names},
            kinds=np.concatenate([b.kinds for b in blocks]),
            num_instances=np.concatenate([b.num_instances for b in blocks]),
            record_ids=pa.concat_arrays([b.record_ids for b in blocks]),
        )
