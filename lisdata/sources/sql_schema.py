"""What a database says about its tables: columns, keys, indexes; kept as JSON so that an export can make them again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from lisdata.json_shape import find_mismatch
from lisdata.records import ForeignKey, TableSchema
from lisdata.sources.table_schema import order_like_key

_DEFINITION = {"name": str, "columns": [dict], "foreign_keys": [{"key": dict}], "indexes": [dict], "primary_key": [str]}
_TIME_TYPES = {"DATE": "date", "DATETIME": "datetime", "TIMESTAMP": "datetime", "TIME": "time"}


class TableReadError(Exception):
    """The rows of a table that were not yet given cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlColumn:
    """A column as declared; `default` is SQL text, which is kept and never executed unless it is a plain literal."""

    name: str
    declared: str = ""
    not_null: bool = False
    default: str | None = None
    generated: bool = False

    @property
    def affinity(self) -> str:
        """SQLite's rules: INTEGER, TEXT, BLOB, REAL or NUMERIC."""
        declared = self.declared.upper()
        if "INT" in declared:
            return "INTEGER"
        if any(name in declared for name in ("CHAR", "CLOB", "TEXT")):
            return "TEXT"
        if not declared or "BLOB" in declared:
            return "BLOB"
        return "REAL" if any(name in declared for name in ("REAL", "FLOA", "DOUB")) else "NUMERIC"

    @property
    def time_type(self) -> str | None:
        """The type of texts in a column that is declared to hold dates or times."""
        return _TIME_TYPES.get(self.declared.upper().split("(")[0].strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlIndex:
    """An index of plain columns; `is_constraint` where it is a UNIQUE of the table's definition, perhaps named ""."""

    name: str
    columns: tuple[str, ...]
    descending: tuple[bool, ...]
    is_unique: bool
    is_constraint: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlKey:
    """A foreign key, with what shall happen when the row it refers to changes or goes."""

    key: ForeignKey
    on_update: str = "NO ACTION"
    on_delete: str = "NO ACTION"
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTable:
    """A table (or view) of a database; `left_out` names what of its definition is not kept, with how often."""

    name: str
    columns: tuple[SqlColumn, ...]
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    foreign_keys: tuple[SqlKey, ...] = ()
    indexes: tuple[SqlIndex, ...] = ()
    without_rowid: bool = False
    is_strict: bool = False
    autoincrement: bool = False
    is_view: bool = False
    left_out: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> str:
        """Return the definition as JSON, one form for equal ones."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_json(cls, text: str) -> SqlTable:
        """Undo `to_json`; ValueError for anything else."""
        found = orjson.loads(text)
        mismatch = find_mismatch(found, _DEFINITION)
        if mismatch is not None:
            raise ValueError(mismatch)
        return cls(
            **found
            | {
                "columns": tuple(SqlColumn(**column) for column in found["columns"]),
                "primary_key": tuple(found["primary_key"]),
                "foreign_keys": tuple(_key_from(key) for key in found["foreign_keys"]),
                "indexes": tuple(_index_from(index) for index in found["indexes"]),
                "left_out": tuple((name, count) for name, count in found["left_out"]),
            }
        )

    def schema(self, referenced: Sequence[tuple[str, ...]], *, namespace: str | None = None) -> TableSchema:
        """Return names, types and keys; `referenced` are columns that other keys than the primary one refer to."""
        foreign = tuple(entry.key for entry in self.foreign_keys)
        own = tuple(
            ForeignKey(columns=columns, table=self.name, references=columns)
            for columns in referenced
            if columns != self.primary_key
        )
        in_keys = {*self.primary_key, *(column for key in foreign + own for column in key.columns)}
        return TableSchema(
            name=self.name,
            columns=tuple(column.name for column in self.columns),
            types=tuple(usual_type(column, is_key=column.name in in_keys) for column in self.columns),
            primary_key=self.primary_key,
            foreign_keys=own + foreign,
            namespace=namespace,
        )


def _key_from(found: dict[str, Any]) -> SqlKey:
    key = found["key"]
    foreign = ForeignKey(columns=tuple(key["columns"]), table=key["table"], references=tuple(key["references"]))
    return SqlKey(**found | {"key": foreign})


def _index_from(found: dict[str, Any]) -> SqlIndex:
    return SqlIndex(**found | {name: tuple(found[name]) for name in ("columns", "descending")})


def usual_type(column: SqlColumn, *, is_key: bool) -> str:
    """Return the type that cells of a column have unless it is said: in keys numbers are integers unless REAL."""
    types = {"INTEGER": "integer", "TEXT": "string", "REAL": "number", "NUMERIC": "number", "BLOB": "any"}
    if is_key and column.affinity in ("NUMERIC", "BLOB"):
        return "integer"
    return types[column.affinity]


def resolve_keys(tables: Iterable[SqlTable]) -> tuple[SqlTable, ...]:
    """Return tables whose foreign keys name tables and columns as they are declared, in the order of the key there.

    SQL takes names in any case, and no columns for the primary key; so one key has one scope whoever refers to it.
    """
    tables = tuple(tables)
    known = {table.name.lower(): table for table in tables}
    return tuple(
        replace(table, foreign_keys=tuple(_resolve(entry, known) for entry in table.foreign_keys)) for table in tables
    )


def _resolve(entry: SqlKey, known: dict[str, SqlTable]) -> SqlKey:
    target = known.get(entry.key.table.lower())
    if target is None:
        return entry
    spelled = {column.name.lower(): column.name for column in target.columns}
    references = tuple(spelled.get(name.lower(), name) for name in entry.key.references) or target.primary_key
    key = order_like_key(replace(entry.key, table=target.name, references=references), target.primary_key)
    return replace(entry, key=key)


def referenced_columns(tables: Iterable[SqlTable], name: str) -> list[tuple[str, ...]]:
    """Return the columns of table `name` that foreign keys refer to, each combination once."""
    found: dict[tuple[str, ...], None] = {}
    for table in tables:
        for entry in table.foreign_keys:
            if entry.key.table == name:
                found.setdefault(entry.key.references)
    return list(found)
