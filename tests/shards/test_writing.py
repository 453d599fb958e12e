"""What is written comes back: rows, contents, labels, the index of handles, and the seals around them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role, entity, word
from lisdata.errors import KeyCollisionError, PlanError
from lisdata.schema import CONTENTS, ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, Part, ShardWriter, verify_dataset, write_structures
from lisdata.shards import writer as writer_module
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.structure_batch import StructureBatch
from lisdata.testing import structure_lists

quick = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def named(name: str) -> Content:
    return Content(ContentKind.INSTANCE, name.encode())


def edge(record_id: str, members: list[str], *, handles: tuple[str | None, ...] = (None,)) -> Structure:
    """A hyperedge whose members all take part in instance 0; further instances are empty."""
    return Structure(
        record_id=record_id,
        kind=StructureKind.HYPEREDGES,
        occurrences=tuple(Occurrence(content=entity(m)) for m in members),
        instances=tuple(Instance(label="edge", handle=None if h is None else named(h)) for h in handles),
        incidences=tuple(
            Incidence(occurrence=i, instance=0, role=Role("edge", "member"), position=i) for i in range(len(members))
        ),
    )


@quick
@given(structures=structure_lists())
def test_any_structures_come_back_and_verify(
    structures: list[Structure], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("any") / "d.lis"

    write_structures(directory, structures)

    assert list(IncidenceDataset(directory, verify="full").iter_structures()) == structures
    assert verify_dataset(directory).problems == ()


@pytest.mark.parametrize("compression", ["zstd", None])
def test_the_same_structures_give_the_same_bytes(compression: str | None, tmp_path: Path) -> None:
    structures = [edge(f"r{i}", ["a", "b", str(i)], handles=(f"h{i}",)) for i in range(20)]

    for name in ("one", "two"):
        write_structures(tmp_path / name, structures, compression=compression)

    files = {p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file()}
    assert len(files) == 5
    assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)


def test_a_second_dataset_in_one_folder_is_refused(tmp_path: Path) -> None:
    write_structures(tmp_path, [edge("r", ["a"])])

    with pytest.raises(PlanError, match="expected a folder without a dataset"):
        write_structures(tmp_path, [edge("q", ["a"])])


def test_contents_are_numbered_once_a_part_whatever_the_batches(tmp_path: Path) -> None:
    structures = [edge(f"r{i}", [f"n{i % 3}", f"n{(i + 1) % 3}"]) for i in range(9)]
    writer = ShardWriter(tmp_path, "part-00000-000")

    for structure in structures:
        writer.append(Structure.to_arrow([structure]))
    commit = writer.close()

    write_structures(tmp_path / "at_once", structures)
    assert commit["counts"]["contents"] == 3
    for table in ("contents", "labels"):
        apart = pa.ipc.open_file(tmp_path / table / "part-00000-000.arrow").read_all()
        assert apart.equals(IncidenceDataset(tmp_path / "at_once").parts[0].read(table))


def test_handles_are_indexed_by_key_then_row_then_instance(tmp_path: Path) -> None:
    structures = [
        edge("r0", ["a"], handles=("h1", None, "h0")),
        edge("r1", ["a"]),
        edge("r2", ["a"], handles=(None, "h1", "h1")),
    ]
    writer = ShardWriter(tmp_path, "part-00000-000")
    for structure in structures:
        writer.append(Structure.to_arrow([structure]))
    writer.close()

    index = pa.ipc.open_file(tmp_path / "handles" / "part-00000-000.arrow").read_all().to_pylist()

    expected = [("h0", 0, 2), ("h1", 0, 0), ("h1", 2, 1), ("h1", 2, 2)]
    expected.sort(key=lambda item: (named(item[0]).key, *item[1:]))
    assert [(row["key"], row["row"], row["instance"]) for row in index] == [
        (named(name).key, row, instance) for name, row, instance in expected
    ]


def test_isolated_contents_stay(tmp_path: Path) -> None:
    lonely = Content(ContentKind.LITERAL, b"x", "http://example.org/type", "en", "scope")

    write_structures(tmp_path, [edge("r", ["a"])], isolated=(lonely,))

    part = IncidenceDataset(tmp_path).parts[0]
    assert [part.reader.content(row) for row in range(part.contents.num_rows)] == [entity("a"), lonely]


def test_an_entity_and_a_word_of_one_spelling_are_two_contents() -> None:
    assert entity("rose").key != word("rose").key


def forged(content: Content, key: bytes) -> StructureBatch:
    """A batch whose only content has the key of another."""
    batch = Structure.to_arrow([Structure(record_id=content.text, kind=StructureKind.TEXT)], (content,))
    columns = [pa.array([key], CONTENTS.field("key").type), *batch.contents.columns[1:]]
    contents = pa.RecordBatch.from_arrays(columns, schema=CONTENTS)
    return StructureBatch(structures=batch.structures, contents=contents, labels=batch.labels)


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (word("other"), "word b'other'"),
        (entity("a"), "entity b'a'"),
        (Content(ContentKind.WORD, b"a", language="en"), "word b'a', language 'en'"),
        (Content(ContentKind.WORD, b"a", scope="s"), "word b'a', scope 's'"),
    ],
)
def test_two_contents_under_one_key_stop_the_writer_with_both_named(found: Content, shown: str, tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "part-00000-000")
    writer.append(forged(word("a"), word("a").key))

    with pytest.raises(KeyCollisionError) as raised:
        writer.append(forged(found, word("a").key))

    assert str(raised.value) == f"two contents meet under the key {word('a').key.hex()}: word b'a' and {shown}"
    writer.abort()
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_counts_say_what_the_part_holds(tmp_path: Path) -> None:
    body = write_structures(tmp_path, [edge("r", ["a", "b"], handles=("h", None)), edge("empty", [], handles=())])

    shown = {"structures": 2, "occurrences": 2, "instances": 2, "incidences": 2, "cells": 0}
    assert body["counts"] == shown | {"contents": 3, "labels": 2}
    assert body["kinds"] == {"hyperedges": 2}


def test_an_unfinished_part_leaves_no_file_under_its_name(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "part-00000-000")
    writer.append(Structure.to_arrow([edge("r", ["a"])]))

    assert not list(tmp_path.rglob("part-*"))
    writer.abort()
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@quick
@given(sizes=st.lists(st.integers(0, 5), max_size=30), limit=st.sampled_from([1, 1 << 20]))
def test_many_small_batches_make_the_same_table_in_few_chunks(sizes: list[int], limit: int) -> None:
    structures = [
        edge(f"{batch}.{number}", [str((batch * 7 + number) % 11)])
        for batch, size in enumerate(sizes)
        for number in range(size)
    ]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer_module, "_BATCH_BYTES", limit)
        writer = ShardWriter(Path(folder), "part-00000-000")
        rest = list(structures)
        for size in sizes:
            writer.append(Structure.to_arrow(rest[:size]))
            del rest[:size]
        entry = writer.close()
        part = Part(Path(folder), entry)

        assert [part.reader.read(part.structures, row) for row in range(len(structures))] == structures
        distinct = {s.occurrences[0].content for s in structures}
        assert part.contents.num_rows == len(distinct) == entry["counts"]["contents"]
        if limit > 1:
            assert part.open_table("structures").num_record_batches <= 1
        assert part.open_table("contents").num_record_batches <= max(1, len(distinct).bit_length())
