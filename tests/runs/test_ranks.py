"""Ranks that share a folder write what one run writes, in any order, and tell of those that are missing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_units
from hypothesis import given, settings
from hypothesis import strategies as st
from small_units import fold, make_job

from lisdata.errors import BadRecordError, DamagedShardError, PlanError, RunError
from lisdata.locks import hold_lock
from lisdata.runs import RankState, finish_shares, run_job, run_share
from lisdata.runs.ranks import describe_missing
from lisdata.runs.running import FACTS_LOCK, fold_run
from lisdata.shards.manifest import read_manifest, read_sealed

OUTSIDE_THE_PROMISE = {"run.json"}


def bytes_of(directory: Path) -> dict[str, bytes]:
    files = (p for p in directory.rglob("*") if p.is_file())
    found = {p.relative_to(directory).as_posix(): p.read_bytes() for p in files}
    return {name: data for name, data in found.items() if name not in OUTSIDE_THE_PROMISE}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


@given(data=st.data(), num_units=st.integers(0, 7), world=st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_ranks_in_any_order_write_the_bytes_of_one_run(
    data: Any, num_units: int, world: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ranks")
    job = make_job(folder / "d", num_units)
    order = data.draw(st.permutations(range(world)))

    shares = [run_share(job, rank=rank, world=world) for rank in order]

    run_job(replace(job, directory=folder / "calm"))
    assert bytes_of(folder / "d") == bytes_of(folder / "calm")
    assert shares[-1].manifest == read_manifest(folder / "d")
    assert sum(share.num_units for share in shares) == num_units
    shutil.rmtree(folder)


def test_a_rank_does_only_its_own_units_and_tells_what_is_missing(log: Path, tmp_path: Path) -> None:
    share = run_share(make_job(tmp_path / "d", 6, log=str(log)), rank=1, world=4)

    assert sorted(path.name for path in log.iterdir()) == ["00001", "00005"]
    assert (share.num_units, share.manifest) == (2, None)
    assert [(s.rank, s.num_missing, s.is_running) for s in share.missing] == [
        (0, 2, False),
        (2, 1, False),
        (3, 1, False),
    ]
    with pytest.raises(DamagedShardError, match="has not finished"):
        read_manifest(tmp_path / "d")


def test_finish_names_the_ranks_that_are_missing_and_writes_the_manifest_when_none_is(tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 4)
    run_share(job, rank=0, world=2)

    with pytest.raises(RunError, match=r"not done yet: rank 1: 2 units \(not running\).*without --rank"):
        finish_shares(tmp_path / "d", fold)
    assert not (tmp_path / "d" / "manifest.json").exists()
    whole = run_share(job, rank=1, world=2).manifest
    (tmp_path / "d" / "manifest.json").unlink()

    assert finish_shares(tmp_path / "d", fold) | {"files": None} == whole | {"files": None}  # type: ignore[operator]


def test_finish_of_a_folder_without_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(DamagedShardError, match=r"plan.json: expected this file, found none"):
        finish_shares(tmp_path, fold)


def test_a_run_without_ranks_does_what_a_lost_rank_left(log: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 5, log=str(log))
    run_share(job, rank=0, world=2)

    run_job(job)

    run_job(replace(job, directory=tmp_path / "calm"))
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")
    assert [len(path.read_text().split()) for path in sorted(log.iterdir())] == [2] * 5  # each once here, once in calm


def test_another_world_size_may_go_on_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    job = make_job(tmp_path / "d", 7)
    run_share(job, rank=2, world=3)
    assert not caplog.records

    for rank in range(2):
        share = run_share(job, rank=rank, world=2)

    (warning,) = caplog.messages
    assert "begun by 3 ranks (--world), goes on by 2" in warning
    run_job(replace(job, directory=tmp_path / "calm"))
    assert share.manifest is not None
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_a_rank_that_fails_leaves_its_units_to_another_start(log: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 4, log=str(log), how="once raise", disturbed=["00003"])
    with pytest.raises(BadRecordError):
        run_share(job, rank=1, world=2)
    assert run_share(job, rank=0, world=2).missing[0].num_missing == 1

    share = run_share(job, rank=1, world=2)

    run_job(replace(job, directory=tmp_path / "calm"))
    assert share.manifest is not None
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_ranks_at_the_same_time_one_of_them_killed_and_started_again_write_the_bytes_of_one_run(tmp_path: Path) -> None:
    program = [sys.executable, small_units.__file__]
    folder = str(tmp_path / "d")

    def start(rank: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*program, folder, "12", "1", "0.1", str(rank), "3"], start_new_session=True)

    ranks = [start(rank) for rank in range(3)]
    while len(list((tmp_path / "d" / "commits").glob("*.json"))) < 3:
        time.sleep(0.01)
    os.killpg(ranks[1].pid, signal.SIGKILL)
    ranks[1].wait()
    assert [ranks[0].wait(), ranks[2].wait()] == [0, 0]
    assert start(1).wait() == 0

    run_job(make_job(tmp_path / "calm", 12, seconds=0.1))
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_the_same_rank_twice_and_a_run_without_ranks_beside_ranks_are_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, 2)
    refused: list[str] = []

    def intrude(_: Any) -> None:
        again: list[Callable[[], Any]] = [lambda: run_share(job, rank=0, world=2), lambda: run_job(job)]
        for start in again:
            with pytest.raises(PlanError) as raised:
                start()
            refused.append(str(raised.value))

    run_share(job, rank=0, world=2, on_progress=intrude)

    assert refused[:2] == [f"{tmp_path}: another rank 0 is writing here", f"{tmp_path}: another run is writing here"]
    with hold_lock(tmp_path, "another run"), pytest.raises(PlanError, match=r"another run \(without ranks\)"):
        run_share(job, rank=1, world=2)


def test_a_rank_at_work_is_told_as_such(tmp_path: Path) -> None:
    job = make_job(tmp_path, 2)
    seen: list[RankState] = []

    run_share(job, rank=0, world=2, on_progress=lambda _: seen.extend(run_share(job, rank=1, world=2).missing))

    assert seen[0] == RankState(rank=0, num_missing=1, is_running=True)
    assert "at work" in describe_missing((seen[0],))
    assert "lost" not in describe_missing((seen[0],))


def test_many_missing_ranks_are_counted() -> None:
    states = tuple(RankState(rank=rank, num_missing=1, is_running=False) for rank in range(20))

    assert "rank 7: 1 unit (not running); and 12 ranks more;" in describe_missing(states)


def test_the_world_size_stands_in_run_json(tmp_path: Path) -> None:
    run_share(make_job(tmp_path, 2), rank=0, world=3)

    assert read_sealed(tmp_path / "run.json")["world"] == 3


def test_the_locks_of_killed_ranks_do_not_stay(tmp_path: Path) -> None:
    (tmp_path / ".rank-1.lock").touch()
    (tmp_path / ".setup.lock").touch()

    run_share(make_job(tmp_path, 2), rank=0, world=1)

    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(("rank", "world"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_outside_its_world_is_refused(rank: int, world: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a rank from 0 to below its world size"):
        run_share(make_job(tmp_path), rank=rank, world=world)


def test_a_rank_that_ends_a_run_waits_for_what_another_is_noting(tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 2)
    run_job(job)
    note = tmp_path / "d" / ".run.json.1.tmp"

    with ThreadPoolExecutor(1) as pool:
        with hold_lock(tmp_path / "d", "another rank", name=FACTS_LOCK):
            note.touch()
            end = pool.submit(fold_run, job)
            with pytest.raises(TimeoutError):
                end.result(timeout=0.5)
            assert note.exists()
        assert end.result() == read_manifest(tmp_path / "d")

    assert not note.exists()
