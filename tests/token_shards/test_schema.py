"""Which integer types token columns get."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.errors import SchemaError
from lisdata.schema import StructureKind, list_of
from lisdata.token_shards import TokenColumn, TokenSchema

ALL = (
    "input_ids", "role", "instance", "position", "terminal", "nonterminal", "target", "occurrence", "content",
    "document", "token_kind",
)  # fmt: skip


@given(low=st.integers(-(2**63), 2**63 - 1), high=st.integers(-(2**63), 2**63 - 1))
def test_the_chosen_type_holds_the_limits_and_no_narrower_one_does(low: int, high: int) -> None:
    minimum, maximum = min(low, high), max(low, high)

    width = pa.type_for_alias(TokenColumn.narrowest("x", minimum, maximum).type).bit_width

    fits = [b for b in (8, 16, 32, 64) if -(2 ** (b - 1)) <= minimum and maximum < 2 ** (b - 1)]
    fits += [b for b in (8, 16, 32) if minimum >= 0 and maximum < 2**b]
    assert width == min(fits)


def test_types_follow_from_vocabulary_labels_and_length() -> None:
    schema = TokenSchema.choose(50_000, columns=ALL, num_roles=300, max_length=2048, kind=StructureKind.TEXT)

    found = {column.name: column.type for column in schema.columns}

    assert found == {
        "input_ids": "uint16",
        "role": "uint16",
        "instance": "int16",
        "position": "uint16",
        "terminal": "int8",
        "nonterminal": "int8",
        "target": "uint8",
        "occurrence": "int16",
        "content": "int64",
        "document": "uint16",
        "token_kind": "uint8",
    }


def test_a_large_vocabulary_gets_a_type_that_torch_takes() -> None:
    assert TokenSchema.choose(100_000).columns[0].type == "int32"


def test_limits_go_before_the_usual_ones_and_make_new_columns() -> None:
    schema = TokenSchema.choose(
        9, columns=("input_ids", "position", "rank"), limits={"position": (0, 10**6), "rank": (-5, 5)}
    )

    assert [column.type for column in schema.columns] == ["uint8", "int32", "int8"]


def test_the_files_have_large_lists_without_nulls() -> None:
    schema = TokenSchema.choose(9, columns=("input_ids", "terminal"), has_record_id=True).to_arrow()

    assert schema.names == ["input_ids", "terminal", "kind", "record_id"]
    assert schema.field("terminal").type == list_of(pa.int8())
    assert not any(field.nullable for field in schema)


def test_json_brings_the_schema_back() -> None:
    schema = TokenSchema.choose(70_000, columns=ALL, num_roles=3, max_length=9, has_record_id=True)

    assert TokenSchema.from_json(schema.to_json(), "here") == schema


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"columns": [{"name": "input_ids"}]},
        {"columns": [{"name": "input_ids", "minimum": 0, "maximum": 256, "type": "uint8"}]},
        {"columns": [{"name": "role", "minimum": 0, "maximum": 2, "type": "uint8"}]},
        {"columns": [{"name": "input_ids", "minimum": 0, "maximum": 2, "type": "float32"}]},
    ],
)
def test_json_of_another_form_is_refused_with_its_place(data: object) -> None:
    with pytest.raises(SchemaError, match="here: expected the schema"):
        TokenSchema.from_json(data, "here")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="num_roles"):
        TokenSchema.choose(9, columns=("input_ids", "role"))
    with pytest.raises(ValueError, match="limits"):
        TokenSchema.choose(9, columns=("input_ids", "rank"))
    with pytest.raises(ValueError, match="expected a column input_ids"):
        TokenSchema.choose(9, columns=("position",))
    with pytest.raises(ValueError, match="distinct columns"):
        TokenSchema.choose(9, columns=("input_ids", "kind"), limits={"kind": (0, 1)})
    with pytest.raises(ValueError, match="at least 1 token"):
        TokenSchema.choose(0)
    with pytest.raises(ValueError, match="no integer type"):
        TokenSchema.choose(2**63 + 1)
    with pytest.raises(ValueError, match="negative"):
        TokenSchema.choose(9, columns=("input_ids",), max_length=-1)
    with pytest.raises(ValueError, match="99"):
        TokenSchema.choose(9, kind=99)
    with pytest.raises(ValueError, match="no column 'role'"):
        TokenSchema.choose(9).column("role")
