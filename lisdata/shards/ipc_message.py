"""The messages of Arrow IPC as bytes: reading and filling in the few numbers that say where the buffers of a batch are.

Arrow's Message.fbs and File.fbs number the fields; flatbuffers lead from one to another by offsets.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

Buffer = bytes | bytearray | memoryview

PREFIX_BYTES = 8  # four 0xFF and the message's length
ALIGNMENT = 8
_HEADER, _BODY_LENGTH = 2, 3
_NUM_ROWS, _NODES, _BUFFERS = 0, 1, 2
_BLOCKS = 3
_PAIR, _BLOCK = struct.Struct("<qq"), struct.Struct("<qi4xq")
Pairs = list[tuple[int, int]]


def message_size(data: Buffer) -> int:
    """Return the bytes of the message that `data` begins with, its prefix among them: its body is behind it."""
    return PREFIX_BYTES + int.from_bytes(data[4:PREFIX_BYTES], "little")


def read_message(message: Buffer) -> tuple[Pairs, Pairs]:
    """Return (length and nulls of each array, place in the body and size of each buffer) of a batch."""
    table = message[PREFIX_BYTES:]
    batch = _follow(table, _field(table, _follow(table, 0), _HEADER))
    nodes, buffers = (_items(table, _field(table, batch, number), _PAIR) for number in (_NODES, _BUFFERS))
    return [_PAIR.unpack_from(table, at) for at in nodes], [_PAIR.unpack_from(table, at) for at in buffers]


def fill_message(message: bytes, *, num_rows: int, nodes: Pairs, buffers: Pairs, body_bytes: int) -> bytes:
    """Return a message of a batch with other numbers of as many arrays and buffers; what it leaves out is 0."""
    table = bytearray(message[PREFIX_BYTES:])
    top = _follow(table, 0)
    batch = _follow(table, _field(table, top, _HEADER))
    for at, value in ((_field(table, top, _BODY_LENGTH), body_bytes), (_field(table, batch, _NUM_ROWS), num_rows)):
        if at >= 0:
            struct.pack_into("<q", table, at, value)
    _fill(table, _field(table, batch, _NODES), _PAIR, nodes)
    _fill(table, _field(table, batch, _BUFFERS), _PAIR, buffers)
    return message[:PREFIX_BYTES] + bytes(table)


def fill_footer(footer: bytes, blocks: list[tuple[int, int, int]]) -> bytes:
    """Return the footer of a file with other (place, bytes of the message, bytes of the body) of as many batches."""
    table = bytearray(footer)
    _fill(table, _field(table, _follow(table, 0), _BLOCKS), _BLOCK, blocks)
    return bytes(table)


def _fill(table: bytearray, at: int, form: struct.Struct, items: list[Any]) -> None:
    for place, item in zip(_items(table, at, form), items, strict=True):
        form.pack_into(table, place, *item)


def _items(table: Buffer, at: int, form: struct.Struct) -> Iterable[int]:
    """Return where the items are of the vector that the offset at `at` leads to."""
    begin = _follow(table, at)
    (length,) = struct.unpack_from("<I", table, begin)
    return range(begin + 4, begin + 4 + length * form.size, form.size)


def _follow(table: Buffer, at: int) -> int:
    return at + int(struct.unpack_from("<I", table, at)[0])


def _field(table: Buffer, begin: int, number: int) -> int:
    """Return where a field of the table at `begin` is, -1 where it is left out."""
    fields = begin - int(struct.unpack_from("<i", table, begin)[0])
    (size,) = struct.unpack_from("<H", table, fields)
    (offset,) = struct.unpack_from("<H", table, fields + 4 + 2 * number) if 4 + 2 * number < size else (0,)
    return begin + int(offset) if offset else -1
