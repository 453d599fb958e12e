r"""The escapes in strings of JSON: what \u and the short ones stand for, and the UTF-8 of a code point."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels.compiled import inner

ESCAPED = np.zeros(256, np.uint8)
"""What stands for the character behind a backslash; 0 where none does."""
ESCAPED[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
_HEX_VALUE = np.full(256, 255, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _HEX_VALUE[list(_digits)] = np.arange(16)


@inner
def hex4(data: Any, at: Any, stop: Any) -> Any:
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
    value = hex4(data, at + 2, stop)
    return value if 0xDC00 <= value <= 0xDFFF else np.int64(-1)


@inner
def code_point(data: Any, at: Any, stop: Any) -> Any:
    r"""Return (code point, length) of the \u escape at `at`, -1 for one that is none; a lone surrogate is itself."""
    value = hex4(data, at + 2, stop)
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
