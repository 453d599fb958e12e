"""Words of running text, found over whole batches of UTF-8 bytes without a Python object a word.

A word is a run of letters, digits, marks and underscores, held together by a single inner apostrophe, hyphen, middle
dot or joiner ("don't", "COX-2") and, between digits, a single point or comma ("3.14", "1,000"). Every other character
that is not white space is a word of its own: punctuation, symbols, and each ideograph and hiragana, which are written
without spaces. A combining mark stays with the character before it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

CHUNK_BYTES = 4 << 20
_TAIL_BYTES = 64 << 10
_SPACE, _WORD, _DIGIT, _JOINER, _POINT, _MARK, _OTHER = 0, 1, 2, 4, 8, 16, 32  # a digit is _WORD | _DIGIT
_UNKNOWN = 0xFF
_JOINERS = "'-\u00ad\u00b7\u200c\u200d\u2010\u2011\u2019"
_INVISIBLE = "\u200b\ufeff"  # zero-width space, byte order mark
_SINGLE = ((0x2E80, 0x2FD5), (0x3005, 0x3007), (0x3041, 0x309F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
           (0x20000, 0x323AF))  # fmt: skip
_VOICING_MARKS = (0x3099, 0x309A)  # stand among the hiragana
_PAGE_BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChunk:
    """The words in bytes [begin, end) of a text: where each begins and ends, counted from `begin`, ascending."""

    begin: int
    end: int
    word_begin: Int64
    word_end: Int64


def iter_words(data: UInt8, breaks: Int64) -> Iterator[WordChunk]:
    """Yield the words of `data`, chunk after chunk of about CHUNK_BYTES.

    `data` is UTF-8 in which a lone surrogate may stand as three bytes. No word reaches across an offset of `breaks`
    (ascending, at begins of characters).
    """
    for begin, end in _chunks(data):
        first, last = np.searchsorted(breaks, [begin, end])
        word_begin, word_end = _find_in_chunk(data[begin:end], breaks[first:last] - begin)
        yield WordChunk(begin=begin, end=end, word_begin=word_begin, word_end=word_end)


def _chunks(data: UInt8) -> Iterator[tuple[int, int]]:
    """Cut where no word and no character is cut, about every CHUNK_BYTES; a word that fills a chunk makes it larger."""
    begin = 0
    while begin < len(data):
        size, cut = CHUNK_BYTES, 0
        while begin + size < len(data) and not cut:
            cut = _last_cut(data[begin : begin + size])
            size *= 2
        end = begin + cut if cut else len(data)
        yield begin, end
        begin = end


def _last_cut(window: UInt8) -> int:
    """Return the last place where bytes that others follow may be cut, 0 if none is found.

    That is after a space or newline; where there is none, before a character that is a word of its own, as in scripts
    that are written without spaces.
    """
    data = window.tobytes()
    cut = max(data.rfind(b" "), data.rfind(b"\n")) + 1
    if cut:
        return cut
    tail = window[-_TAIL_BYTES:]
    begins = np.flatnonzero((tail & 0xC0) != 0x80)  # of its characters, the last of which may be incomplete
    classes = _classes_of(tail[begins[0] : begins[-1]].tobytes())
    alone = np.flatnonzero((classes == _SPACE) | (classes == _OTHER))
    return len(window) - len(tail) + int(begins[alone[-1]]) if len(alone) else 0


def _find_in_chunk(data: UInt8, breaks: Int64) -> tuple[Int64, Int64]:
    if not data.size or int(data.max()) < 0x80:
        return _find_by_class(_ascii_classes()[data], breaks)
    offsets = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))  # byte offset of each character
    begins, ends = _find_by_class(_classes_of(data.tobytes()), np.searchsorted(offsets, breaks))
    return offsets[begins], offsets[ends]


def _find_by_class(classes: UInt8, breaks: Int64) -> tuple[Int64, Int64]:
    """Return the begins and ends of words, counted in characters, from the class of each character."""
    is_break = np.zeros(len(classes) + 1, bool)
    is_break[breaks] = True
    is_break[0] = is_break[-1] = True
    classes, clings = _resolve_marks(classes, is_break)
    is_word = (classes & _WORD) != 0
    is_inner = ((classes & _JOINER) != 0) & _stands_between(is_word, is_break)
    is_inner |= ((classes & _POINT) != 0) & _stands_between((classes & _DIGIT) != 0, is_break)
    is_word |= is_inner
    clings[1:] |= is_word[1:] & is_word[:-1] & ~is_break[1:-1]
    is_ink = classes != _SPACE
    is_begin = is_ink & ~clings
    goes_on = np.zeros(len(classes), bool)
    goes_on[:-1] = clings[1:]
    return np.flatnonzero(is_begin), np.flatnonzero(is_ink & ~goes_on) + 1


def _stands_between(wanted: Bools, is_break: Bools) -> Bools:
    """Return which characters have a wanted one on both sides, with no break on either side."""
    between = np.zeros(len(wanted), bool)
    between[1:-1] = wanted[:-2] & wanted[2:] & ~is_break[1:-2] & ~is_break[2:-1]
    return between


def _resolve_marks(classes: UInt8, is_break: Bools) -> tuple[UInt8, Bools]:
    """Give each combining mark the class of its base; return the classes and which characters cling to their base.

    A mark with no base (after a space or a break) is a letter.
    """
    is_mark = classes == _MARK
    if not is_mark.any():
        return classes, is_mark
    base = np.where(is_mark & ~is_break[:-1], 0, np.arange(len(classes)))
    resolved = np.where(is_mark & is_break[:-1], np.uint8(_WORD), classes)[np.maximum.accumulate(base)]
    clings = is_mark & ~is_break[:-1] & (resolved != _SPACE)
    return np.where(is_mark & (resolved == _SPACE), np.uint8(_WORD), resolved), clings


def _classes_of(data: bytes) -> UInt8:
    """Return the class of each character of UTF-8."""
    text = data.decode("utf-8", errors="surrogatepass")
    codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), "<u4")
    classes: UInt8 = _classes()[codes]
    if (is_new := classes == _UNKNOWN).any():
        for page in np.unique(codes[is_new] >> _PAGE_BITS).tolist():
            _fill_page(page)
        classes = _classes()[codes]
    return classes


@cache
def _ascii_classes() -> UInt8:
    _fill_page(0)
    return _classes()[:0x80].copy()


@cache
def _classes() -> UInt8:
    """Return the class of each code point; _UNKNOWN on pages no text has asked for: all of them take a second."""
    return np.full(0x110000, _UNKNOWN, np.uint8)


def _fill_page(page: int) -> None:
    codes = range(page << _PAGE_BITS, (page + 1) << _PAGE_BITS)
    _classes()[codes.start : codes.stop] = [_class_of(code) for code in codes]


def _class_of(code: int) -> int:
    character = chr(code)
    if any(first <= code <= last for first, last in _SINGLE):
        return _MARK if code in _VOICING_MARKS else _OTHER
    if character in _JOINERS:
        return _JOINER
    if character in ".,":
        return _POINT
    if character.isspace() or character in _INVISIBLE:
        return _SPACE
    category = unicodedata.category(character)
    if category == "Nd":
        return _WORD | _DIGIT
    if category[0] in "LN" or character == "_":
        return _WORD
    return _MARK if category[0] == "M" else _OTHER
