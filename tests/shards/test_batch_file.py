"""Files whose equal buffers are compressed once, against those of pyarrow's writer, byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.schema import STRUCTURES
from lisdata.shards.batch_body import body_of
from lisdata.shards.batch_file import BatchFile
from lisdata.structure import Structure
from lisdata.testing import structure_lists

SCHEMA = pa.schema([
    pa.field("number", pa.uint8()),
    pa.field("text", pa.large_string()),
    pa.field("list", pa.large_list(pa.int64())),
    pa.field("pairs", pa.large_list(pa.struct([("a", pa.uint32()), ("b", pa.large_binary())]))),
])  # fmt: skip
LONGS = st.integers(-5, 5)
ROWS = st.lists(
    st.fixed_dictionaries({
        "number": st.none() | st.integers(0, 3),
        "text": st.none() | st.text(max_size=3),
        "list": st.none() | st.lists(LONGS, max_size=3),
        "pairs": st.none() | st.lists(
            st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(0, 3), "b": st.none() | st.just(b"x")}),
            max_size=3,
        ),
    }),
    max_size=12,
)  # fmt: skip


def written_by_pyarrow(schema: pa.Schema, batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def written(schema: pa.Schema, batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    writer = BatchFile(sink, schema, "zstd")
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
    return bytes(sink.getvalue())


@given(tables=st.lists(st.tuples(ROWS, st.integers(0, 9), st.integers(0, 9), st.sampled_from([1, 60])), max_size=3))
@settings(deadline=None)
def test_the_bytes_are_those_of_pyarrow(tables: list[tuple[list[dict[str, Any]], int, int, int]]) -> None:
    batches = [
        pa.RecordBatch.from_pylist(rows * repeats, SCHEMA).slice(begin, length * repeats)
        for rows, begin, length, repeats in tables
    ]

    assert written(SCHEMA, batches) == written_by_pyarrow(SCHEMA, batches)


@given(structures=structure_lists())
@settings(deadline=None, max_examples=25)
def test_structures_have_the_bytes_of_pyarrow(structures: list[Structure]) -> None:
    batch = Structure.to_arrow(structures).structures

    assert written(STRUCTURES, [batch, batch]) == written_by_pyarrow(STRUCTURES, [batch, batch])


@pytest.mark.parametrize("length", [1, 8, 500, 5000])
def test_nulls_that_share_their_zeros_have_the_bytes_of_pyarrow(length: int) -> None:
    nulls = pa.nulls(length, pa.struct(list(SCHEMA)))
    batch = pa.RecordBatch.from_arrays([nulls.field(number) for number in range(len(SCHEMA))], schema=SCHEMA)

    assert written(SCHEMA, [batch]) == written_by_pyarrow(SCHEMA, [batch])


def test_whole_buffers_are_not_copied() -> None:
    offsets, values = np.arange(4), np.arange(3)
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
    batch = pa.RecordBatch.from_arrays([lists], names=["list"])

    found = body_of(batch).buffers

    addresses = [buffer.address for buffer in found if buffer is not None]
    assert addresses == [offsets.ctypes.data, values.ctypes.data]


def test_equal_buffers_are_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class CountingCodec:
        def __init__(self, name: str) -> None:
            self.codec, self.sizes = codec(name), sizes

        def compress(self, buffer: pa.Buffer) -> pa.Buffer:
            self.sizes.append(buffer.size)
            return self.codec.compress(buffer)

    codec, sizes = pa.Codec, list[int]()
    monkeypatch.setattr(pa, "Codec", CountingCodec)
    column = pa.array([1, 2, 3], pa.int64())
    batch = pa.RecordBatch.from_arrays([column, pa.array([1, 2, 3], pa.int64()), column], names=["a", "b", "c"])

    written(batch.schema, [batch])

    assert sizes == [24]
