"""Which contents and roles cells and keys of tables have: shared keys, so that the key in Album is the Artist row."""

from __future__ import annotations

from dataclasses import dataclass

from lisdata.contents import Role
from lisdata.records import TableSchema

KEY_PREFIX = "key:"
SCOPE_PREFIX = "table:"
DIALECT = "dialect"
BINARY = "binary"  # the type of cells that are bytes


def column_role(table: str, column: str) -> Role:
    """Return the role of a column's cells.

    '%' and '#' in a column's name are written %25 and %23, and a leading "key:" as "key%3A": a side holds no '#', and
    those that begin with "key:" are the sides of composite keys.
    """
    side = column.replace("%", "%25").replace("#", "%23")
    return Role(table, side.replace(":", "%3A", 1) if side.startswith(KEY_PREFIX) else side)


def column_of_side(side: str) -> str | None:
    """Undo `column_role`; None for the side of a composite key."""
    if side.startswith(KEY_PREFIX):
        return None
    return side.replace("%3A", ":").replace("%23", "#").replace("%25", "%")


def key_scope(table: str, columns: tuple[str, ...], namespace: str | None = None) -> str:
    """Return the scope of a key's contents, the same for the primary key and for all that refer to it.

    It is table:<table>.<column>+<column>, in a namespace table:<namespace>.<table>.<column>+<column>, with '%', '.' and
    '+' in names written as %25, %2E and %2B.
    """
    before = "" if namespace is None else f"{_plain(namespace)}."
    return f"{SCOPE_PREFIX}{before}{_plain(table)}.{'+'.join(map(_plain, columns))}"


def table_of_scope(scope: str) -> str | None:
    """Return the table whose keys have a scope that `key_scope` gave; None for another scope."""
    names = scope.removeprefix(SCOPE_PREFIX).split(".")
    if not scope.startswith(SCOPE_PREFIX) or len(names) not in (2, 3):
        return None
    return names[-2].replace("%2B", "+").replace("%2E", ".").replace("%25", "%")


def _plain(name: str) -> str:
    return name.replace("%", "%25").replace(".", "%2E").replace("+", "%2B")


@dataclass(frozen=True, slots=True)
class Key:
    """Columns whose values together name a row of the table in `scope`; `position` is its place among their keys."""

    columns: tuple[str, ...]
    scope: str
    position: int = 0

    def role(self, table: str) -> Role:
        """The role of the whole key: key:<column>+<column>."""
        side = column_role(table, "+".join(map(_plain, self.columns))).side
        return Role(table, KEY_PREFIX + side)


def split_keys(table: TableSchema) -> tuple[dict[str, str], tuple[Key, ...]]:
    """Return (scope of each column that is a key by itself, the keys that need a content beside their cells).

    A composite key needs one, and so does a second single key of one column: its cell already shows the first.
    """
    declared = [(table.primary_key, table.name, table.primary_key)] if table.primary_key else []
    declared += [(key.columns, key.table, key.references) for key in table.foreign_keys]
    scopes: dict[str, str] = {}
    beside: list[Key] = []
    for columns, target, references in declared:
        scope = key_scope(target, references, table.namespace)
        if len(columns) == 1 and scopes.setdefault(columns[0], scope) == scope:
            continue
        same = sum(key.columns == columns for key in beside)
        beside.append(Key(columns, scope, same))
    return scopes, tuple(beside)
