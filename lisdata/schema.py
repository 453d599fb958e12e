"""Arrow schemas of incidence shards and token shards, version 1, and the codes used in them."""

from __future__ import annotations

from enum import IntEnum

import pyarrow as pa

SCHEMA_VERSION = 1
UNTAGGED = -100
NO_ROW = 0xFFFF_FFFF


class StructureKind(IntEnum):
    """What a structure was made from (column `kind`)."""

    TEXT = 0
    TRIPLES = 1
    HYPEREDGES = 2
    TREE = 3
    TABLE = 4
    GRID = 5
    MIXED = 6

    @property
    def label(self) -> str:
        """The name used on the command line and in reports."""
        return self.name.lower()


class ContentKind(IntEnum):
    """What a content is: part of its identity, so an entity and a word of one spelling differ."""

    ENTITY = 0
    BNODE = 1
    LITERAL = 2
    WORD = 3
    TEXT = 4
    NUMBER = 5
    BOOL = 6
    NULL = 7
    BYTES = 8
    JSON_INT = 9
    JSON_STR = 10
    INSTANCE = 11
    SOMEVALUE = 12
    NOVALUE = 13
    JSON = 14
    NODE = 15
    NAME = 16


class LabelKind(IntEnum):
    """Which vocabulary a row of the shard's label list belongs to."""

    ROLE = 0
    INSTANCE = 1
    DEPREL = 2
    DATATYPE = 3
    LANGUAGE = 4
    SCOPE = 5


KEY_TYPE = pa.binary(16)
INCIDENCE_TYPE = pa.struct(
    [pa.field("occurrence", pa.uint32(), nullable=False), pa.field("instance", pa.uint32(), nullable=False)]
)
SPAN_TYPE = pa.struct([pa.field("begin", pa.uint64(), nullable=False), pa.field("end", pa.uint64(), nullable=False)])
SOURCE_TYPE = pa.struct(
    [
        pa.field("file", pa.uint32(), nullable=False),
        pa.field("begin", pa.uint64(), nullable=False),
        pa.field("end", pa.uint64(), nullable=False),
    ]
)
TENSOR_TYPE = pa.struct(
    [pa.field("dtype", pa.large_string(), nullable=False), pa.field("bytes", pa.large_binary(), nullable=False)]
)


def list_of(value: pa.DataType, *, nullable: bool = False) -> pa.DataType:
    """Return large_list<item: value>; items are not null unless `nullable`."""
    return pa.large_list(pa.field("item", value, nullable=nullable))


STRUCTURES = pa.schema(
    [
        pa.field("record_id", pa.large_string(), nullable=False),
        pa.field("kind", pa.uint8(), nullable=False),
        pa.field("tau", list_of(pa.uint32())),  # null: implied by the tensor of a grid
        pa.field("span", list_of(SPAN_TYPE, nullable=True)),
        pa.field("document", pa.large_binary()),
        pa.field("instance_label", list_of(pa.uint32()), nullable=False),
        pa.field("instance_handle", list_of(pa.uint32(), nullable=True)),
        pa.field("instance_ordinal", list_of(pa.uint64()), nullable=False),
        pa.field("incidence", list_of(INCIDENCE_TYPE)),
        pa.field("sigma", list_of(pa.uint32())),
        pa.field("position", list_of(pa.int64())),
        pa.field("shape", list_of(pa.int64())),
        pa.field("tensor", TENSOR_TYPE),
        pa.field("terminal", list_of(pa.int8())),
        pa.field("nonterminal", list_of(pa.int8())),
        pa.field("head", list_of(pa.int32(), nullable=True)),
        pa.field("deprel", list_of(pa.int32(), nullable=True)),
        pa.field("source", SOURCE_TYPE, nullable=False),
    ]
)

CONTENTS = pa.schema(
    [
        pa.field("key", KEY_TYPE, nullable=False),
        pa.field("kind", pa.uint8(), nullable=False),
        pa.field("lexical", pa.large_binary(), nullable=False),
        pa.field("datatype", pa.uint32()),  # these three are rows of the label list
        pa.field("language", pa.uint32()),
        pa.field("scope", pa.uint32()),
    ]
)

LABELS = pa.schema(
    [
        pa.field("kind", pa.uint8(), nullable=False),
        pa.field("label", pa.large_string(), nullable=False),
        pa.field("relation", pa.large_string()),  # roles only: label is relation#side
        pa.field("side", pa.large_string()),
    ]
)
NO_CONTENTS, NO_LABELS = (
    pa.RecordBatch.from_arrays([pa.nulls(0, column.type) for column in schema], schema=schema)  # a list loads pandas
    for schema in (CONTENTS, LABELS)
)

HANDLES = pa.schema(
    [
        pa.field("key", KEY_TYPE, nullable=False),
        pa.field("row", pa.uint64(), nullable=False),
        pa.field("instance", pa.uint32(), nullable=False),
    ]
)

SAME_AS = pa.schema(
    [
        pa.field("key", KEY_TYPE, nullable=False),
        pa.field("same", KEY_TYPE, nullable=False),
        pa.field("source", pa.large_string(), nullable=False),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "structures": STRUCTURES,
    "contents": CONTENTS,
    "labels": LABELS,
    "handles": HANDLES,
    "same_as": SAME_AS,
}

TOKEN_COLUMNS = (
    "input_ids",
    "role",
    "instance",
    "position",
    "terminal",
    "nonterminal",
    "target",
    "occurrence",
    "content",
)
DEPREL_COLUMN = "deprel"  # only where it is asked for


def check_schema(found: pa.Schema, expected: pa.Schema, what: str) -> None:
    """Raise SchemaError, naming the first field that differs, unless `found` equals `expected`."""
    from lisdata.errors import SchemaError

    for field in expected:
        index = found.get_field_index(field.name)
        if index < 0:
            raise SchemaError(f"{what}: expected a column {field.name!r} of {field.type}, found none")
        if not found.field(index).equals(field):
            raise SchemaError(f"{what}: expected {field}, found {found.field(index)}")
    if found.names != expected.names:
        raise SchemaError(f"{what}: expected the columns {expected.names}, found {found.names}")
