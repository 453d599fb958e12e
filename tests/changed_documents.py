"""Valid documents (JSON, TOML) of which one value, wherever it stands, is another or gone."""

from __future__ import annotations

import copy
import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

Path = tuple[str | int, ...]


def _trees(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "name", ""])
    return st.recursive(scalars, lambda v: st.lists(v, max_size=2) | st.dictionaries(names, v, max_size=2))


_SCALARS = (
    st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**31, 2**62, -(2**62)])
    | st.floats(-2, 2)
    | st.sampled_from(["", "a", "../a", ".", "\0", "x" * 300, "é", "chars", "utf-8", "a#b"])
)
VALUES = _trees(_SCALARS | st.none())  # of JSON
TOML_VALUES = _trees(_SCALARS | st.sampled_from([2**70, float("nan"), float("inf"), datetime.date(2024, 2, 29)]))


def to_toml(value: Any) -> str:
    """Return a value, or a document (a dict of keys), in TOML's inline form."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {to_toml(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    if isinstance(value, str | bool):
        return json.dumps(value)
    return str(value)  # numbers, nan, inf, dates


def iter_places(document: Any, place: Path = ()) -> Iterator[Path]:
    """Yield where each value of a document stands, but for the whole."""
    items: Any = []
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    for key, value in items:
        yield (*place, key)
        yield from iter_places(value, (*place, key))


def with_value(document: Any, place: Path, value: Any) -> Any:
    """Return the document with another value at a place."""
    changed = copy.deepcopy(document)
    _holder(changed, place)[place[-1]] = value
    return changed


def without_value(document: Any, place: Path) -> Any:
    """Return the document without the value at a place."""
    changed = copy.deepcopy(document)
    del _holder(changed, place)[place[-1]]
    return changed


def _holder(document: Any, place: Path) -> Any:
    for key in place[:-1]:
        document = document[key]
    return document


def refusal(action: Callable[[], object], *expected: type[Exception]) -> Exception | None:
    """Return the error of an expected kind that `action` raises, or None; any other error comes out."""
    try:
        action()
    except expected as error:
        return error
    return None


def changed_documents(document: Any, values: st.SearchStrategy[Any] = VALUES) -> st.SearchStrategy[Any]:
    """Return documents that differ from this one at one place: by any of `values`, or by lacking what stood there."""
    places = st.sampled_from(list(iter_places(document)))
    return places.flatmap(
        lambda place: (
            values.map(lambda value: with_value(document, place, value)) | st.just(without_value(document, place))
        )
    )
