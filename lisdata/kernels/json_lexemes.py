"""What JSON (RFC 8259) is made of: kinds of tokens, escapes, numbers and literals."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from lisdata.kernels.compiled import inner


class JsonToken(IntEnum):
    """What a token is: a value, or the name of the member whose value is the next token."""

    OBJECT = 0
    ARRAY = 1
    STRING = 2
    INTEGER = 3  # neither fraction nor exponent
    NUMBER = 4
    TRUE = 5
    FALSE = 6
    NULL = 7
    KEY = 8


class JsonFault(IntEnum):
    """What is expected where a document stops being JSON."""

    NONE = 0
    VALUE = 1
    ITEM_OR_END = 2  # after [
    KEY_OR_END = 3  # after {
    KEY = 4
    COLON = 5
    COMMA_OR_BRACKET = 6
    COMMA_OR_BRACE = 7
    END = 8
    QUOTE = 9
    NO_CONTROL = 10
    ESCAPE = 11
    HEX = 12
    DIGIT = 13


# Kernels compare plain numbers: enum members are slow there.
_INTEGER, _NUMBER, _TRUE, _FALSE, _NULL = map(int, tuple(JsonToken)[3:8])
_OK, _VALUE, _DIGIT = map(int, (JsonFault.NONE, JsonFault.VALUE, JsonFault.DIGIT))

_HEX_VALUE = np.full(256, 255, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _HEX_VALUE[list(_digits)] = np.arange(16)
ESCAPED = np.zeros(256, np.uint8)
"""What stands for the character behind a backslash, 0 where none does."""
ESCAPED[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')


@inner
def after_space(data: Any, at: Any, stop: Any) -> Any:
    """Return the first place from `at` on where no white space stands."""
    while at < stop and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@inner
def _hex4(data: Any, at: Any, stop: Any) -> Any:
    """Return the value of four hexadecimal digits, -1 where they are not."""
    if at + 4 > stop:
        return np.int64(-1)
    value = np.int64(0)
    for index in range(at, at + 4):
        digit = np.int64(_HEX_VALUE[data[index]])
        if digit == 255:
            return np.int64(-1)
        value = value * 16 + digit
    return value


@inner
def _low_surrogate(data: Any, at: Any, stop: Any) -> Any:
    """Return the low surrogate that the escape at `at` stands for, -1 where there is none."""
    if at + 6 > stop or data[at] != 92 or data[at + 1] != 117:
        return np.int64(-1)
    value = _hex4(data, at + 2, stop)
    return value if 0xDC00 <= value <= 0xDFFF else np.int64(-1)


@inner
def code_point(data: Any, at: Any, stop: Any) -> Any:
    r"""Return (code point, length) of the \u escape at `at`, -1 for one that is none; a lone surrogate is itself."""
    value = _hex4(data, at + 2, stop)
    if 0xD800 <= value <= 0xDBFF:
        low = _low_surrogate(data, at + 6, stop)
        if low >= 0:
            return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00), 12
    return value, 6


@inner
def utf8_length(value: Any) -> Any:
    """Return how many bytes of UTF-8 a code point has."""
    if value < 0x80:
        return 1
    if value < 0x800:
        return 2
    return 3 if value < 0x10000 else 4


@inner
def put_utf8(out: Any, target: Any, value: Any, length: Any) -> None:
    """Write a code point that has `length` bytes of UTF-8 to out[target:]."""
    for index in range(length - 1, 0, -1):
        out[target + index] = 0x80 | (value & 0x3F)
        value >>= 6
    out[target] = value if length == 1 else value | ((0xF00 >> length) & 0xFF)


@inner
def put_unescaped(data: Any, at: Any, stop: Any, out: Any, target: Any) -> Any:
    """Write what the good JSON text data[at:stop] spells to out[target:]; return where that ends.

    `out` may be `data`, behind the text.
    """
    while at < stop:
        if data[at] != 92:
            out[target] = data[at]
            at += 1
            target += 1
        elif data[at + 1] == 117:
            value, length = code_point(data, at, stop)
            size = utf8_length(value)
            put_utf8(out, target, value, size)
            at += length
            target += size
        else:
            out[target] = ESCAPED[data[at + 1]]
            at += 2
            target += 1
    return target


@inner
def _after_digits(data: Any, at: Any, stop: Any) -> Any:
    while at < stop and 48 <= data[at] <= 57:
        at += 1
    return at


@inner
def scan_number(data: Any, at: Any, stop: Any) -> Any:
    """Return (fault, where the number ends or is wrong, kind)."""
    kind = _INTEGER
    if data[at] == 45:
        at += 1
    last = at + 1 if at < stop and data[at] == 48 else _after_digits(data, at, stop)
    if last == at:
        return _DIGIT, at, kind
    at = last
    if at < stop and data[at] == 46:
        kind = _NUMBER
        last = _after_digits(data, at + 1, stop)
        if last == at + 1:
            return _DIGIT, last, kind
        at = last
    if at < stop and (data[at] | 32) == 101:
        kind = _NUMBER
        at += 1
        if at < stop and (data[at] == 43 or data[at] == 45):
            at += 1
        last = _after_digits(data, at, stop)
        if last == at:
            return _DIGIT, at, kind
        at = last
    return _OK, at, kind


@inner
def scan_literal(data: Any, at: Any, stop: Any) -> Any:
    """Return (fault, end, kind) of true, false or null."""
    byte = data[at]
    if byte == 116 and at + 4 <= stop and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
        return _OK, at + 4, _TRUE
    if byte == 110 and at + 4 <= stop and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
        return _OK, at + 4, _NULL
    if (
        byte == 102 and at + 5 <= stop
        and data[at + 1] == 97 and data[at + 2] == 108 and data[at + 3] == 115 and data[at + 4] == 101
    ):  # fmt: skip
        return _OK, at + 5, _FALSE
    return _VALUE, at, _NULL
