"""The order of rows in an epoch: a pure function of seed and epoch, asked element by element."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Shuffle = bool | Literal["window"]

DEFAULT_WINDOW = 1 << 16
_BLOCKS_PER_WINDOW = 16
_NUM_ROUNDS = 6  # 4 leave a bias in very small ranges that a chi-square test sees


class Order(Protocol):
    """An order of the rows of a dataset, told apart from others by `settings` (kept in a loader's state)."""

    @property
    def num_rows(self) -> int:
        """Rows of an epoch."""

    @property
    def settings(self) -> dict[str, Any]:
        """Name and version of the algorithm, and all that the order depends on but the epoch."""

    def rows(self, elements: Int64, epoch: int) -> Int64:
        """Return the row numbers of some elements (0 to num_rows - 1) of an epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialOrder:
    """Rows as they are stored, in every epoch."""

    num_rows: int

    @property
    def settings(self) -> dict[str, Any]:
        """See `Order`."""
        return {"algorithm": "sequential-1"}

    def rows(self, elements: Int64, epoch: int) -> Int64:
        """See `Order`."""
        return elements


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledOrder:
    """A uniform permutation of all rows, another one in each epoch."""

    num_rows: int
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """See `Order`."""
        return {"algorithm": "feistel-1", "seed": self.seed}

    def rows(self, elements: Int64, epoch: int) -> Int64:
        """See `Order`."""
        from lisdata.kernels.permutation import permute as compiled

        return compiled(elements, self.num_rows, _round_keys("rows", self.seed, epoch))


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOrder:
    """A local permutation, for disks that read runs of rows faster than single ones.

    Blocks of window / 16 neighbouring rows come in permuted order, and each `window` rows of that order are permuted
    among themselves: a window reads 16 blocks from anywhere in the dataset.
    """

    num_rows: int
    seed: int
    window: int

    @property
    def settings(self) -> dict[str, Any]:
        """See `Order`."""
        return {"algorithm": "window-1", "seed": self.seed, "window": self.window}

    def rows(self, elements: Int64, epoch: int) -> Int64:
        """See `Order`."""
        from lisdata.kernels.permutation import permute_windows

        return permute_windows(
            elements,
            self.num_rows,
            window=self.window,
            block=max(1, self.window // _BLOCKS_PER_WINDOW),
            block_keys=_round_keys("blocks", self.seed, epoch),
            window_keys=_round_keys("windows", self.seed, epoch),
        )


def order_of(num_rows: int, *, shuffle: Shuffle, window: int | None, seed: int) -> Order:
    """Return the order that the settings of a loader ask for."""
    if window is not None and (shuffle != "window" or window < 1):
        raise ValueError(f"expected a window of at least 1 row, with shuffle='window', got {window=}, {shuffle=}")
    if shuffle == "window":
        return WindowOrder(num_rows=num_rows, seed=seed, window=window or DEFAULT_WINDOW)
    if not isinstance(shuffle, bool):
        raise ValueError(f"expected shuffle of True, False or 'window', got {shuffle!r}")
    return ShuffledOrder(num_rows=num_rows, seed=seed) if shuffle else SequentialOrder(num_rows=num_rows)


def permute(indices: npt.ArrayLike, count: int, *, seed: int, epoch: int) -> Int64:
    """Return where the permutation of range(count) of this seed and epoch sends `indices`, all inside the range."""
    return _permute(indices, count, seed, epoch, inverse=False)


def inverse(rows: npt.ArrayLike, count: int, *, seed: int, epoch: int) -> Int64:
    """Undo `permute`: return which indices it sends to `rows`."""
    return _permute(rows, count, seed, epoch, inverse=True)


def _permute(values: npt.ArrayLike, count: int, seed: int, epoch: int, *, inverse: bool) -> Int64:
    from lisdata.kernels.permutation import permute as compiled

    numbers = np.ascontiguousarray(values, np.int64).reshape(-1)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < count:
        raise ValueError(f"expected indices from 0 to {count - 1}, got {numbers.min()} to {numbers.max()}")
    return compiled(numbers, count, _round_keys("rows", seed, epoch), inverse=inverse)


@lru_cache(maxsize=16)
def _round_keys(purpose: str, seed: int, epoch: int) -> npt.NDArray[np.uint64]:
    texts = (f"lisdata order 1/{purpose}/{seed}/{epoch}/{number}" for number in range(_NUM_ROUNDS))
    digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)
