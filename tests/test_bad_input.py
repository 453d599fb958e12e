"""Malformed files of every source: refused by place, expected and found; the good records survive a quarantine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_inputs import BAD_INPUTS, BadInput
from click.testing import CliRunner

from lisdata.cli import main
from lisdata.registry import SOURCES
from lisdata.shards import IncidenceDataset, verify_dataset

each_bad_input = pytest.mark.parametrize("case", BAD_INPUTS, ids=lambda case: f"{case.source}: {case.what}")


def convert(case: BadInput, folder: Path, *policy: str) -> tuple[int, str]:
    """Write the file and convert it by command; return the exit code and what was said."""
    path = folder / case.name
    path.write_bytes(case.data)
    arguments = [case.source, str(path), "--to", str(folder / "data"), *case.options, *policy]
    done = CliRunner().invoke(main, ["convert", *arguments])
    return done.exit_code, done.output


def test_every_source_is_among_them_and_there_are_more_than_thirty() -> None:
    assert {case.source for case in BAD_INPUTS} == set(SOURCES)
    assert len(BAD_INPUTS) > 30


@each_bad_input
def test_a_bad_file_is_refused_by_place_expected_and_found(case: BadInput, tmp_path: Path) -> None:
    code, said = convert(case, tmp_path)

    assert code == 1
    line = next(line for line in said.splitlines() if line.startswith("Error: "))
    place, _, rest = line.removeprefix("Error: ").partition(": expected ")
    expected, _, found = rest.partition(", found ")
    assert place.startswith(case.place)
    assert case.expected in expected
    assert found
    assert case.found in found
    assert not (tmp_path / "data" / "manifest.json").exists()


@each_bad_input
def test_a_way_around_a_bad_record_is_told_where_the_file_has_others(case: BadInput, tmp_path: Path) -> None:
    _, said = convert(case, tmp_path)

    assert ("--on-error quarantine" in said) == (case.bad is not None)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_way_around_a_bad_file_is_told_where_there_are_others(workers: int, tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        (tmp_path / name).write_bytes(b"no database " * 200)
    said = []
    for names in (("a.db",), ("a.db", "b.db")):
        arguments = [*(str(tmp_path / name) for name in names), "--to", str(tmp_path / f"data-{len(names)}")]
        said.append(CliRunner().invoke(main, ["convert", "sql", *arguments, "--workers", str(workers)]).output)

    assert all("expected an SQLite database, found file is not a database" in output for output in said)
    assert ["--on-error quarantine" in output for output in said] == [False, True]


@each_bad_input
def test_the_good_records_survive_a_quarantine_and_counts_balance(case: BadInput, tmp_path: Path) -> None:
    code, said = convert(case, tmp_path, "--on-error", "quarantine")

    assert code == 0, said
    assert verify_dataset(tmp_path / "data").problems == ()
    (entry,) = IncidenceDataset(tmp_path / "data", verify="full").manifest["inputs"]
    assert entry["records"] == {"seen": case.num_good + 1, "converted": case.num_good, "rejected": 1}
    (path,) = (tmp_path / "data/rejects").glob("*.jsonl")
    (row,) = map(json.loads, path.read_bytes().splitlines())
    kept = path.with_suffix(".bin").read_bytes()
    assert kept[row["at"] : row["at"] + row["size"]] == (case.data if case.bad is None else case.bad)
    assert row["place"].startswith(case.place)
