from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.sources.json_contents import json_from_content, json_to_content
from lisdata.sources.json_text import (
    STYLES,
    JsonStyle,
    JsonTextError,
    NumberText,
    byte_offsets,
    iter_items,
    iter_members,
    iter_values,
    locate,
    read_json,
    write_json,
)

NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?", fullmatch=True).map(NumberText)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just("\ud800x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(value=VALUES, style=st.sampled_from(list(STYLES)))
def test_a_value_written_in_any_style_is_read_back(value: Any, style: str) -> None:
    text = write_json(value, STYLES[style])

    assert read_json(text) == value
    assert text.isascii() or not style.endswith("ascii")


@settings(deadline=None)
@given(value=VALUES)
def test_the_styles_are_those_of_the_standard_library(value: Any) -> None:
    plain = json.loads(write_json(value), parse_float=str, parse_int=str)  # numbers as strings: their spelling is ours
    strings = json.loads(json.dumps(plain))

    written = {name: write_json(strings, style) for name, style in STYLES.items()}

    assert written["spaced-ascii"] == json.dumps(strings)
    assert written["compact-ascii"] == json.dumps(strings, separators=(",", ":"))


@settings(deadline=None)
@given(value=VALUES)
def test_a_value_comes_back_from_its_content(value: Any) -> None:
    found = json_from_content(*json_to_content(value))

    assert found == value
    assert type(found) is type(value)


def test_each_value_has_its_kind() -> None:
    values = [NumberText("18446744073709551617"), NumberText("1.0"), "1", True, None, [], {"a": NumberText("1e2")}]

    found = [(kind.name, lexical) for kind, lexical in map(json_to_content, values)]

    assert found == [
        ("JSON_INT", b"18446744073709551617"),
        ("NUMBER", b"1.0"),
        ("JSON_STR", b"1"),
        ("BOOL", b"true"),
        ("NULL", b"null"),
        ("JSON", b"[]"),
        ("JSON", b'{"a": 1e2}'),
    ]


@settings(deadline=None)
@given(value=VALUES)
def test_the_value_found_at_a_path_is_the_one_there(value: Any) -> None:
    text = f" {write_json(value)} "

    for path, offset in iter_values(text):
        there = value
        for step in path:
            there = there[step]
        assert text.startswith(write_json(there), offset)
        assert locate(text, path) == offset


@settings(deadline=None)
@given(items=st.lists(VALUES, max_size=4), members=st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_items_and_members_are_found_where_they_stand(items: list[Any], members: dict[str, Any]) -> None:
    wide = JsonStyle(item_separator=" ,\n", name_separator=" : ", ascii_only=False)
    array, record = write_json(items, wide), write_json(members, wide)

    found = [read_json(array[begin:end]) for begin, end in iter_items(array, 0)]

    assert found == read_json(array)
    assert all(record.startswith(write_json(members[name], wide), begin) for name, begin in iter_members(record, 0))
    assert [name for name, _ in iter_members(record, 0)] == list(members)


@settings(deadline=None)
@given(text=st.text(max_size=8))
def test_byte_offsets_are_where_characters_begin(text: str) -> None:
    found = byte_offsets(text, text.encode())

    assert list(found) == [len(text[:i].encode()) for i in range(len(text) + 1)]


@pytest.mark.parametrize(
    ("text", "offset", "expected", "found"),
    [
        ("", 0, "JSON", "the end (Expecting value)"),
        ('{"a" 1}', 5, "JSON", '"1}" (Expecting'),
        ("[1] 2", 4, "JSON", '"2" (Extra data)'),
        ("[1, NaN]", 4, "JSON", '"NaN]" (NaN is not JSON)'),
        ('"a\nb"', 2, "JSON", "(Invalid control character at)"),
        ('{"a": {"b": 1, "\\u0062": 2}}', 25, "each member once", '"b" again'),
        ("[" * 100_000, 0, "JSON of fewer levels", "too deep"),
    ],
)
def test_wrong_text_is_refused_with_its_place(text: str, offset: int, expected: str, found: str) -> None:
    with pytest.raises(JsonTextError) as error:
        read_json(text)

    assert error.value.offset == offset
    assert error.value.expected == expected
    assert found in error.value.found


def test_the_public_parsing_suite_is_accepted_and_refused(shared: Path) -> None:
    accepted: dict[str, bool] = {}
    with tarfile.open(shared / "data/kg/json/JSONTestSuite_parsing.tar.gz") as archive:
        for member in archive.getmembers():
            stream = archive.extractfile(member) if member.name.endswith(".json") else None
            if stream is not None:
                accepted[Path(member.name).name] = is_json(stream.read())

    assert len(accepted) > 250
    wrong = [name for name, good in accepted.items() if name[0] in "yn" and good != (name[0] == "y")]
    assert wrong == ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"]


def is_json(data: bytes) -> bool:
    try:
        read_json(data.decode("utf-8"))
    except (UnicodeDecodeError, JsonTextError):
        return False
    return True
