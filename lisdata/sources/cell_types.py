"""Checks that the cells of a column are spelled as its declared type (Table Schema, default formats)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

# No calendar: 30 February passes, as it does in the databases that such files come from.
_DAY = r"-?[0-9]{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"([01][0-9]|2[0-4]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
_SPELLINGS = {
    "integer": r"[+-]?[0-9]+",
    "number": r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|-?INF",
    "boolean": r"true|True|TRUE|1|false|False|FALSE|0",
    "date": _DAY,
    "datetime": f"{_DAY}[T ]{_CLOCK}",
    "time": _CLOCK,
    "year": r"-?[0-9]{4,}",
    "yearmonth": r"-?[0-9]{4,}-(0[1-9]|1[0-2])",
}


def misspelled(cells: pa.Array, checked_type: str | None) -> npt.NDArray[Any]:
    """Return the rows (int64) whose cell is not NULL and not of the type."""
    pattern = _SPELLINGS.get(checked_type or "")
    if pattern is None:
        return np.empty(0, np.int64)
    good = pc.match_substring_regex(cells, rf"\A({pattern})\z").fill_null(True)
    return np.flatnonzero(~np.asarray(good))
