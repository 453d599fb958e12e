"""Ranks, `finish` and `run-report`, called as people call them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from click.testing import Result

Lisdata = Callable[..., Result]


@pytest.fixture
def two_units(here: Path) -> tuple[str, ...]:
    """The arguments of a conversion of two units."""
    for name in ("a.txt", "b.txt"):
        (here / name).write_bytes(b"a line of text\n" * 40_000)
    return ("convert", "text", "a.txt", "b.txt", "--to", "d", "--unit-mib", "1")


def test_ranks_say_which_are_missing_and_the_last_prints_the_dataset(two_units: tuple[str, ...], run: Lisdata) -> None:
    first = run(*two_units, "--rank", "0", "--world", "2")
    early = run("finish", "d")
    last = run(*two_units, "--rank", "1", "--world", "2")

    assert (first.exit_code, first.stdout) == (0, "d: rank 0 of 2: its 1 unit done\n")
    assert "d: not done yet: rank 1: 1 unit (not running)" in first.stderr
    assert early.exit_code == 1
    assert early.stderr.startswith("Error: d: not done yet: rank 1: 1 unit (not running)")
    assert last.exit_code == 0
    assert last.stdout.startswith("d: ")
    assert "80,000 structures" in last.stdout
    assert run("finish", "d").stdout == last.stdout
    assert run("verify", "d").exit_code == 0


def test_auto_takes_rank_and_world_from_slurm(
    two_units: tuple[str, ...], run: Lisdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    outside = run(*two_units, "--rank", "auto", "--world", "auto")
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "2")
    inside = run(*two_units, "--rank", "auto", "--world", "auto")
    plain = run(*two_units)

    assert outside.exit_code == 2
    assert "auto needs the environment variable SLURM_PROCID" in outside.stderr
    assert inside.stdout == "d: rank 1 of 2: its 1 unit done\n"
    assert "80,000 structures" in plain.stdout  # only asked for, the variables mean anything


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--rank", "0"), "--rank and --world go together"),
        (("--world", "2"), "--rank and --world go together"),
        (("--rank", "2", "--world", "2"), "expected --rank below --world 2, got 2"),
        (("--rank", "-1", "--world", "2"), "expected auto or an integer from 0, got '-1'"),
        (("--rank", "0", "--world", "none"), "expected auto or an integer from 1, got 'none'"),
        (("--rank", "0", "--world", "2", "--engine", "ray"), "leave out --engine ray"),
        (("--rank", "0", "--world", "2", "--fresh"), "--fresh would change the folder under the other ranks"),
        (("--fresh", "--append"), "--fresh and --append do not go together"),
        (("--ray-address", "auto"), "--ray-address needs --engine ray"),
        (("--engine", "dask"), "'dask' is not one of 'process', 'ray'"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    more: tuple[str, ...], message: str, two_units: tuple[str, ...], here: Path, run: Lisdata
) -> None:
    result = run(*two_units, *more)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (here / "d").exists()


def test_a_sorted_conversion_stays_on_this_machine(run: Lisdata) -> None:
    result = run("convert", "ntriples", "data.nt", "--to", "x", "--sort-by", "subject", "--rank", "0", "--world", "2")

    assert result.exit_code == 2
    assert "--sort-by sorts in processes of this machine" in result.stderr


def test_a_report_has_a_row_a_unit_and_the_sums(two_units: tuple[str, ...], run: Lisdata) -> None:
    run(*two_units)

    lines = run("run-report", "d").stdout.splitlines()
    found = orjson.loads(run("run-report", "d", "--json").stdout)

    assert lines[0].split() == ["unit", "records", "rejected", "MB", "read", "MB", "written", "seconds", "tries"]
    assert [line.split()[:3] for line in lines[2:4]] == [["00000", "40,000", "0"], ["00001", "40,000", "0"]]
    assert "state: finished" in lines
    assert "records: 80,000" in lines
    assert any(line.startswith("seconds of all units, added up: ") for line in lines)
    assert found["totals"]["records"] == 80_000


def test_a_report_of_a_run_that_goes_on_says_what_is_not_done(two_units: tuple[str, ...], run: Lisdata) -> None:
    run(*two_units, "--rank", "1", "--world", "2")

    lines = run("run-report", "d").stdout.splitlines()

    assert lines[2].split() == ["00000", "not", "done", "0.6"]
    assert "state: not finished: the same command goes on" in lines
    assert "world: 2" in lines


def test_a_report_of_a_killed_run_leaves_out_what_is_not_known(
    two_units: tuple[str, ...], here: Path, run: Lisdata
) -> None:
    run(*two_units)
    (here / "d" / "run.json").unlink()

    lines = run("run-report", "d").stdout.splitlines()

    assert not [line for line in lines if line.startswith(("seconds", "megabytes"))]


def test_a_report_of_many_units_shows_those_not_done_and_the_slowest(here: Path, run: Lisdata) -> None:
    (here / "many").mkdir()
    for number in range(45):
        (here / "many" / f"{number:02d}.txt").write_bytes(b"a line of text\n" * 40_000)
    run("convert", "text", "many", "--to", "d", "--unit-mib", "1", "--rank", "1", "--world", "45")

    lines = run("run-report", "d").stdout.splitlines()

    assert lines[0] == "40 units of 45: those not done, then the slowest"
    assert all("not done" in line for line in lines[3:43])


@pytest.mark.parametrize(("command", "more"), [("encode", ()), ("regroup", ("--memory-mib", "1"))])
def test_encode_and_regroup_take_ranks_and_engines_too(
    command: str, more: tuple[str, ...], here: Path, run: Lisdata
) -> None:
    (here / "g.nt").write_text('<http://x/a> <http://x/p> "b" .\n')
    assert run("convert", "ntriples", "g.nt", "--to", "g.lis").exit_code == 0
    whole = run(command, "g.lis", "--to", "whole", *more)

    last = run(command, "g.lis", "--to", "d", "--rank", "0", "--world", "1", *more)
    fresh = run(command, "g.lis", "--to", "d", "--rank", "0", "--world", "1", "--fresh", *more)
    mixed = run(command, "g.lis", "--to", "d", "--rank", "0", "--world", "1", "--engine", "ray", *more)

    assert whole.exit_code == last.exit_code == 0
    assert last.stdout == whole.stdout.replace("whole", "d")
    assert run("finish", "d").exit_code == 0
    assert (fresh.exit_code, mixed.exit_code) == (2, 2)
    assert "--fresh would change the folder under the other ranks" in " ".join(fresh.stderr.split())
    assert "leave out --engine ray" in mixed.stderr


def test_a_dry_run_of_an_append_shows_what_it_would_add(here: Path, run: Lisdata) -> None:
    (here / "more.txt").write_text("another line\n")
    run("convert", "text", "data.txt", "--to", "d", "--unit-mib", "3")

    shown = run("convert", "text", "data.txt", "more.txt", "--to", "d", "--append", "--dry-run")
    done = run("convert", "text", "data.txt", "more.txt", "--to", "d", "--append")
    again = run("convert", "text", "more.txt", "--to", "d", "--append", "--dry-run")

    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[:2] == ["d has 1 input; added would be 1", "input 1: more.txt (13 bytes)"]
    assert lines[2] == "1 unit of about 3 MiB; nothing was written"
    assert [line for line in lines if "another" in line and "data" not in line]
    assert done.exit_code == 0
    assert again.stdout.splitlines() == [
        "d has 2 inputs; added would be 0",
        "0 units of about 3 MiB, 1 as they are; nothing was written",
    ]
