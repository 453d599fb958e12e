"""Structures as plain JSON types, the form published as `structure.v1.schema.json`; reading it is strict.

Bytes are a string where they are UTF-8, else {"base64": ...}. Reading takes a missing optional member for its default
and refuses an unknown one, so that a misspelled member is not lost.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lisdata.contents import Content, Role
from lisdata.errors import SchemaError
from lisdata.schema import ContentKind, StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.tensors import tensor_from_bytes

T = TypeVar("T")
JsonObject = dict[str, Any]

_CONTENT_KINDS = {kind.name.lower(): kind for kind in ContentKind}
_STRUCTURE_KINDS = {kind.label: kind for kind in StructureKind}
_CONTENT_MEMBERS = ("kind", "lexical", "datatype", "language", "scope")
_TAGS = ("terminal", "nonterminal", "head")
_JSON_TYPES = {str: "string", dict: "object", list: "array", int: "integer", type(None): "null"}
_NO_DEFAULT = object()


def structure_to_dict(structure: Structure) -> JsonObject:
    """Return a structure as plain JSON types."""
    tensor = structure.tensor
    return {
        "record_id": structure.record_id,
        "kind": structure.kind.label,
        "source": list(structure.source),
        "document": None if structure.document is None else _bytes_to_json(structure.document),
        "occurrences": [_occurrence_to_dict(o) for o in structure.occurrences],
        "instances": [
            {"label": e.label, "ordinal": e.ordinal, "handle": None if e.handle is None else content_to_dict(e.handle)}
            for e in structure.instances
        ],
        "incidences": [
            {"occurrence": i.occurrence, "instance": i.instance, "role": [i.role.relation, i.role.side]}
            | ({"position": i.position} if i.position else {})
            for i in structure.incidences
        ],
        "tensor": None
        if tensor is None
        else {
            "dtype": tensor.dtype.str,
            "shape": list(tensor.shape),
            "base64": _to_base64(np.ascontiguousarray(tensor).tobytes()),
        },
    }


def structure_from_dict(data: JsonObject) -> Structure:
    """Undo `structure_to_dict`; SchemaError names the record and the member that is wrong."""
    record_id = data.get("record_id") if isinstance(data, dict) else None
    try:
        return _structure_from_dict(data)
    except (SchemaError, ValueError) as error:
        raise SchemaError(f"{record_id}: {error}") from error


def _structure_from_dict(data: JsonObject) -> Structure:
    members = ("record_id", "kind", "source", "document", "occurrences", "instances", "incidences", "tensor")
    _check_members(data, members)
    document, tensor = data.get("document"), data.get("tensor")
    file, begin, end = _integers(data, "source", 3, default=[0, 0, 0])
    return Structure(
        record_id=_member(data, "record_id", str),
        kind=_kind(data, _STRUCTURE_KINDS),
        source=(file, begin, end),
        document=None if document is None else _bytes_from_json(document, "document"),
        occurrences=_each(data, "occurrences", _occurrence_from_dict),
        instances=_each(data, "instances", _instance_from_dict),
        incidences=_each(data, "incidences", _incidence_from_dict),
        tensor=None if tensor is None else _tensor_from_dict(tensor),
    )


def content_to_dict(content: Content) -> JsonObject:
    """Return a content as plain JSON types."""
    data: JsonObject = {"kind": content.kind.name.lower(), "lexical": _bytes_to_json(content.lexical)}
    optional = {"datatype": content.datatype, "language": content.language, "scope": content.scope}
    return data | {name: value for name, value in optional.items() if value is not None}


def content_from_dict(data: JsonObject) -> Content:
    """Undo `content_to_dict`; SchemaError names the member that is wrong."""
    _check_members(data, _CONTENT_MEMBERS)
    return _content(data)


def _content(data: JsonObject) -> Content:
    kind = _kind(data, _CONTENT_KINDS)
    lexical = _bytes_from_json(_member(data, "lexical", (str, dict)), "lexical")
    datatype, language, scope = (_member(data, name, (str, type(None)), None) for name in _CONTENT_MEMBERS[2:])
    return Content(kind, lexical, datatype, language, scope)


def _occurrence_to_dict(occurrence: Occurrence) -> JsonObject:
    optional = {
        "span": None if occurrence.span is None else list(occurrence.span),
        "terminal": occurrence.terminal,
        "nonterminal": occurrence.nonterminal,
        "head": occurrence.head,
        "deprel": occurrence.deprel,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return content_to_dict(occurrence.content) | given


def _occurrence_from_dict(data: JsonObject) -> Occurrence:
    _check_members(data, (*_CONTENT_MEMBERS, "span", *_TAGS, "deprel"))
    span = None if data.get("span") is None else _integers(data, "span", 2)
    terminal, nonterminal, head = (_member(data, name, (int, type(None)), None) for name in _TAGS)
    return Occurrence(
        content=_content(data),
        span=None if span is None else (span[0], span[1]),
        terminal=terminal,
        nonterminal=nonterminal,
        head=head,
        deprel=_member(data, "deprel", (str, type(None)), None),
    )


def _instance_from_dict(data: JsonObject) -> Instance:
    _check_members(data, ("label", "ordinal", "handle"))
    handle = data.get("handle")
    return Instance(
        label=_member(data, "label", str),
        ordinal=_member(data, "ordinal", int, 0),
        handle=None if handle is None else content_from_dict(handle),
    )


def _incidence_from_dict(data: JsonObject) -> Incidence:
    _check_members(data, ("occurrence", "instance", "role", "position"))
    role = _member(data, "role", list)
    if len(role) != 2 or not all(isinstance(part, str) for part in role):
        raise SchemaError(f"role: expected [relation, side], found {role!r}")
    return Incidence(
        occurrence=_member(data, "occurrence", int),
        instance=_member(data, "instance", int),
        role=Role(role[0], role[1]),
        position=_member(data, "position", int, 0),
    )


def _tensor_from_dict(data: JsonObject) -> Any:
    _check_members(data, ("dtype", "shape", "base64"))
    shape = _integers(data, "shape", None)
    values = _from_base64(_member(data, "base64", str), "tensor")
    try:
        return tensor_from_bytes(_member(data, "dtype", str), shape, values)
    except ValueError as error:
        raise SchemaError(f"tensor: {error}") from error


def _check_members(data: Any, expected: tuple[str, ...]) -> None:
    if not isinstance(data, dict):
        raise SchemaError(f"expected an object with {', '.join(expected)}, found {data!r}")
    for name in data:
        if name not in expected:
            raise SchemaError(f"expected only the members {', '.join(expected)}, found {name!r}")


def _member(data: JsonObject, name: str, types: type | tuple[type, ...], default: Any = _NO_DEFAULT) -> Any:
    value = data.get(name, default)
    if value is _NO_DEFAULT:
        raise SchemaError(f"expected a member {name!r}, found none")
    if not isinstance(value, types) or isinstance(value, bool):
        wanted = " or ".join(_JSON_TYPES[t] for t in (types if isinstance(types, tuple) else (types,)))
        raise SchemaError(f"{name}: expected {wanted}, found {value!r}")
    return value


def _kind(data: JsonObject, kinds: dict[str, T]) -> T:
    name = _member(data, "kind", str)
    if name not in kinds:
        raise SchemaError(f"kind: expected one of {', '.join(kinds)}, found {name!r}")
    return kinds[name]


def _integers(data: JsonObject, name: str, length: int | None, default: Any = _NO_DEFAULT) -> list[int]:
    values = _member(data, name, list, default)
    if any(not isinstance(v, int) or isinstance(v, bool) for v in values) or length not in (None, len(values)):
        raise SchemaError(f"{name}: expected {'' if length is None else f'{length} '}integers, found {values!r}")
    return list(values)


def _each(data: JsonObject, name: str, read: Callable[[JsonObject], T]) -> tuple[T, ...]:
    items = []
    for number, item in enumerate(_member(data, name, list, [])):
        try:
            items.append(read(item))
        except (SchemaError, ValueError) as error:
            raise SchemaError(f"{name}[{number}]: {error}") from error
    return tuple(items)


def _bytes_to_json(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": _to_base64(data)}


def _bytes_from_json(data: Any, name: str) -> bytes:
    if isinstance(data, dict):
        _check_members(data, ("base64",))
        return _from_base64(_member(data, "base64", str), name)
    if not isinstance(data, str):
        raise SchemaError(f"{name}: expected a string or an object with base64, found {data!r}")
    return data.encode("utf-8")


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:  # ValueError: characters outside ASCII
        raise SchemaError(f"{name}: expected base64, found {text[:40]!r} ({error})") from error
