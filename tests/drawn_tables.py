"""Arrow columns of any type that hypothesis draws, and what says that two are the same to the bit."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
UNITS = ["s", "ms", "us", "ns"]
RAW_INT64 = st.integers(-(2**63), 2**63 - 1)


def raw(type_: pa.DataType, width: pa.DataType = pa.int64()) -> st.SearchStrategy[pa.Array]:  # noqa: B008
    """Draw values of a type that is stored as integers."""
    low, high = (-(2**31), 2**31 - 1) if width == pa.int32() else (-(2**63), 2**63 - 1)
    values = st.lists(st.none() | st.integers(low, high) | st.integers(0, 10**6), max_size=5)
    return values.map(lambda drawn: pa.array(drawn, width).view(type_))


def of(type_: pa.DataType, values: st.SearchStrategy[Any]) -> st.SearchStrategy[pa.Array]:
    return st.lists(st.none() | values, max_size=5).map(lambda drawn: pa.array(drawn, type_))


def floats(dtype: str) -> st.SearchStrategy[pa.Array]:
    """Draw any bits of a float: every NaN, both zeros, infinities."""
    width = np.dtype(dtype).itemsize
    bits = st.lists(st.binary(min_size=width, max_size=width), max_size=5)
    usual = st.lists(st.sampled_from([0.0, -0.0, 1.0, 0.1, -1e-5, 6e4, np.nan, np.inf, -np.inf]), max_size=5)
    drawn = bits.map(lambda parts: np.frombuffer(b"".join(parts), dtype)) | usual.map(lambda v: np.array(v, dtype))
    return drawn.map(pa.array)


def integers(type_: pa.DataType) -> st.SearchStrategy[pa.Array]:
    info = np.iinfo(type_.to_pandas_dtype())
    return of(type_, st.integers(int(info.min), int(info.max)) | st.sampled_from([int(info.min), int(info.max)]))


PLAIN: list[st.SearchStrategy[pa.Array]] = [
    *map(integers, INTEGERS),
    *(floats(f"f{width}") for width in (2, 4, 8)),
    *(raw(pa.timestamp(unit)) for unit in UNITS),
    *(raw(pa.timestamp(unit, tz)) for unit in UNITS for tz in ("UTC", "Europe/Berlin", "+05:30")),
    *(raw(pa.duration(unit)) for unit in UNITS),
    raw(pa.date32(), pa.int32()),
    of(pa.date64(), st.dates()),
    of(pa.time32("s"), st.times().map(lambda t: t.replace(microsecond=0))),
    of(pa.time64("us"), st.times()),
    of(pa.time64("ns"), st.times()),
    of(pa.decimal128(38, 10), st.decimals(-(10**20), 10**20, places=10)),
    of(pa.decimal256(60, 0), st.integers(-(10**50), 10**50).map(Decimal)),
    of(pa.decimal128(5, -2), st.integers(-99, 99).map(lambda n: Decimal(n * 100))),
    of(pa.bool_(), st.booleans()),
    of(pa.string(), TEXTS),
    of(pa.large_string(), TEXTS),
    of(pa.binary(), st.binary(max_size=5)),
    of(pa.large_binary(), st.binary(max_size=5)),
    of(pa.binary(3), st.binary(min_size=3, max_size=3)),
    of(pa.null(), st.none()),
]
_STRUCT = pa.struct([("a", pa.float64()), ("", pa.list_(pa.string())), ('"', pa.binary()), ("t", pa.time64("ns"))])
_STRUCTS = st.fixed_dictionaries(
    {
        "a": st.none() | st.floats(allow_nan=False),
        "": st.none() | st.lists(st.none() | TEXTS, max_size=3),
        '"': st.none() | st.binary(max_size=3),
        "t": st.none() | st.just(dt.time(1, 2, 3, 4)),
    }
)
NESTED: list[st.SearchStrategy[pa.Array]] = [
    of(pa.list_(pa.int64()), st.lists(st.none() | RAW_INT64, max_size=3)),
    of(pa.large_list(pa.list_(pa.bool_())), st.lists(st.none() | st.lists(st.none() | st.booleans()), max_size=3)),
    of(pa.list_(pa.decimal128(5, 2)), st.lists(st.none() | st.just(Decimal("1.10")), max_size=3)),
    of(pa.list_(pa.int8(), 2), st.lists(st.none() | st.integers(-128, 127), min_size=2, max_size=2)),
    of(_STRUCT, _STRUCTS),
    of(pa.list_(_STRUCT), st.lists(st.none() | _STRUCTS, max_size=3)),
    of(pa.struct([]), st.just({})),
    of(
        pa.map_(pa.string(), pa.uint64()), st.lists(st.tuples(TEXTS, st.none() | st.integers(0, 2**64 - 1)), max_size=3)
    ),
]
ENCODED: list[st.SearchStrategy[pa.Array]] = [
    of(pa.string(), TEXTS).map(lambda array: array.dictionary_encode()),
    of(pa.dictionary(pa.int8(), pa.int64(), ordered=True), RAW_INT64),
]


def to_bits(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return values as Python objects that are equal only where the bits are: floats as their bytes."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in to_bits(chunk)]
    if pa.types.is_floating(column.type):
        data = np.asarray(column.fill_null(0))
        return [v.tobytes() if ok else None for v, ok in zip(data, np.asarray(column.is_valid()), strict=True)]
    if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64()).to_pylist()
    return [repr(value) for value in column.to_pylist()]


def any_tables(columns: list[st.SearchStrategy[pa.Array]]) -> st.SearchStrategy[pa.Table]:
    """Draw tables of a few columns, of as many rows as the shortest has."""

    def table(arrays: list[pa.Array]) -> pa.Table:
        rows = min(map(len, arrays))
        names = ["", "a#b", "key:%", 'q"', "é漢"][: len(arrays)]
        fields = [pa.field(n, a.type, metadata={"m": n}) for n, a in zip(names, arrays, strict=True)]
        return pa.Table.from_arrays([a[:rows] for a in arrays], schema=pa.schema(fields, metadata={"k": "v"}))

    return st.lists(st.one_of(columns), min_size=1, max_size=4).map(table)
