"""Table Schema and Data Package descriptions: names, types, keys, NULL spellings and dialect of delimited files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from lisdata.errors import SchemaError
from lisdata.json_shape import Shape, find_mismatch, shown
from lisdata.records import ForeignKey

_UNCHECKED = ("object", "array", "list", "duration", "geopoint", "geojson")
_CHECKED = ("string", "any", "integer", "number", "boolean", "date", "datetime", "time", "year", "yearmonth")
_OTHER_SPELLINGS = ("decimalChar", "groupChar", "bareNumber", "trueValues", "falseValues")
# Dialect properties that are understood, and those that are accepted only with the value that says nothing.
_DIALECT: dict[str, Shape] = {"delimiter": str, "quoteChar": (str, None), "header": bool}
_NEUTRAL = {"doubleQuote": (True,), "skipInitialSpace": (False,), "commentChar": ("",), "caseSensitiveHeader": (True,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredField:
    """A column as declared; `checked_type` is None where its cells are spelled in a way that is not checked."""

    name: str
    type: str
    checked_type: str | None
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """What a schema file says about one table; None where it says nothing."""

    name: str | None
    fields: tuple[DeclaredField, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...]
    null_tokens: tuple[str, ...] | None
    dialect: dict[str, Any]
    encoding: str | None


def load_declared_table(path: str, file_name: str, table: str | None) -> DeclaredTable:
    """Read a Table Schema, or the resource of a Data Package that has the file's path or the table's name.

    SchemaError for what is not one, for no or several fitting resources, and for a dialect that is not understood.
    """
    try:
        data = orjson.loads(Path(path).read_bytes())
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{path}: expected JSON, found {error}") from error
    if isinstance(data, dict) and isinstance(data.get("resources"), list):
        resource = _find_resource(path, data["resources"], file_name, table)
        others = [r for r in data["resources"] if isinstance(r, dict)]
        return _join_keys(path, _read_resource(path, resource), others)
    if isinstance(data, dict) and "fields" in data:
        return _read_schema(path, data, name=None, resource={})
    raise SchemaError(f"{path}: expected a Table Schema (with fields) or a Data Package (with resources)")


def _find_resource(path: str, resources: list[Any], file_name: str, table: str | None) -> dict[str, Any]:
    found = [r for r in resources if isinstance(r, dict) and isinstance(r.get("name"), str)]
    if table is not None:
        fits = [r for r in found if r["name"] == table]
    else:
        stem = PurePosixPath(file_name).name.split(".")[0]
        fits = [r for r in found if _is_same_file(r.get("path"), file_name)] or [r for r in found if r["name"] == stem]
    if len(fits) != 1:
        names = ", ".join(r["name"] for r in found)
        wanted = f"the path {file_name}" if table is None else f"the name {table}"
        raise SchemaError(f"{path}: expected one resource with {wanted}, found {len(fits)} (resources: {names})")
    return fits[0]


def _is_same_file(path: Any, file_name: str) -> bool:
    if not isinstance(path, str):
        return False
    ours, theirs = PurePosixPath(file_name).parts, PurePosixPath(path).parts
    length = min(len(ours), len(theirs))
    return length > 0 and ours[-length:] == theirs[-length:]


def _read_resource(path: str, resource: dict[str, Any]) -> DeclaredTable:
    schema, where = resource.get("schema"), f"{path}: resource {resource['name']}"
    if not isinstance(schema, dict) or "fields" not in schema:
        raise SchemaError(f"{where}: expected a schema with fields, found none")
    _check(where, resource, {"encoding?": str})
    return _read_schema(path, schema, name=resource["name"], resource=resource)


def _join_keys(path: str, table: DeclaredTable, resources: list[dict[str, Any]]) -> DeclaredTable:
    """Return a table whose keys meet those of the other tables.

    Its foreign keys have the order of the primary keys that they refer to, and columns that foreign keys refer to are
    keys of its own also where they are not the primary key.
    """
    primary = {r.get("name"): _names(path, "primaryKey", _schema(r).get("primaryKey", [])) for r in resources}
    own = {
        key.references: ForeignKey(columns=key.references, table=table.name or "", references=key.references)
        for resource in resources
        for key in _keys_to(path, resource, table)
        if key.references != table.primary_key and {*key.references} <= {field.name for field in table.fields}
    }
    keys = tuple(order_like_key(key, primary.get(key.table or table.name, ())) for key in table.foreign_keys)
    return replace(table, foreign_keys=(*own.values(), *keys))


def _keys_to(path: str, resource: dict[str, Any], table: DeclaredTable) -> Iterator[ForeignKey]:
    """Yield the foreign keys of a resource that refer to the table, in the order of its primary key."""
    where = f"{path}: resource {resource.get('name')}"
    for entry in _list_of(where, "foreignKeys", _schema(resource).get("foreignKeys", [])):
        key = _read_foreign_key(where, entry)
        if (key.table or resource.get("name")) == table.name:
            yield order_like_key(key, table.primary_key)


def _schema(resource: dict[str, Any]) -> dict[str, Any]:
    schema = resource.get("schema")
    return schema if isinstance(schema, dict) else {}


def order_like_key(key: ForeignKey, primary_key: tuple[str, ...]) -> ForeignKey:
    """Return a foreign key with its columns in the order in which the primary key that it refers to has them."""
    if key.references == primary_key or sorted(key.references) != sorted(primary_key):
        return key
    if len(key.columns) != len(key.references):
        return key
    own = dict(zip(key.references, key.columns, strict=True))
    return replace(key, columns=tuple(own[name] for name in primary_key), references=primary_key)


def _read_schema(path: str, schema: dict[str, Any], *, name: str | None, resource: dict[str, Any]) -> DeclaredTable:
    where = path if name is None else f"{path}: resource {name}"
    fields = tuple(_read_field(where, entry) for entry in _list_of(where, "fields", schema["fields"]))
    names = {f.name for f in fields}
    if len(names) < len(fields):
        raise SchemaError(f"{where}: expected each field once, found {', '.join(f.name for f in fields)}")
    keys = [_read_foreign_key(where, e) for e in _list_of(where, "foreignKeys", schema.get("foreignKeys", []))]
    primary_key = _names(where, "primaryKey", schema.get("primaryKey", []))
    for column in [*primary_key, *(c for key in keys for c in key.columns)]:
        if column not in names:
            raise SchemaError(f"{where}: expected keys of declared fields, found {column!r}")
    missing = schema.get("missingValues")
    if missing is not None and not all(isinstance(token, str) for token in _list_of(where, "missingValues", missing)):
        raise SchemaError(f"{where}: expected missingValues to be texts, found {shown(missing)}")
    dialect = resource.get("dialect", {})
    _check_dialect(where, dialect)
    return DeclaredTable(
        name=name,
        fields=fields,
        primary_key=primary_key,
        foreign_keys=tuple(keys),
        null_tokens=None if missing is None else tuple(missing),
        dialect={key: value for key, value in dialect.items() if key in _DIALECT},
        encoding=resource.get("encoding"),
    )


def _read_field(where: str, entry: Any) -> DeclaredField:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise SchemaError(f"{where}: expected fields with a name, found {shown(entry)}")
    type_, what = entry.get("type", "string"), f"{where}: field {entry['name']}"
    if type_ not in _CHECKED + _UNCHECKED:
        known = ", ".join(_CHECKED + _UNCHECKED)
        raise SchemaError(f"{what}: expected a type ({known}), found {shown(type_)}")
    _check(what, entry, {"constraints?": {"required?": bool}})
    plain = entry.get("format", "default") == "default" and not any(key in entry for key in _OTHER_SPELLINGS)
    return DeclaredField(
        name=entry["name"],
        type=type_,
        checked_type=type_ if plain and type_ in _CHECKED else None,
        required=entry.get("constraints", {}).get("required", False),
    )


def _read_foreign_key(where: str, entry: Any) -> ForeignKey:
    reference = entry.get("reference") if isinstance(entry, dict) else None
    if not isinstance(reference, dict):
        raise SchemaError(f"{where}: expected foreignKeys with fields and reference, found {shown(entry)}")
    _check(f"{where}: foreignKeys.reference", reference, {"resource?": str})
    columns = _names(where, "foreignKeys.fields", entry.get("fields", []))
    references = _names(where, "foreignKeys.reference.fields", reference.get("fields", []))
    if not columns or len(columns) != len(references):
        raise SchemaError(f"{where}: expected as many fields as they refer to, found {columns} and {references}")
    # An empty or absent resource is this table: the caller knows its name.
    return ForeignKey(columns=columns, table=reference.get("resource", ""), references=references)


def _names(where: str, what: str, value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError(f"{where}: expected {what} to be a name or a list of names, found {shown(value)}")
    return tuple(names)


def _list_of(where: str, what: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SchemaError(f"{where}: expected {what} to be a list, found {shown(value)}")
    return value


def _check_dialect(where: str, dialect: Any) -> None:
    if not isinstance(dialect, dict):
        raise SchemaError(f"{where}: expected dialect to be an object, found {shown(dialect)}")
    _check(f"{where}: dialect", dialect, {f"{key}?": shape for key, shape in _DIALECT.items()})
    for key, value in dialect.items():
        known = key in (*_DIALECT, "lineTerminator", "csvddfVersion", "$schema") or value in _NEUTRAL.get(key, ())
        if not known:
            raise SchemaError(f"{where}: expected a dialect of {', '.join(_DIALECT)}, found {key} = {shown(value)}")


def _check(where: str, found: dict[str, Any], shape: Shape) -> None:
    mismatch = find_mismatch(found, shape)
    if mismatch is not None:
        raise SchemaError(f"{where}: {mismatch}")
