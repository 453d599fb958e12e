"""Formulas of SyntaxGym: each means what its tree means, however it is spelled; what means nothing is told where."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.evaluation.syntaxgym_formulas import FormulaError, RegionTerm, parse_formula

SURPRISALS = {"a": {1: 1.0, 2: 2.5, 3: 0.0}, "b_x-y": {1: 1.0005, 2: 2.0, 3: 10.0}}
LEVELS = {"+": 3, "-": 3, "<": 2, ">": 2, "=": 2, "&": 1, "|": 1}


@dataclass(frozen=True)
class Node:
    """A tree of a formula: a leaf's text and value, or a sign over two trees."""

    text: str
    value: float = 0.0
    left: Node | None = None
    right: Node | None = None

    def compute(self) -> float | bool:
        """Compute the tree as the definition says, without any parsing."""
        if self.left is None or self.right is None:
            return self.value
        left, right = self.left.compute(), self.right.compute()
        return {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "<": lambda: left < right,
            ">": lambda: left > right,
            "=": lambda: abs(left - right) <= 1e-3 + 1e-5 * abs(right),
            "&": lambda: left and right,
            "|": lambda: left or right,
        }[self.text]()

    def spell(self, brackets: list[str], space: str) -> str:
        """Spell the tree with brackets only where they change its meaning, of the kinds in `brackets`, by depth."""
        if self.left is None or self.right is None:
            return self.text
        here, rest = brackets[0], brackets[1:]
        parts = []
        for child, is_right in ((self.left, False), (self.right, True)):
            spelled = child.spell(rest, space)
            binds_less = LEVELS.get(child.text, 9) < LEVELS[self.text] + is_right
            parts.append(f"{here[0]}{space}{spelled}{space}{here[1]}" if binds_less else spelled)
        return f"{parts[0]}{space}{self.text}{space}{parts[1]}"


def leaves() -> st.SearchStrategy[Node]:
    terms = [(c, r) for c, regions in SURPRISALS.items() for r in [*regions, None]]
    term = st.sampled_from(terms).map(
        lambda t: Node(
            f"( {t[1] or '*'};%{t[0]}% )", sum(SURPRISALS[t[0]].values()) if t[1] is None else SURPRISALS[t[0]][t[1]]
        )
    )
    return term | st.integers(0, 9).map(lambda n: Node(f"{n}.5", n + 0.5))


def joined(signs: str, children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.builds(lambda sign, left, right: Node(sign, 0.0, left, right), st.sampled_from(signs), children, children)


numbers = st.recursive(leaves(), lambda children: joined("+-", children), max_leaves=6)
truths = st.recursive(joined("<>=", numbers), lambda children: joined("&|", children), max_leaves=4)


@settings(deadline=None)
@given(truths, st.lists(st.sampled_from(["()", "[]"]), min_size=12, max_size=12), st.sampled_from(["", " ", "  "]))
def test_a_formula_means_what_its_tree_means(tree: Node, brackets: list[str], space: str) -> None:
    formula = parse_formula(tree.spell(brackets, space))

    assert formula.holds(SURPRISALS) is bool(tree.compute())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1;%a%) = (1;%b_x-y%)", True),  # 1 and 1.0005
        ("(2;%a%) = (2;%b_x-y%)", False),
        ("(2;%a%) - 2 - 1 < 0", True),  # from left to right: (2.5 - 2) - 1
        ("(*;%a%) > 3.4 & (*;%a%) < 3.6", True),
        ("1 < 2 | 1 < 2 & 2 < 1", False),  # & and | bind alike, from left to right
        ("[1 < 2] | [[1 < 2] & [2 < 1]]", True),
    ],
)
def test_examples(text: str, expected: bool) -> None:
    assert parse_formula(text).holds(SURPRISALS) is expected


def test_a_formula_tells_its_terms() -> None:
    formula = parse_formula("[(3;%np_mismatch%)-(*;%b%)]>0")

    assert formula.terms == (RegionTerm("np_mismatch", 3), RegionTerm("b", None))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a term or a number, found the end"),
        ("(1;%a%) >", 10, "expected a term or a number, found the end"),
        ("(1;%a%) (2;%a%)", 9, "expected an operator or a bracket closed"),
        ("(1;%a%) > > (2;%a%)", 11, "expected a term, a number or an open bracket, found '>'"),
        ("(1;%a%) > x", 11, "expected a term, a number, a bracket or an operator, found 'x'"),
        ("(1;a) > 2", 3, "expected a term, a number, a bracket or an operator, found ';a) > 2'"),
        ("[(1;%a%) > 2", 1, "expected ']' somewhere after this bracket, found none"),
        ("[(1;%a%) > 2)", 13, "expected ']', found ')'"),
        ("(1;%a%) > 2]", 12, "expected an operator or the end, found ']'"),
        ("(1;%a%) + 2", 1, "expected a comparison, found a number"),
        ("(1;%a%)", 1, "expected a comparison, found a number"),
        ("1 < 2 < 3", 7, "expected numbers on both sides of '<', found a truth and a number"),
        ("[1 < 2] + 3 > 1", 9, "expected numbers on both sides of '+'"),
        ("1 & 2 < 3", 3, "expected comparisons on both sides of '&', found a number and a truth"),
        ("__import__('os')", 1, "expected a term, a number, a bracket or an operator"),
    ],
)
def test_what_is_no_formula_is_refused_with_the_column(text: str, column: int, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)

    assert f"column {column}: {message}" in str(caught.value)


def test_a_condition_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        parse_formula("(1;%c%) > 0").holds(SURPRISALS)


def test_deep_brackets_and_long_sums_need_no_deep_stack() -> None:
    deep = "[" * 5000 + "(1;%a%) < 2" + "]" * 5000
    long = " + ".join(["(1;%a%)"] * 5000) + " > 4999"

    assert parse_formula(deep).holds(SURPRISALS)
    assert parse_formula(long).holds(SURPRISALS)
