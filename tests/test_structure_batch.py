from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from lisdata.contents import Role
from lisdata.schema import STRUCTURES, ContentKind, StructureKind
from lisdata.structure_batch import StructureBatch, StructureBuilder, list_array, null_list

TOKEN = Role("sentence", "token")


def sentence(builder: StructureBuilder, record_id: str, *words: bytes) -> None:
    builder.begin(StructureKind.TEXT, record_id)
    instance = builder.instance("sentence")
    for position, lexical in enumerate(words):
        occurrence = builder.occurrence(builder.contents.add(ContentKind.WORD, lexical))
        builder.incidence(occurrence, instance, TOKEN, position)
    builder.end()


def test_rows_share_the_contents_and_labels_of_their_batch() -> None:
    builder = StructureBuilder()
    sentence(builder, "a", b"to", b"be")
    sentence(builder, "b", b"be")

    batch = builder.finish()

    assert batch.structures["tau"].to_pylist() == [[0, 1], [1]]
    assert batch.structures["position"].to_pylist() == [[0, 1], [0]]
    assert batch.structures["incidence"].to_pylist()[1] == [{"occurrence": 0, "instance": 0}]
    assert batch.contents.num_rows == 2
    assert batch.labels["label"].to_pylist() == ["sentence", "sentence#token"]


def test_a_column_is_null_in_each_row_that_does_not_use_it() -> None:
    builder = StructureBuilder()
    sentence(builder, "plain", b"a")
    builder.begin(StructureKind.TEXT, "full", document=b"a b")
    content = builder.contents.add(ContentKind.WORD, b"a")
    handle = builder.contents.add(ContentKind.INSTANCE, b"e")
    builder.occurrence(content, span=(0, 1), terminal=0, head=0, deprel="root")
    builder.occurrence(content)
    builder.instance("sentence", handle=handle)
    builder.instance("sentence")
    builder.end()

    rows = builder.finish().structures.to_pylist()

    optional = ("span", "terminal", "nonterminal", "head", "deprel", "instance_handle", "document", "shape", "tensor")
    assert all(rows[0][name] is None for name in optional)
    assert rows[1]["span"] == [{"begin": 0, "end": 1}, None]
    assert rows[1]["terminal"] == [0, -100]
    assert rows[1]["nonterminal"] == [-100, -100]
    assert rows[1]["head"] == [0, None]
    assert rows[1]["deprel"][1] is None
    assert rows[1]["instance_handle"] == [handle, None]


def test_an_empty_list_is_not_a_null_one() -> None:
    builder = StructureBuilder()
    builder.begin(StructureKind.MIXED, "empty")
    builder.end()

    row = builder.finish().structures.to_pylist()[0]

    assert row["tau"] == row["incidence"] == row["sigma"] == row["position"] == row["instance_label"] == []


def test_a_grid_implies_its_occurrences_and_incidences() -> None:
    builder = StructureBuilder()
    builder.begin(StructureKind.GRID, "g")
    builder.instance("grid")
    builder.grid((1, 2), "<u2", b"\1\0\2\0")
    builder.end()

    row = builder.finish().structures.to_pylist()[0]

    assert row["tau"] is row["incidence"] is row["sigma"] is row["position"] is None
    assert row["shape"] == [1, 2]
    assert row["tensor"] == {"dtype": "<u2", "bytes": b"\1\0\2\0"}


def test_a_grid_lists_no_occurrence_and_no_incidence() -> None:
    builder = StructureBuilder()
    sentence(builder, "before", b"a")
    builder.begin(StructureKind.GRID, "g")
    builder.occurrence(0)

    with pytest.raises(ValueError, match="a grid's occurrences are implied by its tensor"):
        builder.grid((1,), "|u1", b"\0")


def test_nothing_is_listed_after_a_grid() -> None:
    builder = StructureBuilder()
    builder.begin(StructureKind.GRID, "g")
    builder.grid((1,), "|u1", b"\0")

    with pytest.raises(ValueError, match="tau is implied by the grid's tensor"):
        builder.occurrence(0)
    with pytest.raises(ValueError, match="incidence is implied by the grid's tensor"):
        builder.incidence(0, 0, TOKEN)


@pytest.mark.parametrize(
    "act",
    [
        lambda b: b.occurrence(0),
        lambda b: b.instance("e"),
        lambda b: b.incidence(0, 0, TOKEN),
        lambda b: b.grid((1,), "|u1", b"\0"),
        lambda b: b.end(),
    ],
)
def test_a_piece_needs_an_open_structure(act: Callable[[StructureBuilder], object]) -> None:
    with pytest.raises(ValueError, match="no structure is open"):
        act(StructureBuilder())


def test_an_open_structure_is_not_finished() -> None:
    builder = StructureBuilder()
    builder.begin(StructureKind.TEXT, "a")

    with pytest.raises(ValueError, match="a structure is still open"):
        builder.finish()


def test_a_batch_of_another_schema_is_refused() -> None:
    batch = StructureBuilder().finish()

    with pytest.raises(ValueError, match="expected the schema"):
        StructureBatch(structures=batch.contents, contents=batch.contents, labels=batch.labels)


def test_lists_are_cut_from_flat_values_without_a_copy() -> None:
    values = pa.array(np.arange(5, dtype=np.uint32))

    lists = list_array(np.array([0, 2, 2, 5]), values)

    assert lists.type == STRUCTURES.field("tau").type
    assert lists.to_pylist() == [[0, 1], [], [2, 3, 4]]
    assert lists.values.buffers()[1].address == values.buffers()[1].address


def test_an_absent_list_column_is_null_in_each_row() -> None:
    column = null_list(3, "span")

    assert column.type == STRUCTURES.field("span").type
    assert column.null_count == 3
