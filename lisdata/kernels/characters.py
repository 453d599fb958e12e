"""Characters in UTF-8 buffers: strict decoding, the escapes of N-Triples, and IRIs plain enough to need no parser."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels.compiled import inner, load_u64

_ALPHA, _DIGIT, _HEX, _SCHEME, _HOST, _PATH, _LABEL = 1, 2, 4, 8, 16, 32, 64
_HIGH_BITS = np.uint64(0x8080_8080_8080_8080)
_LOW_BITS = np.uint64(0x0101_0101_0101_0101)
_BACKSLASHES = _LOW_BITS * np.uint64(0x5C)


def _classes() -> Any:
    alpha = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    digit = b"0123456789"
    host = alpha + digit + b"-._~!$&'()*+,;="
    members = {
        _ALPHA: alpha,
        _DIGIT: digit,
        _HEX: digit + b"ABCDEFabcdef",
        _SCHEME: alpha + digit + b"+-.",
        _HOST: host,
        _PATH: host + b":@/",
        _LABEL: alpha + digit + b"_-.",
    }
    table = np.zeros(256, np.uint8)
    for bit, characters in members.items():
        table[list(characters)] |= bit
    return table


_CLASS = _classes()


@inner
def is_alpha(byte: Any) -> Any:
    """Tell an ASCII letter."""
    return _CLASS[byte] & _ALPHA != 0


@inner
def is_digit(byte: Any) -> Any:
    """Tell an ASCII digit."""
    return _CLASS[byte] & _DIGIT != 0


@inner
def is_label(byte: Any) -> Any:
    """Tell an ASCII character of a blank node label, dots included."""
    return _CLASS[byte] & _LABEL != 0


@inner
def has_byte(word: Any, pattern: Any) -> Any:
    """Return a word whose lowest set bit lies in the first byte of `word` that equals the repeated one of `pattern`."""
    difference = word ^ pattern
    return (difference - _LOW_BITS) & ~difference & _HIGH_BITS


@inner
def has_byte_below(word: Any, limits: Any) -> Any:
    """Return a word whose lowest set bit lies in the first byte of `word` below that (<= 128) repeated in `limits`."""
    return (word - limits) & ~word & _HIGH_BITS


@inner
def decode(data: Any, at: Any) -> Any:
    """Return (code point, bytes) of the non-ASCII UTF-8 character at `at`; (0, 0) where the bytes are not valid."""
    first = np.int64(data[at])
    if first < 0xC2 or first > 0xF4:
        return 0, 0
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    code = first & (0x7F >> length)
    for index in range(1, length):
        byte = np.int64(data[at + index])
        if byte & 0xC0 != 0x80:
            return 0, 0
        code = (code << 6) | (byte & 0x3F)
    if (length == 3 and code < 0x800) or (length == 4 and code < 0x10000):
        return 0, 0
    return (code, length) if is_scalar(code) else (0, 0)


@inner
def is_scalar(code: Any) -> Any:
    """Tell a Unicode scalar value: no surrogate, not above U+10FFFF."""
    return code < 0xD800 or (0xE000 <= code <= 0x10FFFF)


@inner
def encode(out: Any, at: Any, code: Any) -> Any:
    """Write the UTF-8 of `code` to out[at:]; return the index after it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    length = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    lead = 0xC0 if length == 2 else 0xE0 if length == 3 else 0xF0
    out[at] = lead | (code >> (6 * (length - 1)))
    for index in range(1, length):
        out[at + index] = 0x80 | ((code >> (6 * (length - 1 - index))) & 0x3F)
    return at + length


@inner
def read_escape(data: Any, at: Any) -> Any:
    """Return (code point, bytes) of the escape whose backslash is at `at`; (0, 0) where it is none of N-Triples."""
    kind = data[at + 1]
    if kind == 117 or kind == 85:  # u, U
        digits = 4 if kind == 117 else 8
        code = np.int64(0)
        for index in range(digits):
            byte = np.int64(data[at + 2 + index])
            if _CLASS[byte] & _HEX == 0:
                return 0, 0
            code = code * 16 + (byte - 48 if byte < 58 else (byte | 32) - 87)
        return (code, 2 + digits) if is_scalar(code) else (0, 0)
    short = b"tbnrf\"'\\"
    meant = b"\t\b\n\r\f\"'\\"
    for index in range(len(short)):
        if kind == short[index]:
            return np.int64(meant[index]), 2
    return 0, 0


@inner
def check_string(data: Any, at: Any, end: Any) -> Any:
    """Return -1 where data[at:end] has wrong UTF-8 or a wrong escape, 1 where it has escapes, else 0."""
    result = 0
    while at < end:
        word = load_u64(data, at)
        if word & _HIGH_BITS == 0 and has_byte(word, _BACKSLASHES) == 0:
            at += 8
            continue
        byte = data[at]
        if byte == 92:
            _, length = read_escape(data, at)
            result = 1
        elif byte >= 0x80:
            _, length = decode(data, at)
        else:
            length = 1
        if length == 0:
            return -1
        at += length
    return result


@inner
def _is_ucschar(code: Any) -> Any:
    """Tell a character that RFC 3987 lets stand in any part of an IRI."""
    if code < 0x10000:
        return (0xA0 <= code <= 0xD7FF) or (0xF900 <= code <= 0xFDCF) or (0xFDF0 <= code <= 0xFFEF)
    return code < 0xF0000 and code & 0xFFFF <= 0xFFFD and not 0xE0000 <= code <= 0xE0FFF


@inner
def _is_plain_path(data: Any, at: Any, end: Any) -> Any:
    """Tell whether data[at:end] is a path with query and fragment."""
    has_fragment = False
    while at < end:
        byte = data[at]
        length = 1
        if byte == 37:  # %
            length = 3 if _CLASS[data[at + 1]] & _CLASS[data[at + 2]] & _HEX else 0
        elif byte == 35:  # '#'
            length = 0 if has_fragment else 1
            has_fragment = True
        elif byte >= 0x80:
            code, length = decode(data, at)
            if not _is_ucschar(code):
                return False
        elif _CLASS[byte] & _PATH == 0 and byte != 63:  # ?
            return False
        if length == 0:
            return False
        at += length
    return True


@inner
def is_plain_iri(data: Any, at: Any, end: Any) -> Any:
    """Tell whether data[at:end], followed by '>', is an absolute IRI of a common shape.

    True for no IRI that RFC 3987 refuses; user names, IP literals, escapes and other rare forms give False.
    """
    if not is_alpha(data[at]):
        return False
    while _CLASS[data[at]] & _SCHEME:
        at += 1
    if data[at] != 58:
        return False
    at += 1
    if data[at] == 47 and data[at + 1] == 47:
        at += 2
        while _CLASS[data[at]] & _HOST:
            at += 1
        if data[at] == 58:
            at += 1
            while is_digit(data[at]):
                at += 1
        if at < end and data[at] != 47 and data[at] != 63 and data[at] != 35:
            return False
    return _is_plain_path(data, at, end)
