"""Scans CoNLL-U into sentences, lines and the places of their columns; what is wrong is marked, by sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import BYTES, OUT_INT64S, inner, kernel

PADDING = b"\n" + bytes(31)
"""What must follow a block in its buffer: scanning stops at the newline, and hashing reads whole words past it."""

MAX_BYTES = (1 << 31) - 1
NO_HEAD = -1


class Column(IntEnum):
    """The columns of a line."""

    ID = 0
    FORM = 1
    LEMMA = 2
    UPOS = 3
    XPOS = 4
    FEATS = 5
    HEAD = 6
    DEPREL = 7
    DEPS = 8
    MISC = 9


class Line(IntEnum):
    """What a line is, by its ID."""

    COMMENT = 0
    WORD = 1
    MULTIWORD = 2
    EMPTY_NODE = 3


class SentenceFault(IntEnum):
    """Why lines are no sentence; `fault_at` of the sentence is where the line begins."""

    NONE = 0
    NUM_COLUMNS = 1  # the line has not ten columns
    BAD_ID = 2  # it has none of the three forms of ID
    ID_ORDER = 3  # its word or multiword token does not go on from the words before
    RANGE = 4  # its multiword token ends before it begins, inside another one, or after the last word
    BAD_HEAD = 5  # its HEAD is no number and no _
    SOME_HEADS = 6  # its HEAD is _, but that of another word is not
    NO_WORDS = 7  # there are comments, blank lines, or nodes that are no words, alone
    NO_FORM = 8  # its FORM is empty


SENTENCE = np.dtype(
    [
        ("begin", "i8"),
        ("end", "i8"),
        ("first_line", "i8"),
        ("end_line", "i8"),
        ("num_words", "i8"),
        ("fault_at", "i8"),
        ("wanted_id", "i8"),
        ("fault", "u1"),
        ("has_tree", "u1"),
        ("is_plain", "u1"),
    ],
    align=True,
)
LINE = np.dtype([("first", "i4"), ("last", "i4"), ("kind", "u1")], align=True)
SENTENCE_ARRAY, LINE_ARRAY = numba.from_dtype(SENTENCE)[::1], numba.from_dtype(LINE)[::1]
SEPARATORS = types.Array(types.int32, 1, "C", readonly=True)

NUM_COLUMNS = len(Column)
# Kernels compare plain numbers: enum members are slow there.
_HEAD = int(Column.HEAD)
_COMMENT, _WORD, _MULTIWORD, _EMPTY_NODE = map(int, Line)
_NONE, _NUM_COLUMNS, _BAD_ID, _ID_ORDER, _RANGE, _BAD_HEAD, _SOME_HEADS, _NO_WORDS, _NO_FORM = map(int, SentenceFault)
_TAB, _LF, _CR, _SPACE, _HASH, _HYPHEN, _DOT, _ZERO, _NINE, _UNDERSCORE = b"\t\n\r #-.09_"
_MAX_NUMBER = np.int64((1 << 31) - 1)
_LINES, _WORDS = 0, 1
_TWO_INT64S: Any = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedBlock:
    """What `scan` found; offsets are into `data`.

    `separators` are the places of tabs and newlines. Column k of line l (LINE) lies between separators first + k and
    first + k + 1; the last one, `last`, ends the line. `sentences` (SENTENCE) cover the block without a gap; one with a
    fault has no words and no lines. `heads` has a value a word, NO_HEAD for _. A sentence is plain where its lines,
    each ended by a newline, and one empty line are its bytes, and the numbers of words and heads are written as usual.
    """

    data: npt.NDArray[np.uint8]
    separators: npt.NDArray[np.int32]
    lines: npt.NDArray[np.void]
    sentences: npt.NDArray[np.void]
    heads: npt.NDArray[np.int32]


@inner
def is_underscore(data: Any, begin: Any, end: Any) -> Any:
    """Tell whether data[begin:end] is the sign of an absent value."""
    return end - begin == 1 and data[begin] == _UNDERSCORE


@inner
def read_number(data: Any, at: Any) -> Any:
    """Return (value, index after the digits at `at`); larger values than an int32 holds are its largest."""
    value = np.int64(0)
    while _ZERO <= data[at] <= _NINE:
        value = min(value * 10 + (data[at] - _ZERO), _MAX_NUMBER)
        at += 1
    return value, at


@inner
def text_end(data: Any, begin: Any, newline: Any) -> Any:
    """Return where the text from `begin` ends that a newline or a carriage return and a newline follow."""
    return newline - 1 if newline > begin and data[newline - 1] == _CR else newline


@inner
def _is_blank(data: Any, at: Any) -> Any:
    """Tell whether the line at `at` has nothing but spaces."""
    while data[at] == _SPACE:
        at += 1
    return data[at] == _LF or (data[at] == _CR and data[at + 1] == _LF)


@inner
def _id_kind(data: Any, at: Any, end: Any) -> Any:
    """Return (kind of line or -1, first number, second number, whether the first is written as usual) of an ID."""
    first, after = read_number(data, at)
    is_usual = data[at] != _ZERO or after == at + 1
    if after == at:
        return -1, first, first, is_usual
    if after == end:
        return _WORD, first, first, is_usual
    last, last_end = read_number(data, after + 1)
    if last_end == after + 1 or last_end != end:
        return -1, first, last, is_usual
    if data[after] == _HYPHEN:
        return _MULTIWORD, first, last, is_usual
    return (_EMPTY_NODE if data[after] == _DOT else -1), first, last, is_usual


@inner
def _scan_head(data: Any, begin: Any, end: Any, line_at: Any, sentence: Any) -> Any:
    """Return what HEAD says: the number, NO_HEAD for _, or one below for neither."""
    if is_underscore(data, begin, end):
        if sentence.fault_at < 0:
            sentence.fault_at = line_at  # of the first word without a head, should another one have one
        return np.int64(NO_HEAD)
    head, after = read_number(data, begin)
    if after == begin or after != end:
        return np.int64(NO_HEAD - 1)
    sentence.has_tree = 1
    if data[begin] == _ZERO and end > begin + 1:
        sentence.is_plain = 0
    return head


@inner
def _scan_row(data: Any, separators: Any, line: Any, sentence: Any, heads: Any, words: Any, reach: Any) -> Any:
    """Note kind and head of a line of ten columns; return (what is wrong, last word that multiword tokens reach)."""
    first_of = line.first
    begin = np.int64(separators[first_of]) + 1
    kind, first, last, is_usual = _id_kind(data, begin, np.int64(separators[first_of + 1]))
    if kind < 0:
        return _BAD_ID, reach
    if separators[first_of + 2] == separators[first_of + 1] + 1:
        return _NO_FORM, reach
    line.kind = kind
    if kind == _EMPTY_NODE:
        return _NONE, reach
    if first != sentence.num_words + 1:
        return _ID_ORDER, reach
    if kind == _MULTIWORD:
        return (_NONE if last >= first > reach else _RANGE), last
    head_begin, head_end = np.int64(separators[first_of + _HEAD]) + 1, np.int64(separators[first_of + _HEAD + 1])
    head = _scan_head(data, head_begin, head_end, begin, sentence)
    if head < NO_HEAD:
        return _BAD_HEAD, reach
    heads[words + sentence.num_words] = head
    sentence.num_words += 1
    if not is_usual:
        sentence.is_plain = 0
    return _NONE, reach


@inner
def _close(sentence: Any, first_at: Any, reach: Any, range_at: Any) -> Any:
    """Return what is wrong with a sentence whose lines are good one by one; the first of them is at `first_at`."""
    if sentence.num_words == 0:
        sentence.fault_at = first_at
        return _NO_WORDS
    if reach > sentence.num_words:
        sentence.fault_at = range_at
        return _RANGE
    return _SOME_HEADS if sentence.has_tree and sentence.fault_at >= 0 else _NONE


@inner
def _scan_lines(
    data: Any, separators: Any, at: Any, size: Any, lines: Any, sentence: Any, heads: Any, counts: Any
) -> Any:
    """Scan lines from separator `at` up to a blank one; return the separator before that."""
    reach, range_at, fault = np.int64(0), np.int64(0), _NONE
    first_at = np.int64(separators[at]) + 1
    while separators[at] + 1 < size and not _is_blank(data, separators[at] + 1):
        begin = np.int64(separators[at]) + 1
        last = at + 1
        while data[separators[last]] != _LF:
            last += 1
        newline = np.int64(separators[last])
        if data[newline - 1] == _CR or newline >= size:
            sentence.is_plain = 0
        if fault == _NONE:
            line = lines[counts[_LINES]]
            line.first, line.last, line.kind = at, last, _COMMENT
            counts[_LINES] += 1
            if data[begin] != _HASH:
                before = reach
                fault = _NUM_COLUMNS
                if last - at == NUM_COLUMNS:
                    fault, reach = _scan_row(data, separators, line, sentence, heads, counts[_WORDS], reach)
                if reach != before:
                    range_at = begin
                if fault != _NONE:
                    sentence.fault_at = begin
        at = last
    sentence.fault = (
        fault if fault != _NONE else _close(sentence, first_at if first_at < size else sentence.begin, reach, range_at)
    )
    return at


@kernel(_TWO_INT64S(BYTES, types.int64, types.int64, types.Array(types.int32, 1, "C")))
def _separate(data: Any, begin: Any, size: Any, separators: Any) -> Any:
    """List the place before `begin`, and those of tabs and newlines up to `size`; return (places, newlines)."""
    separators[0] = begin - 1
    text, rest, found, newlines = data[begin : size + 1], separators[1:], 0, 0
    for at in range(len(text)):
        rest[found] = begin + at  # without a branch: columns are short, and none foretells the length of the next
        found += (text[at] == _TAB) | (text[at] == _LF)
        newlines += text[at] == _LF
    return found + 1, newlines


@kernel(
    types.int64(
        BYTES, types.int64, SEPARATORS, LINE_ARRAY, SENTENCE_ARRAY, types.Array(types.int32, 1, "C"), OUT_INT64S
    )
)  # fmt: skip
def _scan(data: Any, size: Any, separators: Any, lines: Any, sentences: Any, heads: Any, counts: Any) -> Any:
    """Scan the sentences of a block; return how many there are."""
    found = at = begin = np.int64(0)
    while begin < size:
        sentence, first_line = sentences[found], counts[_LINES]
        sentence.begin, sentence.first_line, sentence.num_words = begin, first_line, 0
        sentence.fault_at, sentence.has_tree = -1, 0
        sentence.is_plain = separators[at] + 1 == begin
        while separators[at] + 1 < size and _is_blank(data, separators[at] + 1):  # only a file begins with blank lines
            at += 1
            sentence.is_plain = 0
        at = _scan_lines(data, separators, at, size, lines, sentence, heads, counts)
        blank = at
        while separators[at] + 1 < size and _is_blank(data, separators[at] + 1):
            at += 1
        if at != blank + 1 or separators[at] != separators[blank] + 1 or separators[at] >= size:
            sentence.is_plain = 0
        begin = min(np.int64(separators[at]) + 1, size)
        sentence.end, sentence.wanted_id = begin, sentence.num_words + 1
        if sentence.fault != _NONE:
            counts[_LINES] = first_line
            sentence.num_words = 0
        sentence.end_line = counts[_LINES]
        counts[_WORDS] += sentence.num_words
        found += 1
    return found


def scan(block: bytes, *, begin: int = 0) -> ScannedBlock:
    """Scan a block of whole sentences that PADDING ends; the first one's lines begin at byte `begin`, after a mark."""
    if not block.endswith(PADDING):
        raise ValueError("a block must end in PADDING")
    if len(block) > MAX_BYTES:
        raise ValueError(f"at most {MAX_BYTES} bytes are scanned at once, got {len(block)}")
    data, size = np.frombuffer(block, np.uint8), len(block) - len(PADDING)
    separators = np.empty(size + 3, np.int32)
    num_separators, num_lines = _separate(data, begin, size, separators)
    separators = separators[:num_separators]
    lines, sentences = np.empty(num_lines, LINE), np.empty(num_lines, SENTENCE)
    heads, counts = np.empty(num_lines, np.int32), np.zeros(2, np.int64)
    found = _scan(data, size, separators, lines, sentences, heads, counts)
    num_lines, num_words = counts.tolist()
    return ScannedBlock(
        data=data,
        separators=separators,
        lines=lines[:num_lines],
        sentences=sentences[:found],
        heads=heads[:num_words],
    )
