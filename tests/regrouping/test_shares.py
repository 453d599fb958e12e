"""Ranks that share a folder regroup to the bytes of one run; each waits for the facts that the others divide."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from scattered_triples import MEMORY_MIB, bytes_of, write_scattered

import lisdata
from lisdata.errors import PlanError, RunError
from lisdata.finishing import finish as finish_any
from lisdata.locks import hold_lock
from lisdata.regrouping import finish, regroup, regroup_share
from lisdata.regrouping.jobs import SPILLS
from lisdata.regrouping.regrouping import _plan
from lisdata.regrouping.units import regroup_unit
from lisdata.runs import Share, ranks, run_job
from lisdata.runs.facts import begin_facts
from lisdata.runs.ranks import await_shares
from lisdata.shards.manifest import read_sealed


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    for number in range(3):
        write_scattered(folder / f"{number}.nt", 2000, seed=number)
        lisdata.convert("ntriples", folder / f"{number}.nt", folder / f"{number}.lis")
    lisdata.merge([folder / f"{number}.lis" for number in range(3)], folder / "d")
    return folder / "d"


@pytest.fixture(scope="module")
def calm(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("calm") / "d"
    regroup(plain, directory, memory_mib=MEMORY_MIB)
    return directory


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "PATIENCE", 0.0)


def share(plain: Path, directory: Path, rank: int, world: int = 2) -> Share:
    return regroup_share(plain, directory, rank=rank, world=world, memory_mib=MEMORY_MIB)


def test_ranks_at_once_write_the_bytes_of_one_run(plain: Path, calm: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(partial(share, plain, tmp_path / "d", world=3), range(3)))

    assert bytes_of(tmp_path / "d") == bytes_of(calm)
    assert not (tmp_path / "d" / SPILLS).exists()


@pytest.mark.usefixtures("hurry")
def test_a_rank_alone_tells_who_is_missing_and_goes_on_when_started_again(
    plain: Path, calm: Path, tmp_path: Path
) -> None:
    first = share(plain, tmp_path / "d", 0)
    assert first.manifest is None
    assert [(state.rank, state.num_missing) for state in first.missing] == [(1, 1)]
    assert not (tmp_path / "d" / "plan.json").exists()
    for tell in (finish, finish_any):
        with pytest.raises(RunError, match=r"not done yet: rank 1: 1 unit .*\(in the first of two stages of regroup"):
            tell(tmp_path / "d")

    second = share(plain, tmp_path / "d", 1)
    assert [state.rank for state in second.missing] == [0]
    with pytest.raises(RunError, match="not done yet: rank 0"):
        finish(tmp_path / "d")
    last = share(plain, tmp_path / "d", 0)

    assert last.manifest == finish(tmp_path / "d") == finish_any(tmp_path / "d")
    assert bytes_of(tmp_path / "d") == bytes_of(calm)
    assert share(plain, tmp_path / "d", 1).manifest == last.manifest


def test_facts_that_are_divided_but_not_sorted_are_told(plain: Path, tmp_path: Path) -> None:
    jobs = _plan(plain, tmp_path / "d", "subject", None, MEMORY_MIB, "zstd", {})
    run_job(jobs.spill)

    with pytest.raises(RunError, match=r"its facts are divided, the first of two stages, but not sorted: start the"):
        finish_any(tmp_path / "d")


def test_a_sorted_conversion_on_its_way_is_no_run_of_ranks(tmp_path: Path) -> None:
    write_scattered(tmp_path / "a.nt", 10)
    lisdata.convert("ntriples", tmp_path / "a.nt", tmp_path / "d" / ".unsorted")

    with pytest.raises(PlanError, match="found convert --sort-by: the same command goes on"):
        finish_any(tmp_path / "d")


@pytest.mark.usefixtures("hurry")
def test_a_rank_at_work_is_waited_for(plain: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with hold_lock(tmp_path / "d" / SPILLS, "rank 1", name=".rank-1.lock"):
            waiting = pool.submit(share, plain, tmp_path / "d", 0)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=2.0)
        assert waiting.result().missing[0].rank == 1


def test_what_is_done_already_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "done").touch()
    given = Share(rank=0, world=2, num_units=1, manifest=None, missing=())

    assert await_shares(None, given, done=tmp_path / "done") == given  # type: ignore[arg-type]


def test_scratch_that_is_not_seen_and_a_dataset_that_changed_are_told(plain: Path, calm: Path, tmp_path: Path) -> None:
    plan = read_sealed(calm / "plan.json")
    with pytest.raises(RunError, match="must see the folder"):
        regroup_unit(str(plain), tmp_path / "gone", tmp_path, plan, plan["units"][0])
    shutil.copytree(calm, tmp_path / "d")
    begin_facts(tmp_path / "d", {"dataset": str(calm)})
    with pytest.raises(PlanError, match="changed since it was regrouped"):
        finish(tmp_path / "d")
    begin_facts(tmp_path / "d", {})
    with pytest.raises(PlanError, match="expected the dataset that is regrouped"):
        finish(tmp_path / "d")
