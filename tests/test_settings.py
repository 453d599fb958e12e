"""Settings that people wrote: names, choices and types are checked wherever they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from lisdata.settings import build_settings


@dataclass(frozen=True, kw_only=True)
class Settings:
    size: int
    rate: float = 0.5
    unit: Literal["line", "word"] = "line"
    names: tuple[str, ...] = ()
    path: str | None = None
    table: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WithOptions:
    options: dict[str, Any] = field(default_factory=dict)


def test_a_name_that_belongs_in_options_is_sent_there() -> None:
    with pytest.raises(ValueError, match=r"^x has no unit; it has: options; other options go in options=\{'unit': "):
        build_settings(WithOptions, {"unit": "line"}, "x")


def test_lists_become_tuples_and_integers_floats() -> None:
    made = build_settings(Settings, {"size": 1, "rate": 2, "names": ["a"], "path": None}, "x")

    assert made == Settings(size=1, rate=2.0, names=("a",))
    assert type(made.rate) is float


def test_a_path_stands_for_its_text() -> None:
    assert build_settings(Settings, {"size": 1, "path": Path("a/b.json")}, "x").path == "a/b.json"
    with pytest.raises(ValueError, match="path: expected str, got b'a'"):
        build_settings(Settings, {"size": 1, "path": b"a"}, "x")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 1, "sise": 2}, "x has no sise"),
        ({}, "x needs size"),
        ({"size": "1"}, "x: size: expected int, got '1'"),
        ({"size": True}, "x: size: expected int, got True"),
        ({"size": 1, "unit": "page"}, "x: unit: expected one of line, word, got 'page'"),
        ({"size": 1, "names": "NA"}, "x: names: expected a list, got 'NA'"),
        ({"size": 1, "names": [1]}, "x: names: expected str, got 1"),
        ({"size": 1, "path": 3}, "x: path: expected str, got 3"),
        ({"size": 2**63}, "x: size: expected an integer of 64 bits, got 9223372036854775808"),
        ({"size": 1, "path": "\ud800"}, r"x: path: expected UTF-8, got '\\ud800'"),
        ({"size": 1, "names": ["\ud800"]}, "x: names: expected UTF-8"),
        ({"size": 1, "table": 3}, "x: table: expected a table of names and values, got 3"),
        ({"size": 1, "table": {3: 3}}, "x: table: expected a table of names and values"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        build_settings(Settings, values, "x")
