"""Exact texts back to Arrow columns of any type: undoes `arrow_cells`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.sources.arrow_cells import UNITS, join_texts, storage_type

_TEXT = pa.large_string()
_FIRST_SECOND, _FIRST_SECOND_NS = "1677-09-21 00:12:43", -9_223_372_037 * 10**9
_NONE = pa.scalar(None, _TEXT)


def read_cells(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return an array of `type_` from the exact texts of its cells (large_binary, null for NULL).

    Raises pa.ArrowInvalid or ValueError for a text that is no value of the type.
    """
    plain = storage_type(type_)
    if _is_binary(plain):
        return _as_type(texts.cast(plain), type_)
    return _as_type(_read_plain(texts.cast(_TEXT), plain), type_)


def _as_type(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return values of a storage type as `type_`: with its dictionary, run ends or extension."""
    if array.type.equals(type_):
        return array
    if isinstance(type_, pa.BaseExtensionType):
        return type_.wrap_array(_as_type(array, type_.storage_type))
    if pa.types.is_dictionary(type_):
        encoded = _as_type(array, type_.value_type).dictionary_encode()
        indices = encoded.indices.cast(type_.index_type)
        return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=type_.ordered)
    if pa.types.is_run_end_encoded(type_):
        return pc.run_end_encode(_as_type(array, type_.value_type), run_end_type=type_.run_end_type)
    if pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_):
        return _as_list_view(array, type_)
    return array.cast(type_)


def _as_list_view(array: pa.LargeListArray, type_: pa.DataType) -> pa.Array:
    is_large = pa.types.is_large_list_view(type_)
    make, width = (pa.LargeListViewArray, pa.int64()) if is_large else (pa.ListViewArray, pa.int32())
    offsets = np.asarray(array.offsets)
    sizes = pa.array(np.diff(offsets)).cast(width)
    mask = pa.array(~np.asarray(array.is_valid()))
    return make.from_arrays(pa.array(offsets[:-1]).cast(width), sizes, array.values, type=type_, mask=mask)


def _read_plain(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_floating(type_):
        return _read_floats(texts, type_)
    if pa.types.is_interval(type_):
        values = [None if v is None else pa.MonthDayNano(list(map(int, v.split(",")))) for v in texts.to_pylist()]
        return pa.array(values, type_)
    if pa.types.is_temporal(type_):
        return _read_durations(texts, type_) if pa.types.is_duration(type_) else _read_times(texts, type_)
    if pa.types.is_null(type_):
        return pa.nulls(len(texts))
    if pa.types.is_nested(type_):
        encoded = texts.dictionary_encode()
        values = [_read_json(text) for text in encoded.dictionary.to_pylist()]
        return _from_json(values, type_).take(encoded.indices)
    return texts.cast(type_)


def _read_floats(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    with_bits = np.flatnonzero(np.asarray(pc.starts_with(texts, "nan:").fill_null(False)))
    if not len(with_bits):
        return texts.cast(type_)
    width = type_.bit_width // 8
    bits = [int(text[4:], 16) for text in texts.take(pa.array(with_bits)).to_pylist()]
    values = np.array(
        pc.if_else(pc.starts_with(texts, "nan:"), pa.scalar("nan", _TEXT), texts).cast(type_).fill_null(0)
    )
    values.view(np.dtype(f"u{width}"))[with_bits] = bits
    return pa.Array.from_buffers(type_, len(texts), [_validity(texts), pa.py_buffer(values)])


def _validity(array: pa.Array) -> pa.Buffer | None:
    return pa.array(np.asarray(array.is_valid())).buffers()[1] if array.null_count else None


def _read_times(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    is_raw = pc.starts_with(texts, "@").fill_null(False)
    if pc.any(is_raw).as_py():
        numbers = pc.if_else(is_raw, pc.utf8_slice_codeunits(texts, 1), _NONE).cast(pa.int64())
        usual = _read_times(pc.if_else(is_raw, _NONE, texts), type_)
        width = pa.int32() if type_.bit_width == 32 else pa.int64()
        return pc.coalesce(usual.view(width).cast(pa.int64()), numbers).cast(width).view(type_)
    if pa.types.is_date(type_):
        return texts.cast(type_)
    if pa.types.is_timestamp(type_):
        plain = pc.replace_substring_regex(texts, "Z$", "") if type_.tz is not None else texts
        return _read_timestamps(plain, type_.unit).view(type_)
    on_first_day = join_texts("1970-01-01 ", texts)
    numbers = on_first_day.cast(pa.timestamp(type_.unit)).view(pa.int64())
    return numbers.cast(pa.int32() if type_.bit_width == 32 else pa.int64()).view(type_)


def _read_timestamps(texts: pa.Array, unit: str) -> pa.Array:
    """Return times without a zone, also those in the first second of int64, which pyarrow reads as an overflow."""
    type_ = pa.timestamp(unit)
    is_first = pc.starts_with(texts, _FIRST_SECOND).fill_null(False)
    if unit != "ns" or not pc.any(is_first).as_py():
        return texts.cast(type_)
    fractions = [int(text[len(_FIRST_SECOND) + 1 :].ljust(9, "0")) for text in texts.filter(is_first).to_pylist()]
    first = pa.array([_FIRST_SECOND_NS + fraction for fraction in fractions], pa.int64())
    others = pc.if_else(is_first, _NONE, texts).cast(type_)
    return pc.replace_with_mask(others.view(pa.int64()), is_first, first).view(type_)


def _read_durations(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    if type_.unit not in UNITS:
        raise ValueError(f"expected a duration in one of {', '.join(UNITS)}, got {type_.unit}")
    return pc.replace_substring_regex(texts, f"{type_.unit}$", "").cast(pa.int64()).view(type_)


# -- nested values -----------------------------------------------------------------------------------------------------


def _read_json(text: str | None) -> Any:
    """Return JSON with its numbers and booleans as texts."""
    return None if text is None else json.loads(text, parse_int=str)


def _from_json(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Return an array of `type_` from what `_read_json` gives for each value."""
    plain = storage_type(type_)
    if pa.types.is_struct(plain):
        return _as_type(_structs_from(values, plain), type_)
    if pa.types.is_nested(plain):
        return _as_type(_lists_from(values, plain), type_)
    if _is_binary(plain):
        data = [None if value is None else value.encode("latin-1") for value in values]
        return _as_type(pa.array(data, pa.large_binary()).cast(plain), type_)
    texts = [str(value).lower() if isinstance(value, bool) else value for value in values]
    return _as_type(_read_plain(pa.array(texts, _TEXT), plain), type_)


def _structs_from(values: list[Any], type_: pa.DataType) -> pa.Array:
    fields = [type_.field(number) for number in range(type_.num_fields)]
    children = [
        _from_json([None if value is None else value[number] for value in values], field.type)
        for number, field in enumerate(fields)
    ]
    mask = pa.array([value is None for value in values], pa.bool_())
    if not fields:
        return pa.array([None if value is None else {} for value in values], type_)
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _lists_from(values: list[Any], type_: pa.DataType) -> pa.Array:
    mask = np.array([value is None for value in values], bool)
    if pa.types.is_fixed_size_list(type_):
        size = type_.list_size
        filled = [[None] * size if value is None else value for value in values]
        items = _from_json([item for value in filled for item in value], type_.value_type)
        return pa.FixedSizeListArray.from_arrays(items, type=type_, mask=pa.array(mask))
    sizes = [0 if value is None else len(value) for value in values]
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    flat = [item for value in values if value is not None for item in value]
    if pa.types.is_map(type_):
        keys = _from_json([key for key, _ in flat], type_.key_type)
        items = _from_json([item for _, item in flat], type_.item_type)
        marked = pa.array(np.append(offsets[:-1], offsets[-1]), pa.int32(), mask=np.append(mask, False))
        return pa.MapArray.from_arrays(marked, keys, items, type_)
    items = _from_json(flat, type_.value_type)
    if pa.types.is_large_list(type_):
        return pa.LargeListArray.from_arrays(pa.array(offsets), items, type=type_, mask=pa.array(mask))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=type_, mask=pa.array(mask))


def _is_binary(type_: pa.DataType) -> bool:
    is_any = pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_)
    return bool(is_any)
