"""Declared shapes of JSON: what fits, and how the first field that does not is named."""

from __future__ import annotations

from typing import Any

import pytest
from changed_documents import changed_documents
from hypothesis import given

from lisdata.json_shape import COUNT, MapOf, find_mismatch, shown

SHAPE = {
    "name": str,
    "size": COUNT,
    "offset": int,
    "is_whole": bool,
    "options": dict,
    "compression": (str, None),
    "parts": [{"name": str, "counts": MapOf(COUNT)}],
    "note?": str,
}
GOOD = {
    "name": "a",
    "size": 0,
    "offset": -1,
    "is_whole": True,
    "options": {"any": [1, None]},
    "compression": None,
    "parts": [{"name": "p", "counts": {"rows": 3}}, {"name": "q", "counts": {}, "more": 1}],
}


def test_what_fits_is_without_mismatch() -> None:
    assert find_mismatch(GOOD, SHAPE) is None
    assert find_mismatch(GOOD | {"note": "x", "compression": "zstd", "unknown": 3}, SHAPE) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "name: expected a text, found 3"),
        ({"size": -1}, "size: expected an integer from 0, found -1"),
        ({"size": True}, "size: expected an integer from 0, found True"),
        ({"size": 1.0}, "size: expected an integer from 0, found 1.0"),
        ({"offset": False}, "offset: expected an integer, found False"),
        ({"is_whole": 1}, "is_whole: expected true or false, found 1"),
        ({"options": []}, "options: expected an object, found []"),
        ({"compression": 7}, "compression: expected a text or null, found 7"),
        ({"parts": {}}, "parts: expected a list, found {}"),
        ({"parts": [None]}, "parts[0]: expected an object, found None"),
        ({"parts": [{"name": "p"}]}, "parts[0].counts: expected an object, found nothing"),
        (
            {"parts": [{"name": "p", "counts": {"rows": -3}}]},
            "parts[0].counts.rows: expected an integer from 0, found -3",
        ),
        ({"note": None}, "note: expected a text, found None"),
    ],
)
def test_the_first_field_of_another_shape_is_named(change: dict[str, Any], message: str) -> None:
    assert find_mismatch(GOOD | change, SHAPE) == message


def test_a_whole_of_another_shape_is_named_so() -> None:
    assert find_mismatch([], SHAPE) == "the whole: expected an object, found []"


@given(changed_documents(GOOD))
def test_any_change_fits_or_has_a_message_of_one_line(document: Any) -> None:
    found = find_mismatch(document, SHAPE)

    assert found is None or ("\n" not in found and len(found) < 300)


def test_a_long_value_is_cut_in_messages() -> None:
    assert shown("x" * 1000).endswith("...")
    assert len(shown("x" * 1000)) == 80
