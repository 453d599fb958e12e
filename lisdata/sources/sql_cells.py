"""Cells that a database driver gives as Python objects, a column at a time: exact texts and the type of each."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from lisdata.sources.arrow_cells import spell_cells
from lisdata.sources.cell_types import misspelled


class ErrorValue(str):
    """What a cell of a spreadsheet shows instead of a value, such as #DIV/0!."""


_NONE = type(None)
_BINARY = (bytes, bytearray, memoryview)
Spelled = tuple[str, Callable[[Any], str]]
# What drivers of other databases than SQLite give; a class that is not here is a column that cannot be read.
_SPELLED: dict[type, Spelled] = {
    int: ("integer", str),
    float: ("number", lambda value: str(spell_cells(pa.array([value], pa.float64()))[0].as_py())),
    str: ("string", str),
    bool: ("boolean", lambda value: str(value).lower()),
    Decimal: ("number", str),
    dt.datetime: ("datetime", lambda value: value.isoformat(sep=" ")),
    dt.date: ("date", dt.date.isoformat),
    dt.time: ("time", dt.time.isoformat),
    dt.timedelta: ("duration", lambda value: f"{value // dt.timedelta(microseconds=1)}us"),
    UUID: ("string", str),
    ErrorValue: ("error", str),
    list: ("array", lambda value: json.dumps(value, ensure_ascii=False, default=str)),
    dict: ("object", lambda value: json.dumps(value, ensure_ascii=False, default=str)),
}


def spell_column(
    values: Sequence[Any], usual: str, time_type: str | None = None
) -> tuple[pa.Array, pa.DictionaryArray | None]:
    """Return (texts, types of single cells), the latter None where all cells that are not NULL are of type `usual`.

    `time_type` is the type of the texts that are spelled as such a date or time. Raises TypeError for values of a
    class that is not known, UnicodeEncodeError for text that is not UTF-8.
    """
    classes = set(map(type, values)) - {_NONE}
    if len(classes) > 1 or not classes <= {int, float, str, bytes}:
        return _spell_mixed(values, time_type)
    if not classes:
        return pa.nulls(len(values), pa.large_string()), None
    (kind,) = classes
    if kind is str:
        texts = pa.array(values, pa.large_string())
        return texts, _types_of_texts(texts, usual, time_type)
    if kind is bytes:
        return pa.array(values, pa.large_binary()), _one_type("binary", len(values), usual)
    if kind is float:
        return spell_cells(pa.array(values, pa.float64())), _one_type("number", len(values), usual)
    return _spell_integers(values), _one_type("integer", len(values), usual)


def _spell_integers(values: Sequence[int | None]) -> pa.Array:
    try:
        return pa.array(values, pa.int64()).cast(pa.large_string())
    except OverflowError:
        return pa.array([None if value is None else str(value) for value in values], pa.large_string())


def _one_type(name: str, length: int, usual: str) -> pa.DictionaryArray | None:
    if name == usual or (name, usual) == ("string", "any"):
        return None
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(length, np.int8)), pa.array([name]))


def _types_of_texts(texts: pa.Array, usual: str, time_type: str | None) -> pa.DictionaryArray | None:
    if time_type is None:
        return _one_type("string", len(texts), usual)
    codes = np.zeros(len(texts), np.int8)
    codes[misspelled(texts, time_type)] = 1
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([time_type, "string"]))


def _spell_mixed(values: Sequence[Any], time_type: str | None) -> tuple[pa.Array, pa.DictionaryArray]:
    names: dict[str, int] = {}
    codes = np.zeros(len(values), np.int8)
    texts: list[bytes | None] = []
    for row, value in enumerate(values):
        if value is None:
            texts.append(None)
            continue
        name, text = _spell(value)
        if time_type is not None and type(value) is str and not len(misspelled(pa.array([value]), time_type)):
            name = time_type
        codes[row] = names.setdefault(name, len(names))
        texts.append(text)
    cells = pa.array(texts, pa.large_binary())
    if "binary" not in names:
        cells = cells.cast(pa.large_string())
    return cells, pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(names) or ["string"]))


def _spell(value: Any) -> tuple[str, bytes]:
    if isinstance(value, _BINARY):
        return "binary", bytes(value)
    if type(value) not in _SPELLED:
        raise TypeError(f"expected values that have a text, found {type(value).__name__}")
    name, spell = _SPELLED[type(value)]
    return name, spell(value).encode()
