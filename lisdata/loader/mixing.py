"""Several datasets as one: rows drawn by weight, each source in its own order and its own epochs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.datasets import open as open_dataset
from lisdata.errors import LabelError, PlanError
from lisdata.loader.order import Order
from lisdata.paths import StrPath
from lisdata.shards import IncidenceDataset
from lisdata.token_shards.dataset import TokenDataset
from lisdata.token_shards.segments import DOCUMENT, TOKEN_KIND

Int64 = npt.NDArray[np.int64]
_RESOLUTION = 1 << 40  # of the weights: less than a draw off after 10^11 draws
_DRAWS_AT_ONCE = 1 << 16
_MARKS_KEPT = 8


class Mixture:
    """Token datasets that a `Loader` draws from by weight: after any number of draws, each is within 1 of its due.

    The k-th draw from a source is element k of its own order: each row once before any comes again, whatever the other
    sources do. `weights` are relative. Without them a source of n rows weighs n ** (1 / temperature): temperature 1
    (the default) is in proportion, a higher one levels sizes. An epoch of the loader is `num_rows` draws (by default as
    many as all sources have rows); the sources' own epochs go on from one to the next.

    Sources are TokenDatasets or their folders. They must have one tokenizer, and where `role` is stored, roles of which
    one list begins with the other: raises LabelError otherwise.
    """

    def __init__(
        self,
        datasets: Sequence[TokenDataset | StrPath],
        *,
        weights: Sequence[float] | None = None,
        temperature: float | None = None,
        num_rows: int | None = None,
    ) -> None:
        self.datasets = tuple(open_tokens(dataset) for dataset in datasets)
        self.sizes = tuple(len(dataset) for dataset in self.datasets)
        if not self.datasets or min(self.sizes) < 1:
            raise ValueError(f"expected at least one dataset, and rows in each, got {self.sizes} rows")
        if num_rows is not None and num_rows < 0:
            raise ValueError(f"expected {num_rows=} of at least 0")
        _check_alike(self.datasets)
        self.weights = _shares(self.sizes, weights, temperature)
        self._num_rows = sum(self.sizes) if num_rows is None else num_rows
        self.first_row = np.concatenate(([0], np.cumsum(self.sizes)))

    def __len__(self) -> int:
        """Return the draws of an epoch."""
        return self._num_rows

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the sources' fingerprints and weights."""
        facts = [*(dataset.fingerprint for dataset in self.datasets), *map(str, self.weights), str(self._num_rows)]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def lengths(self, rows: Int64) -> Int64:
        """Return the number of tokens of rows, which are numbered through all sources, one after the other."""
        found = np.empty(len(rows), np.int64)
        source = self.source_of(rows)
        for number, dataset in enumerate(self.datasets):
            here = source == number
            if here.any():
                found[here] = dataset.lengths(rows[here] - self.first_row[number])
        return found

    def source_of(self, rows: Int64) -> Int64:
        """Return the number of the source of each row."""
        source: Int64 = np.searchsorted(self.first_row, rows, side="right") - 1
        return source

    def order(self, of_source: Callable[[int, int], Order], seed: int) -> MixedOrder:
        """Return the order of the draws; `of_source` makes that of so many rows and a seed of its own."""
        orders = tuple(of_source(size, _seed_of(seed, number)) for number, size in enumerate(self.sizes))
        return MixedOrder(mixture=self, orders=orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedOrder:
    """The draws of a mixture as an order: element t of epoch e is draw e * num_rows + t.

    Draws are counted from the last known mark before them: fast for elements that come one after the other.
    """

    mixture: Mixture
    orders: tuple[Order, ...]
    _marks: dict[int, Int64] = field(default_factory=dict, repr=False, compare=False)

    @property
    def num_rows(self) -> int:
        """See `Order`."""
        return len(self.mixture)

    @property
    def settings(self) -> dict[str, Any]:
        """See `Order`."""
        return {"algorithm": "mixture-1", "of": self.orders[0].settings}

    def rows(self, elements: Int64, epoch: int) -> Int64:
        """See `Order`."""
        if not len(elements):
            return np.empty(0, np.int64)
        first, last = int(elements.min()), int(elements.max()) + 1
        begin = epoch * self.num_rows
        sources, counts = self._draws(begin + first, begin + last)
        wanted = elements - first
        found = np.empty(len(elements), np.int64)
        for number, order in enumerate(self.orders):
            is_of = sources == number
            here = is_of[wanted]
            if here.any():
                draws = counts[number] + (np.cumsum(is_of) - 1)[wanted[here]]
                found[here] = self.mixture.first_row[number] + _rows_of_draws(order, draws)
        return found

    def drawn(self, draws: int) -> list[int]:
        """Return how many of the first `draws` each source has."""
        return [int(count) for count in self._counts(draws)]

    def resume(self, draws: int, drawn: Sequence[Any]) -> None:
        """Take the counts of a state, so that they need not be counted again.

        Raises PlanError where they cannot be so.
        """
        due = [share * draws for share in self._shares]
        is_whole = len(drawn) == len(due) and all(type(count) is int for count in drawn)
        if not is_whole or sum(drawn) != draws or any(abs(n - d) >= 1 for n, d in zip(drawn, due, strict=True)):
            raise PlanError(f"state of a loader: expected {draws} draws by the weights, found {drawn!r}")
        self._mark(draws, np.array(drawn, np.int64))

    @property
    def _shares(self) -> list[Fraction]:
        whole = sum(self.mixture.weights)
        return [Fraction(weight, whole) for weight in self.mixture.weights]

    def _draws(self, begin: int, end: int) -> tuple[Int64, Int64]:
        """Return the sources of draws [begin, end), and how many draws of each source come before."""
        from lisdata.kernels.mixing import draw

        counts = self._counts(begin)
        sources = draw(np.array(self.mixture.weights, np.int64), self._lag(begin, counts), end - begin)
        self._mark(end, counts + np.bincount(sources, minlength=len(counts)))
        return sources, counts

    def _counts(self, draws: int) -> Int64:
        known = max((mark for mark in self._marks if mark <= draws), default=0)
        counts = self._marks.get(known, np.zeros(len(self.orders), np.int64))
        if known == draws:
            return counts
        from lisdata.kernels.mixing import draw

        weights, lag = np.array(self.mixture.weights, np.int64), self._lag(known, counts)
        for at in range(known, draws, _DRAWS_AT_ONCE):
            sources = draw(weights, lag, min(_DRAWS_AT_ONCE, draws - at))
            counts = counts + np.bincount(sources, minlength=len(counts))
        self._mark(draws, counts)
        return counts

    def _lag(self, draws: int, counts: Int64) -> Int64:
        weights = self.mixture.weights
        whole = sum(weights)
        return np.array([w * draws - int(n) * whole for w, n in zip(weights, counts, strict=True)], np.int64)

    def _mark(self, draws: int, counts: Int64) -> None:
        self._marks.pop(draws, None)
        self._marks[draws] = counts
        while len(self._marks) > _MARKS_KEPT:
            self._marks.pop(next(iter(self._marks)))


def open_tokens(dataset: TokenDataset | StrPath) -> TokenDataset:
    """Return a token dataset, opened if it is a folder; raise ValueError for what is none."""
    found = open_dataset(dataset) if isinstance(dataset, str | os.PathLike) else dataset
    if isinstance(found, IncidenceDataset):
        raise ValueError(f"{found.path} holds structures, not yet tokens: encode it first (lisdata.encode)")
    if not isinstance(found, TokenDataset):
        raise ValueError(f"expected a TokenDataset or the folder of one, got {type(found).__name__}")
    return found


def pad_id_of(dataset: TokenDataset | Mixture) -> int | None:
    """Return the padding token of a dataset's tokenizer, None where it has none."""
    one = dataset.datasets[0] if isinstance(dataset, Mixture) else dataset
    pad_id: int | None = (one.manifest.get("tokenizer") or {}).get("pad_id")
    return pad_id


def shared_columns(datasets: Sequence[TokenDataset]) -> tuple[str, ...]:
    """Return the columns that all have; `document` and `token_kind` also where only some store them."""
    names = dict.fromkeys(name for dataset in datasets for name in dataset.columns)
    derived = (DOCUMENT, TOKEN_KIND)
    return tuple(name for name in names if name in derived or all(name in d.columns for d in datasets))


def _rows_of_draws(order: Order, draws: Int64) -> Int64:
    epochs, elements = np.divmod(draws, order.num_rows)
    if epochs.min() == epochs.max():
        return order.rows(elements, int(epochs[0]))
    rows = np.empty(len(draws), np.int64)
    for epoch in np.unique(epochs).tolist():
        here = epochs == epoch
        rows[here] = order.rows(elements[here], epoch)
    return rows


def _shares(sizes: Sequence[int], weights: Sequence[float] | None, temperature: float | None) -> tuple[int, ...]:
    """Return the weights as integers above 0."""
    if weights is not None and temperature is not None:
        raise ValueError("expected weights or a temperature, got both")
    if temperature is not None and not temperature > 0:
        raise ValueError(f"expected a temperature above 0, got {temperature}")
    if weights is None:
        largest = max(sizes)
        weights = [(size / largest) ** (1 / (temperature or 1.0)) for size in sizes]
    if len(weights) != len(sizes) or not all(0 < weight < float("inf") for weight in weights):
        raise ValueError(f"expected a weight above 0 for each of {len(sizes)} datasets, got {list(weights)}")
    whole = sum(map(Fraction, weights))
    return tuple(max(1, round(Fraction(weight) * _RESOLUTION / whole)) for weight in weights)


def _seed_of(seed: int, source: int) -> int:
    digest = hashlib.blake2b(f"lisdata mixture 1/{seed}/{source}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "little")


def _check_alike(datasets: Sequence[TokenDataset]) -> None:
    """Raise LabelError where a number would not mean the same in all datasets."""
    first = datasets[0]
    for other in datasets[1:]:
        found, expected = (((d.manifest.get("tokenizer") or {}).get("sha256")) for d in (other, first))
        if found != expected:
            raise LabelError(f"{other.path}: expected the tokenizer of {first.path}, found another")
        if "role" in first.columns and "role" in other.columns:
            short, long = sorted((first.roles, other.roles), key=len)
            if long[: len(short)] != short:
                raise LabelError(f"{other.path}: expected roles numbered as in {first.path} (encode with its labels)")
