"""SyntaxGym's test suites: JSON files of items, each the same sentence in several conditions, cut into regions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from lisdata.errors import SchemaError
from lisdata.evaluation.syntaxgym_formulas import Formula, FormulaError, parse_formula
from lisdata.json_shape import COUNT, Shape, find_mismatch, shown

METRICS = ("sum", "mean", "median", "range", "max", "min")
"""How the surprisals of a region's tokens may become one number."""

_REGION: Shape = {"region_number": COUNT, "content": str}
_CONDITION: Shape = {"condition_name": str, "regions": [_REGION]}
_ITEM: Shape = {"item_number": COUNT, "conditions": [_CONDITION]}
_SUITE: Shape = {"meta": {"name": str, "metric": str}, "predictions": [dict], "items": list}
_PREDICTION: Shape = {"type": str, "formula": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A sentence as regions in order: their numbers, and what they hold, stripped and maybe empty."""

    numbers: tuple[int, ...]
    contents: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentence: the regions that are not empty, joined by one space."""
        return " ".join(content for content in self.contents if content)

    def region_ends(self) -> list[int]:
        """Return the character of `text` where each region ends; it begins where the one before ends.

        So a joining space belongs to the region that follows it. An empty region ends where it begins.
        """
        return list(accumulate(self.contents, lambda end, new: end + (len(new) + (end > 0) if new else 0), initial=0))[
            1:
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item: its conditions by name."""

    number: int
    conditions: Mapping[str, Condition]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A test suite; an item is right when the first of its predictions holds."""

    name: str
    metric: str
    predictions: tuple[Formula, ...]
    items: tuple[Item, ...]


def read_suites(directory: Path) -> list[Suite]:
    """Return the suites of all JSON files of a folder, by name; SchemaError where there are none, or two of a name."""
    suites: dict[str, Suite] = {}
    for path in _suite_files(directory):
        suite = read_suite(path)
        if suite.name in suites:
            raise SchemaError(f"{path}: expected another name than {suite.name!r}, which an earlier file has")
        suites[suite.name] = suite
    return [suites[name] for name in sorted(suites)]


def read_suite(path: Path) -> Suite:
    """Return the suite of a JSON file.

    Raises SchemaError, naming the file and the item, where it is not of SyntaxGym's form, a formula cannot be parsed,
    or an item lacks a condition or region that a formula names.
    """
    try:
        body = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{path}: expected the JSON of a SyntaxGym suite, found {error}") from error
    _check_shape(body, _SUITE, str(path))
    metric = body["meta"]["metric"]
    if metric not in METRICS:
        raise SchemaError(f"{path}: meta.metric: expected one of {', '.join(METRICS)}, found {metric!r}")
    predictions = tuple(_prediction(found, f"{path}: predictions[{n}]") for n, found in enumerate(body["predictions"]))
    if not predictions or not body["items"]:
        raise SchemaError(f"{path}: expected at least one prediction and one item, found {shown(body['predictions'])}")
    items = tuple(_item(found, f"{path}: items[{n}]", predictions) for n, found in enumerate(body["items"]))
    numbers = [item.number for item in items]
    if twice := _first_twice(numbers):
        raise SchemaError(f"{path}: expected each item once, found item {twice[0]} again")
    return Suite(name=body["meta"]["name"], metric=metric, predictions=predictions, items=items)


def hash_suites(directory: Path) -> str:
    """Return the SHA-256 of the suite files of a folder, names included."""
    digest = hashlib.sha256()
    for path in _suite_files(directory):
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _suite_files(directory: Path) -> list[Path]:
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise SchemaError(f"{directory}: expected the JSON files of SyntaxGym suites, found none")
    return paths


def _prediction(body: dict[str, Any], place: str) -> Formula:
    _check_shape(body, _PREDICTION, place)
    if body["type"] != "formula":
        raise SchemaError(f"{place}: expected the type 'formula', found {body['type']!r}")
    try:
        return parse_formula(body["formula"])
    except FormulaError as error:
        raise SchemaError(f"{place}: {error}") from error


def _item(body: Any, place: str, predictions: Iterable[Formula]) -> Item:
    _check_shape(body, _ITEM, place)
    number = body["item_number"]
    where = f"{place} (item {number})"
    names = [condition["condition_name"] for condition in body["conditions"]]
    if twice := _first_twice(names):
        raise SchemaError(f"{where}: expected each condition once, found {twice[0]!r} again")
    conditions = {c["condition_name"]: _condition(c["regions"], where, c["condition_name"]) for c in body["conditions"]}
    for formula in predictions:
        for term in formula.terms:
            condition = conditions.get(term.condition)
            if condition is None:
                raise SchemaError(f"{where}: expected the condition {term.condition!r}, found {', '.join(names)}")
            if term.region is not None and term.region not in condition.numbers:
                found = ", ".join(map(str, condition.numbers))
                raise SchemaError(f"{where}: {term.condition}: expected a region {term.region}, found {found}")
    return Item(number=number, conditions=conditions)


def _condition(regions: Sequence[dict[str, Any]], where: str, name: str) -> Condition:
    numbers = tuple(region["region_number"] for region in regions)
    if twice := _first_twice(numbers):
        raise SchemaError(f"{where}: {name}: expected each region once, found region {twice[0]} again")
    condition = Condition(numbers=numbers, contents=tuple(region["content"].strip() for region in regions))
    if not condition.text:
        raise SchemaError(f"{where}: {name}: expected a sentence, found regions that are all empty")
    return condition


def _first_twice(values: Sequence[Any]) -> list[Any]:
    """Return the first value that stands there before, in a list, or an empty list."""
    return next(([value] for place, value in enumerate(values) if value in values[:place]), [])


def _check_shape(body: Any, shape: Shape, place: str) -> None:
    mismatch = find_mismatch(body, shape)
    if mismatch is not None:
        raise SchemaError(f"{place}: {mismatch}")
