"""The body of an Arrow IPC message: which buffers of a batch it holds, and how much of each, as pyarrow writes them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lisdata.shards.ipc_message import Pairs, message_size, read_message

_BITMAP_ALIGNMENT = 64
_OFFSET_BYTES = 8


@dataclass(frozen=True, slots=True)
class Body:
    """Length and nulls of each array of a batch, parents before their children, and the buffers of all."""

    nodes: Pairs = field(default_factory=list)
    buffers: list[pa.Buffer | None] = field(default_factory=list)


def body_of(batch: pa.RecordBatch) -> Body:
    """Return the body of a batch of numbers, structs, and large lists, strings and binaries.

    No values are copied unless the batch is a part of another, or its buffers hold more than its values.
    """
    body = Body()
    if all(_add(body, array) for array in batch.columns):
        return body
    written = batch.serialize()
    begin = message_size(memoryview(written))
    nodes, places = read_message(memoryview(written)[:begin])
    return Body(nodes, [written.slice(begin + at, size) for at, size in places])


def _add(body: Body, array: pa.Array) -> bool:
    """Add an array and its children; return whether these are, for sure, the buffers that pyarrow would write."""
    length, nulls, type_ = len(array), array.null_count, array.type
    bitmap, *buffers = array.buffers()
    bits = _cut_bitmap(bitmap, length) if nulls else None
    if array.offset or length == 0 or (nulls and bits is None):
        return False
    body.nodes.append((length, nulls))
    body.buffers.append(bits)
    if pa.types.is_struct(type_):
        return all(_add(body, array.field(number)) for number in range(type_.num_fields))
    if pa.types.is_primitive(type_):
        body.buffers.append(buffers[0])
        return bool(buffers[0].size * 8 == length * type_.bit_width)
    offsets = buffers[0].slice(0, _OFFSET_BYTES * (length + 1))
    body.buffers.append(offsets)
    bounds = np.frombuffer(offsets, np.int64)
    if bounds[0]:
        return False
    if pa.types.is_large_list(type_):
        return _add_values(body, array.values, int(bounds[-1]))
    body.buffers.append(buffers[1] if bounds[-1] else None)
    return bool(bounds[-1] == 0 or bounds[-1] == buffers[1].size)


def _add_values(body: Body, values: pa.Array, length: int) -> bool:
    """Do as `_add` does for the values of all lists, of which there may be none."""
    if len(values) != length:
        return False
    return _add(body, values) if length else _add_none(body, values.type)


def _add_none(body: Body, type_: pa.DataType) -> bool:
    """Do as `_add` does for an array without values; where it has an offset all the same, pyarrow has the say."""
    body.nodes.append((0, 0))
    body.buffers.append(None)
    if pa.types.is_struct(type_):
        return all(_add_none(body, child.type) for child in type_)
    body.buffers.append(None)
    return bool(pa.types.is_primitive(type_))


def _cut_bitmap(bitmap: pa.Buffer, length: int) -> pa.Buffer | None:
    """Return the bytes of a bitmap of so many bits, None where pyarrow may write more than these."""
    size = -(-length // 8)
    if bitmap.size == size:
        return bitmap
    if bitmap.size <= -(-size // _BITMAP_ALIGNMENT) * _BITMAP_ALIGNMENT:
        return None
    bits = np.frombuffer(bitmap, np.uint8, size).copy()
    if length % 8:
        bits[-1] &= (1 << length % 8) - 1
    return pa.py_buffer(bits)
