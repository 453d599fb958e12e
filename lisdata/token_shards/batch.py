"""Rows gathered from a token dataset: flat columns and the lengths that cut them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID

Int64 = npt.NDArray[np.int64]
ROW = "row"


@dataclass(frozen=True, kw_only=True)
class TokenBatch:
    """B rows: their numbers, lengths and kinds (int64, B), and columns laid end to end (int32; int64 where needed)."""

    row: Int64
    length: Int64
    kind: Int64
    columns: dict[str, npt.NDArray[Any]]

    @cached_property
    def offsets(self) -> Int64:
        """Where each row begins in the columns, and where the last one ends (B + 1)."""
        return np.concatenate(([0], np.cumsum(self.length)))

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Return row `index` of the batch: column -> array (T), with `kind` and `row` as ints."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of a batch of {len(self)}")
        place = index % len(self)
        begin, end = self.offsets[place], self.offsets[place + 1]
        columns: dict[str, Any] = {name: values[begin:end] for name, values in self.columns.items()}
        return columns | {KIND: int(self.kind[place]), ROW: int(self.row[place])}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> TokenBatch:
        """Join rows of a TokenDataset; `kind` and `row` are 0 and the number in the batch where absent."""
        if not rows:
            raise ValueError("expected at least one row")
        names = [name for name in rows[0] if name not in (KIND, ROW, RECORD_ID)]
        return cls(
            row=np.array([row.get(ROW, number) for number, row in enumerate(rows)], np.int64),
            length=np.array([len(row[INPUT_IDS]) for row in rows], np.int64),
            kind=np.array([row.get(KIND, 0) for row in rows], np.int64),
            columns={name: _joined([np.asarray(row[name]) for row in rows]) for name in names},
        )


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    joined = np.concatenate(parts)
    return joined if joined.dtype == np.int32 else joined.astype(np.int64)
