"""The published copies, and what they say, against the code."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings

from lisdata.errors import SchemaError
from lisdata.invariants import check_structure, check_structures
from lisdata.published import published_schemas, write_schemas
from lisdata.schema import SCHEMA_VERSION, TABLES, ContentKind, LabelKind, StructureKind, check_schema
from lisdata.structure import Structure
from lisdata.structure_json_schema import structure_json_schema
from lisdata.testing import read_examples, structures

SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"
EXAMPLES = SCHEMAS / "examples" / f"v{SCHEMA_VERSION}"
VALID = sorted((EXAMPLES / "valid").glob("*.json"))
INVALID = sorted((EXAMPLES / "invalid").glob("*.json"))
VALIDATOR = jsonschema.Draft202012Validator(structure_json_schema())


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def check_example(path: Path) -> None:
    """Refuse the file's structures one by one, and then together as a shard's tables."""
    found, isolated = read_examples(path)
    for structure in found:
        check_structure(structure)
    batch = Structure.to_arrow(found, isolated)
    tables = (pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels))
    check_structures(*tables, path.name)


def test_the_published_files_are_those_of_the_code_byte_for_byte() -> None:
    published = {path.name: path.read_bytes() for path in SCHEMAS.glob("*.json")}

    assert published == published_schemas()


def test_what_is_written_is_what_is_published(tmp_path: Path) -> None:
    paths = write_schemas(tmp_path / "new" / "folder")

    assert {path.name: path.read_bytes() for path in paths} == published_schemas()


def test_the_changelog_has_an_entry_for_this_version() -> None:
    assert f"\n## {SCHEMA_VERSION}\n" in (SCHEMAS / "CHANGELOG.md").read_text()


def arrow_type(published: Any) -> pa.DataType:
    """Read a type as another program would, from the published form alone."""
    if isinstance(published, str):
        return getattr(pa, published)()
    if "large_list" in published:
        item = published["large_list"]
        return pa.large_list(pa.field("item", arrow_type(item["type"]), nullable=item["nullable"]))
    if "struct" in published:
        return pa.struct(
            [pa.field(f["name"], arrow_type(f["type"]), nullable=f["nullable"]) for f in published["struct"]]
        )
    return pa.binary(published["fixed_size_binary"])


@pytest.mark.parametrize("table", TABLES)
def test_an_arrow_schema_can_be_made_from_its_published_form(table: str) -> None:
    published = load(SCHEMAS / f"{table}.v{SCHEMA_VERSION}.json")

    columns = [pa.field(c["name"], arrow_type(c["type"]), nullable=c["nullable"]) for c in published["columns"]]

    assert pa.schema(columns) == TABLES[table]
    assert all(column["meaning"] for column in published["columns"])


@pytest.mark.parametrize(
    ("table", "codes"), [("structures", StructureKind), ("contents", ContentKind), ("labels", LabelKind)]
)
def test_the_codes_of_kinds_are_published(table: str, codes: Any) -> None:
    columns = {c["name"]: c for c in load(SCHEMAS / f"{table}.v{SCHEMA_VERSION}.json")["columns"]}

    assert columns["kind"]["codes"] == {str(code.value): code.name.lower() for code in codes}


def key_vectors() -> list[dict[str, Any]]:
    return load(SCHEMAS / f"content-key.v{SCHEMA_VERSION}.json")["vectors"]


@pytest.mark.parametrize(
    "vector", key_vectors(), ids=lambda v: f"{v['kind']}-{v['lexical_hex'][:12]}-{v['key_hex'][:4]}"
)
def test_a_key_vector_follows_from_the_published_layout(vector: dict[str, Any]) -> None:
    kinds = load(SCHEMAS / f"content-key.v{SCHEMA_VERSION}.json")["kinds"]
    fields = [bytes.fromhex(vector["lexical_hex"])]
    fields += [None if vector[n] is None else vector[n].encode() for n in ("datatype", "language", "scope")]
    message = struct.pack("B", kinds[vector["kind"]])
    for value in fields:
        message += b"\0" if value is None else struct.pack("<BQ", 1, len(value)) + value
    number = xxhash.xxh3_128(message).intdigest()

    assert message.hex() == vector["message_hex"]
    assert f"{number:032x}" == vector["key_hex"]


def test_the_key_vectors_cover_every_length_class_and_differ() -> None:
    vectors = key_vectors()
    lengths = {len(v["message_hex"]) // 2 for v in vectors}

    assert len({v["key_hex"] for v in vectors}) == len(vectors) >= 20
    assert {128, 129, 240, 241} <= lengths
    assert min(lengths) <= 16
    assert max(lengths) > 1024


def test_the_json_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(structure_json_schema())


@given(structures())
@settings(max_examples=60, deadline=None)
def test_every_structure_has_the_published_json_form(structure: Structure) -> None:
    VALIDATOR.validate(structure.to_dict())


@pytest.mark.parametrize("path", VALID, ids=lambda p: p.stem)
def test_a_valid_example_has_the_published_form_and_no_error(path: Path) -> None:
    for structure in load(path)["structures"]:
        VALIDATOR.validate(structure)
    content = VALIDATOR.evolve(
        schema=structure_json_schema()["$defs"]["content"] | {"$defs": structure_json_schema()["$defs"]}
    )
    for isolated in load(path).get("isolated", ()):
        content.validate(isolated)

    check_example(path)


@pytest.mark.parametrize("path", INVALID, ids=lambda p: p.stem)
def test_an_invalid_example_is_refused_for_the_reason_it_gives(path: Path) -> None:
    expected = load(path)["expected_error"]

    with pytest.raises(SchemaError) as caught:
        check_example(path)

    assert expected in str(caught.value)


@pytest.mark.parametrize("path", INVALID, ids=lambda p: p.stem)
def test_the_json_schema_refuses_the_examples_that_it_can(path: Path) -> None:
    data = load(path)

    refused = any(not VALIDATOR.is_valid(structure) for structure in data["structures"])

    assert refused == data["refused_by_json_schema"]


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text('{"structures": [')

    with pytest.raises(SchemaError, match=r"cut\.json: expected JSON"):
        read_examples(path)


def test_a_table_with_a_column_too_few_or_too_many_or_of_another_type_is_refused() -> None:
    labels = TABLES["labels"]

    with pytest.raises(SchemaError, match="x: expected a column 'side' of large_string, found none"):
        check_schema(labels.remove(3), labels, "x")
    with pytest.raises(SchemaError, match=r"x: expected the columns .*, found .*'more'"):
        check_schema(labels.append(pa.field("more", pa.int8())), labels, "x")
    with pytest.raises(SchemaError, match=r"x: expected pyarrow\.Field<kind: uint8 not null>, found .*int64"):
        check_schema(labels.set(0, pa.field("kind", pa.int64(), nullable=False)), labels, "x")
