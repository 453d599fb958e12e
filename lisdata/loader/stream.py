"""From the settings of a loader to what it goes through: an order, its steps, and what makes batches of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lisdata.errors import PlanError
from lisdata.loader.assembling import BEGIN, PACK, SOURCE, BatchAssembler
from lisdata.loader.batches import BatchForm, BatchMaker
from lisdata.loader.buckets import BucketOrder
from lisdata.loader.grouping import DEFAULT_PACK_WINDOW, GroupedSplit, Grouping, LongRows, Packing, TokenBudget
from lisdata.loader.mixing import MixedOrder, Mixture
from lisdata.loader.order import Order, Shuffle, order_of
from lisdata.loader.plans import Progress, RowSplit, Split, Steps, Tail
from lisdata.loader.prefetch import Maker
from lisdata.token_shards.dataset import TokenDataset

_PACK_NAMES = {"length": "pack_to", "window": "pack_window", "long": "long_rows"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """How batches are spread: see `Loader`."""

    batch_size: int | None
    rank: int
    world_size: int
    tail: Tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """How rows are put together to packs or batches, if they are: see `Loader`."""

    pack_to: int | None = None
    pack_window: int | None = None
    long_rows: LongRows = "cut"
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.pack_to is not None and self.max_tokens is not None:
            raise ValueError(f"expected pack_to={self.pack_to} or max_tokens={self.max_tokens}, got both")
        if self.pack_to is None and (self.pack_window is not None or self.long_rows != "cut"):
            raise ValueError(f"expected pack_to with pack_window={self.pack_window}, long_rows={self.long_rows!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What a loader goes through; `counted` counts the draws of a mixture, apart from the order that makes rows."""

    order: Order
    steps: Steps
    maker: Maker
    mixed: MixedOrder | None
    counted: MixedOrder | None

    @property
    def settings(self) -> dict[str, Any]:
        """All that the rows depend on but the epoch, kept in a loader's state."""
        grouped = self.steps.settings
        return {"of": self.order.settings, **grouped} if grouped else self.order.settings

    def resume(self, epoch: int, progress: Progress, drawn: Any) -> None:
        """Get ready for the rest of an epoch; raise PlanError where it cannot be so far."""
        if self.mixed is not None and self.counted is not None:
            if not isinstance(drawn, list):
                raise PlanError(f"state of a loader: expected the draws from each source, found {drawn!r}")
            for order in (self.mixed, self.counted):
                order.resume(epoch * order.num_rows + progress.consumed, drawn)
        self.steps.check(epoch, progress)


def make_orders(
    dataset: TokenDataset | Mixture, *, shuffle: Shuffle, window: int | None, seed: int
) -> tuple[Order, MixedOrder | None]:
    """Return the order of a dataset, or that of a mixture and again, to count with."""
    if isinstance(dataset, TokenDataset):
        return order_of(len(dataset), shuffle=shuffle, window=window, seed=seed), None

    def of_source(num_rows: int, own_seed: int) -> Order:
        return order_of(num_rows, shuffle=shuffle, window=window, seed=own_seed)

    return dataset.order(of_source, seed), dataset.order(of_source, seed)


def make_stream(
    dataset: TokenDataset | Mixture,
    orders: tuple[Order, MixedOrder | None],
    topology: Topology,
    form: BatchForm,
    grouped: Grouped,
    *,
    bucket: int | None,
    seed: int,
    pin: bool,
) -> Stream:
    """Return what a loader with these settings goes through."""
    order, counted = orders
    mixed = order if isinstance(order, MixedOrder) else None
    grouping = _grouping(topology.batch_size, form, grouped, bucket=bucket, seed=seed)
    if bucket is not None and grouping is None:
        order = BucketOrder(base=order, dataset=dataset, size=bucket, seed=seed)
    has_filler = topology.tail == "pad"
    steps: Steps
    spread: Any = {"rank": topology.rank, "world_size": topology.world_size, "tail": topology.tail}
    if grouping is None:
        split = Split(num_rows=order.num_rows, batch_size=_required(topology.batch_size), **spread)
        if isinstance(dataset, TokenDataset):
            maker = BatchMaker(dataset, order, form, has_filler=has_filler, pin=pin)
            return Stream(order=order, steps=split, maker=maker, mixed=None, counted=None)
        steps = RowSplit(split=split, order=order)
    else:
        steps = GroupedSplit(order=order, lengths=dataset, grouping=grouping, **spread)
    if isinstance(grouping, TokenBudget):
        form = replace(form, max_length=grouping.row_limit)
    datasets = (dataset,) if isinstance(dataset, TokenDataset) else dataset.datasets
    first_row = np.zeros(2, np.int64) if isinstance(dataset, TokenDataset) else dataset.first_row
    facts = {SOURCE: mixed is not None, PACK: grouped.pack_to is not None, BEGIN: grouped.long_rows == "split"}
    assembler = BatchAssembler(
        datasets,
        first_row,
        form,
        pack_to=grouped.pack_to,
        extras=[name for name, is_given in facts.items() if is_given],
        has_filler=has_filler,
        pin=pin,
    )
    return Stream(order=order, steps=steps, maker=assembler, mixed=mixed, counted=counted)


def _grouping(
    batch_size: int | None, form: BatchForm, grouped: Grouped, *, bucket: int | None, seed: int
) -> Grouping | None:
    if grouped.pack_to is not None:
        if bucket is not None or form.pad_to is not None:
            raise ValueError(f"packs are full whatever the lengths: expected none of {bucket=}, {form.pad_to=}")
        return Packing(
            length=grouped.pack_to,
            window=DEFAULT_PACK_WINDOW if grouped.pack_window is None else grouped.pack_window,
            num_packs=_required(batch_size),
            long_rows=grouped.long_rows,
            max_length=form.max_length,
        )
    if grouped.max_tokens is None:
        return None
    return TokenBudget(
        max_tokens=grouped.max_tokens,
        is_padded=form.layout == "padded",
        max_rows=batch_size,
        bucket=bucket,
        seed=seed,
        pad_to=form.pad_to or 1,
        max_length=form.max_length,
    )


def _required(batch_size: int | None) -> int:
    if batch_size is None:
        raise ValueError("expected a batch size, or max_tokens")
    return batch_size


def describe_change(name: str, expected: Any, found: Any) -> str:
    """Say which settings differ, with both values; what is no settings is shown whole."""
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return f"{name} {expected!r}, found {found!r}"
    before, after = dict(_iter_leaves(expected)), dict(_iter_leaves(found))
    changes = [
        f"{key} {before.get(key)!r}, found {after.get(key)!r}"
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    ]
    return f"{name} with {'; '.join(changes)}" if changes else f"{name} {expected!r}, found {found!r}"


def _iter_leaves(settings: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield single settings by the loader's names; those of what rows are drawn from ("of") stand beside the rest."""
    names = _PACK_NAMES if "groups" in settings else {}
    for name, value in settings.items():
        if name == "of" and isinstance(value, dict):
            yield from _iter_leaves(value)
        else:
            yield names.get(name, name), value
