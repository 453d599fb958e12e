from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role, entity, word
from lisdata.errors import SchemaError
from lisdata.invariants import check_structure, check_structures
from lisdata.schema import ContentKind, StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.testing import structure_lists, structures

Tables = dict[str, pa.Table]
TOKEN, PARENT, CHILD = Role("sentence", "token"), Role("dependency", "parent"), Role("dependency", "child")
SENTENCE = Structure(
    record_id="sentence#0",
    kind=StructureKind.TEXT,
    document=b"She reads",
    occurrences=(
        Occurrence(
            content=Content(ContentKind.WORD, b"She", "d", "en", "s"),
            span=(0, 3),
            terminal=0,
            nonterminal=2,
            head=2,
            deprel="nsubj",
        ),
        Occurrence(content=word("reads"), span=(4, 9), terminal=1, nonterminal=0, head=0, deprel="root"),
        Occurrence(content=entity("note")),
    ),
    instances=(
        Instance(label="sentence", handle=Content(ContentKind.INSTANCE, b"s1")),
        Instance(label="dependency", ordinal=1),
    ),
    incidences=(
        Incidence(occurrence=0, instance=0, role=TOKEN),
        Incidence(occurrence=1, instance=0, role=TOKEN, position=1),
        Incidence(occurrence=1, instance=1, role=PARENT),
        Incidence(occurrence=0, instance=1, role=CHILD),
    ),
    source=(0, 0, 9),
)
GRID = Structure(
    record_id="grid#0", kind=StructureKind.GRID, instances=(Instance(label="grid"),), tensor=np.zeros((2, 3), "<f4")
)


def tables_of(*structures: Structure) -> Tables:
    batch = Structure.to_arrow(list(structures))
    return {
        "structures": pa.Table.from_batches([batch.structures]),
        "contents": pa.Table.from_batches([batch.contents]),
        "labels": pa.Table.from_batches([batch.labels]),
    }


def check(tables: Tables) -> None:
    check_structures(tables["structures"], tables["contents"], tables["labels"], "part-0")


def changed(tables: Tables, table: str, column: str, row: int, value: Any) -> Tables:
    """Return the tables with one cell replaced."""
    old = tables[table]
    values = old[column].to_pylist()
    values[row] = value
    index = old.schema.get_field_index(column)
    field = old.schema.field(index)
    return tables | {table: old.set_column(index, field, pa.array(values, field.type))}


@given(structure_lists(), st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_every_valid_batch_passes_whole_or_sliced(written: list[Structure], cut: int) -> None:
    tables = tables_of(*written)

    check(tables)
    check(tables | {"structures": tables["structures"].slice(cut)})
    check(tables | {name: pa.concat_tables([t.slice(0, cut), t.slice(cut)]) for name, t in tables.items()})


@given(structures())
@settings(max_examples=30, deadline=None)
def test_every_valid_structure_passes(structure: Structure) -> None:
    check_structure(structure)


HANDLE_ROW, ENTITY_ROW = 3, 2
ROLE_CODE, INSTANCE_CODE, DEPREL_CODE = 8, 2, 0
CASES = [
    ("tau", [0, 1, 4], "tau: expected a row of the 4 contents, found 4"),
    ("tau", None, "tau: expected a list or a tensor, found neither"),
    ("sigma", None, "sigma: expected a list or a tensor, found neither"),
    ("position", None, "position: expected a list or a tensor, found neither"),
    ("shape", [3], "shape: expected a shape and a tensor, or neither, found one of them"),
    ("tensor", {"dtype": "|u1", "bytes": b""}, "tau: expected no list beside a tensor, found one"),
    ("kind", 7, "kind: expected a kind below 7, found 7"),
    ("record_id", "", ": record_id: expected a name, found an empty one in row 0"),
    ("record_id", "grid#0", "grid#0: record_id: expected each one once, found it 2 times"),
    ("source", {"file": 0, "begin": 5, "end": 4}, r"source: expected begin <= end, found \[5, 4\)"),
    ("span", [{"begin": 0, "end": 3}], "span: expected 3 values, as tau has, found 1"),
    ("terminal", [0], "terminal: expected 3 values, as tau has, found 1"),
    ("nonterminal", [0] * 4, "nonterminal: expected 3 values, as tau has, found 4"),
    ("head", [0], "head: expected 3 values, as tau has, found 1"),
    ("deprel", [None], "deprel: expected 3 values, as tau has, found 1"),
    ("instance_handle", [None], "instance_handle: expected 2 values, as instance_label has, found 1"),
    ("instance_ordinal", [0, 1, 2], "instance_ordinal: expected 2 values, as instance_label has, found 3"),
    ("sigma", [ROLE_CODE], "sigma: expected 4 values, as incidence has, found 1"),
    ("position", [0], "position: expected 4 values, as incidence has, found 1"),
    ("position", [0, 1, 0, -2], "position: expected 0 or more, found -2"),
    ("span", [{"begin": 0, "end": 3}, {"begin": 4, "end": 10}, None], r"span: expected begin <= end <= 9, .*\[4, 10\)"),
    ("span", [{"begin": 3, "end": 0}, None, None], r"span: expected begin <= end <= 9.*found \[3, 0\)"),
    ("span", [{"begin": 0, "end": 2**63}, None, None], "span: expected begin <= end <= 9"),
    ("document", None, r"span: expected none without a document, found \[0, 3\)"),
    ("terminal", [0, 2, -100], "terminal: expected one of -100, 0, 1, found 2"),
    ("terminal", [0, -1, -100], "terminal: expected one of -100, 0, 1, found -1"),
    ("nonterminal", [0, 5, -100], "nonterminal: expected one of -100, 0, 1, 2, 3, 4, found 5"),
    ("head", [3, 0, None], "head: expected 0 to 2, the words of its sentence, found 3"),
    ("head", [2, -1, None], "head: expected 0 to 2, the words of its sentence, found -1"),
    ("head", [2, 0, 1], "head: expected 0 to 0, the words of its sentence, found 1"),
]


@pytest.mark.parametrize(("column", "value", "message"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_a_broken_row_is_refused_by_record_and_column(column: str, value: Any, message: str) -> None:
    tables = changed(tables_of(SENTENCE, GRID), "structures", column, 0, value)
    if column != "record_id":
        message = f"^part-0: sentence#0: {message}"

    with pytest.raises(SchemaError, match=message):
        check(tables)


@pytest.mark.parametrize("field", ["occurrence", "instance"])
def test_an_incidence_of_what_is_not_there_is_refused(field: str) -> None:
    tables = tables_of(SENTENCE)
    incidence = tables["structures"]["incidence"].to_pylist()[0]
    limit = {"occurrence": 3, "instance": 2}[field]
    incidence[2] = incidence[2] | {field: limit}

    with pytest.raises(SchemaError, match=f"sentence#0: incidence: expected an {field} below {limit}, found {limit}"):
        check(changed(tables, "structures", "incidence", 0, incidence))


def code(tables: Tables, label: str) -> int:
    return int(tables["labels"]["label"].to_pylist().index(label))


@pytest.mark.parametrize(
    ("column", "kind", "wrong"),
    [("sigma", "role", "sentence"), ("instance_label", "instance", "nsubj"), ("deprel", "deprel", "sentence#token")],
)
def test_a_code_of_another_vocabulary_is_refused(column: str, kind: str, wrong: str) -> None:
    tables = tables_of(SENTENCE)
    codes = tables["structures"][column].to_pylist()[0]
    for bad in (code(tables, wrong), tables["labels"].num_rows, 2**31 - 1):
        message = f"sentence#0: {column}: expected a row of the .* labels, of kind {kind}, found {bad}"

        with pytest.raises(SchemaError, match=message):
            check(changed(tables, "structures", column, 0, [bad, *codes[1:]]))


def test_a_negative_deprel_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"deprel: expected a row of the .* labels, of kind deprel, found -1"):
        check(changed(tables_of(SENTENCE), "structures", "deprel", 0, [-1, None, None]))


def test_a_handle_is_a_content_of_kind_instance() -> None:
    tables = tables_of(SENTENCE)

    for bad in (0, tables["contents"].num_rows):
        message = f"sentence#0: instance_handle: expected a row of the .* contents, of kind instance, found {bad}"
        with pytest.raises(SchemaError, match=message):
            check(changed(tables, "structures", "instance_handle", 0, [None, bad]))


def test_a_head_counts_the_words_of_one_sentence_only() -> None:
    def words(count: int, instance: int, first: int) -> tuple[Incidence, ...]:
        return tuple(Incidence(occurrence=first + i, instance=instance, role=TOKEN, position=i) for i in range(count))

    occurrence = Occurrence(content=word("a"), head=0)
    document = Structure(
        record_id="two",
        kind=StructureKind.TEXT,
        occurrences=(occurrence,) * 2 + (replace(occurrence, head=3),) + (occurrence,) * 2,
        instances=(Instance(label="sentence"), Instance(label="sentence", ordinal=1)),
        incidences=words(2, 0, 0) + words(3, 1, 2),
    )
    check_structure(document)

    swapped = replace(document, occurrences=(*document.occurrences[2:3], *document.occurrences[1:2] * 4))

    with pytest.raises(SchemaError, match="two: head: expected 0 to 2, the words of its sentence, found 3"):
        check_structure(swapped)


def test_one_word_in_two_roles_of_a_sentence_is_one_word() -> None:
    twice = (Incidence(occurrence=0, instance=0, role=TOKEN), Incidence(occurrence=0, instance=0, role=CHILD))
    structure = Structure(
        record_id="one",
        kind=StructureKind.TEXT,
        occurrences=(Occurrence(content=word("a"), head=2),),
        instances=(Instance(label="sentence"),),
        incidences=twice,
    )

    with pytest.raises(SchemaError, match="one: head: expected 0 to 1"):
        check_structure(structure)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("tensor", {"dtype": "<f4", "bytes": b"1234"}, r"tensor: expected 24 bytes for shape \[2, 3\] of <f4, found 4"),
        ("tensor", {"dtype": "|O", "bytes": b""}, "tensor: expected a dtype of plain values"),
        ("tensor", {"dtype": "float32", "bytes": b""}, "tensor: expected the dtype spelled '<f4', found 'float32'"),
        ("shape", [2, -3], r"tensor: expected extents of 0 or more, found shape \[2, -3\]"),
        ("shape", [2**40, 2**40], "tensor: expected 4835703278458516698824704 bytes"),
        ("shape", None, "shape: expected a shape and a tensor, or neither"),
        ("kind", 1, "kind: expected grid or mixed beside a tensor, found triples"),
        ("tensor", None, "tau: expected a list or a tensor, found neither"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused(column: str, value: Any, message: str) -> None:
    tables = changed(tables_of(SENTENCE, GRID), "structures", column, 1, value)

    with pytest.raises(SchemaError, match=f"part-0: grid#0: {message}"):
        check(tables)


def test_a_grid_is_one_instance() -> None:
    with pytest.raises(SchemaError, match="grid#0: instance_label: expected one instance beside a tensor, found 2"):
        check_structure(replace(GRID, instances=GRID.instances * 2))


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("kind", 1, 17, "row 1: kind: expected a kind below 17, found 17"),
        ("key", 1, bytes(16), f"row 1: key: expected {word('reads').key.hex()} for its fields, found {'0' * 32}"),
        ("lexical", 1, b"Reads", "row 1: key: expected .* for its fields, found .*"),
        ("datatype", 0, 0, "row 0: datatype: expected a row of the .* labels, of kind datatype, found 0"),
        ("language", 0, 99, "row 0: language: expected a row of the .* labels, of kind language, found 99"),
        ("scope", 1, 0, "row 1: scope: expected a row of the .* labels, of kind scope, found 0"),
        ("kind", 1, None, "kind: expected no null, found one at 1"),
        ("lexical", 0, None, "lexical: expected no null, found one at 0"),
    ],
)
def test_a_wrong_content_is_refused(column: str, row: int, value: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=f"^part-0 contents: {message}"):
        check(changed(tables_of(SENTENCE), "contents", column, row, value))


def test_a_content_is_there_once() -> None:
    tables = tables_of(SENTENCE)
    twice = pa.concat_tables([tables["contents"], tables["contents"].slice(1, 1)])

    with pytest.raises(SchemaError, match=f"key: expected each content once, found {word('reads').key.hex()} 2 times"):
        check(tables | {"contents": twice})


@pytest.mark.parametrize(
    ("label", "column", "value", "message"),
    [
        ("sentence#token", "label", "sentence#tok", "label: expected relation#side, found 'sentence#tok'"),
        ("sentence#token", "side", None, r"\(sentence#token\): expected a side, found None"),
        ("sentence#token", "relation", None, r"\(sentence#token\): expected a relation, found None"),
        ("sentence", "relation", "r", r"\(sentence\): expected no relation, found r"),
        ("nsubj", "kind", 6, "kind: expected a kind below 6, found 6"),
        ("root", "label", "nsubj", "expected each label once, found deprel nsubj 2 times"),
        ("root", "label", None, "label: expected no null"),
    ],
)
def test_a_wrong_label_is_refused(label: str, column: str, value: Any, message: str) -> None:
    tables = tables_of(SENTENCE)

    with pytest.raises(SchemaError, match=f"^part-0 labels: .*{message}"):
        check(changed(tables, "labels", column, code(tables, label), value))


def test_a_side_with_a_hash_is_refused() -> None:
    tables = tables_of(SENTENCE)
    row = code(tables, "sentence#token")
    tables = changed(changed(tables, "labels", "label", row, "sentence#to#ken"), "labels", "side", row, "to#ken")

    with pytest.raises(SchemaError, match="side: expected no '#', found 'to#ken'"):
        check(tables)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("tau", [0, None, 2], "tau item: expected no null, found one at 1"),
        ("position", [0, 1, None, 0], "position item: expected no null, found one at 2"),
        ("source", {"file": 0, "begin": None, "end": 4}, "source.begin: expected no null"),
        ("record_id", None, "record_id: expected no null, found one at 0"),
    ],
)
def test_a_null_that_the_schema_does_not_allow_is_refused(column: str, value: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=f"^part-0: {re.escape(message)}"):
        check(changed(tables_of(SENTENCE), "structures", column, 0, value))


def test_a_label_that_is_not_utf_8_is_refused() -> None:
    tables = tables_of(SENTENCE)
    values = [label.encode() for label in tables["labels"]["label"].to_pylist()]
    values[0] = b"\xff"
    broken = pa.array(values, pa.large_binary()).view(pa.large_string())
    field = tables["labels"].schema.field("label")

    with pytest.raises(SchemaError, match=r"part-0 labels: expected a valid Arrow table, found .*UTF8"):
        check(tables | {"labels": tables["labels"].set_column(1, field, broken)})


def test_offsets_outside_their_buffer_are_refused() -> None:
    tables = tables_of(SENTENCE, replace(SENTENCE, record_id="other"))
    field = tables["structures"].schema.field("tau")
    offsets = pa.py_buffer(np.array([0, 2**40, 3], np.int64))
    values = pa.array([0, 1, 2], pa.uint32())
    broken = pa.Array.from_buffers(field.type, 2, [None, offsets], children=[values])
    index = tables["structures"].schema.get_field_index("tau")

    with pytest.raises(SchemaError, match="part-0: expected a valid Arrow table"):
        check(tables | {"structures": tables["structures"].set_column(index, field, broken)})


def test_the_record_is_named_in_whatever_batch_it_stands() -> None:
    tables = tables_of(*(replace(SENTENCE, record_id=f"r{i}") for i in range(4)))
    tables = changed(tables, "structures", "terminal", 3, [0, 1, 7])
    batches = [tables["structures"].slice(0, 3), tables["structures"].slice(3)]

    with pytest.raises(SchemaError, match="part-0: r3: terminal"):
        check(tables | {"structures": pa.concat_tables(batches)})


def test_a_record_id_is_unique_over_all_batches() -> None:
    table = tables_of(SENTENCE)
    twice = pa.concat_tables([table["structures"]] * 2)

    with pytest.raises(SchemaError, match="sentence#0: record_id: expected each one once, found it 2 times"):
        check(table | {"structures": twice})


@pytest.mark.parametrize("table", ["structures", "contents", "labels"])
def test_a_table_of_another_schema_is_refused(table: str) -> None:
    tables = tables_of(SENTENCE)
    other = tables[table].drop_columns([tables[table].column_names[0]])

    with pytest.raises(SchemaError, match="expected a column"):
        check(tables | {table: other})


@pytest.mark.parametrize(
    "change",
    [
        {"source": (0, -1, 2)},
        {"source": (2**32, 0, 0)},
        {"instances": (Instance(label="e", ordinal=-1), Instance(label="f"))},
        {"occurrences": (Occurrence(content=word("a"), terminal=200),) * 3},
    ],
)
def test_a_number_that_does_not_fit_its_column_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="sentence#0: expected numbers of the schema's types"):
        check_structure(replace(SENTENCE, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"instances": (Instance(label="\ud800"), Instance(label="f"))},
        {"occurrences": (Occurrence(content=Content(ContentKind.BNODE, b"b", scope="\ud800")),) * 3},
    ],
)
def test_a_label_that_utf_8_cannot_hold_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=r"sentence#0: expected labels of UTF-8 text, found .*surrogates not allowed"):
        check_structure(replace(SENTENCE, **change))


def test_a_dataset_of_nothing_passes() -> None:
    check(tables_of())
