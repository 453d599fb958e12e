"""Comparisons in an expression of polars of what is text with what is a number, which SQL would not convert."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Kind = Literal["text", "number"]
_SIGNS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_NUMBERS = ("Int", "UInt", "Float", "Decimal")


@dataclass(frozen=True, slots=True)
class _Side:
    """A column or a literal, as SQL, and what it is; `column` is its name."""

    sql: str
    kind: Kind
    column: str | None = None


def find_mixed(tree: Any, kinds: Mapping[str, Kind]) -> str | None:
    """Return what is wrong with the first comparison of a text with a number, if there is one.

    `tree` is an expression as polars has it in JSON, `kinds` what columns are of which that is known; a column that is
    called as roles are is text.
    """
    for left, operator, right in _iter_comparisons(tree):
        sides = _side(left, kinds), _side(right, kinds)
        if operator in _SIGNS and sides[0] is not None and sides[1] is not None and sides[0].kind != sides[1].kind:
            return _describe(sides[0], _SIGNS[operator], sides[1])
    return None


def quoted(column: str) -> str:
    """Return the SQL of a column that is called as roles are."""
    return '"' + column.replace('"', '""') + '"'


def as_number(column: str, example: str = "") -> str:
    """Return the SQL of a text column as a number, of a type that can be what `example` is."""
    if not example.removeprefix("-").isdigit() and example:
        return f"CAST({column} AS DOUBLE)"
    return f"CAST({column} AS {'BIGINT' if abs(int(example or 0)) >= 1 << 31 else 'INTEGER'})"


def _describe(left: _Side, sign: str, right: _Side) -> str:
    text, number = (left, right) if left.kind == "text" else (right, left)
    if text.column is None or "#" not in text.column:
        return f"{text.sql} is text and {number.sql} a number, which {sign} does not compare"
    cast = as_number(text.sql, "" if number.column else number.sql)
    remedy = " ".join((cast, sign, right.sql) if text is left else (left.sql, sign, cast))
    return f"{text.sql} is text, as all columns of roles are, and {number.sql} a number: {remedy}"


def _iter_comparisons(tree: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield (left, operator, right) of all operators with two operands, from the outermost on."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            binary, function = node.get("BinaryExpr"), node.get("Function")
            if isinstance(binary, dict):
                yield binary["left"], binary["op"], binary["right"]
            if isinstance(function, dict) and (operator := _operator(function["function"])):
                yield function["input"][0], operator, function["input"][1]
            waiting += reversed(node.values())
        elif isinstance(node, list):
            waiting += reversed(node)


def _operator(function: Any) -> str | None:
    """Return the operator that a function of two inputs is: so polars has those of decimals."""
    sql = function.get("Sql") if isinstance(function, dict) else None
    operator = sql.get("Binary") if isinstance(sql, dict) else None
    return operator if isinstance(operator, str) else None


def _side(node: Any, kinds: Mapping[str, Kind]) -> _Side | None:
    """Return a column or literal of which it is known what it is, else None."""
    if not isinstance(node, dict):
        return None
    if isinstance(column := node.get("Column"), str):
        kind: Kind | None = "text" if "#" in column else kinds.get(column)
        return None if kind is None else _Side(quoted(column) if "#" in column else column, kind, column)
    inside = node.get("Literal")
    value = (inside.get("Dyn") or inside.get("Scalar")) if isinstance(inside, dict) else None
    if not isinstance(value, dict) or len(value) != 1:
        return None
    type_, literal = next(iter(value.items()))
    if type_ == "String":
        return _Side("'" + literal.replace("'", "''") + "'", "text")
    if type_ == "Decimal":
        unscaled, _, scale = literal
        return _Side(str(Decimal(unscaled).scaleb(-scale)), "number")
    return _Side(str(literal), "number") if type_.startswith(_NUMBERS) else None
