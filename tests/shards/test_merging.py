"""`merge`: parts are taken over byte for byte; contents meet by key; nothing comes twice and nothing is lost."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from lisdata.contents import Content, Role, entity
from lisdata.conversion import convert
from lisdata.errors import KeyCollisionError, PlanError
from lisdata.schema import CONTENTS, ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, ShardWriter, merge_datasets, verify_dataset, write_structures
from lisdata.shards.collisions import refuse_collisions
from lisdata.shards.manifest import PART_TABLES, read_manifest, write_manifest
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.structure_batch import StructureBatch


def edge(record_id: str, *members: str) -> Structure:
    return Structure(
        record_id=record_id,
        kind=StructureKind.HYPEREDGES,
        occurrences=tuple(Occurrence(content=entity(m)) for m in members),
        instances=(Instance(label="edge"),),
        incidences=tuple(Incidence(occurrence=i, instance=0, role=Role("edge", "member")) for i in range(len(members))),
    )


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Writes a dataset of edges made in memory."""

    def write(name: str, *structures: Structure, isolated: tuple[Content, ...] = ()) -> Path:
        write_structures(tmp_path / name, list(structures), isolated=isolated)
        return tmp_path / name

    return write


@pytest.fixture
def convert_lines(tmp_path: Path) -> Callable[..., Path]:
    """Converts a text file of the given lines."""

    def write(name: str, *lines: str) -> Path:
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
        (tmp_path / f"{name}.txt").write_bytes(data)
        convert("text", [str(tmp_path / f"{name}.txt")], tmp_path / name, on_error="quarantine")
        return tmp_path / name

    return write


def test_parts_are_taken_over_byte_for_byte_and_counts_add_up(
    converted: Path, make: Callable[..., Path], tmp_path: Path
) -> None:
    sources = [make("a", edge("r", "x", "y")), converted]

    merged = merge_datasets(sources, tmp_path / "m")

    datasets = [IncidenceDataset(path) for path in sources]
    assert merged == read_manifest(tmp_path / "m")
    taken = [part for dataset in datasets for part in dataset.parts]
    for old, new in zip(taken, IncidenceDataset(tmp_path / "m").parts, strict=True):
        assert all(old.path(t).read_bytes() == new.path(t).read_bytes() for t in PART_TABLES)
    for total in ("counts", "kinds"):
        sums = Counter(datasets[0].manifest[total])
        sums.update(datasets[1].manifest[total])
        assert merged[total] == sums
    assert verify_dataset(tmp_path / "m").problems == ()


def test_structures_come_back_by_input_and_in_order(
    convert_lines: Callable[..., Path], make: Callable[..., Path], tmp_path: Path
) -> None:
    sources = [convert_lines("a", "one", "two"), make("m", edge("r", "x")), convert_lines("b", "three")]

    merge_datasets(sources, tmp_path / "all")

    merged = IncidenceDataset(tmp_path / "all")
    assert [info.name for info in merged.inputs] == ["a.txt", "b.txt"]
    written = [[s.document for s in merged.iter_structures(index)] for index in (0, 1)]
    assert written == [[b"one\n", b"two\n"], [b"three\n"]]  # what was made in memory belongs to no input
    assert [s.document for s in merged.iter_structures()] == [b"one\n", b"two\n", None, b"three\n"]


def test_merging_in_steps_is_merging_at_once(convert_lines: Callable[..., Path], tmp_path: Path) -> None:
    a, b, c = (convert_lines(name, name, "\udcff") for name in "abc")

    merge_datasets([a, b], tmp_path / "ab")
    in_steps = merge_datasets([tmp_path / "ab", c], tmp_path / "abc")
    at_once = merge_datasets([a, b, c], tmp_path / "at_once")

    for body in (in_steps, at_once):  # the names of rejects say by which steps they came
        body["files"] = {name: entry for name, entry in body["files"].items() if not name.startswith("rejects/")}
    assert in_steps == at_once
    assert verify_dataset(tmp_path / "abc").problems == ()


def test_quarantined_records_come_along(convert_lines: Callable[..., Path], tmp_path: Path) -> None:
    sources = [convert_lines(name, name, f"{name}\udcff") for name in "ab"]

    merged = merge_datasets(sources, tmp_path / "m")

    kept = sorted((tmp_path / "m" / "rejects").glob("*.bin"))
    assert [path.read_bytes() for path in kept] == [b"a\xff\n", b"b\xff\n"]
    assert [entry["records"]["rejected"] for entry in merged["inputs"]] == [1, 1]


def test_an_input_that_two_datasets_share_is_refused(convert_lines: Callable[..., Path], tmp_path: Path) -> None:
    a, same = convert_lines("a", "one"), convert_lines("same", "one")

    with pytest.raises(PlanError, match=rf"same.txt of {same} is a.txt of {a} again: its facts .* twice \(--skip-rep"):
        merge_datasets([a, same], tmp_path / "m")
    with pytest.raises(PlanError, match="twice"):
        merge_datasets([a, a], tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_an_input_without_records_may_come_with_several(convert_lines: Callable[..., Path], tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "empty.txt").write_bytes(b"")
        (tmp_path / name / "full.txt").write_text(name)
        convert("text", [str(tmp_path / name)], tmp_path / f"{name}.lis")

    merged = merge_datasets([tmp_path / "a.lis", tmp_path / "b.lis"], tmp_path / "m")

    assert merged["counts"]["structures"] == 2


def test_what_was_made_in_memory_is_not_merged_with_itself(make: Callable[..., Path], tmp_path: Path) -> None:
    a = make("a", edge("r", "x"))

    with pytest.raises(PlanError, match=r"part-00000-000.arrow again: its structures would be .* twice"):
        merge_datasets([a, shutil.copytree(a, tmp_path / "copy")], tmp_path / "m")


def test_shared_contents_meet_by_key(make: Callable[..., Path], tmp_path: Path) -> None:
    a, b = make("a", edge("r", "Aspirin", "x")), make("b", edge("q", "y", "Aspirin"))

    merge_datasets([a, b], tmp_path / "m")

    (left, right) = IncidenceDataset(tmp_path / "m").iter_structures()
    assert left.occurrences[0].content == right.occurrences[1].content
    keys = [set(part.contents["key"].to_pylist()) for part in IncidenceDataset(tmp_path / "m").parts]
    assert keys[0] & keys[1] == {entity("Aspirin").key}


def test_isolated_contents_survive(make: Callable[..., Path], tmp_path: Path) -> None:
    lonely = Content(ContentKind.LITERAL, b"alone", "http://example.org/type")

    merge_datasets([make("a", edge("r", "x")), make("b", isolated=(lonely,))], tmp_path / "m")

    part = IncidenceDataset(tmp_path / "m").parts[1]
    assert [part.reader.content(row) for row in range(part.contents.num_rows)] == [lonely]


def forge(directory: Path, contents: dict[bytes, Content]) -> Path:
    """Write a dataset whose contents stand under the keys given."""
    batch = Structure.to_arrow([edge(str(directory), "ok")], tuple(contents.values()))
    keys = [*batch.contents.column("key")[:1].to_pylist(), *contents]
    forged = pa.RecordBatch.from_arrays(
        [pa.array(keys, CONTENTS.field("key").type), *batch.contents.columns[1:]], schema=CONTENTS
    )
    writer = ShardWriter(directory, "part-00000-000")
    writer.append(StructureBatch(structures=batch.structures, contents=forged, labels=batch.labels))
    part = writer.close()
    files, counts, kinds = part.pop("files"), part["counts"], part["kinds"]
    body = {"format": "lisdata-incidence", "origins": [], "inputs": [], "parts": [part], "files": files}
    write_manifest(directory, body | {"counts": counts, "kinds": kinds})
    return directory


KEY = bytes(range(16))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (entity("one"), entity("two")),
        (Content(ContentKind.WORD, b"one"), Content(ContentKind.TEXT, b"one")),
        (Content(ContentKind.LITERAL, b"1", language="en"), Content(ContentKind.LITERAL, b"1", language="en-us")),
        (Content(ContentKind.LITERAL, b"1", datatype="t"), Content(ContentKind.LITERAL, b"1")),
        (Content(ContentKind.BNODE, b"b0", scope="s"), Content(ContentKind.BNODE, b"b0", scope="t")),
    ],
)
def test_two_contents_under_one_key_stop_the_merge_with_both_named(
    left: Content, right: Content, tmp_path: Path
) -> None:
    a, b = forge(tmp_path / "a", {KEY: left}), forge(tmp_path / "b", {KEY: right})

    with pytest.raises(KeyCollisionError) as raised:
        merge_datasets([a, b], tmp_path / "m")

    message = str(raised.value)
    assert message.startswith(f"two contents meet under the key {KEY.hex()}: ")
    for content, folder in ((left, a), (right, b)):
        assert f"{content.kind.name.lower()} {content.lexical!r}" in message
        assert f"({folder / 'contents' / 'part-00000-000.arrow'})" in message
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("keys_a_pass", [1, 2, 5, 1000])
def test_a_collision_is_found_however_many_passes_there_are(keys_a_pass: int, tmp_path: Path) -> None:
    keys = [i.to_bytes(2, "big") * 8 for i in range(40)]
    contents = {key: entity(f"n{i}") for i, key in enumerate(keys)}
    a = forge(tmp_path / "a", contents)
    b = forge(tmp_path / "b", dict(reversed(contents.items())))
    c = forge(tmp_path / "c", contents | {keys[23]: entity("stranger")})
    good, bad = ([IncidenceDataset(p).parts[0] for p in paths] for paths in ((a, b, a), (a, b, c)))

    refuse_collisions(good, keys_a_pass=keys_a_pass)

    with pytest.raises(KeyCollisionError, match=rf"{keys[23].hex()}: entity b'n23' .* and entity b'stranger'"):
        refuse_collisions(bad, keys_a_pass=keys_a_pass)


def test_a_folder_with_files_is_not_merged_into(make: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "mine.txt").write_text("mine")

    with pytest.raises(PlanError, match="expected a new or empty folder to merge into"):
        merge_datasets([make("a", edge("r", "x"))], tmp_path / "m")


def test_a_dataset_is_not_merged_into_itself(make: Callable[..., Path]) -> None:
    a = make("a", edge("r", "x"))

    with pytest.raises(PlanError, match="expected a folder outside the datasets to merge"):
        merge_datasets([a], a / "inner")
    assert verify_dataset(a).strangers == ()


def test_no_datasets_merge_to_an_empty_one(tmp_path: Path) -> None:
    merge_datasets([], tmp_path / "m")

    assert len(IncidenceDataset(tmp_path / "m")) == 0
