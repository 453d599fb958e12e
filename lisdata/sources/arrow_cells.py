"""Cells of Arrow columns as exact texts, a whole column at a time; `arrow_values` is the way back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import SchemaError

MAX_NESTING = 48
_TEXT = pa.large_string()
_SECONDS_A_DAY = 86_400
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # in a second
# Days since 1970 of the years 0 to 9999, which Arrow both writes and reads.
_FIRST_DAY, _LAST_DAY = -719_528, 2_932_896
QUIET_NAN = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}
_VIEWS = (pa.types.is_string_view, pa.types.is_binary_view)


def type_name(type_: pa.DataType) -> str:
    """Return what a column is called in datatypes of contents: the types of Table Schema, and binary and interval."""
    return _kind_of(storage_type(type_))[0]


def check_type(type_: pa.DataType, depth: int = 0) -> None:
    """Raise SchemaError for a type whose values cannot be spelled: a union, or one nested too deeply."""
    if depth > MAX_NESTING:
        raise SchemaError(f"expected types of at most {MAX_NESTING} levels, found a deeper one")
    type_ = storage_type(type_)
    _kind_of(type_)
    if pa.types.is_nested(type_):
        for number in range(type_.num_fields):
            check_type(type_.field(number).type, depth + 1)


def storage_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values that stand for those of `type_`: no extension, dictionary, run ends or views."""
    while True:
        if isinstance(type_, pa.BaseExtensionType):
            type_ = type_.storage_type
        elif pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
            type_ = type_.value_type
        elif any(is_view(type_) for is_view in _VIEWS):
            return pa.large_string() if pa.types.is_string_view(type_) else pa.large_binary()
        elif _is_list_view(type_):
            return pa.large_list(type_.value_field)
        else:
            return type_


def spell_cells(array: pa.Array) -> pa.Array:
    """Return the exact text of each cell (large_string; bytes as large_binary), null for NULL."""
    array = plain_array(array)
    return _kind_of(array.type)[1](array)


def plain_array(array: pa.Array) -> pa.Array:
    """Return an array of the storage type of its own."""
    while not array.type.equals(storage_type(array.type)):
        if isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        elif pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        elif pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        elif _is_list_view(array.type):
            array = _as_list(array)
        else:
            array = array.cast(storage_type(array.type))
    return array


def _kind_of(type_: pa.DataType) -> tuple[str, Callable[[pa.Array], pa.Array]]:
    for is_kind, name, spell in _KINDS:
        if is_kind(type_):
            return name, spell
    raise SchemaError(f"expected a type of plain or nested values, found {type_}")


def _spell_plain(array: pa.Array) -> pa.Array:
    return array.cast(_TEXT)


def _spell_binary(array: pa.Array) -> pa.Array:
    return array.cast(pa.large_binary())


def _spell_floats(array: pa.Array) -> pa.Array:
    """Return the shortest texts that read back as the same floats: 1.0, -0.0, nan, -inf; other NaNs with their bits."""
    texts = array.cast(_TEXT)
    is_whole = pc.match_substring_regex(texts, r"^-?[0-9]+$").fill_null(False)
    if pc.any(is_whole).as_py():
        texts = pc.if_else(is_whole, join_texts(texts, ".0"), texts)
    is_nan = pc.is_nan(array).fill_null(False)
    if not pc.any(is_nan).as_py():
        return texts
    width = array.type.bit_width // 8
    bits = integers_of(array, np.dtype(f"u{width}"))
    odd = np.flatnonzero(np.asarray(is_nan) & (bits != QUIET_NAN[width]))
    if not len(odd):
        return texts
    spelled = texts.to_pylist()
    for row in odd.tolist():
        spelled[row] = f"nan:{bits[row]:0{2 * width}x}"
    return pa.array(spelled, _TEXT)


def integers_of(array: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the fixed-width values of an array as integers of `dtype`, whatever stands where it is null."""
    dtype = np.dtype(dtype)
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)


def _spell_times(array: pa.Array) -> pa.Array:
    """Return dates, times and timestamps as in ISO 8601 (a zoned one in UTC, with a Z); "@n" for those Arrow can't."""
    type_ = array.type
    width = type_.bit_width // 8
    numbers = integers_of(array, np.dtype(f"i{width}")).astype(np.int64)
    low, high, step = time_range(type_)
    spellable = (numbers >= low) & (numbers < high) & (numbers % step == 0)
    is_zoned = pa.types.is_timestamp(type_) and type_.tz is not None
    if is_zoned:
        array = array.view(pa.timestamp(type_.unit))
    odd = np.flatnonzero(~spellable & np.asarray(array.is_valid()))
    if len(odd):
        array = pc.if_else(pa.array(spellable), array, pa.scalar(None, array.type))
    texts = array.cast(_TEXT)
    if is_zoned:
        texts = join_texts(texts, "Z")
    if len(odd):
        raw = join_texts("@", pa.array(numbers).cast(_TEXT))
        mask = np.zeros(len(array), bool)
        mask[odd] = True
        texts = pc.if_else(pa.array(mask), raw, texts)
    return texts


def time_range(type_: pa.DataType) -> tuple[int, int, int]:
    """Return (first, first beyond, multiple) of the numbers that Arrow writes as a date or time and reads again."""
    if pa.types.is_date32(type_):
        return _FIRST_DAY, _LAST_DAY + 1, 1
    if pa.types.is_date64(type_):
        day = _SECONDS_A_DAY * 1000
        return _FIRST_DAY * day, (_LAST_DAY + 1) * day, day
    unit = UNITS[type_.unit]
    if pa.types.is_time(type_):
        return 0, _SECONDS_A_DAY * unit, 1
    low, high = (days * _SECONDS_A_DAY * unit for days in (_FIRST_DAY, _LAST_DAY + 1))
    return max(low, -(2**63) + 1), min(high, 2**63 - 1), 1


def _spell_durations(array: pa.Array) -> pa.Array:
    return join_texts(array.view(pa.int64()).cast(_TEXT), array.type.unit)


def _spell_intervals(array: pa.Array) -> pa.Array:
    months_days_nanoseconds = [None if v is None else ",".join(map(str, v)) for v in array.to_pylist()]
    return pa.array(months_days_nanoseconds, _TEXT)


# -- nested values: JSON -----------------------------------------------------------------------------------------------


def _spell_json(array: pa.Array) -> pa.Array:
    """Return each value as JSON; null for NULL.

    Structs are arrays of their fields in order and maps arrays of [key, value], so that no name or key can get lost;
    all that is no number, boolean or nested value is a string, bytes with a character a byte.
    """
    return _to_json(array)


def _to_json(array: pa.Array) -> pa.Array:
    array = plain_array(array)
    type_ = array.type
    if _is_list(type_):
        return _join_lists(array)
    if pa.types.is_struct(type_):
        children = [_to_json(array.field(n)).fill_null("null") for n in range(type_.num_fields)]
        inner = pc.binary_join_element_wise(*children, _large(",")) if children else _repeat("", len(array))
        return _mask(join_texts("[", inner, "]"), array)
    texts = spell_cells(array)
    if pa.types.is_large_binary(texts.type):
        texts = pa.array([None if v is None else v.decode("latin-1") for v in texts.to_pylist()], _TEXT)
    name = type_name(type_)
    if name == "integer" or name == "boolean":
        return texts
    return quote_json(texts)


def _join_lists(array: pa.Array) -> pa.Array:
    if pa.types.is_map(array.type):
        array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    sizes = np.asarray(pc.list_value_length(array).fill_null(0)).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    inner = _to_json(array.flatten()).fill_null("null")  # without what stands under a null list
    joined = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), inner), _large(","))
    return _mask(join_texts("[", joined, "]"), array)


def quote_json(texts: pa.Array) -> pa.Array:
    """Return texts as JSON strings, null for null."""
    if not pc.any(pc.match_substring_regex(texts, '["\\\\\\x00-\\x1f]')).as_py():
        return join_texts('"', texts, '"')
    encoded = texts.dictionary_encode()
    spelled = [json.dumps(text, ensure_ascii=False) for text in encoded.dictionary.to_pylist()]
    return pa.array(spelled, _TEXT).take(encoded.indices)


def join_texts(*parts: pa.Array | str) -> pa.Array:
    """Return the parts of each row one after another; null where one is null."""
    scalars = [_large(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*scalars, _large(""))


def _mask(texts: pa.Array, array: pa.Array) -> pa.Array:
    return pc.if_else(array.is_valid(), texts, _large(None)) if array.null_count else texts


def _repeat(text: str, length: int) -> pa.Array:
    return pa.array([text] * length, _TEXT)


def _large(text: str | None) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


def _as_list(array: pa.Array) -> pa.Array:
    """Return a list view as a list, whose items stand in order and only once (a cast leaves offsets of nulls wrong)."""
    sizes = np.asarray(array.value_lengths().fill_null(0)).astype(np.int64)
    offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))))
    mask = pa.array(~np.asarray(array.is_valid()))
    return pa.LargeListArray.from_arrays(offsets, array.flatten(), type=storage_type(array.type), mask=mask)


def _is_list_view(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_))


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _is_binary(type_: pa.DataType) -> bool:
    is_any = pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_)
    return bool(is_any)


def _is_list(type_: pa.DataType) -> bool:
    is_any = pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)
    return bool(is_any or pa.types.is_map(type_))


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], str, Callable[[pa.Array], pa.Array]], ...] = (
    (_is_text, "string", _spell_plain),
    (pa.types.is_integer, "integer", _spell_plain),
    (pa.types.is_floating, "number", _spell_floats),
    (pa.types.is_decimal, "number", _spell_plain),
    (pa.types.is_boolean, "boolean", _spell_plain),
    (pa.types.is_date, "date", _spell_times),
    (pa.types.is_timestamp, "datetime", _spell_times),
    (pa.types.is_time, "time", _spell_times),
    (pa.types.is_duration, "duration", _spell_durations),
    (_is_binary, "binary", _spell_binary),
    (pa.types.is_null, "string", _spell_plain),
    (pa.types.is_interval, "interval", _spell_intervals),
    (_is_list, "array", _spell_json),
    (pa.types.is_struct, "object", _spell_json),
)
