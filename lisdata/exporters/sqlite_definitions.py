"""SQL that makes a table as it was declared: built from names, which are quoted, and from words that are known."""

from __future__ import annotations

import re
from collections import Counter

from lisdata.sources.sql_schema import SqlColumn, SqlKey, SqlTable
from lisdata.sources.sql_sqlite import quote_name

_ACTIONS = ("NO ACTION", "RESTRICT", "SET NULL", "SET DEFAULT", "CASCADE")
# A default is SQL from the database: only plain literals are taken over.
_LITERAL = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|'([^']|'')*'|[xX]'([0-9a-fA-F]{2})*'"
    r"|NULL|TRUE|FALSE|CURRENT_(TIME|DATE|TIMESTAMP)",
    re.IGNORECASE,
)
_TYPE = re.compile(r"[A-Za-z_]\w*( [A-Za-z_]\w*)*( ?\( ?[+-]?\d+(\.\d+)?( ?, ?[+-]?\d+(\.\d+)?)? ?\))?", re.ASCII)
# Words that SQLite takes for no name where they are not quoted.
_RESERVED = re.compile(
    r"\b(ALWAYS|ADD|ALL|ALTER|AND|AS|AUTOINCREMENT|BETWEEN|CASE|CHECK|COLLATE|COMMIT|CONSTRAINT|CREATE|CROSS|DEFAULT|DEFERRABLE"
    r"|DELETE|DISTINCT|DROP|ELSE|ESCAPE|EXCEPT|EXISTS|FOREIGN|FROM|FULL|GENERATED|GROUP|HAVING|IN|INDEX|INDEXED|INNER"
    r"|INSERT|INTERSECT|INTO|IS|ISNULL|JOIN|LEFT|LIMIT|NATURAL|NOT|NOTHING|NOTNULL|NULL|ON|OR|ORDER|OUTER|PRIMARY"
    r"|REFERENCES|RETURNING|RIGHT|SELECT|SET|TABLE|THEN|TO|TRANSACTION|UNION|UNIQUE|UPDATE|USING|VALUES|WHEN|WHERE)\b",
    re.IGNORECASE,
)


def create_table(table: SqlTable, losses: Counter[str]) -> str:
    """Return the statement that makes the table, without its indexes; what it does not say is counted."""
    losses.update(dict(table.left_out))
    losses["views written as tables"] += table.is_view
    inline_key = table.primary_key if table.autoincrement and len(table.primary_key) == 1 else ()
    key_name = _constraint(table.primary_key_name)
    parts = [_column(column, key_name if column.name in inline_key else None, losses) for column in table.columns]
    if table.primary_key and not inline_key:
        parts.append(f"{key_name}PRIMARY KEY ({_names(table.primary_key)})")
    uniques = [index for index in table.indexes if index.is_constraint]
    parts += [f"{_constraint(index.name)}UNIQUE ({_names(index.columns)})" for index in uniques]
    parts += [_foreign_key(entry) for entry in table.foreign_keys]
    options = [name for name, is_so in (("WITHOUT ROWID", table.without_rowid), ("STRICT", table.is_strict)) if is_so]
    return f"CREATE TABLE {quote_name(table.name)} ({', '.join(parts)}) {', '.join(options)}"


def count_definition(table: SqlTable, losses: Counter[str]) -> None:
    """Count what the definition of a table says beside names and types, where rows are written without it."""
    losses.update(dict(table.left_out))
    losses["primary keys"] += bool(table.primary_key)
    losses["foreign keys"] += len(table.foreign_keys)
    for index in table.indexes:
        losses["unique constraints" if index.is_constraint else "indexes"] += 1


def create_indexes(table: SqlTable) -> list[str]:
    """Return the statements that make the table's indexes of plain columns."""
    statements = []
    for index in table.indexes:
        if index.is_constraint:
            continue
        pairs = zip(index.columns, index.descending, strict=True)
        columns = ", ".join(quote_name(name) + (" DESC" if is_down else "") for name, is_down in pairs)
        unique = "UNIQUE " if index.is_unique else ""
        statements.append(f"CREATE {unique}INDEX {quote_name(index.name)} ON {quote_name(table.name)} ({columns})")
    return statements


def _column(column: SqlColumn, key_name: str | None, losses: Counter[str]) -> str:
    """Return a column's SQL; it is an AUTOINCREMENT key where `key_name` says how that begins."""
    words = [quote_name(column.name)]
    if column.declared:
        words.append(_declared(column.declared))
    if key_name is not None:
        words.append(f"{key_name}PRIMARY KEY AUTOINCREMENT")
    if column.not_null:
        words.append("NOT NULL")
    if column.default is not None and not column.generated:
        if _LITERAL.fullmatch(column.default):
            words.append(f"DEFAULT {column.default}")
        else:
            losses["default values"] += 1
    return " ".join(words)


def _declared(text: str) -> str:
    """Return a declared type, in quotes unless SQLite reads the same without; it is a text from the input."""
    return text if _TYPE.fullmatch(text) and not _RESERVED.search(text) else quote_name(text)


def _constraint(name: str | None) -> str:
    return f"CONSTRAINT {quote_name(name)} " if name else ""


def _foreign_key(entry: SqlKey) -> str:
    key = entry.key
    references = f" ({_names(key.references)})" if key.references else ""
    words = [
        f"{_constraint(entry.name)}FOREIGN KEY ({_names(key.columns)}) REFERENCES {quote_name(key.table)}{references}"
    ]
    for when, action in (("ON UPDATE", entry.on_update), ("ON DELETE", entry.on_delete)):
        if action in _ACTIONS[1:]:
            words.append(f"{when} {action}")
    return " ".join(words)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote_name, names))
