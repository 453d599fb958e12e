"""`verify` names every file that is not what was written, and rows that break the schema."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


COUNTS = [("counts", "occurrences"), ("counts", "instances"), ("counts", "incidences"), ("counts", "cells")]


@pytest.mark.parametrize(("total", "name"), [*COUNTS, ("kinds", "hyperedges"), ("kinds", "tree")])
def test_a_false_count_is_a_problem_though_all_sums_fit(total: str, name: str, in_memory: Path) -> None:
    body = read_manifest(in_memory)
    (part,) = body["parts"]
    true = part[total].get(name, 0)
    part[total][name] = body[total][name] = true + 7

    reseal(in_memory, parts=[part], **{total: body[total]})

    (problem,) = verify_dataset(in_memory).problems
    path = in_memory / "structures" / f"{part['name']}.arrow"
    assert problem == f"{path}: expected {true + 7} in {total}.{name}, found {true}"


def test_counts_of_grids_and_of_every_kind_are_counted_again_and_found_right(tmp_path: Path, root: Path) -> None:
    sources = {"npy": "grids", "csv": "tables", "html": "html", "hif": "hif", "ntriples": "triples", "text": "text"}
    for source, folder in sources.items():
        lisdata.convert(source, root / "sample_data" / folder, tmp_path / source)
    lisdata.merge([tmp_path / source for source in sources], tmp_path / "all")

    assert verify_dataset(tmp_path / "all").problems == ()
    assert {*read_manifest(tmp_path / "all")["kinds"]} == {kind.label for kind in StructureKind} - {"mixed"}


def test_a_structure_of_another_input_than_its_part_s_is_a_problem(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    parts = read_manifest(dataset)["parts"]
    assert parts[0]["inputs"] == [0, 1]

    reseal(dataset, parts=[parts[0] | {"inputs": [1, 2]}, *parts[1:]])

    (problem,) = verify_dataset(dataset).problems
    assert problem.endswith("expected structures of the inputs 1 to 1, found one of input 0")


def test_what_the_manifest_repeats_of_the_plan_must_be_the_same(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    body = read_manifest(dataset)
    body["inputs"][0]["scope"] = "elsewhere"

    reseal(dataset, origins=[body["origins"][0] | {"options": {}}], inputs=body["inputs"], on_error="skip")

    where = f"{dataset / 'manifest.json'}: "
    found = verify_dataset(dataset).problems
    assert [problem.removeprefix(where).split(":")[0] for problem in found] == ["on_error", "options", "inputs[0]"]
    reseal(dataset, origins=[body["origins"][0]], inputs=[], parts=[], counts={}, kinds={})
    assert all("manifest.json" in problem for problem in verify_dataset(dataset).problems)


@pytest.mark.parametrize("change", [{"hash": "x"}, {"num_roles": 1}])
def test_another_role_list_than_the_manifest_s_is_a_problem(
    change: dict[str, Any], encoded: Path, copy_of: Copy
) -> None:
    dataset = copy_of(encoded)
    roles = read_manifest(dataset)["roles"] | change

    reseal(dataset, roles=roles)

    problems = verify_dataset(dataset).problems
    assert any(p.startswith(f"{dataset / 'roles.json'}: expected {roles['num_roles']} roles of hash") for p in problems)


def test_a_report_is_ok_or_raises_all_its_problems(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    good = verify_dataset(dataset)
    assert good.ok
    good.raise_for_problems()
    for name in ("plan.json", "run.json"):
        (dataset / name).write_bytes(b"{}")

    bad = lisdata.verify(dataset)

    assert not bad.ok
    with pytest.raises(DamagedShardError) as raised:
        bad.raise_for_problems()
    assert str(raised.value).splitlines() == list(bad.problems)
    assert len(bad.problems) == 2


def test_an_unknown_format_is_a_problem(in_memory: Path) -> None:
    reseal(in_memory, format="somebody-else")

    (problem,) = verify_dataset(in_memory).problems
    assert problem == f"{in_memory / 'manifest.json'}: unknown format 'somebody-else'"
