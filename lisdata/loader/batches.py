"""Batches of tensors: one block of memory a batch (cheap to hand over from a worker process), cut into views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lisdata.loader.order import Order
from lisdata.loader.plans import BatchPlan
from lisdata.token_shards.batch import ROW, TokenBatch
from lisdata.token_shards.dataset import TokenDataset
from lisdata.token_shards.schema import KIND
from lisdata.token_shards.segments import DOCUMENT, TOKEN_KIND, Segments, Selection, copy_rows, segments_of_arrays

Int64 = npt.NDArray[np.int64]
Batch = dict[str, Tensor]
LENGTH, REAL = "length", "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchForm:
    """What batches look like.

    "padded": (B, T) int64 a column, T the longest row of the batch, rounded up to a multiple of `pad_to`. "flat": rows
    end to end, int32 (int64 where a column needs it). `max_length` cuts rows; `length` is after the cut. `columns` None
    are all that are stored, and in padded batches `document` and `token_kind` too.

    Of packs, B lines of T = `pack_to` tokens (or flat), each of the R rows in them has a `length`, `kind`, `row`,
    `pack` (its line) and, where long rows are split, `begin` (its first token), and there are:
    `document`, from 0 in each line (through the batch in the flat layout): what must not attend to each other;
    `position_ids`, from 0 in each document; `seq_lens` (S) and `cu_seqlens` (S + 1), int32: the lengths and bounds of
    the documents, end to end, padding at the end of a line being a sequence too. `real` is (B), of packs.
    """

    layout: Literal["padded", "flat"] = "padded"
    columns: tuple[str, ...] | None = None
    pad_to: int | None = None
    max_length: int | None = None
    pad_id: int = 0

    def __post_init__(self) -> None:
        if self.layout not in ("padded", "flat"):
            raise ValueError(f"expected layout of padded or flat, got {self.layout!r}")
        if self.pad_to is not None and (self.pad_to < 1 or self.layout == "flat"):
            raise ValueError(f"expected {self.pad_to=} of at least 1, with the padded layout")
        if self.max_length is not None and self.max_length < 1:
            raise ValueError(f"expected {self.max_length=} of at least 1")

    def select(self, segments: Segments, stored: Sequence[str]) -> tuple[tuple[str, ...], Selection]:
        """Return the names of a batch's columns, in order, and how to copy them."""
        is_padded = self.layout == "padded"
        derived = (DOCUMENT, TOKEN_KIND)
        names = self.columns
        if names is None:
            names = tuple(dict.fromkeys((*stored, *derived))) if is_padded else tuple(stored)
        for name in names:
            if name not in stored and name not in derived:
                raise ValueError(f"no column {name!r}: expected one of {', '.join((*stored, *derived))}")
        return names, segments.select(names, all_wide=is_padded, pad_id=self.pad_id)

    def width(self, longest: int) -> int:
        """Return T of a padded batch."""
        multiple = self.pad_to or 1
        return -(-longest // multiple) * multiple


class BatchShape(NamedTuple):
    """Sizes of a batch, which say where its views begin: B, T (padded), sum of lengths, rows that are no filler."""

    num_rows: int
    width: int
    total: int
    num_real: int


class BatchMaker:
    """Makes batches from plans, in this process or as the dataset of worker processes."""

    def __init__(self, dataset: TokenDataset, order: Order, form: BatchForm, *, has_filler: bool, pin: bool) -> None:
        self._dataset, self._order, self._form = dataset, order, form
        self._has_filler, self._pin = has_filler, pin

    @cached_property
    def _names_and_selection(self) -> tuple[tuple[str, ...], Selection]:
        return self._form.select(self._dataset.segments, self._dataset.columns)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_names_and_selection"}

    def check_columns(self) -> None:
        """Raise ValueError when the form asks for a column that is not there."""
        self._names_and_selection  # noqa: B018

    def __getitem__(self, plan: BatchPlan) -> tuple[Tensor, BatchShape]:
        """Return a batch as its memory and its shape: what a worker process sends."""
        elements = np.arange(plan.begin, plan.end)
        if plan.num_filler:
            elements = np.concatenate((elements, np.arange(plan.num_filler) % self._order.num_rows))
        rows = self._order.rows(elements, plan.epoch)
        _, selection = self._names_and_selection
        return _fill(self._dataset.segments, selection, rows, self._form, plan.end - plan.begin, pin=self._pin)

    def views(self, memory: Tensor, shape: BatchShape) -> Batch:
        """Cut the memory of a batch into its tensors."""
        names, selection = self._names_and_selection
        batch = _cut(memory, shape, names, selection, self._form)
        if self._has_filler:
            batch[REAL] = torch.ones(shape.num_rows, dtype=torch.bool)
            batch[REAL][shape.num_real :] = False
        return batch

    def make(self, plan: BatchPlan) -> Batch:
        """Return a batch."""
        return self.views(*self[plan])


class BatchCollator:
    """A `collate_fn` for `torch.utils.data.DataLoader` over a TokenDataset: pads rows as a Loader does.

    >>> loader = DataLoader(dataset, batch_size=8, shuffle=True, collate_fn=BatchCollator())  # doctest: +SKIP
    """

    def __init__(self, form: BatchForm | None = None) -> None:
        self.form = BatchForm() if form is None else form

    def __call__(self, rows: TokenBatch | Sequence[Mapping[str, Any]]) -> Batch:
        """Return the rows as a batch; they are dicts of a TokenDataset, or what its `__getitems__` returns."""
        found = rows if isinstance(rows, TokenBatch) else TokenBatch.from_rows(rows)
        columns = {name: np.ascontiguousarray(values) for name, values in found.columns.items()}
        segments = segments_of_arrays(found.offsets, columns, found.kind.astype(np.uint8))
        names, selection = self.form.select(segments, tuple(columns))
        memory, shape = _fill(segments, selection, np.arange(len(found)), self.form, len(found), pin=False)
        batch = _cut(memory, shape, names, selection, self.form)
        batch[ROW] = torch.from_numpy(found.row.copy())
        return batch


def _fill(
    segments: Segments, selection: Selection, rows: Int64, form: BatchForm, num_real: int, *, pin: bool
) -> tuple[Tensor, BatchShape]:
    """Gather rows into new memory: row numbers, lengths and kinds (int64), then wide columns, then int32 ones."""
    located = segments.locate(rows, form.max_length)
    num_rows = len(rows)
    width = form.width(located.longest) if form.layout == "padded" else 0
    size = num_rows * width if form.layout == "padded" else located.total
    wide_end = 3 * num_rows + selection.num_wide * size
    num_narrow = (len(selection.names) - selection.num_wide) * size
    memory = torch.empty(wide_end + (num_narrow + 1) // 2, dtype=torch.int64, pin_memory=pin)
    words: Int64 = memory.numpy()
    words[: 3 * num_rows] = located.table[2:].reshape(-1)
    narrow = words[wide_end:].view(np.int32)[:num_narrow]
    copy_rows(selection, located, width, words[3 * num_rows : wide_end], narrow)
    return memory, BatchShape(num_rows, width, located.total, num_real)


def _cut(memory: Tensor, shape: BatchShape, names: Sequence[str], selection: Selection, form: BatchForm) -> Batch:
    num_rows, width, total, _ = shape
    num_wide, num_narrow = selection.num_wide, len(selection.names) - selection.num_wide
    is_padded = form.layout == "padded"
    size = (num_rows, width) if is_padded else (total,)
    wide_end = 3 * num_rows + num_wide * (num_rows * width if is_padded else total)
    row, length, kind = memory[: 3 * num_rows].view(3, num_rows).unbind(0)
    columns: list[Tensor] = []
    if num_wide:
        columns += memory[3 * num_rows : wide_end].view(num_wide, *size).unbind(0)
    if num_narrow:
        narrow = memory.view(torch.int32)[2 * wide_end : 2 * wide_end + num_narrow * total]
        columns += narrow.view(num_narrow, total).unbind(0)
    by_name = dict(zip(selection.names, columns, strict=True))
    return {name: by_name[name] for name in names} | {LENGTH: length, KIND: kind, ROW: row}
