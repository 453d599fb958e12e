"""Checks a JSON text and leaves a tape of its tokens, eight bytes each: for kernels that read only what they need."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels.compiled import count_trailing_zeros, inner, load_u64
from lisdata.kernels.json_lexemes import ESCAPED, JsonFault, after_space, code_point, scan_literal, scan_number

TOKEN = np.dtype([("begin", "i4"), ("link", "i4")], align=True)
"""A token in document order, a member's name before its value. It begins at byte `begin`, which tells what it is.

`link` is where a name, string (with ESCAPED_TEXT where it has escapes), number or literal ends, and the first token
behind an object or array and all that it holds.
"""

ESCAPED_TEXT = 1 << 30
"""Added to the end of a string that has escapes: texts have fewer bytes."""

READ_PAST = 16
"""Bytes behind the text that must be readable."""

QUOTE, COMMA, MINUS, COLON, OPEN_ARRAY, BACKSLASH, END_ARRAY, OPEN_OBJECT, END_OBJECT = b'",-:[\\]{}'
_ZERO, _NINE, _LETTER_U = b"09u"
_OK = int(JsonFault.NONE)
_ANY_VALUE, _NAME_OR_END, _ITEM_OR_END, _NAME, _AFTER_VALUE = range(5)
_NOTHING = -1

_ONES, _HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES, _BACKSLASHES, _SPACES = (np.uint64(byte * 0x0101010101010101) for byte in b'"\\ ')


@inner
def _special(word: Any) -> Any:
    """Return a word whose lowest set bit is in the first byte that is a quote, a backslash or a control character."""
    quote, backslash = word ^ _QUOTES, word ^ _BACKSLASHES
    found = ((quote - _ONES) & ~quote) | ((backslash - _ONES) & ~backslash) | ((word - _SPACES) & ~word)
    return found & _HIGH_BITS


@inner
def _after_escape(data: Any, at: Any, stop: Any) -> Any:
    """Return where the escape at `at` ends, -1 where it is none or a lone surrogate, which UTF-8 cannot hold."""
    if data[at + 1] == _LETTER_U:
        value, length = code_point(data, at, stop)
        return _NOTHING if value < 0 or 0xD800 <= value <= 0xDFFF else at + length
    return at + 2 if ESCAPED[data[at + 1]] else _NOTHING


@inner
def _string_link(data: Any, at: Any, stop: Any) -> Any:
    """Return the link of the string whose text begins at `at`, -1 where it is none."""
    has_escapes = 0
    while at < stop:
        special = _special(load_u64(data, at))
        if special == 0:
            at += 8
            continue
        at += np.int64(count_trailing_zeros(special) >> np.uint64(3))
        if at >= stop:
            break
        if data[at] == QUOTE:
            return (at + 1) | has_escapes
        if data[at] != BACKSLASH:
            break
        at = _after_escape(data, at, stop)
        if at < 0:
            break
        has_escapes = ESCAPED_TEXT
    return _NOTHING


@inner
def _scalar_link(data: Any, at: Any, stop: Any) -> Any:
    """Return the link of the string, number or literal at `at`, -1 where there is none."""
    byte = data[at]
    if byte == QUOTE:
        return _string_link(data, at + 1, stop)
    if byte == MINUS or _ZERO <= byte <= _NINE:
        fault, end, _ = scan_number(data, at, stop)
    else:
        fault, end, _ = scan_literal(data, at, stop)
    return end if fault == _OK else _NOTHING


@inner
def write_tape(data: Any, at: Any, stop: Any, tape: Any) -> Any:
    """Write the tokens of the value that begins at `at`; return (how many, where it ends), 0 of them where it is none.

    `tape` has room for half as many tokens as there are bytes, and one.
    """
    outer: Any = _NOTHING
    count, state, in_object = 0, _ANY_VALUE, False
    while True:
        at = after_space(data, at, stop)
        if at >= stop:
            return 0, at
        byte = data[at]
        if state == _AFTER_VALUE:
            if byte == COMMA:
                state = _NAME if in_object else _ANY_VALUE
                at += 1
                continue
            if byte != (END_OBJECT if in_object else END_ARRAY):
                return 0, at
        if (
            state == _AFTER_VALUE
            or (state == _NAME_OR_END and byte == END_OBJECT)
            or (state == _ITEM_OR_END and byte == END_ARRAY)
        ):
            outermost, outer = outer, np.int64(tape[outer].link)
            tape[outermost].link = count
            at += 1
            if outer < 0:
                return count, at
            in_object = data[tape[outer].begin] == OPEN_OBJECT
            state = _AFTER_VALUE
            continue
        tape[count].begin = at
        if state in (_NAME_OR_END, _NAME):
            link = _string_link(data, at + 1, stop) if byte == QUOTE else _NOTHING
            if link < 0:
                return 0, at
            tape[count].link = link
            at = after_space(data, link & ~ESCAPED_TEXT, stop)
            if at >= stop or data[at] != COLON:
                return 0, at
            at += 1
            state = _ANY_VALUE
        elif byte in (OPEN_OBJECT, OPEN_ARRAY):
            in_object = byte == OPEN_OBJECT
            tape[count].link = outer  # until it is closed
            outer = np.int64(count)
            at += 1
            state = _NAME_OR_END if in_object else _ITEM_OR_END
        else:
            link = _scalar_link(data, at, stop)
            if link < 0 or outer < 0:
                return 0, at
            tape[count].link = link
            at = link & ~ESCAPED_TEXT
            state = _AFTER_VALUE
        count += 1
