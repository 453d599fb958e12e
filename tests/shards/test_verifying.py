"""`verify` names every file that is not what was written, and rows that break the schema."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pytest

import lisdata
from lisdata.contents import Content, Role, entity
from lisdata.errors import DamagedShardError
from lisdata.schema import HANDLES, ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, verify_dataset, write_structures
from lisdata.shards.manifest import PART_TABLES, file_entry, read_manifest, sealed
from lisdata.structure import Incidence, Instance, Occurrence, Structure

Copy = Callable[[Path], Path]


def files_of(dataset: Path) -> list[str]:
    return sorted(p.relative_to(dataset).as_posix() for p in dataset.rglob("*") if p.is_file())


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x01
    path.write_bytes(data)


def reseal(dataset: Path, **changes: object) -> None:
    """Change the manifest of a dataset as one who means to, seal and all."""
    body = orjson.loads((dataset / "manifest.json").read_bytes())
    body.pop("self_sha256")
    (dataset / "manifest.json").write_bytes(sealed(body | changes))


@pytest.fixture(params=["converted", "encoded"])
def dataset(request: pytest.FixtureRequest, copy_of: Copy) -> Path:
    """A dataset of either form, to be damaged."""
    return copy_of(request.getfixturevalue(request.param))


def test_a_good_dataset_has_no_problem_and_no_stranger(dataset: Path) -> None:
    report = verify_dataset(dataset)

    assert (report.problems, report.strangers) == ((), ())
    assert report.num_files == len(files_of(dataset)) - 2  # the manifest and run.json have seals of their own
    assert len(read_manifest(dataset)["parts"]) > 3


def test_every_kind_of_file_is_in_the_datasets_under_test(converted: Path, encoded: Path) -> None:
    structures, tokens = (
        {name.split("/")[0].removesuffix(".json") + Path(name).suffix for name in files_of(dataset)}
        for dataset in (converted, encoded)
    )

    of_runs = {"manifest.json", "plan.json", "run.json", "commits.json"}
    tables = {f"{table}.arrow" for table in PART_TABLES}
    assert structures == of_runs | tables | {"rejects.bin", "rejects.jsonl"}
    assert tokens == of_runs | {"tokens.arrow", "roles.json", "characters.json"}


def test_a_flipped_byte_in_any_file_is_found_and_the_file_named(dataset: Path) -> None:
    for name in files_of(dataset):
        path = dataset / name
        good = path.read_bytes()
        for at in {0, len(good) // 2, len(good) - 1}:
            flip(path, at)
            problems = verify_dataset(dataset).problems
            assert problems, f"byte {at} of {name}"
            assert all(str(path) in problem for problem in problems)
            path.write_bytes(good)
    assert verify_dataset(dataset).problems == ()


def test_full_opening_finds_a_flipped_byte_too(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    path = IncidenceDataset(dataset).parts[-1].path("structures")

    flip(path, path.stat().st_size // 2)

    with pytest.raises(DamagedShardError, match=rf"{path}: expected sha256 \w+, found \w+"):
        lisdata.open(dataset, verify="full")


def test_all_damaged_files_are_named_not_just_the_first(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    first, last = (IncidenceDataset(dataset).parts[i] for i in (0, -1))
    flip(first.path("contents"), 100)
    last.path("labels").unlink()
    os.truncate(dataset / "plan.json", 10)

    problems = verify_dataset(dataset).problems

    assert [p.split(":")[0] for p in problems] == [
        str(first.path("contents")), str(last.path("labels")), str(dataset / "plan.json"),
    ]  # fmt: skip


def test_files_that_are_no_part_of_the_dataset_are_told_apart(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    (dataset / "structures" / "notes.txt").write_text("mine")

    report = verify_dataset(dataset)

    assert (report.problems, report.strangers) == ((), ("structures/notes.txt",))


def test_each_file_is_announced_with_the_bytes_done_and_in_all(converted: Path) -> None:
    seen: list[tuple[int, int, str]] = []

    report = verify_dataset(converted, on_file=lambda *call: seen.append(call))

    done = 0
    for so_far, total, name in seen:
        done += (converted / name).stat().st_size
        assert (so_far, total) == (done, report.num_bytes)
    assert (len(seen), done) == (report.num_files, report.num_bytes)


def test_records_that_do_not_balance_are_a_problem(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    inputs = read_manifest(dataset)["inputs"]
    inputs[0]["records"]["converted"] -= 1

    reseal(dataset, inputs=inputs)

    (problem,) = verify_dataset(dataset).problems
    assert problem.startswith(f"{dataset / 'manifest.json'}: records seen are not those converted and rejected")


def rewrite(dataset: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> Path:
    """Write another table in place of one, with a manifest that vouches for it."""
    path = IncidenceDataset(dataset).parts[0].path(table)
    changed = change(pa.ipc.open_file(pa.BufferReader(path.read_bytes())).read_all())
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, changed.schema) as writer:
        writer.write_table(changed)
    files = read_manifest(dataset)["files"]
    reseal(dataset, files=files | {path.relative_to(dataset).as_posix(): file_entry(path)})
    return path


@pytest.fixture
def in_memory(tmp_path: Path) -> Path:
    structure = Structure(
        record_id="r",
        kind=StructureKind.HYPEREDGES,
        occurrences=(Occurrence(content=entity("a")), Occurrence(content=entity("b"))),
        instances=(Instance(label="edge", handle=Content(ContentKind.INSTANCE, b"h")),),
        incidences=(Incidence(occurrence=0, instance=0, role=Role("edge", "member")),),
    )
    write_structures(tmp_path / "d", [structure])
    return tmp_path / "d"


def test_rows_other_than_counted_are_a_problem(in_memory: Path) -> None:
    path = rewrite(in_memory, "structures", lambda table: table.slice(0, 0))

    (problem,) = verify_dataset(in_memory).problems
    assert problem == f"{path}: expected 1 rows, found 0"


def test_a_content_that_is_not_what_its_key_says_is_a_problem(in_memory: Path) -> None:
    def swap_keys(table: pa.Table) -> pa.Table:
        return table.set_column(0, table.schema.field(0), table.column("key").take(pa.array([1, 0, 2])))

    rewrite(in_memory, "contents", swap_keys)

    (problem,) = verify_dataset(in_memory).problems
    assert "row 0: key: expected" in problem


def test_another_column_is_a_problem(in_memory: Path) -> None:
    path = rewrite(in_memory, "labels", lambda table: table.append_column("more", pa.array([1, 2])))

    (problem,) = verify_dataset(in_memory).problems
    assert problem.startswith(f"{path}: expected the columns ['kind', 'label', 'relation', 'side'], found")


def test_an_index_that_leaves_a_handle_out_is_a_problem(in_memory: Path) -> None:
    path = rewrite(in_memory, "handles", lambda table: pa.Table.from_pylist([], HANDLES))

    (problem,) = verify_dataset(in_memory).problems
    assert problem == f"{path}: expected the 1 handles of the structures, sorted, found 0 rows that differ"


def test_an_unknown_format_is_a_problem(in_memory: Path) -> None:
    reseal(in_memory, format="somebody-else")

    (problem,) = verify_dataset(in_memory).problems
    assert problem == f"{in_memory / 'manifest.json'}: unknown format 'somebody-else'"
