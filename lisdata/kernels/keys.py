"""Content keys of whole columns: XXH3-128 (seed 0) of each row's key message, laid out as in `contents.key_message`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_buffers, fixed_binary
from lisdata.kernels.compiled import (
    BYTES,
    INT64S,
    OUT_BYTES,
    OUT_UINT64S,
    inner,
    kernel,
    load_u64,
    multiply_high,
    store_u64,
)
from lisdata.schema import KEY_TYPE, NO_ROW

SYMBOL_COLUMNS = ("datatype", "language", "scope")
_SECRET = np.frombuffer(
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
        "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a"
        "51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8f"
        "f8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
    ),
    np.uint8,
)
_P32_1, _P32_2, _P32_3 = np.uint64(0x9E3779B1), np.uint64(0x85EBCA77), np.uint64(0xC2B2AE3D)
_P64_1, _P64_2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_P64_3, _P64_4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
_P64_5 = np.uint64(0x27D4EB2F165667C5)
_AVALANCHE = np.uint64(0x165667919E3779F9)
_LOW32 = np.uint64(0xFFFF_FFFF)
_STRIPE, _SECRET_STEP, _STRIPES_A_BLOCK = 64, 8, 16


@inner
def _avalanche(value: Any) -> Any:
    value ^= value >> np.uint64(37)
    value *= _AVALANCHE
    return value ^ (value >> np.uint64(32))


@inner
def _fold(left: Any, right: Any) -> Any:
    return (left * right) ^ multiply_high(left, right)


@inner
def _mix16(data: Any, at: Any, secret: Any, key: Any) -> Any:
    return _fold(load_u64(data, at) ^ load_u64(secret, key), load_u64(data, at + 8) ^ load_u64(secret, key + 8))


@inner
def _mix32(low: Any, high: Any, data: Any, first: Any, second: Any, secret: Any, key: Any) -> Any:
    low += _mix16(data, first, secret, key)
    low ^= load_u64(data, second) + load_u64(data, second + 8)
    high += _mix16(data, second, secret, key + 16)
    high ^= load_u64(data, first) + load_u64(data, first + 8)
    return low, high


@inner
def _finish(low: Any, high: Any, length: Any) -> Any:
    mixed = low * _P64_1 + high * _P64_4 + np.uint64(length) * _P64_2
    return _avalanche(low + high), np.uint64(0) - _avalanche(mixed)


@inner
def _hash_to_16(data: Any, length: Any, secret: Any) -> Any:
    flip_low = load_u64(secret, 32) ^ load_u64(secret, 40)
    flip_high = load_u64(secret, 48) ^ load_u64(secret, 56)
    first, last = load_u64(data, 0), load_u64(data, length - 8)
    mixed = first ^ last ^ flip_low
    low, high = mixed * _P64_1, multiply_high(mixed, _P64_1)
    low += np.uint64(length - 1) << np.uint64(54)
    last ^= flip_high
    high += last + (last & _LOW32) * (_P32_2 - np.uint64(1))
    swapped = np.uint64(0)
    for shift in range(8):
        swapped = (swapped << np.uint64(8)) | ((high >> np.uint64(8 * shift)) & np.uint64(0xFF))
    low ^= swapped
    result_high = multiply_high(low, _P64_2) + high * _P64_2
    return _avalanche(low * _P64_2), _avalanche(result_high)


@inner
def _hash_to_128(data: Any, length: Any, secret: Any) -> Any:
    low, high = np.uint64(length) * _P64_1, np.uint64(0)
    for step in range((length - 1) // 32, -1, -1):
        low, high = _mix32(low, high, data, 16 * step, length - 16 * (step + 1), secret, 32 * step)
    return _finish(low, high, length)


@inner
def _hash_to_240(data: Any, length: Any, secret: Any) -> Any:
    low, high = np.uint64(length) * _P64_1, np.uint64(0)
    for at in range(0, 128, 32):
        low, high = _mix32(low, high, data, at, at + 16, secret, at)
    low, high = _avalanche(low), _avalanche(high)
    for at in range(128, length - 31, 32):
        low, high = _mix32(low, high, data, at, at + 16, secret, at - 128 + 3)
    low, high = _mix32(low, high, data, length - 16, length - 32, secret, 136 - 17 - 16)
    return _finish(low, high, length)


@inner
def _accumulate(lanes: Any, data: Any, at: Any, secret: Any, key: Any) -> None:
    for lane in range(8):
        value = load_u64(data, at + 8 * lane)
        mixed = value ^ load_u64(secret, key + 8 * lane)
        lanes[lane ^ 1] += value
        lanes[lane] += (mixed & _LOW32) * (mixed >> np.uint64(32))


@inner
def _scramble(lanes: Any, secret: Any) -> None:
    for lane in range(8):
        value = lanes[lane]
        lanes[lane] = (value ^ (value >> np.uint64(47)) ^ load_u64(secret, 128 + 8 * lane)) * _P32_1


@inner
def _merge(lanes: Any, secret: Any, key: Any, start: Any) -> Any:
    for pair in range(4):
        left = lanes[2 * pair] ^ load_u64(secret, key + 16 * pair)
        start += _fold(left, lanes[2 * pair + 1] ^ load_u64(secret, key + 16 * pair + 8))
    return _avalanche(start)


@inner
def _hash_long(data: Any, length: Any, secret: Any, lanes: Any) -> Any:
    lanes[0], lanes[1], lanes[2], lanes[3] = _P32_3, _P64_1, _P64_2, _P64_3
    lanes[4], lanes[5], lanes[6], lanes[7] = _P64_4, _P32_2, _P64_5, _P32_1
    for stripe in range((length - 1) // _STRIPE):
        step = stripe % _STRIPES_A_BLOCK
        if stripe and step == 0:
            _scramble(lanes, secret)
        _accumulate(lanes, data, stripe * _STRIPE, secret, step * _SECRET_STEP)
    if (length - 1) // _STRIPE and (length - 1) // _STRIPE % _STRIPES_A_BLOCK == 0:
        _scramble(lanes, secret)
    _accumulate(lanes, data, length - _STRIPE, secret, 192 - _STRIPE - 7)
    size = np.uint64(length)
    return _merge(lanes, secret, 11, size * _P64_1), _merge(lanes, secret, 192 - _STRIPE - 11, ~(size * _P64_2))


@inner
def _append_field(message: Any, at: Any, data: Any, begin: Any, end: Any) -> Any:
    message[at] = 1
    store_u64(message, at + 1, np.uint64(end - begin))
    at += 9
    stop = at + end - begin
    while at < stop and begin + 8 <= len(data):  # eight bytes at a time: those behind the field are written later
        store_u64(message, at, load_u64(data, begin))
        at += 8
        begin += 8
    for index in range(stop - at):
        message[at + index] = data[begin + index]
    return stop


@inner
def _write_big_endian(out: Any, at: Any, value: Any) -> None:
    for byte in range(8):
        out[at + byte] = (value >> np.uint64(56 - 8 * byte)) & np.uint64(0xFF)


@kernel(
    types.void(
        BYTES, INT64S, BYTES, types.Array(types.uint32, 2, "C", readonly=True), INT64S, BYTES, BYTES,
        OUT_BYTES, OUT_UINT64S, types.Array(types.uint8, 2, "C"),
    )
)  # fmt: skip
def _content_keys(
    kind: Any, offsets: Any, data: Any, symbols: Any, symbol_offsets: Any, symbol_data: Any, secret: Any,
    message: Any, lanes: Any, out: Any,
) -> None:  # fmt: skip
    """Write key r to out[r]; `message` is scratch room for the longest message and `lanes` for 8 words."""
    for row in range(len(kind)):
        message[0] = kind[row]
        length = _append_field(message, 1, data, offsets[row], offsets[row + 1])
        for column in range(3):
            symbol = np.int64(symbols[row, column])
            if symbol == NO_ROW:
                message[length] = 0
                length += 1
            else:
                length = _append_field(message, length, symbol_data, symbol_offsets[symbol], symbol_offsets[symbol + 1])
        if length <= 16:  # never under 13: kind, length and three marks are always there
            low, high = _hash_to_16(message, length, secret)
        elif length <= 128:
            low, high = _hash_to_128(message, length, secret)
        elif length <= 240:
            low, high = _hash_to_240(message, length, secret)
        else:
            low, high = _hash_long(message, length, secret, lanes)
        _write_big_endian(out[row], 0, high)
        _write_big_endian(out[row], 8, low)


def content_keys(
    kind: npt.NDArray[np.uint8],
    lexical_offsets: npt.NDArray[np.int64],
    lexical_data: npt.NDArray[np.uint8],
    symbols: npt.NDArray[np.uint32],
    symbol_offsets: npt.NDArray[np.int64],
    symbol_data: npt.NDArray[np.uint8],
) -> npt.NDArray[np.uint8]:
    """Return the keys, uint8 (N, 16), of N contents.

    Content r spells lexical_data[lexical_offsets[r] : lexical_offsets[r + 1]]; `symbols` (N, 3) holds its datatype,
    language and scope as numbers into the symbols, NO_ROW for null.
    """
    symbols = np.ascontiguousarray(symbols, np.uint32)
    num_named = int((symbols + np.uint32(1)).max(initial=0))  # NO_ROW becomes 0
    if num_named > len(symbol_offsets) - 1:
        raise ValueError(f"a content names label {num_named - 1} of {len(symbol_offsets) - 1}")
    longest_symbol = int(np.diff(symbol_offsets).max(initial=0))
    room = 18 + int(np.diff(lexical_offsets).max(initial=0)) + 3 * (9 + longest_symbol)
    out = np.empty((len(kind), 16), np.uint8)
    message, lanes = np.empty(room, np.uint8), np.empty(8, np.uint64)
    _content_keys(
        kind, lexical_offsets, lexical_data, symbols, symbol_offsets, symbol_data, _SECRET, message, lanes, out
    )
    return out


def keys_of_contents(contents: pa.RecordBatch, labels: pa.RecordBatch) -> pa.FixedSizeBinaryArray:
    """Return the keys that `contents` (CONTENTS schema, with or without its key column) must have."""
    offsets, data = binary_buffers(contents["lexical"])
    symbol_offsets, symbol_data = binary_buffers(labels["label"])
    columns = [contents[name].fill_null(NO_ROW).to_numpy(zero_copy_only=False) for name in SYMBOL_COLUMNS]
    kind = contents["kind"].to_numpy(zero_copy_only=False)
    keys = content_keys(kind, offsets, data, np.stack(columns, axis=1), symbol_offsets, symbol_data)
    return fixed_binary(keys, KEY_TYPE)
