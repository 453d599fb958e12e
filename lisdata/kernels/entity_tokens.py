"""Tokens of an entity's tape and their texts, in kernels; texts that are no part of a line are written behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels.compiled import inner
from lisdata.kernels.json_lexemes import put_unescaped
from lisdata.kernels.json_tape import ESCAPED_TEXT, OPEN_ARRAY, OPEN_OBJECT, QUOTE
from lisdata.kernels.spans import is_equal

REFUSED = -1


@inner
def first_byte(tables: Any, token: Any) -> Any:
    """Return the byte that tells what a token is."""
    return tables.data[tables.tape[token].begin]


@inner
def after(tables: Any, token: Any) -> Any:
    """Return the first token behind a value."""
    byte = first_byte(tables, token)
    return np.int64(tables.tape[token].link) if byte in (OPEN_OBJECT, OPEN_ARRAY) else token + 1


@inner
def is_empty(tables: Any, token: Any) -> Any:
    """Tell whether an object or array is empty."""
    return tables.tape[token].link == token + 1


@inner
def is_word(tables: Any, token: Any, word: Any) -> Any:
    """Tell whether a token is a string, or name, that spells a word without escapes."""
    begin, known = np.int64(tables.tape[token].begin), tables.symbols[word]
    size = np.int64(known.end) - known.begin
    if tables.tape[token].link != begin + size + 2 or tables.data[begin] != QUOTE:
        return False
    return is_equal(tables.data, np.int64(known.begin), begin + 1, size)


@inner
def begins_with(tables: Any, begin: Any, end: Any, word: Any) -> Any:
    """Tell whether data[begin:end] begins with a word."""
    known = tables.symbols[word]
    size = np.int64(known.end) - known.begin
    return end - begin >= size and is_equal(tables.data, np.int64(known.begin), begin, size)


@inner
def is_text(tables: Any, begin: Any, end: Any, word: Any) -> Any:
    """Tell whether data[begin:end] is a word."""
    known = tables.symbols[word]
    return end - begin == known.end - known.begin and begins_with(tables, begin, end, word)


@inner
def text_of(tables: Any, token: Any) -> Any:
    """Return (begin, end) of a string's or name's text, written behind the lines if it has escapes; -1 for others."""
    data, begin, link = tables.data, np.int64(tables.tape[token].begin), np.int64(tables.tape[token].link)
    if data[begin] != QUOTE:
        return np.int64(REFUSED), np.int64(REFUSED)
    if link & ESCAPED_TEXT == 0:
        return begin + 1, link - 1
    first = tables.spare
    tables.spare = put_unescaped(data, begin + 1, (link & ~ESCAPED_TEXT) - 1, data, first)
    return first, tables.spare


@inner
def integer_of(tables: Any, token: Any) -> Any:
    """Return (begin, end) of an integer that every reader keeps; -1 for any other value."""
    data, begin, end = tables.data, np.int64(tables.tape[token].begin), np.int64(tables.tape[token].link)
    first = begin + (data[begin] == 45)
    if not 0 < end - first <= 18 or (first > begin and data[first] == 48):
        return np.int64(REFUSED), np.int64(REFUSED)
    for at in range(first, end):
        if not 48 <= data[at] <= 57:
            return np.int64(REFUSED), np.int64(REFUSED)
    return begin, end


@inner
def put_byte(tables: Any, byte: Any) -> None:
    """Write a byte behind what is written."""
    tables.data[tables.spare] = byte
    tables.spare += 1


@inner
def put_bytes(tables: Any, begin: Any, end: Any) -> None:
    """Write data[begin:end] behind what is written."""
    target = tables.spare
    for index in range(end - begin):
        tables.data[target + index] = tables.data[begin + index]
    tables.spare = target + end - begin


@inner
def put_word(tables: Any, word: Any) -> None:
    """Write a word behind what is written."""
    put_bytes(tables, np.int64(tables.symbols[word].begin), np.int64(tables.symbols[word].end))


@inner
def put_decimal(tables: Any, number: Any) -> None:
    """Write a number that is not negative."""
    power = np.int64(1)
    while power * 10 <= number:
        power *= 10
    while power:
        put_byte(tables, 48 + number // power % 10)
        power //= 10
