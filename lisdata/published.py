"""The published schemas as readable JSON: Arrow tables, the JSON form of a structure, the key of a content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from lisdata.contents import Content, encode_text, key_message
from lisdata.paths import StrPath
from lisdata.schema import SCHEMA_VERSION, TABLES, ContentKind, LabelKind, StructureKind
from lisdata.structure_json_schema import structure_json_schema

JsonObject = dict[str, Any]

# What the Arrow types cannot say; a place in a list is counted from 0 unless said otherwise.
_MEANINGS: dict[str, dict[str, str]] = {
    "structures": {
        "record_id": "<scope>#<ordinal>: unique in the dataset, the same from run to run.",
        "kind": "What the structure was made from.",
        "tau": "Content of occurrence v: its row in this part's contents; v is the place in the list. Null beside a"
        " tensor, whose cells are the occurrences.",
        "span": "Bytes [begin, end) of `document` that spell occurrence v; null where it is not spelled there.",
        "document": "The unit's own bytes (text, code, markup).",
        "instance_label": "Relation, edge type, table ... of instance e: its row in the label list; e is the place in"
        " the list. One instance beside a tensor.",
        "instance_handle": "Content, of kind instance, that names instance e where other instances or the source refer"
        " to it; null where nothing does.",
        "instance_ordinal": "Place of the fact in its source, so that order and duplicates come back.",
        "incidence": "The relation I between occurrences and instances, a multiset. Null beside a tensor: cell k,"
        " row-major, is in instance 0.",
        "sigma": "Role of each incidence: its row in the label list. Null where `incidence` is.",
        "position": "Local position of each incidence in its role, 0 or more: in a sequence, or the order of repeated"
        " participants. Null where `incidence` is, and where all positions of the structure are 0.",
        "shape": "Extents of the tensor; an empty list for one value. Null without a tensor.",
        "tensor": "Values of a grid: dtype as numpy.dtype.str writes it, and the values row-major.",
        "terminal": "Terminal hexatag of occurrence v: 0 left child, 1 right child, -100 untagged.",
        "nonterminal": "Nonterminal hexatag of occurrence v: 0 none follows, 1 left child L, 2 left child R, 3 right"
        " child L, 4 right child R, -100 untagged.",
        "head": "Dependency head of occurrence v, counted from 1 in its sentence instance; 0 is the root, null none.",
        "deprel": "Dependency relation of occurrence v: its row in the label list.",
        "source": "Input file, counted from the part's first file (see the manifest), and the bytes [begin, end) of it,"
        " decompressed, that the row came from.",
    },
    "contents": {
        "key": "XXH3-128 of the other fields: see content-key.",
        "kind": "What the content is; part of its identity.",
        "lexical": "The exact form, never a normalised value: UTF-8, lone surrogates of JSON as WTF-8.",
        "datatype": "Row in the label list, or null.",
        "language": "Language tag as written: row in the label list, or null.",
        "scope": "What keeps local names apart (a file's blank nodes; a table's keys, as table:<table>.<column> or"
        " table:<namespace>.<table>.<column>): row in the label list; null is global.",
    },
    "labels": {
        "kind": "Which vocabulary the label belongs to; a label is there once a kind.",
        "label": "The label; of a role, relation#side.",
        "relation": "Roles only.",
        "side": "Roles only; holds no '#', so that the last '#' of the label splits it.",
    },
    "handles": {
        "key": "Key of the content that names the instance; the table is sorted by it, then by row and instance.",
        "row": "Row of the structure in this part.",
        "instance": "Instance of that structure.",
    },
    "same_as": {
        "key": "Key of a content.",
        "same": "Key of the content that it is shown as, when loaded or encoded.",
        "source": "Who says so.",
    },
}
_CODES = {
    ("structures", "kind"): StructureKind,
    ("contents", "kind"): ContentKind,
    ("labels", "kind"): LabelKind,
}
_KEY_LAYOUT = (
    "The key is the XXH3-128 (seed 0) of the message, 16 bytes in canonical order: the high 64 bits first, big-endian.",
    "The message is one byte, the code of the kind, and then four fields: lexical, datatype, language, scope.",
    "A null field is the byte 0x00. Another is the byte 0x01, its length (8 bytes, little-endian) and its bytes.",
    "Text is UTF-8, lexical forms are exact bytes (a lone surrogate as WTF-8): nothing is normalised or trimmed.",
    "So messages are equal only where all fields are: an empty field is not null, one kind is not another.",
)
_XSD = "http://www.w3.org/2001/XMLSchema#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_KEY_EXAMPLES = (
    Content(ContentKind.ENTITY, b""),
    Content(ContentKind.ENTITY, b"Aspirin"),
    Content(ContentKind.WORD, b"Aspirin"),
    Content(ContentKind.ENTITY, b"http://www.wikidata.org/entity/Q42"),
    Content(ContentKind.ENTITY, b'["acme","1"]', None, None, "table:part.maker+number"),
    Content(ContentKind.ENTITY, b"1", None, None, "table:users.id"),
    Content(ContentKind.ENTITY, b"1", None, None, "table:crm.users.id"),  # in a namespace
    Content(ContentKind.BNODE, b"b0", None, None, "5b1e"),
    Content(ContentKind.BNODE, b"b0", None, None, "c07d"),
    Content(ContentKind.LITERAL, b"1"),
    Content(ContentKind.LITERAL, b"1", ""),
    Content(ContentKind.LITERAL, b"1", _XSD + "integer"),
    Content(ContentKind.LITERAL, b"01", _XSD + "integer"),
    Content(ContentKind.LITERAL, b"a", _RDF + "langString", "en-US"),
    Content(ContentKind.LITERAL, b"a", _RDF + "langString", "en-us"),
    Content(ContentKind.LITERAL, b"a", None, "", ""),
    Content(ContentKind.WORD, encode_text("na\u00efve")),
    Content(ContentKind.WORD, encode_text("nai\u0308ve")),
    Content(ContentKind.WORD, encode_text("\u65e5\u672c\u8a9e\U0001f600"), None, "ja"),
    Content(ContentKind.JSON_STR, encode_text("\ud800")),
    Content(ContentKind.JSON_STR, b"2"),
    Content(ContentKind.JSON_INT, b"2"),
    Content(ContentKind.NULL, b""),
    Content(ContentKind.BOOL, b"true"),
    Content(ContentKind.BYTES, bytes(range(256))),
    Content(ContentKind.SOMEVALUE, b"a3cc1ee2", None, None, "wikidata.json"),
    Content(ContentKind.NOVALUE, b""),
    Content(ContentKind.TEXT, b"x" * 114),  # with one length mark, three null marks and the kind: 127 bytes
    Content(ContentKind.TEXT, b"x" * 115),  # 128, 129: where XXH3 changes its method
    Content(ContentKind.TEXT, b"x" * 116),
    Content(ContentKind.TEXT, b"x" * 227),  # 240, 241: likewise
    Content(ContentKind.TEXT, b"x" * 228),
    Content(ContentKind.TEXT, b"0123456789abcdef" * 66),  # longer than a block of 1,024
)


def published_schemas() -> dict[str, bytes]:
    """Return the name and the bytes of each published file."""
    version = f"v{SCHEMA_VERSION}"
    documents = {f"{table}.{version}.json": _arrow_schema(table, schema) for table, schema in TABLES.items()}
    documents[f"structure.{version}.schema.json"] = structure_json_schema()
    documents[f"content-key.{version}.json"] = _content_key()
    return {
        name: (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
        for name, document in documents.items()
    }


def write_schemas(directory: StrPath) -> tuple[Path, ...]:
    """Write the published files into `directory`, made when it is missing, and return their paths."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, data in published_schemas().items():
        path = directory / name
        path.write_bytes(data)
        paths.append(path)
    return tuple(paths)


def _arrow_schema(table: str, schema: pa.Schema) -> JsonObject:
    columns = []
    for field in schema:
        column = {"name": field.name, "type": _arrow_type(field.type), "nullable": field.nullable}
        column["meaning"] = _MEANINGS[table][field.name]
        if (table, field.name) in _CODES:
            column["codes"] = {str(int(code)): code.name.lower() for code in _CODES[table, field.name]}
        columns.append(column)
    return {"table": table, "version": SCHEMA_VERSION, "files": f"{table}/part-*.arrow, Arrow IPC", "columns": columns}


def _arrow_type(type_: pa.DataType) -> str | JsonObject:
    if pa.types.is_large_list(type_):
        item = type_.value_field
        return {"large_list": {"nullable": item.nullable, "type": _arrow_type(item.type)}}
    if pa.types.is_struct(type_):
        fields = [{"name": f.name, "nullable": f.nullable, "type": _arrow_type(f.type)} for f in type_]
        return {"struct": fields}
    if pa.types.is_fixed_size_binary(type_):
        return {"fixed_size_binary": type_.byte_width}
    return str(type_)


def _content_key() -> JsonObject:
    return {
        "version": SCHEMA_VERSION,
        "layout": list(_KEY_LAYOUT),
        "kinds": {kind.name.lower(): int(kind) for kind in ContentKind},
        "vectors": [_key_vector(content) for content in _KEY_EXAMPLES],
    }


def _key_vector(content: Content) -> JsonObject:
    symbols = {name: getattr(content, name) for name in ("datatype", "language", "scope")}
    encoded = [None if value is None else value.encode() for value in symbols.values()]
    return {
        "kind": content.kind.name.lower(),
        "lexical_hex": content.lexical.hex(),
        **symbols,
        "message_hex": key_message(content.kind, content.lexical, *encoded).hex(),
        "key_hex": content.key.hex(),
    }
