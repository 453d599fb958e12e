"""A unit knows whether a machine sees the folder of its run, and can be run apart from it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from small_units import make_job, run_unit

from lisdata.errors import SchemaError
from lisdata.locks import hold_lock
from lisdata.runs import run_job
from lisdata.runs.commits import UNITS_LOCK, CommitUnit


def test_only_the_folder_of_this_very_run_is_home(tmp_path: Path) -> None:
    job, other = make_job(tmp_path / "d", 2), make_job(tmp_path / "other", 3)
    run_job(job)
    run_job(other)

    assert CommitUnit(tmp_path / "d", job.plan, run_unit).is_at_home()
    assert not CommitUnit(tmp_path / "other", job.plan, run_unit).is_at_home()
    assert not CommitUnit(tmp_path / "nowhere", job.plan, run_unit).is_at_home()


def test_a_unit_that_was_run_apart_is_placed_with_the_same_bytes_its_commit_last(tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 2)
    run_job(job)
    run = CommitUnit(tmp_path / "elsewhere", job.plan, run_unit)

    files = run.run_apart(job.plan["units"][1])
    assert not (tmp_path / "elsewhere").exists()
    run.place(files)

    assert list(files) == ["data/00001.bin", "commits/00001.json"]
    for name in files:
        assert (tmp_path / "elsewhere" / name).read_bytes() == (tmp_path / "d" / name).read_bytes()


def test_files_from_elsewhere_stay_inside_the_folder(tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 1)

    with pytest.raises(SchemaError, match="expected names inside the folder"):
        CommitUnit(tmp_path / "d", job.plan, run_unit).place({"../outside": b""})

    assert not (tmp_path / "outside").exists()


def test_a_run_waits_for_units_of_a_killed_one_that_are_still_being_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held, begun = threading.Event(), threading.Event()

    def hold() -> None:
        with hold_lock(tmp_path / "d", "", name=UNITS_LOCK, shared=True):
            begun.set()
            held.wait(30)

    orphan = threading.Thread(target=hold)
    orphan.start()
    begun.wait(30)
    threading.Timer(0.2, held.set).start()
    seen: list[bool] = []

    run_job(make_job(tmp_path / "d", 1), on_progress=lambda _: seen.append(held.is_set()))

    orphan.join()
    assert all(seen)
    assert caplog.messages == [f"{tmp_path / 'd'}: units of an earlier run are still being run; waiting for their end"]
