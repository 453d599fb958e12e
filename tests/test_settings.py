"""Settings that people wrote: names, choices and types are checked wherever they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from lisdata.settings import build_settings


@dataclass(frozen=True, kw_only=True)
class Settings:
    size: int
    rate: float = 0.5
    unit: Literal["line", "word"] = "line"
    names: tuple[str, ...] = ()
    path: str | None = None


def test_lists_become_tuples_and_integers_floats() -> None:
    made = build_settings(Settings, {"size": 1, "rate": 2, "names": ["a"], "path": None}, "x")

    assert made == Settings(size=1, rate=2.0, names=("a",))
    assert type(made.rate) is float


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
    ],
)
def test_what_is_wrong_is_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        build_settings(Settings, values, "x")
