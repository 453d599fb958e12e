"""Scans JSON (RFC 8259) into flat arrays of tokens, and takes the texts of tokens: no object a value, no recursion."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.compiled import BYTES, INT64S, OUT_BYTES, OUT_INT64S, inner, kernel

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

MAX_BYTES = (1 << 31) - 1


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
_OBJECT, _ARRAY, _STRING, _INTEGER, _NUMBER, _TRUE, _FALSE, _NULL, _KEY = map(int, JsonToken)
_OK, _VALUE, _ITEM_OR_END, _KEY_OR_END, _ONLY_KEY, _COLON, _IN_ARRAY, _IN_OBJECT, _END = range(9)
_QUOTE, _NO_CONTROL, _ESCAPE, _HEX, _DIGIT = range(9, 14)
_AFTER = _END  # the state after a value, whatever it stands in

_PLAIN_CHARACTER = np.ones(256, np.uint8)  # of a string: neither quote, backslash nor control character
_PLAIN_CHARACTER[:32] = 0
_PLAIN_CHARACTER[[34, 92]] = 0
_HEX_VALUE = np.full(256, 255, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _HEX_VALUE[list(_digits)] = np.arange(16)
_ESCAPED = np.zeros(256, np.uint8)  # what stands for the character behind a backslash
_ESCAPED[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')

_INT32S = types.Array(types.int32, 1, "C", readonly=True)
_OUT_INT32S = types.Array(types.int32, 1, "C")
_Tuple: Any = types.Tuple
_TOKENS = _Tuple((OUT_BYTES, _OUT_INT32S, _OUT_INT32S, _OUT_INT32S, _OUT_INT32S, _OUT_INT32S))


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonTokens:
    """The tokens of N documents in document order, those of document d in rows offsets[d] : offsets[d + 1].

    Token t is of `kind` (a JsonToken) and spelled by bytes [begin, end), quotes and brackets included; its text has
    `size` bytes (of a string, escapes undone; 0 of objects and arrays). It stands in token `parent` (-1: in none), and
    `following` is the first token behind it and all that it holds. A document that is no JSON has no tokens: then
    `fault` (a JsonFault) says what was expected at byte `fault_at`.
    """

    kind: UInt8
    begin: Int32
    end: Int32
    size: Int32
    parent: Int32
    following: Int32
    offsets: Int64
    fault: UInt8
    fault_at: Int64


@inner
def _after_space(data: Any, at: Any, stop: Any) -> Any:
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
def _code_point(data: Any, at: Any, stop: Any) -> Any:
    r"""Return (code point, length) of the \u escape at `at`, -1 for one that is none; a lone surrogate is itself."""
    value = _hex4(data, at + 2, stop)
    if 0xD800 <= value <= 0xDBFF:
        low = _low_surrogate(data, at + 6, stop)
        if low >= 0:
            return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00), 12
    return value, 6


@inner
def _utf8_length(value: Any) -> Any:
    if value < 0x80:
        return 1
    if value < 0x800:
        return 2
    return 3 if value < 0x10000 else 4


@inner
def _scan_string(data: Any, at: Any, stop: Any) -> Any:
    """Return (fault, where the string ends or is wrong, bytes of its text) of the string whose quote is at `at`."""
    size, at = 0, at + 1
    while True:
        first = at
        while at < stop and _PLAIN_CHARACTER[data[at]]:
            at += 1
        size += at - first
        if at >= stop:
            return _QUOTE, at, size
        byte = data[at]
        if byte == 34:
            return _OK, at + 1, size
        if byte != 92:
            return _NO_CONTROL, at, size
        if at + 1 < stop and data[at + 1] == 117:
            value, length = _code_point(data, at, stop)
            if value < 0:
                return _HEX, at, size
            size += _utf8_length(value)
            at += length
        elif at + 1 < stop and _ESCAPED[data[at + 1]]:
            size += 1
            at += 2
        else:
            return _ESCAPE, at, size


@inner
def _after_digits(data: Any, at: Any, stop: Any) -> Any:
    while at < stop and 48 <= data[at] <= 57:
        at += 1
    return at


@inner
def _scan_number(data: Any, at: Any, stop: Any) -> Any:
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
def _scan_literal(data: Any, at: Any, stop: Any) -> Any:
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


@inner
def _scan_scalar(data: Any, at: Any, stop: Any) -> Any:
    """Return (fault, where the value ends or is wrong, bytes of its text, kind)."""
    byte = data[at]
    if byte == 34:
        fault, last, size = _scan_string(data, at, stop)
        return fault, last, size, _STRING
    if byte == 45 or 48 <= byte <= 57:
        fault, last, kind = _scan_number(data, at, stop)
    else:
        fault, last, kind = _scan_literal(data, at, stop)
    return fault, last, last - at, kind


@inner
def _put(tokens: Any, count: Any, first: Any, last: Any, length: Any, outer: Any, of_kind: Any) -> None:
    kind, begin, end, size, parent, following = tokens
    kind[count], parent[count], following[count] = of_kind, outer, count + 1
    begin[count], end[count], size[count] = first, last, length


@inner
def _scan_document(data: Any, at: Any, stop: Any, tokens: Any, count: Any) -> Any:
    """Return (number of tokens then, fault, where it is)."""
    kind, _, end, _, parent, following = tokens
    outer = np.int64(-1)
    state = _VALUE
    while True:
        at = _after_space(data, at, stop)
        byte = np.int64(data[at]) if at < stop else np.int64(-1)
        if state == _AFTER:
            if outer < 0:
                return count, (_OK if byte < 0 else _END), at
            in_object = kind[outer] == _OBJECT
            if byte == 44:
                state = _ONLY_KEY if in_object else _VALUE
                at += 1
                continue
            if byte != (125 if in_object else 93):
                return count, (_IN_OBJECT if in_object else _IN_ARRAY), at
        if state == _AFTER or (state == _ITEM_OR_END and byte == 93) or (state == _KEY_OR_END and byte == 125):
            at += 1
            end[outer], following[outer] = at, count
            outer = np.int64(parent[outer])
            state = _AFTER
        elif state in (_ONLY_KEY, _KEY_OR_END):
            if byte != 34:
                return count, state, at
            fault, last, length = _scan_string(data, at, stop)
            if fault != _OK:
                return count, fault, last
            _put(tokens, count, at, last, length, outer, _KEY)
            count += 1
            at = _after_space(data, last, stop)
            if at >= stop or data[at] != 58:
                return count, _COLON, at
            at += 1
            state = _VALUE
        elif byte == 123 or byte == 91:
            _put(tokens, count, at, at, 0, outer, _OBJECT if byte == 123 else _ARRAY)
            outer = np.int64(count)
            count += 1
            at += 1
            state = _KEY_OR_END if byte == 123 else _ITEM_OR_END
        else:
            if byte < 0:
                return count, state, at
            fault, last, length, of_kind = _scan_scalar(data, at, stop)
            if fault != _OK:
                return count, (state if fault == _VALUE else fault), last
            _put(tokens, count, at, last, length, outer, of_kind)
            count += 1
            at = last
            state = _AFTER


@kernel(types.void(BYTES, INT64S, INT64S, _TOKENS, OUT_INT64S, OUT_BYTES, OUT_INT64S))
def _scan(data: Any, begin: Any, end: Any, tokens: Any, offsets: Any, faults: Any, fault_at: Any) -> None:
    count = np.int64(0)
    for document in range(len(faults)):
        first = count
        count, fault, at = _scan_document(data, begin[document], end[document], tokens, count)
        faults[document], fault_at[document] = fault, at
        if fault != _OK:
            count = first
        offsets[document + 1] = count


def scan_json(data: UInt8, first: Int64, last: Int64) -> JsonTokens:
    """Return the tokens of the documents data[first[d] : last[d]], which are UTF-8, for d in 0 .. N - 1."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"at most {MAX_BYTES} bytes are scanned at once, got {len(data)}")
    num_documents = len(first)
    # Each token but a document's first follows one of these.
    room = num_documents + sum(int(np.count_nonzero(data == byte)) for byte in b"[{,:")
    kind = np.empty(room, np.uint8)
    begin, end, size, parent, following = (np.empty(room, np.int32) for _ in range(5))
    offsets, fault_at = np.zeros(num_documents + 1, np.int64), np.empty(num_documents, np.int64)
    fault = np.empty(num_documents, np.uint8)
    _scan(data, first, last, (kind, begin, end, size, parent, following), offsets, fault, fault_at)
    count = int(offsets[-1])
    return JsonTokens(
        kind=kind[:count],
        begin=begin[:count],
        end=end[:count],
        size=size[:count],
        parent=parent[:count],
        following=following[:count],
        offsets=offsets,
        fault=fault,
        fault_at=fault_at,
    )


@inner
def _put_utf8(out: Any, target: Any, value: Any, length: Any) -> None:
    for index in range(length - 1, 0, -1):
        out[target + index] = 0x80 | (value & 0x3F)
        value >>= 6
    out[target] = value if length == 1 else value | ((0xF00 >> length) & 0xFF)


@kernel(types.void(BYTES, _INT32S, _INT32S, INT64S, types.int64, OUT_BYTES))
def _take(data: Any, begin: Any, end: Any, offsets: Any, quotes: Any, out: Any) -> None:
    for row in range(len(begin)):
        target = offsets[row]
        at, stop = np.int64(begin[row]) + quotes, np.int64(end[row]) - quotes
        if stop - at == offsets[row + 1] - target:
            for index in range(stop - at):
                out[target + index] = data[at + index]
            continue
        while at < stop:
            if data[at] != 92:
                out[target] = data[at]
                at += 1
                target += 1
            elif data[at + 1] == 117:
                value, length = _code_point(data, at, stop)
                size = _utf8_length(value)
                _put_utf8(out, target, value, size)
                at += length
                target += size
            else:
                out[target] = _ESCAPED[data[at + 1]]
                at += 2
                target += 1


def take_texts(data: UInt8, tokens: JsonTokens, rows: Int64, *, quoted: bool) -> pa.Array:
    """Return the texts of some tokens as large_string, a lone surrogate as three bytes; `quoted`: keys and strings."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(tokens.size[rows], out=offsets[1:])
    out = np.empty(offsets[-1], np.uint8)
    _take(data, tokens.begin[rows], tokens.end[rows], offsets, int(quoted), out)
    return binary_array(offsets, out, pa.large_string())
