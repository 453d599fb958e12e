from __future__ import annotations

from pathlib import Path

import pytest

from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.sources.html_lists import MAX_ITEMS, find_long_list


def attributes(count: int) -> str:
    return " ".join(f"a{number}" for number in range(count))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (f"<p>é</p><x {attributes(MAX_ITEMS + 1)}>", "attributes"),
        (f"<x/{attributes(MAX_ITEMS + 1).replace(' ', '/')}>", "attributes"),
        ("".join(f"<html b{number}=1>" for number in range(MAX_ITEMS + 1)), "attributes"),
        ("".join(f"<BODY b{number}=1>" for number in range(MAX_ITEMS + 1)), "attributes"),
        ("<select>" + "<option>" * (MAX_ITEMS + 1), "<option>"),
        ("<select>" + "<optgroup><OPTION>a" * (MAX_ITEMS // 2 + 1), "<option>"),
    ],
)
def test_a_list_that_takes_time_by_its_square_is_refused_with_its_place(text: str, items: str, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(text, encoding="utf-8")

    with pytest.raises(BadRecordError, match=f"a.html:1:[0-9]+: expected at most {MAX_ITEMS} {items}"):
        convert("html", tmp_path / "a.html", tmp_path / "data")


@pytest.mark.parametrize(
    "text",
    [
        f"<x {attributes(MAX_ITEMS)}>",
        "<select>" + "<option>" * MAX_ITEMS,
        "<html a b><body c>" * 5,
        "<optional>" * (MAX_ITEMS + 1),
        "a / " * MAX_ITEMS,
    ],
)
def test_a_list_of_usual_length_is_none(text: str) -> None:
    assert find_long_list(text) is None
