"""The tokens of units of text: words, and linked mentions in place of the words that spell them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.converters.words import WordChunk, iter_words
from lisdata.kernels.arrays import binary_array, binary_buffers
from lisdata.records import TextRecords
from lisdata.schema import CONTENTS, NO_LABELS, ContentKind

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens in reading order: those of unit n are rows offsets[n] : offsets[n + 1].

    `begin` and `end` are bytes of the unit. Token mention_token[i] is the linked mention `mention[i]` (a row of the
    mentions), the others are words.
    """

    offsets: Int64
    begin: UInt64
    end: UInt64
    content: UInt32
    mention_token: Int64
    mention: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mentions:
    """The linked mentions that are tokens, in reading order: bytes of the whole batch, and the row of each."""

    begin: Int64
    end: Int64
    row: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class _TokenChunk:
    """The tokens in a chunk of the batch.

    The units from `first_unit` on have `num_tokens` of them each; `begin` and `end` are bytes of the unit. `code` is a
    row of `words`, of no meaning at the places `mention_at`.
    """

    first_unit: int
    num_tokens: Int64
    begin: Unsigned
    end: Unsigned
    code: UInt32
    words: pa.Array
    mention_at: Int64


def find_tokens(records: TextRecords) -> tuple[Tokens, pa.RecordBatch]:
    """Return the tokens, and the contents they show: those of `records`, then the distinct words."""
    offsets, data = binary_buffers(records.documents)
    data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
    mentions = _shown_mentions(records, offsets)
    breaks = offsets
    if len(mentions.row):
        breaks = np.unique(np.concatenate([offsets, mentions.begin, mentions.end]))
    chunks = [_tokens_of(data, words, offsets, mentions) for words in iter_words(data, breaks)]
    num_tokens = np.zeros(records.num_records, np.int64)
    mention_token = [np.empty(0, np.int64)]
    num_before = 0
    for chunk in chunks:
        num_tokens[chunk.first_unit : chunk.first_unit + len(chunk.num_tokens)] += chunk.num_tokens
        mention_token.append(chunk.mention_at + num_before)
        num_before += len(chunk.code)
    content, words = _number_words(chunks, len(records.contents))
    tokens = Tokens(
        offsets=np.concatenate(([0], np.cumsum(num_tokens))),
        begin=np.concatenate([np.empty(0, np.uint64), *(chunk.begin for chunk in chunks)]),
        end=np.concatenate([np.empty(0, np.uint64), *(chunk.end for chunk in chunks)]),
        content=content,
        mention_token=np.concatenate(mention_token),
        mention=mentions.row,
    )
    content[tokens.mention_token] = records.mention_content[mentions.row]
    return tokens, _with_words(records.contents, words)


def _shown_mentions(records: TextRecords, offsets: Int64) -> _Mentions:
    unit_begin = np.repeat(offsets[:-1], np.diff(records.mention_offsets))
    begins = records.mention_begin.astype(np.int64) + unit_begin
    ends = records.mention_end.astype(np.int64) + unit_begin
    shown = np.flatnonzero(_take_part(begins, ends, records.mention_offsets))
    shown = shown[np.argsort(begins[shown])]
    return _Mentions(begin=begins[shown], end=ends[shown], row=shown)


def _tokens_of(data: UInt8, words: WordChunk, offsets: Int64, mentions: _Mentions) -> _TokenChunk:
    """Return the words of a chunk and the mentions that begin in it, each in place of the words that spell it."""
    begin, end = words.word_begin, words.word_end
    if len(mentions.row):
        is_free = ~_lie_inside(begin + words.begin, mentions.begin, mentions.end)
        begin, end = begin[is_free], end[is_free]
    code, distinct = _distinct(data[words.begin : words.end], begin, end)
    begin, end = begin + words.begin, end + words.begin
    here = slice(*np.searchsorted(mentions.begin, [words.begin, words.end]).tolist())
    place = np.searchsorted(begin, mentions.begin[here])
    if len(place):
        begin, end = np.insert(begin, place, mentions.begin[here]), np.insert(end, place, mentions.end[here])
        code = np.insert(code, place, 0)
    first, last = int(np.searchsorted(offsets, words.begin, side="right")) - 1, int(np.searchsorted(offsets, words.end))
    num_tokens = np.diff(np.searchsorted(begin, offsets[first:last]), append=len(begin))
    unit_begin = np.repeat(offsets[first:last], num_tokens)
    narrow = np.dtype(np.uint32 if len(data) < 1 << 32 else np.uint64)  # all chunks are held until the last is done
    return _TokenChunk(
        first_unit=first,
        num_tokens=num_tokens,
        begin=(begin - unit_begin).astype(narrow),
        end=(end - unit_begin).astype(narrow),
        code=code,
        words=distinct,
        mention_at=place + np.arange(len(place)),
    )


def _number_words(chunks: list[_TokenChunk], first: int) -> tuple[UInt32, pa.Array]:
    """Return the number of each token's word, the distinct ones numbered from `first` on, and these."""
    words = pa.concat_arrays([chunk.words for chunk in chunks]) if chunks else pa.array([], pa.large_binary())
    encoded = words.dictionary_encode() if len(chunks) > 1 else None
    numbers = np.arange(len(words)) if encoded is None else np.asarray(encoded.indices)
    numbers = np.append(numbers + first, 0).astype(np.uint32)  # a chunk of mentions alone has no word
    content = np.empty(sum(len(chunk.code) for chunk in chunks), np.uint32)
    at = at_word = 0
    for chunk in chunks:
        content[at : at + len(chunk.code)] = numbers[at_word:][chunk.code]
        at, at_word = at + len(chunk.code), at_word + len(chunk.words)
    return content, words if encoded is None else encoded.dictionary


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
    keys = keys_of_contents(keyless, NO_LABELS)
    found = pa.RecordBatch.from_arrays([keys, *keyless.columns], schema=CONTENTS)
    return pa.concat_batches([contents, found]) if len(contents) else found
