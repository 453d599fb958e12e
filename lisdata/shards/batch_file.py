"""Arrow IPC files of compressed batches: the bytes that pyarrow writes, but equal buffers are compressed once.

Most lists of a structure are as long as another: their offsets are equal, and take longer to compress than the values.
pyarrow compresses each buffer by itself, so its messages are filled in here with what is compressed already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from lisdata.shards.batch_body import body_of
from lisdata.shards.ipc_message import ALIGNMENT, fill_footer, fill_message, message_size

_MAGIC = b"ARROW1"
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_SIZE_BYTES = 8  # of a buffer's size, which is before its compressed bytes


class BatchFile:
    """Writes batches of one schema to a sink, as the writer does that `pa.ipc.new_file` returns."""

    def __init__(self, sink: pa.NativeFile, schema: pa.Schema, compression: str) -> None:
        self._sink, self._schema = sink, schema
        self._options = pa.ipc.IpcWriteOptions(compression=compression)
        self._codec = pa.Codec(compression)
        self._opening = schema.serialize().to_pybytes()
        self._message: bytes | None = None
        self._blocks: list[tuple[int, int, int]] = []
        sink.write(_MAGIC.ljust(ALIGNMENT, b"\0") + self._opening)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write a batch of the schema."""
        body = body_of(batch)
        parts: list[Any] = []
        places, end = [], 0
        for size, compressed in self._compress(body.buffers):
            stored = _SIZE_BYTES + compressed.size if size else 0
            padding = -stored % ALIGNMENT
            places.append((end, stored))
            parts += [size.to_bytes(_SIZE_BYTES, "little"), compressed, bytes(padding)] if size else []
            end += stored + padding
        message = fill_message(
            self._message_of(batch), num_rows=batch.num_rows, nodes=body.nodes, buffers=places, body_bytes=end
        )
        self._blocks.append((self._sink.tell(), len(message), end))
        self._sink.write(b"".join((message, *parts)))

    def close(self) -> None:
        """Write the end of the file; the sink stays open."""
        footer = self._footer()
        self._sink.write(_END_OF_STREAM + footer + len(footer).to_bytes(4, "little") + _MAGIC)

    def _compress(self, buffers: list[pa.Buffer | None]) -> Iterable[tuple[int, Any]]:
        """Yield the size of each buffer and, unless it is empty, its compressed bytes."""
        known: dict[int, list[tuple[pa.Buffer, pa.Buffer]]] = {}
        for buffer in buffers:
            if buffer is None or buffer.size == 0:
                yield 0, None
                continue
            of_size = known.setdefault(buffer.size, [])
            compressed = next((compressed for other, compressed in of_size if other.equals(buffer)), None)
            if compressed is None:
                compressed = self._codec.compress(buffer)
                of_size.append((buffer, compressed))
            yield buffer.size, compressed

    def _message_of(self, batch: pa.RecordBatch) -> bytes:
        """Return a message that is right for a batch but for its numbers.

        Those that are 0 are left out of it, as are some where a batch has no rows.
        """
        if batch.num_rows and self._message is not None:
            return self._message
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema, options=self._options) as writer:
            writer.write_batch(batch.slice(0, 1))
        stream = sink.getvalue().to_pybytes()[len(self._opening) :]
        message: bytes = stream[: message_size(stream)]
        if batch.num_rows:
            self._message = message
        return message

    def _footer(self) -> bytes:
        """Return the footer of a file with so many batches at their places."""
        sink, empty = pa.BufferOutputStream(), pa.RecordBatch.from_pylist([], self._schema)
        with pa.ipc.new_file(sink, self._schema) as writer:
            for _ in self._blocks:
                writer.write_batch(empty)
        data = sink.getvalue().to_pybytes()
        end = len(data) - len(_MAGIC) - 4
        return fill_footer(data[end - int.from_bytes(data[end : end + 4], "little") : end], self._blocks)
