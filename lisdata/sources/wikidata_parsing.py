"""The fast parser, for JSON of which it keeps all that is written but how floats are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import orjson

_COLON, _MINUS, _SPACE = b":- "
_MINUS_ZERO = re.compile(rb":-0(?![0-9.eE])")  # an integer, which becomes 0
_SPACED_MINUS_ZERO = re.compile(rb":[ \t\r\n]+-0(?![0-9.eE])")


def read_fast(data: bytes) -> Any:
    """Return the value that `data` holds; None where the fast parser refuses it or does not keep what is written.

    Only floats, and integers of more than 64 bits, which become floats, are not known to be exact.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    # Of a member that comes twice the parser keeps the last; what it has kept is told by the colons, in strings or not.
    units = np.frombuffer(data, np.uint8)
    is_colon = units == _COLON
    if np.count_nonzero(is_colon) != np.count_nonzero(np.frombuffer(orjson.dumps(value), np.uint8) == _COLON):
        return None
    is_colon, after = is_colon[:-1], units[1:]
    is_lost = ((is_colon & (after == _MINUS)).any() and _MINUS_ZERO.search(data)) or (
        (is_colon & (after <= _SPACE)).any() and _SPACED_MINUS_ZERO.search(data)
    )
    return None if is_lost else value
