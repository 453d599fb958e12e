"""Formulas of SyntaxGym's predictions: comparisons of region surprisals, parsed once and computed for each item.

    formula  = terms joined by operators, grouped by ( ) or [ ]
    term     = (6;%what_gap%), surprisal of region 6 in condition what_gap; (*;%what_gap%), of all regions; or a number
    operator = + and -, which bind tightest; then < > and =; then & and |; from left to right within each

a = b is |a - b| <= 1e-3 + 1e-5 |b|, as the reference tool has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lisdata.errors import LisDataError

ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE = 1e-3, 1e-5

_BINDING = {"+": 3, "-": 3, "<": 2, ">": 2, "=": 2, "&": 1, "|": 1}
_CLOSING = {"(": ")", "[": "]"}
_TOKEN = re.compile(
    r"\(\s*(?P<region>\d+|\*)\s*;\s*%(?P<condition>[^%]*)%\s*\)|(?P<number>\d+(\.\d*)?|\.\d+)|(?P<sign>[][()+<>=&|-])"
)
_SPACE = re.compile(r"\s*")


class FormulaError(LisDataError):
    """A formula is not written as SyntaxGym writes them, or compares what cannot be compared."""


@dataclass(frozen=True, slots=True)
class RegionTerm:
    """The surprisal of a region, by its number, in a condition; `region` None is the sum over all its regions."""

    condition: str
    region: int | None


Sign: TypeAlias = Literal["+", "-", "<", ">", "=", "&", "|"]
Surprisals: TypeAlias = Mapping[str, Mapping[int, float]]
"""Surprisals by condition and by number of the region."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula as it is written, and its terms and operators in the order of a stack machine."""

    text: str
    steps: tuple[RegionTerm | float | Sign, ...]

    @property
    def terms(self) -> tuple[RegionTerm, ...]:
        """The terms that name regions, in order."""
        return tuple(step for step in self.steps if isinstance(step, RegionTerm))

    def holds(self, surprisals: Surprisals) -> bool:
        """Tell whether the formula is true; raises KeyError for a condition or region that is not there."""
        stack: list[float] = []
        for step in self.steps:
            if isinstance(step, RegionTerm):
                regions = surprisals[step.condition]
                stack.append(sum(regions.values()) if step.region is None else regions[step.region])
            elif isinstance(step, str):
                right = stack.pop()
                stack.append(_apply(step, stack.pop(), right))
            else:
                stack.append(step)
        return bool(stack.pop())


def parse_formula(text: str) -> Formula:
    """Return the formula that `text` spells; raises FormulaError, with the column, where it spells none."""
    return _Parser(text).parse()


def _apply(sign: Sign, left: float, right: float) -> float:
    if sign in "+-":
        return left + right if sign == "+" else left - right
    if sign in "<>":
        return left < right if sign == "<" else left > right
    if sign == "=":
        return abs(left - right) <= ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * abs(right)
    return bool(left and right) if sign == "&" else bool(left or right)


class _Parser:
    """Turns infix to postfix, knowing of each value on the stack whether it is a number or a truth value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps: list[RegionTerm | float | Sign] = []
        self.kinds: list[str] = []
        self.waiting: list[tuple[str, int]] = []  # signs and open brackets, with their places

    def parse(self) -> Formula:
        expects_value = True
        at = self._skip_space(0)
        while at < len(self.text):
            token = _TOKEN.match(self.text, at)
            if token is None:
                raise self._error(at, "a term, a number, a bracket or an operator", repr(self.text[at : at + 12]))
            sign = token["sign"]
            is_value_s = sign is None or sign in _CLOSING
            if is_value_s != expects_value:
                expected = "a term, a number or an open bracket" if expects_value else "an operator or a bracket closed"
                raise self._error(at, expected, repr(token[0]))
            if sign is None:
                self._push(token)
                expects_value = False
            elif sign in _CLOSING:
                self.waiting.append((sign, at))
            elif sign in _CLOSING.values():
                self._close(sign, at)
            else:
                self._reduce(_BINDING[sign])
                self.waiting.append((sign, at))
                expects_value = True
            at = self._skip_space(token.end())
        if expects_value:
            raise self._error(at, "a term or a number", "the end")
        return self._finish()

    def _finish(self) -> Formula:
        self._reduce(0)
        if self.waiting:
            bracket, at = self.waiting[-1]
            raise self._error(at, f"{_CLOSING[bracket]!r} somewhere after this bracket", "none")
        if self.kinds != ["truth"]:
            raise self._error(0, "a comparison", "a number")
        return Formula(self.text, tuple(self.steps))

    def _push(self, token: re.Match[str]) -> None:
        if token["number"] is not None:
            self.steps.append(float(token["number"]))
        else:
            region = None if token["region"] == "*" else int(token["region"])
            self.steps.append(RegionTerm(token["condition"], region))
        self.kinds.append("number")

    def _close(self, bracket: str, at: int) -> None:
        self._reduce(0)
        if not self.waiting:
            raise self._error(at, "an operator or the end", repr(bracket))
        opened, _ = self.waiting.pop()
        if _CLOSING[opened] != bracket:
            raise self._error(at, repr(_CLOSING[opened]), repr(bracket))

    def _reduce(self, binding: int) -> None:
        """Write down the waiting operators that bind at least as tightly, back to the last open bracket."""
        while self.waiting and _BINDING.get(self.waiting[-1][0], -1) >= binding:
            sign, at = self.waiting.pop()
            right, left = self.kinds.pop(), self.kinds.pop()
            wanted = "truth" if sign in "&|" else "number"
            if not left == right == wanted:
                expected = "comparisons" if wanted == "truth" else "numbers"
                raise self._error(at, f"{expected} on both sides of {sign!r}", f"a {left} and a {right}")
            self.steps.append(sign)  # type: ignore[arg-type]  # the keys of _BINDING are those of Sign
            self.kinds.append("number" if sign in "+-" else "truth")

    def _skip_space(self, at: int) -> int:
        space = _SPACE.match(self.text, at)
        return at if space is None else space.end()

    def _error(self, at: int, expected: str, found: str) -> FormulaError:
        return FormulaError(f"formula {self.text!r}, column {at + 1}: expected {expected}, found {found}")
