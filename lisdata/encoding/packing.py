"""Fills rows of a fixed number of tokens with several structures, and cuts longer ones into windows."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.part_tables import NONE
from lisdata.encoding.pieces import Int64, offsets_of, row_numbers
from lisdata.encoding.token_rows import TokenRows
from lisdata.schema import StructureKind


class ContextPacker:
    """Packs structures, given in dataset order, into rows of at most `context` tokens.

    A structure longer than that is first cut into windows of `context` tokens and a rest; tokens keep the role,
    instance number and position that they have in the whole. Then a row takes the next structure or window as long as
    it fits, so a full window is a row of its own and a rest may share one. Inside a row, text comes after all other
    kinds (facts first, LIS appendix F.4), each in dataset order. Structures without tokens take no place.

    Rows get the columns `document` (number of the structure in the row, from 0) and `token_kind` (its StructureKind);
    instance numbers go on from structure to structure of a row. A row has the record id of its first structure.
    """

    def __init__(self, context: int, counts: EncodeCounts) -> None:
        self._context = context
        self._counts = counts
        self._open: TokenRows | None = None

    def push(self, rows: TokenRows) -> TokenRows:
        """Add structures and return the rows that are complete."""
        segments = self._cut(rows)
        if self._open is not None:
            segments = TokenRows.concatenate([self._open, segments])
        ends = _fill(segments.lengths, self._context)
        complete = int(ends[-2]) if len(ends) > 1 else 0
        self._open = segments.slice(complete, segments.num_rows)
        return _pack(segments.slice(0, complete), ends[:-1])

    def finish(self) -> TokenRows | None:
        """Return the row that is still open, or None; nothing may be pushed after."""
        if self._open is None or not self._open.num_rows:
            return None
        return _pack(self._open, np.array([self._open.num_rows]))

    def _cut(self, rows: TokenRows) -> TokenRows:
        """Return windows of at most `context` tokens as rows; structures without tokens vanish."""
        lengths = rows.lengths
        num_windows = -(-lengths // self._context)
        self._counts.structures_continued_in_next_row += int(np.count_nonzero(num_windows > 1))
        if np.all(num_windows == 1):
            return rows
        row = row_numbers(offsets_of(num_windows))
        window = np.arange(len(row)) - offsets_of(num_windows)[row]
        begins = rows.offsets[row] + window * self._context
        return rows.cut(row, begins, np.minimum(self._context, rows.offsets[row + 1] - begins))


def _fill(lengths: Int64, context: int) -> Int64:
    """Return the end (in segments) of each row, taking the next segment as long as it fits."""
    totals: list[int] = np.cumsum(lengths).tolist()
    ends: list[int] = []
    begin = filled = 0
    while begin < len(totals):
        begin = bisect_right(totals, filled + context, begin, min(len(totals), begin + context))
        filled = totals[begin - 1]
        ends.append(begin)
    return np.array(ends, np.int64)


def _pack(segments: TokenRows, ends: Int64) -> TokenRows:
    """Join segments into rows that end at `ends`."""
    row = row_numbers(np.concatenate(([0], ends)))
    is_text = segments.kinds == StructureKind.TEXT
    order = np.lexsort((is_text, row))
    if np.any(order[1:] < order[:-1]):
        segments = segments.take(order)
    begins = np.concatenate(([0], ends))[:-1]
    number = np.arange(segments.num_rows) - begins[row]
    first_instance = offsets_of(segments.num_instances)[:-1]
    first_instance = first_instance - first_instance[begins][row] if len(row) else first_instance
    segment = row_numbers(segments.offsets)
    columns = segments.columns | {"document": number[segment], "token_kind": segments.kinds[segment]}
    if "instance" in columns:
        instance = columns["instance"]
        columns["instance"] = np.where(instance < 0, NONE, instance + first_instance[segment])
    firsts = segments.cut(begins, begins * 0, begins * 0)  # the rows' first segments, without tokens
    return TokenRows(
        offsets=segments.offsets[np.concatenate(([0], ends))],
        columns=columns,
        kinds=_joint_kinds(segments, row, begins),
        num_instances=np.bincount(row, weights=segments.num_instances, minlength=len(ends)).astype(np.int64),
        record_ids=firsts.record_ids,
    )


def _joint_kinds(segments: TokenRows, row: Int64, begins: Int64) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return the kind of each row: its structures', or mixed where they differ."""
    kinds = segments.kinds[begins]
    differs = segments.kinds != kinds[row]
    kinds[row[differs]] = StructureKind.MIXED
    return kinds
