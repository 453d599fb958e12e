from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from drawn_tables import ENCODED, NESTED, PLAIN, to_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import SchemaError
from lisdata.sources.arrow_cells import MAX_NESTING, check_type, spell_cells, type_name
from lisdata.sources.arrow_values import read_cells


def there_and_back(array: pa.Array) -> pa.Array:
    back = read_cells(spell_cells(array).cast(pa.large_binary()), array.type)
    back.validate(full=True)
    return back


@settings(max_examples=400, deadline=None)
@given(st.one_of(PLAIN + NESTED + ENCODED))
def test_cells_of_any_type_come_back_to_the_bit(array: pa.Array) -> None:
    back = there_and_back(array)

    assert back.type == array.type
    assert to_bits(back) == to_bits(array)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_the_first_and_the_last_nanoseconds_come_back(zone: str | None) -> None:
    first, last = -(2**63), 2**63 - 1
    near = [-9_223_372_036 * 10**9 + away for away in (-2, -1, 0, 1)]
    array = pa.array([first, first + 1, None, *near, last - 1, last], pa.int64()).view(pa.timestamp("ns", zone))

    assert to_bits(there_and_back(array)) == to_bits(array)


@settings(max_examples=60, deadline=None)
@given(st.one_of(PLAIN + NESTED), st.integers(0, 3))
def test_a_slice_of_a_column_is_spelled_as_its_own_rows(array: pa.Array, begin: int) -> None:
    assert spell_cells(array[begin:]).to_pylist() == spell_cells(array).to_pylist()[begin:]


@pytest.mark.parametrize(
    ("array", "name", "texts"),
    [
        (pa.array([2**53 + 1]), "integer", ["9007199254740993"]),
        (pa.array([2**64 - 1], pa.uint64()), "integer", ["18446744073709551615"]),
        (pa.array([1.0, -0.0, 0.1, float("nan"), float("-inf")]), "number", ["1.0", "-0.0", "0.1", "nan", "-inf"]),
        (pa.array(["", None]), "string", ["", None]),
        (pa.array([0], pa.timestamp("ms", "Europe/Berlin")), "datetime", ["1970-01-01 00:00:00.000Z"]),
        (pa.array([2_932_897], pa.int32()).view(pa.date32()), "date", ["@2932897"]),
        (pa.array([5], pa.duration("us")), "duration", ["5us"]),
        (pa.array([b"\xff"]), "binary", [b"\xff"]),
        (pa.array([[1, None], [], None]), "array", ["[1,null]", "[]", None]),
        (pa.array([{"a": "x", "b": 1.5}]), "object", ['["x","1.5"]']),
        (pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int8())), "array", ['[["k",1],["k",2]]']),
        (pa.array(["a"]).dictionary_encode(), "string", ["a"]),
    ],
)
def test_how_cells_are_spelled(array: pa.Array, name: str, texts: list[str | bytes | None]) -> None:
    assert type_name(array.type) == name
    assert spell_cells(array).to_pylist() == texts


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["x", None], pa.string_view()),
        pa.array([b"x", None], pa.binary_view()),
        pa.array([[1], None, [2, None]], pa.list_view(pa.int8())),
        pa.array([[1], None, [2, None]], pa.large_list_view(pa.int8())),
        pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
        pc.run_end_encode(pa.array(["a", "a", None])),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16))),
    ],
    ids=lambda array: str(array.type),
)
def test_views_runs_intervals_and_extensions_come_back(array: pa.Array) -> None:
    assert there_and_back(array).equals(array)
    assert there_and_back(array).type == array.type


def test_values_under_a_null_list_are_no_part_of_it() -> None:
    hidden = pa.ListArray.from_arrays(pa.array([0, 1, 3]), pa.array([1, 8, 9]), mask=pa.array([False, True]))

    assert spell_cells(hidden).to_pylist() == ["[1]", None]


def test_a_union_and_a_type_nested_too_deeply_are_refused() -> None:
    deep = pa.int8()
    for _ in range(MAX_NESTING + 1):
        deep = pa.list_(deep)

    with pytest.raises(SchemaError, match="at most 48 levels"):
        check_type(deep)
    with pytest.raises(SchemaError, match="plain or nested values, found sparse_union"):
        check_type(pa.list_(pa.sparse_union([pa.field("a", pa.int8())])))


@pytest.mark.parametrize(("text", "type_"), [(b"x", pa.int8()), (b"300", pa.int8()), (b"2020-13-01", pa.date32())])
def test_a_text_that_is_no_value_of_the_type_is_refused(text: bytes, type_: pa.DataType) -> None:
    with pytest.raises(pa.ArrowInvalid):
        read_cells(pa.array([text], pa.large_binary()), type_)
