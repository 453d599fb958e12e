"""The JSON Schema of `Structure.to_dict`: what structures can be checked against without this package.

It cannot compare a number with a length (an incidence with its occurrences, a span with its document, a tensor with its
shape): `lisdata.invariants` does.
"""

from __future__ import annotations

from typing import Any

from lisdata.schema import SCHEMA_VERSION, ContentKind, StructureKind

JsonObject = dict[str, Any]


def structure_json_schema() -> JsonObject:
    """Return the schema (draft 2020-12) of one structure; `$defs/content` is that of one content."""
    members = {
        "record_id": {"type": "string", "minLength": 1, "description": "Unique in the dataset: <scope>#<ordinal>."},
        "kind": {"enum": [kind.label for kind in StructureKind]},
        "source": {
            "description": "Number of the input file, and the bytes [begin, end) of it that the structure came from.",
            "type": "array",
            "prefixItems": [_integer(0, 2**32 - 1), _integer(0, 2**64 - 1), _integer(0, 2**64 - 1)],
            "items": False,
            "minItems": 3,
        },
        "document": _nullable({"$ref": "#/$defs/bytes", "description": "The running text or markup."}),
        "occurrences": _list_of("occurrence"),
        "instances": _list_of("instance"),
        "incidences": _list_of("incidence"),
        "tensor": _nullable({"$ref": "#/$defs/tensor"}),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"lisdata structure, version {SCHEMA_VERSION}",
        "description": "A labeled incidence structure; numbers of occurrences and instances are places in their lists.",
        **_object(members, required=("record_id", "kind")),
        "if": _object_with("tensor", {"type": "object"}),
        "then": {
            "description": "A tensor implies its occurrences and incidences: cell k, row-major, of the one instance.",
            "properties": {
                "kind": {"enum": [StructureKind.GRID.label, StructureKind.MIXED.label]},
                "occurrences": {"maxItems": 0},
                "incidences": {"maxItems": 0},
                "instances": {"minItems": 1, "maxItems": 1},
            },
            "required": ["instances"],
        },
        "$defs": _definitions(),
    }


def _definitions() -> JsonObject:
    symbols = {name: {"type": "string"} for name in ("datatype", "language", "scope")}
    content = {"kind": {"enum": [k.name.lower() for k in ContentKind]}, "lexical": {"$ref": "#/$defs/bytes"}, **symbols}
    occurrence = content | {
        "span": {
            "description": "Bytes [begin, end) of the document that spell the occurrence.",
            "type": "array",
            "items": _integer(0, 2**64 - 1),
            "minItems": 2,
            "maxItems": 2,
        },
        "terminal": _integer(0, 1),
        "nonterminal": _integer(0, 4),
        "head": _integer(0, 2**31 - 1),
        "deprel": {"type": "string"},
    }
    handle = {
        "description": "The content that names the instance where other instances, or the source, refer to it.",
        "allOf": [{"$ref": "#/$defs/content"}, _object_with("kind", {"const": ContentKind.INSTANCE.name.lower()})],
    }
    instance = {"label": {"type": "string"}, "ordinal": _integer(0, 2**64 - 1), "handle": _nullable(handle)}
    incidence = {
        "occurrence": _integer(0, 2**32 - 1),
        "instance": _integer(0, 2**32 - 1),
        "role": {
            "description": "Relation and side.",
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "string", "pattern": "^[^#]*$"}],
            "items": False,
            "minItems": 2,
        },
        "position": _integer(0, 2**63 - 1),
    }
    tensor = {
        "dtype": {
            "description": "Byte order, kind and size as numpy.dtype.str writes them.",
            "type": "string",
            "pattern": r"^[<>|][?biufcmMUSV][1-9][0-9]*(\[[0-9]*[A-Za-z]+\])?$",
        },
        "shape": {"type": "array", "items": _integer(0, 2**63 - 1)},
        "base64": {"$ref": "#/$defs/base64"},
    }
    return {
        "base64": {
            "type": "string",
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        },
        "bytes": {
            "description": "UTF-8 as a string; other bytes as base64.",
            "anyOf": [{"type": "string"}, _object({"base64": {"$ref": "#/$defs/base64"}}, required=("base64",))],
        },
        "content": _object(content, required=("kind", "lexical")),
        "occurrence": _object(occurrence, required=("kind", "lexical")),
        "instance": _object(instance, required=("label",)),
        "incidence": _object(incidence, required=("occurrence", "instance", "role")),
        "tensor": _object(tensor, required=("dtype", "shape", "base64")),
    }


def _object(members: JsonObject, *, required: tuple[str, ...]) -> JsonObject:
    return {"type": "object", "properties": members, "required": list(required), "additionalProperties": False}


def _object_with(name: str, value: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {name: value}, "required": [name]}


def _list_of(name: str) -> JsonObject:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def _nullable(schema: JsonObject) -> JsonObject:
    return {"anyOf": [{"type": "null"}, schema]}


def _integer(minimum: int, maximum: int) -> JsonObject:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}
