"""Rows between a token dataset and another format: flat columns cut at the same offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import DamagedShardError
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID

Int64 = npt.NDArray[np.int64]
Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBlock:
    """N rows; row n has the tokens offsets[n] : offsets[n + 1] of every column (offsets begin at 0)."""

    offsets: Int64
    columns: dict[str, Values]
    kinds: Values | None = None
    record_ids: pa.Array | None = None

    @property
    def num_rows(self) -> int:
        """Rows."""
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRows:
    """The rows of another format: `columns` of integers, and whether kinds and record ids come with them.

    `iter_blocks` may be called more than once. `losses` counts, by name, what a token dataset has no place for.
    """

    origin: str
    columns: tuple[str, ...]
    iter_blocks: Callable[[], Iterator[RowBlock]]
    has_kind: bool = False
    has_record_id: bool = False
    losses: dict[str, int] = field(default_factory=dict)


def iter_blocks(dataset: TokenDataset) -> Iterator[RowBlock]:
    """Yield the rows of a dataset as they are stored, without a copy; DamagedShardError for rows that go backwards."""
    schema = dataset.schema
    for batch, place in zip(dataset.segments.owners, dataset.segments.places, strict=True):
        offsets = np.asarray(batch.column(INPUT_IDS).offsets)
        if offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise DamagedShardError(f"{place}: expected offsets that begin at 0 and never decrease")
        yield RowBlock(
            offsets=offsets,
            columns={name: np.asarray(batch.column(name).values) for name in schema.names},
            kinds=None if schema.kind is not None else np.asarray(batch.column(KIND)),
            record_ids=batch.column(RECORD_ID) if schema.has_record_id else None,
        )


def losses_of(dataset: TokenDataset, *, kept: tuple[str, ...], keeps_rows: bool) -> dict[str, int]:
    """Return what a format loses that holds the columns `kept`, and kinds and record ids only if `keeps_rows`."""
    losses = {f"column {name}": dataset.num_tokens for name in dataset.schema.names if name not in kept}
    if not keeps_rows and dataset.schema.kind is None:
        losses["kinds"] = len(dataset)
    if not keeps_rows and dataset.schema.has_record_id:
        losses["record ids"] = len(dataset)
    return {name: count for name, count in losses.items() if count}
