"""Batches put together row by row: rows of several sources, several rows to a line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lisdata.loader.batches import LENGTH, REAL, Batch, BatchForm
from lisdata.loader.mixing import shared_columns
from lisdata.loader.plans import RowsPlan
from lisdata.token_shards.batch import ROW
from lisdata.token_shards.dataset import TokenDataset
from lisdata.token_shards.schema import INPUT_IDS, KIND
from lisdata.token_shards.segments import DOCUMENT, PADDING, TOKEN_KIND, Selection

Int64 = npt.NDArray[np.int64]
SOURCE, PACK, BEGIN = "source", "pack", "begin"
POSITION_IDS, SEQ_LENS, CU_SEQLENS = "position_ids", "seq_lens", "cu_seqlens"
# Rows of the table of located rows: see `kernels.gather`.
_SEGMENT, _BEGIN, _ROW, _LENGTH, _KIND = range(5)


class AssembledShape(NamedTuple):
    """Sizes of a batch, which say where its views begin: R, B, T (padded), tokens, sequences, lines without filler."""

    num_rows: int
    num_lines: int
    width: int
    total: int
    num_sequences: int
    num_real: int


class _Columns(NamedTuple):
    """The columns of a batch: in their order, and those in memory, wide ones first; `numbered` are made from lines."""

    names: tuple[str, ...]
    wide: tuple[str, ...]
    narrow: tuple[str, ...]
    numbered: tuple[tuple[str, ...], tuple[str, ...]]
    selections: tuple[tuple[Selection, Selection], ...]
    documents: tuple[Selection, ...]


class BatchAssembler:
    """Makes batches from plans of rows, in this process or as the dataset of worker processes.

    `first_row` says where the rows of each dataset begin in the numbers of a plan. With `pack_to` a line of a batch is
    a pack of that many tokens, else one row.
    """

    def __init__(
        self,
        datasets: Sequence[TokenDataset],
        first_row: Int64,
        form: BatchForm,
        *,
        pack_to: int | None,
        extras: Sequence[str],
        has_filler: bool,
        pin: bool,
    ) -> None:
        self._datasets, self._first_row, self._form = tuple(datasets), first_row, form
        self._pack_to, self._extras, self._has_filler, self._pin = pack_to, tuple(extras), has_filler, pin

    @cached_property
    def _columns(self) -> _Columns:
        is_padded, is_packed = self._form.layout == "padded", self._pack_to is not None
        stored = shared_columns(self._datasets)
        derived = (DOCUMENT, TOKEN_KIND, *([POSITION_IDS] if is_packed else []))
        names = self._form.columns
        if names is None:
            added = derived if is_padded else (DOCUMENT, POSITION_IDS) if is_packed else ()
            names = tuple(dict.fromkeys((*stored, *added)))
        for name in names:
            if name not in stored and name not in derived:
                raise ValueError(f"no column {name!r}: expected one of {', '.join((*stored, *derived))}")
        made = [name for name in names if is_packed and name in (DOCUMENT, POSITION_IDS)]
        copied = [name for name in names if name not in made]
        needing = set()
        for dataset in self._datasets:
            found = dataset.segments.select(copied, all_wide=is_padded)
            needing |= set(found.names[: found.num_wide])
        wide, narrow = [n for n in copied if n in needing], [n for n in copied if n not in needing]
        numbered = (tuple(made), ()) if is_padded else ((), tuple(made))
        return _Columns(
            names=names,
            wide=(*wide, *numbered[0]),
            narrow=(*narrow, *numbered[1]),
            numbered=numbered,
            selections=tuple(
                (d.segments.select(wide, all_wide=True), d.segments.select(narrow, all_wide=False))
                for d in self._datasets
            ),
            documents=tuple(d.segments.select((DOCUMENT,), all_wide=False) for d in self._datasets),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_columns"}

    def check_columns(self) -> None:
        """Raise ValueError when the form asks for a column that is not there."""
        self._columns  # noqa: B018

    def __getitem__(self, plan: RowsPlan) -> tuple[Tensor, AssembledShape]:
        """Return a batch as its memory and its shape: what a worker process sends."""
        table, source = self._locate(plan)
        lengths = table[_LENGTH]
        used = np.bincount(plan.lines, lengths, minlength=plan.num_lines).astype(np.int64)
        width, begins = self._line_places(used)
        # Rows follow each other in their line.
        before = np.cumsum(lengths) - lengths
        places = before + (begins - (np.cumsum(used) - used))[plan.lines]
        total = plan.num_lines * width if self._form.layout == "padded" else int(lengths.sum())
        numbers, sequences = np.empty(0, np.int64), np.empty(0, np.int64)
        if self._pack_to is not None:
            documents = self._copy_documents(table, source, before, int(lengths.sum()))
            numbers, sequences = _sequences(documents, lengths, plan.lines, used, width)
        extras = {SOURCE: source, PACK: plan.lines, BEGIN: plan.skips}
        head = np.stack((table[_ROW], lengths, table[_KIND], *(extras[name] for name in self._extras)))
        shape = AssembledShape(len(plan.rows), plan.num_lines, width, total, len(sequences), plan.num_real)
        memory = torch.empty(self._sections(shape)[-1], dtype=torch.int64, pin_memory=self._pin)
        gaps = (begins + used, begins + width) if width else (np.empty(0, np.int64), np.empty(0, np.int64))
        self._fill(memory.numpy(), shape, head, (table, source, places), gaps, (numbers, sequences))
        return memory, shape

    def views(self, memory: Tensor, shape: AssembledShape) -> Batch:
        """Cut the memory of a batch into its tensors."""
        columns, (head, wide, _, _) = self._columns, self._sections(shape)
        size = (shape.num_lines, shape.width) if self._form.layout == "padded" else (shape.total,)
        by_name: Batch = dict(zip(columns.wide, memory[head:wide].view(len(columns.wide), *size), strict=True))
        words = memory.view(torch.int32)[2 * wide :]
        end = len(columns.narrow) * shape.total
        by_name |= dict(zip(columns.narrow, words[:end].view(len(columns.narrow), *size), strict=True))
        batch = {name: by_name[name] for name in columns.names}
        facts = (LENGTH, KIND, ROW)
        row, length, kind, *extras = memory[:head].view(3 + len(self._extras), shape.num_rows).unbind(0)
        batch |= dict(zip(facts, (length, kind, row), strict=True)) | dict(zip(self._extras, extras, strict=True))
        if self._pack_to is not None:
            middle = end + shape.num_sequences
            batch |= {SEQ_LENS: words[end:middle], CU_SEQLENS: words[middle : middle + shape.num_sequences + 1]}
        if self._has_filler:
            batch[REAL] = torch.arange(shape.num_lines) < shape.num_real
        return batch

    def make(self, plan: RowsPlan) -> Batch:
        """Return a batch."""
        return self.views(*self[plan])

    def _locate(self, plan: RowsPlan) -> tuple[Int64, Int64]:
        """Return the table of located rows, cut as they are to be copied, and the source of each."""
        limit = self._form.max_length
        if len(self._datasets) == 1:
            source = np.zeros(len(plan.rows), np.int64)
            table = self._datasets[0].segments.locate(plan.rows, limit).table
        else:
            source = np.searchsorted(self._first_row, plan.rows, side="right") - 1
            table = np.empty((5, len(plan.rows)), np.int64)
            for number, here in _by_source(source):
                local = plan.rows[here] - self._first_row[number]
                table[:, here] = self._datasets[number].segments.locate(local, limit).table
        if self._pack_to is not None:
            table[_BEGIN] += plan.skips
            table[_LENGTH] = np.minimum(table[_LENGTH] - plan.skips, self._pack_to)
        return table, source

    def _line_places(self, used: Int64) -> tuple[int, Int64]:
        """Return T (0 in the flat layout), and where each line begins."""
        if self._form.layout == "flat":
            return 0, np.cumsum(used) - used
        width = self._form.width(int(used.max(initial=0))) if self._pack_to is None else self._pack_to
        return width, np.arange(len(used)) * width

    def _copy_documents(self, table: Int64, source: Int64, places: Int64, total: int) -> npt.NDArray[np.int32] | None:
        """Return `document` of the rows, end to end, or None where a row is one document."""
        if not any(DOCUMENT in dataset.columns for dataset in self._datasets):
            return None
        found = np.empty(total, np.int32)
        _place(self._columns.documents, (table, source, places), total, found)
        return found

    def _fill(
        self,
        words: Int64,
        shape: AssembledShape,
        head: Int64,
        rows: tuple[Int64, Int64, Int64],
        gaps: tuple[Int64, Int64],
        numbered: tuple[Int64, Int64],
    ) -> None:
        """Write all of a batch: facts of rows, columns, padding, sequences."""
        from lisdata.kernels.placing import fill_columns

        columns, (head_end, wide_end, _, _) = self._columns, self._sections(shape)
        words[:head_end] = head.reshape(-1)
        after_wide = words[wide_end:].view(np.int32)
        narrow_end = len(columns.narrow) * shape.total
        targets: tuple[npt.NDArray[Any], ...] = (words[head_end:wide_end], after_wide[:narrow_end])
        for place, (target, names) in enumerate(zip(targets, (columns.wide, columns.narrow), strict=True)):
            if not len(target):
                continue
            made = columns.numbered[place]
            _place([found[place] for found in columns.selections], rows, shape.total, target)
            num_copied = len(names) - len(made)
            padding = [self._form.pad_id if n == INPUT_IDS else PADDING.get(n, 0) for n in names[:num_copied]]
            fill_columns(np.array(padding, np.int64), *gaps, shape.total, target)
            for number, name in enumerate(made, num_copied):
                _number(name, *numbered, target[number * shape.total : (number + 1) * shape.total])
        if self._pack_to is not None:
            sizes = numbered[1]
            bounds = np.concatenate(([0], np.cumsum(sizes)))
            after_wide[narrow_end : narrow_end + len(sizes) + len(bounds)] = np.concatenate((sizes, bounds))

    def _sections(self, shape: AssembledShape) -> tuple[int, int, int, int]:
        """Return where facts of rows, wide columns, narrow columns and all end, in int64 (the third in int32)."""
        head = (3 + len(self._extras)) * shape.num_rows
        wide = head + len(self._columns.wide) * shape.total
        narrow = 2 * wide + len(self._columns.narrow) * shape.total
        end = narrow if self._pack_to is None else narrow + 2 * shape.num_sequences + 1
        return head, wide, narrow, (end + 1) // 2


def _by_source(source: Int64) -> list[tuple[int, npt.NDArray[np.intp]]]:
    return [(number, np.flatnonzero(source == number)) for number in np.unique(source).tolist()]


def _place(
    selections: Sequence[Selection], rows: tuple[Int64, Int64, Int64], size: int, target: npt.NDArray[Any]
) -> None:
    """Copy located rows, by source, to their places in columns of `size`."""
    from lisdata.kernels.placing import place_columns

    table, source, places = rows
    if len(selections) == 1:
        place_columns(selections[0].codes, selections[0].values_at, table, places, size, target)
        return
    for number, here in _by_source(source):
        chosen = selections[number]
        located = np.ascontiguousarray(table[:, here])
        place_columns(chosen.codes, chosen.values_at, located, places[here], size, target)


def _sequences(
    documents: npt.NDArray[np.int32] | None, lengths: Int64, lines: Int64, used: Int64, width: int
) -> tuple[Int64, Int64]:
    """Return the number (-1: padding) and the length of each sequence of a batch of packs, in order.

    Documents are runs of one value in a row. They are numbered in their line where it is padded to `width`, else
    through the batch; padding at the end of a line is a sequence too, so that sequences cover the batch.
    """
    begins = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    if documents is None:
        runs, line = begins[lengths > 0], lines[lengths > 0]
    else:
        is_begin = np.empty(total, np.bool_)
        is_begin[1:] = documents[1:] != documents[:-1]
        is_begin[begins[lengths > 0]] = True
        runs = np.flatnonzero(is_begin)
        line = np.repeat(lines, lengths)[runs]
    sizes = np.diff(runs, append=total)
    numbers = np.arange(len(runs))
    if not width:
        return numbers, sizes
    numbers -= np.searchsorted(line, line)
    gaps = width - used
    padded = np.flatnonzero(gaps)
    order = np.argsort(np.concatenate((line, padded)), kind="stable")
    numbers = np.concatenate((numbers, np.full(len(padded), -1)))[order]
    return numbers, np.concatenate((sizes, gaps[padded]))[order]


def _number(name: str, numbers: Int64, sizes: Int64, target: npt.NDArray[Any]) -> None:
    """Write `document` or `position_ids` (the place in the document) of all tokens."""
    if name == DOCUMENT:
        target[:] = np.repeat(numbers, sizes)
    else:
        target[:] = np.arange(len(target)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
