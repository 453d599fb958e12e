"""Scans JSON (RFC 8259) into flat arrays of tokens, and takes the texts of tokens: no object a value, no recursion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.compiled import BYTES, INT64S, OUT_BYTES, OUT_INT64S, inner, kernel
from lisdata.kernels.json_lexemes import (
    ESCAPED,
    JsonFault,
    JsonToken,
    after_space,
    code_point,
    put_unescaped,
    scan_literal,
    scan_number,
    utf8_length,
)

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

MAX_BYTES = (1 << 31) - 1

# Kernels compare plain numbers: enum members are slow there.
_OBJECT, _ARRAY, _STRING, _KEY = map(int, (JsonToken.OBJECT, JsonToken.ARRAY, JsonToken.STRING, JsonToken.KEY))
_OK, _VALUE, _ITEM_OR_END, _KEY_OR_END, _ONLY_KEY, _COLON, _IN_ARRAY, _IN_OBJECT, _END = map(int, tuple(JsonFault)[:9])
_QUOTE, _NO_CONTROL, _ESCAPE, _HEX = map(int, tuple(JsonFault)[9:13])
_AFTER = _END  # the state after a value, whatever it stands in

_PLAIN_CHARACTER = np.ones(256, np.uint8)  # of a string: neither quote, backslash nor control character
_PLAIN_CHARACTER[:32] = 0
_PLAIN_CHARACTER[[34, 92]] = 0

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
            value, length = code_point(data, at, stop)
            if value < 0:
                return _HEX, at, size
            size += utf8_length(value)
            at += length
        elif at + 1 < stop and ESCAPED[data[at + 1]]:
            size += 1
            at += 2
        else:
            return _ESCAPE, at, size


@inner
def _scan_scalar(data: Any, at: Any, stop: Any) -> Any:
    """Return (fault, where the value ends or is wrong, bytes of its text, kind)."""
    byte = data[at]
    if byte == 34:
        fault, last, size = _scan_string(data, at, stop)
        return fault, last, size, _STRING
    if byte == 45 or 48 <= byte <= 57:
        fault, last, kind = scan_number(data, at, stop)
    else:
        fault, last, kind = scan_literal(data, at, stop)
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
        at = after_space(data, at, stop)
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
            at = after_space(data, last, stop)
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


@kernel(types.void(BYTES, _INT32S, _INT32S, INT64S, types.int64, OUT_BYTES))
def _take(data: Any, begin: Any, end: Any, offsets: Any, quotes: Any, out: Any) -> None:
    for row in range(len(begin)):
        target = offsets[row]
        at, stop = np.int64(begin[row]) + quotes, np.int64(end[row]) - quotes
        if stop - at == offsets[row + 1] - target:
            for index in range(stop - at):
                out[target + index] = data[at + index]
            continue
        put_unescaped(data, at, stop, out, target)


def take_texts(data: UInt8, tokens: JsonTokens, rows: Int64, *, quoted: bool) -> pa.Array:
    """Return the texts of some tokens as large_string, a lone surrogate as three bytes; `quoted`: keys and strings."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(tokens.size[rows], out=offsets[1:])
    out = np.empty(offsets[-1], np.uint8)
    _take(data, tokens.begin[rows], tokens.end[rows], offsets, int(quoted), out)
    return binary_array(offsets, out, pa.large_string())
