"""Ends of N-Triples tokens in a buffer that `ntriples_scan.PADDING` ends; -1 where a token is not a plain one."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels.characters import has_byte, has_byte_below, is_alpha, is_digit, is_label
from lisdata.kernels.compiled import count_trailing_zeros, inner, load_u64

LF, CR, TAB, SPACE, QUOTE, HASH, DOT, LESS = 10, 13, 9, 32, 34, 35, 46, 60
_HYPHEN, _GREATER, _AT, _BACKSLASH, CARET, UNDERSCORE, COLON = 45, 62, 64, 92, 94, 95, 58
_REPEAT = 0x0101_0101_0101_0101
_LFS, _CRS, _QUOTES = np.uint64(_REPEAT * LF), np.uint64(_REPEAT * CR), np.uint64(_REPEAT * QUOTE)
_GREATERS, _BACKSLASHES = np.uint64(_REPEAT * _GREATER), np.uint64(_REPEAT * _BACKSLASH)
_AFTER_SPACES = np.uint64(_REPEAT * (SPACE + 1))
_NGSTRING = np.uint64(int.from_bytes(b"ngString", "little"))


@inner
def _first(found: Any) -> Any:
    return np.int64(count_trailing_zeros(found) >> np.uint64(3))


@inner
def skip_blanks(data: Any, at: Any) -> Any:
    """Return the index of the first byte from `at` that is no space and no tab."""
    while data[at] == SPACE or data[at] == TAB:
        at += 1
    return at


@inner
def line_end(data: Any, at: Any) -> Any:
    """Return the index of the next LF or CR."""
    while True:
        word = load_u64(data, at)
        found = has_byte(word, _LFS) | has_byte(word, _CRS)
        if found != 0:
            return at + _first(found)
        at += 8


@inner
def after_line(data: Any, at: Any) -> Any:
    """Return the index after the LF, CR or CR LF at `at`."""
    return at + 2 if data[at] == CR and data[at + 1] == LF else at + 1


@inner
def iri_end(data: Any, at: Any) -> Any:
    """Return the index after the '>' of an IRI whose '<' is before `at`."""
    while True:
        word = load_u64(data, at)
        found = has_byte(word, _GREATERS) | has_byte_below(word, _AFTER_SPACES)
        if found != 0:
            stop = at + _first(found)
            return stop + 1 if data[stop] == _GREATER else -1
        at += 8


@inner
def string_end(data: Any, at: Any) -> Any:
    """Return the index of the quote that closes a string whose first character is at `at`."""
    while True:
        word = load_u64(data, at)
        found = has_byte(word, _QUOTES) | has_byte(word, _BACKSLASHES) | has_byte(word, _LFS) | has_byte(word, _CRS)
        skipped = 8
        if found != 0:
            stop = at + _first(found)
            if data[stop] == QUOTE:
                return stop
            if data[stop] != _BACKSLASH or data[stop + 1] == LF or data[stop + 1] == CR:
                return -1
            skipped = _first(found) + 2
        at += skipped


@inner
def label_end(data: Any, at: Any) -> Any:
    """Return the index after an ASCII blank node label that begins at `at`."""
    if not is_label(data[at]) or data[at] == DOT or data[at] == _HYPHEN:
        return -1
    while is_label(data[at]):
        at += 1
    while data[at - 1] == DOT:
        at -= 1
    return -1 if data[at] >= 0x80 else at


@inner
def suffix_end(data: Any, at: Any) -> Any:
    """Return the index after the language tag or datatype that follows the closing quote before `at`, if any."""
    if data[at] == _AT:
        at += 1
        while is_alpha(data[at]) or is_digit(data[at]) or data[at] == _HYPHEN:
            at += 1
        return at
    if data[at] == CARET:
        return iri_end(data, at + 3) if data[at + 1] == CARET and data[at + 2] == LESS else -1
    return at


@inner
def _letters(data: Any, at: Any) -> Any:
    count = 0
    while is_alpha(data[at + count]):
        count += 1
    return count


@inner
def is_plain_tag(data: Any, at: Any, end: Any) -> Any:
    """Tell whether data[at:end] is a language tag of the shape xx[x][-Script][-RG or -123]."""
    letters = _letters(data, at)
    if letters < 2 or letters > 3:
        return False
    at += letters
    if at < end and _letters(data, at + 1) == 4:
        at += 5
    if at < end and data[at] == _HYPHEN:
        letters = _letters(data, at + 1)
        if letters == 2:
            at += 3
        elif is_digit(data[at + 1]) and is_digit(data[at + 2]) and is_digit(data[at + 3]):
            at += 4
    return at == end


@inner
def may_be_lang_string(data: Any, end: Any) -> Any:
    """Tell whether the IRI before the '>' at `end` may be rdf:langString or rdf:dirLangString, which need a tag."""
    return load_u64(data, end - 8) == _NGSTRING
