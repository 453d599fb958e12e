"""The examples in docstrings say what the code does."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import lisdata.journeys

MODULES = [
    "lisdata.journeys",
    *(f"lisdata.journeys.{module.name}" for module in iter_modules(lisdata.journeys.__path__)),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


def test_there_are_examples() -> None:
    assert sum(doctest.testmod(import_module(name)).attempted for name in MODULES) >= 10


def test_public_names_are_all_there_and_none_is_a_module() -> None:
    modules = {module.name for module in iter_modules(lisdata.journeys.__path__)}

    assert modules.isdisjoint(lisdata.journeys.__all__)
    assert all(hasattr(lisdata.journeys, name) for name in lisdata.journeys.__all__)
