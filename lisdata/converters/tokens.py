"""The tokens of units of text: words, and linked mentions in place of the words that spell them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.converters.words import find_words
from lisdata.kernels.arrays import binary_array, binary_buffers
from lisdata.records import TextRecords
from lisdata.schema import CONTENTS, LABELS, ContentKind

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens in reading order; `begin` and `end` are bytes of the unit, `mention` the row of the mention or -1."""

    unit: Int64
    begin: Int64
    end: Int64
    content: UInt32
    mention: Int64


def find_tokens(records: TextRecords) -> tuple[Tokens, pa.RecordBatch]:
    """Return the tokens, and the contents they show: those of `records`, then the distinct words."""
    offsets, data = binary_buffers(records.documents)
    data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
    unit_begin = offsets[np.repeat(np.arange(records.num_records), np.diff(records.mention_offsets))]
    begins = records.mention_begin.astype(np.int64) + unit_begin
    ends = records.mention_end.astype(np.int64) + unit_begin
    shown = np.flatnonzero(_take_part(begins, ends, records.mention_offsets))
    shown = shown[np.argsort(begins[shown])]
    breaks = np.concatenate([offsets, begins[shown], ends[shown]])
    word_begins, word_ends = find_words(data, np.unique(breaks) if len(shown) else offsets)
    is_spelling = _lie_inside(word_begins, begins[shown], ends[shown])
    word_begins, word_ends = word_begins[~is_spelling], word_ends[~is_spelling]
    codes, words = _distinct(data, word_begins, word_ends)
    begin = np.concatenate([word_begins, begins[shown]])
    order = np.argsort(begin, kind="stable") if len(shown) else slice(None)
    begin = begin[order]
    unit = np.repeat(np.arange(records.num_records), np.diff(np.searchsorted(begin, offsets)))
    tokens = Tokens(
        unit=unit,
        begin=begin - offsets[unit],
        end=np.concatenate([word_ends, ends[shown]])[order] - offsets[unit],
        content=np.concatenate([codes + len(records.contents), records.mention_content[shown]])[order],
        mention=np.concatenate([np.full(len(word_begins), -1), shown])[order],
    )
    return tokens, _with_words(records.contents, words)


def _take_part(begins: Int64, ends: Int64, mention_offsets: Int64) -> Bools:
    """Return which mentions are tokens: of those that overlap the longest, then the first in the text.

    `begins` and `ends` count over all units, so that mentions of two units never overlap; an empty one is no token.
    """
    chosen = begins < ends
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(begins[rows], kind="stable")]
    reach = np.maximum.accumulate(ends[rows])
    overlapping = rows[1:][begins[rows[1:]] < reach[:-1]]
    for unit in np.unique(np.searchsorted(mention_offsets, overlapping, side="right") - 1).tolist():
        first, last = int(mention_offsets[unit]), int(mention_offsets[unit + 1])
        chosen[first:last] = _longest(begins[first:last].tolist(), ends[first:last].tolist())
    return chosen


def _longest(begins: list[int], ends: list[int]) -> list[bool]:
    taken: list[tuple[int, int]] = []  # disjoint, ascending
    chosen = [False] * len(begins)
    for row in sorted(range(len(begins)), key=lambda i: (begins[i] - ends[i], begins[i])):
        at = bisect_left(taken, (ends[row],))
        if begins[row] < ends[row] and (at == 0 or taken[at - 1][1] <= begins[row]):
            taken.insert(at, (begins[row], ends[row]))
            chosen[row] = True
    return chosen


def _lie_inside(words: Int64, begins: Int64, ends: Int64) -> Bools:
    """Return which words begin inside one of the ascending, disjoint spans [begins, ends)."""
    if not len(begins):
        return np.zeros(len(words), bool)
    before = np.searchsorted(begins, words, side="right") - 1
    return (before >= 0) & (words < ends[before])


def _distinct(data: UInt8, begins: Int64, ends: Int64) -> tuple[UInt32, pa.Array]:
    """Return the number of each word among the distinct ones (large_binary, by first appearance)."""
    borders = np.zeros(len(data) + 1, np.int8)
    borders[begins] += 1
    borders[ends] -= 1
    letters = data[np.cumsum(borders[:-1], dtype=np.int8) > 0]
    word_offsets = np.concatenate(([0], np.cumsum(ends - begins)))
    encoded = binary_array(word_offsets, letters, pa.large_binary()).dictionary_encode()
    return np.asarray(encoded.indices).astype(np.uint32), encoded.dictionary


def _with_words(contents: pa.RecordBatch, words: pa.Array) -> pa.RecordBatch:
    from lisdata.kernels.keys import keys_of_contents  # compiled on import

    absent = pa.nulls(len(words), pa.uint32())
    kinds = pa.array(np.full(len(words), ContentKind.WORD, np.uint8))
    keyless = pa.RecordBatch.from_arrays([kinds, words, absent, absent, absent], names=CONTENTS.names[1:])
    keys = keys_of_contents(keyless, pa.RecordBatch.from_pylist([], LABELS))
    columns = zip(contents.columns, [keys, *keyless.columns], strict=True)
    return pa.RecordBatch.from_arrays([pa.concat_arrays(pair) for pair in columns], schema=CONTENTS)
