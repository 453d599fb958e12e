"""Ray's tasks write the bytes of one process, survive lost workers, and bring errors back whole."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import small_conversion
from scattered_triples import write_scattered
from small_units import Stranger, make_job, run_unit

import lisdata
from lisdata.conversion import convert
from lisdata.engines import Engine, deaths, run_units
from lisdata.errors import BadRecordError, Place, RunError
from lisdata.runs import run_job
from lisdata.shards.manifest import read_sealed

pytest.importorskip("ray", reason="the extra ray is not installed")
RAY = Engine(name="ray")


def bytes_of(directory: Path) -> dict[str, bytes]:
    files = (p for p in directory.rglob("*") if p.is_file() and p.name != "run.json")
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in files}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster that all tests here share; its workers find what tests share."""
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(small_conversion.__file__).parent))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        yield
        ray.shutdown()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


def test_a_cluster_that_is_started_for_a_run_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setenv("PYTHONPATH", str(Path(small_conversion.__file__).parent))
    run_job(make_job(tmp_path / "d", 3), workers=2, engine=RAY)

    run_job(make_job(tmp_path / "calm", 3))
    assert not ray.is_initialized()
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


@pytest.mark.usefixtures("cluster")
def test_a_conversion_by_ray_has_the_bytes_of_one_in_this_process(tmp_path: Path) -> None:
    text = small_conversion.write_text(tmp_path / "text.txt", 60_000)

    convert("text", text, tmp_path / "ray", unit_mib=1, engine="ray")

    convert("text", text, tmp_path / "calm", unit_mib=1)
    assert len(list((tmp_path / "ray" / "commits").iterdir())) > 1
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "calm")


@pytest.mark.usefixtures("cluster")
def test_encoding_and_regrouping_by_ray_have_the_bytes_of_this_process(tmp_path: Path) -> None:
    for number in range(2):
        write_scattered(tmp_path / f"{number}.nt", 500, seed=number)
        convert("ntriples", tmp_path / f"{number}.nt", tmp_path / f"{number}.lis")
    lisdata.merge([tmp_path / "0.lis", tmp_path / "1.lis"], tmp_path / "lis")

    for name, run in {"tok": lisdata.encode, "sorted": lisdata.regroup}.items():
        run(tmp_path / "lis", tmp_path / f"{name}.ray", workers=2, engine="ray")
        run(tmp_path / "lis", tmp_path / name)
        assert bytes_of(tmp_path / f"{name}.ray") == bytes_of(tmp_path / name)


@pytest.mark.usefixtures("cluster")
def test_files_made_on_a_machine_that_does_not_see_the_folder_are_placed_in_it(tmp_path: Path) -> None:
    job = make_job(tmp_path / "calm", 4)
    run_job(job)
    (tmp_path / "d").mkdir()

    list(run_units(Stranger(tmp_path / "d", job.plan, run_unit), job.plan["units"], workers=2, engine=RAY))

    calm = bytes_of(tmp_path / "calm")
    assert bytes_of(tmp_path / "d") == {n: data for n, data in calm.items() if n.startswith(("data/", "commits/"))}


@pytest.mark.usefixtures("cluster")
def test_the_unit_of_a_lost_worker_runs_again_and_is_told(
    log: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job = make_job(tmp_path / "d", log=str(log), how="once kill", disturbed=["00002"])

    run_job(job, engine=RAY)

    run_job(replace(job, directory=tmp_path / "calm"))
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")
    assert caplog.messages == ["a Ray worker died; run again (try 2 of 4): unit 00002"]
    tries = {name: unit["tries"] for name, unit in read_sealed(tmp_path / "d" / "run.json")["units"].items()}
    assert tries == dict.fromkeys(tries, 1) | {"00002": 2}


@pytest.mark.usefixtures("cluster")
def test_a_unit_that_always_kills_its_worker_fails_the_run_by_name(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deaths, "MAX_DEATHS", 1)
    job = make_job(tmp_path / "d", 3, log=str(log), how="exit", disturbed=["00001"])

    with pytest.raises(RunError, match="unit 00001: its Ray worker died 2 times"):
        run_job(job, engine=RAY)

    assert len((log / "00001").read_text().split()) == 2


@pytest.mark.usefixtures("cluster")
def test_an_error_comes_back_from_a_task_with_all_it_says(log: Path, tmp_path: Path) -> None:
    run = partial(run_unit, tmp_path, {"log": str(log), "how": "raise", "disturbed": ["00001"]})
    units = [{"name": f"{n:05d}", "weight": 1} for n in range(3)]

    with pytest.raises(BadRecordError) as raised:
        list(run_units(run, units, workers=2, engine=RAY))

    error = raised.value
    assert (error.place, error.expected, error.found, error.begin) == (Place("x.txt", line=3), "good", "bad", 0)


@pytest.mark.usefixtures("cluster")
def test_a_task_that_cannot_be_unpacked_ends_the_run_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def run(unit):\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    with pytest.raises(RunError, match="unit 0: Ray cannot run it: System error: No module named 'only_here'"):
        list(run_units(only_here.run, [{"name": "0"}], workers=1, engine=RAY))


def test_an_address_where_no_cluster_is_ends_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def init(address: str, **_: Any) -> None:
        raise ConnectionError(f"nobody at {address}")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(RunError, match=r"no Ray cluster at 127\.0\.0\.1:1: nobody at 127\.0\.0\.1:1"):
        list(run_units(lambda _: None, [{"name": "0"}], workers=1, engine=replace(RAY, ray_address="127.0.0.1:1")))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(RunError, match=r'the engine ray needs Ray: pip install "lisdata\[ray\]"'):
        list(run_units(lambda _: None, [{"name": "0"}], workers=1, engine=RAY))


def test_an_address_without_ray_and_an_unknown_engine_are_refused() -> None:
    with pytest.raises(ValueError, match="expected the engine ray"):
        Engine(ray_address="auto")
    with pytest.raises(ValueError, match="expected an engine of process, ray, got 'dask'"):
        Engine(name="dask")  # type: ignore[arg-type]
