"""A run ends with the same bytes however it is disturbed, and writes into no folder that is not its own."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_units
from small_units import make_job

from lisdata.engines import deaths
from lisdata.errors import BadRecordError, DamagedShardError, PlanError, RunError, SchemaError
from lisdata.runs import Progress, run_job
from lisdata.shards.manifest import read_manifest, read_sealed

OUTSIDE_THE_PROMISE = {"run.json", ".lock"}


def bytes_of(directory: Path) -> dict[str, bytes]:
    """All files of a dataset but those that tell of the run itself."""
    files = (p for p in directory.rglob("*") if p.is_file())
    found = {p.relative_to(directory).as_posix(): p.read_bytes() for p in files}
    return {name: data for name, data in found.items() if name not in OUTSIDE_THE_PROMISE}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A folder that units note their begin in."""
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


def begun(log: Path) -> dict[str, int]:
    """How often each unit began."""
    return {path.name: len(path.read_text().split()) for path in sorted(log.iterdir())}


# -- the same bytes --------------------------------------------------------------------------------------------------


def test_one_and_four_workers_write_the_same_bytes(tmp_path: Path) -> None:
    run_job(make_job(tmp_path / "one"), workers=1)
    run_job(make_job(tmp_path / "four"), workers=4)

    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "four")
    assert len(bytes_of(tmp_path / "one")) == 6 + 6 + 3  # files, commits, plan, manifest, sidecar


@pytest.mark.parametrize("workers", [1, 2])
def test_after_an_error_the_run_goes_on_with_what_is_not_done(workers: int, log: Path, tmp_path: Path) -> None:
    plan: dict[str, Any] = {"log": str(log), "how": "once raise", "disturbed": ["00003"]}
    job = make_job(tmp_path / "d", **plan)

    with pytest.raises(BadRecordError, match=r"x.txt:3: expected good, found bad"):
        run_job(job, workers=workers)
    with pytest.raises(DamagedShardError, match="has not finished"):
        read_manifest(tmp_path / "d")
    done = [path.stem for path in (tmp_path / "d" / "commits").glob("*.json")]
    run_job(job, workers=workers)

    run_job(replace(job, directory=tmp_path / "calm"))
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")
    assert "00003" not in done
    assert all(begun(log)[name] == 2 for name in done)  # here and in the calm run
    if workers == 1:
        assert sorted(done) == ["00000", "00001", "00002"]


@pytest.mark.parametrize("how", ["once kill", "once exit"])
def test_a_dead_worker_s_unit_runs_again(how: str, log: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", log=str(log), how=how, disturbed=["00002"])

    run_job(job, workers=2)

    run_job(replace(job, directory=tmp_path / "calm"))
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_unit_that_always_kills_its_worker_fails_the_run_by_name(
    how: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deaths, "MAX_DEATHS", 1)
    job = make_job(tmp_path / "d", 4, log=str(log), how=how, disturbed=["00002"])

    with pytest.raises(RunError, match=r"unit 00002: its worker process died 2 times"):
        run_job(job, workers=2)

    assert not (tmp_path / "d" / "manifest.json").exists()
    assert begun(log)["00002"] == 2


def test_killed_at_random_moments_the_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    program = [sys.executable, small_units.__file__]
    run_job(make_job(tmp_path / "calm", 24, seconds=0.05))
    chance = random.Random(0)

    for _ in range(3):
        process = subprocess.Popen([*program, tmp_path / "d", "24", "2", "0.05"], start_new_session=True)
        time.sleep(0.4 + chance.random())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*program, tmp_path / "d", "24", "2", "0.05"], check=True)

    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


# -- what is done ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("data/00001.bin", Path.unlink),
        ("data/00001.bin", lambda path: os.truncate(path, 7)),
        ("commits/00001.json", Path.unlink),
        ("commits/00001.json", lambda path: os.truncate(path, 7)),
        ("commits/00001.json", lambda path: path.write_bytes(path.read_bytes().replace(b"size", b"sise"))),
    ],
)
def test_a_unit_whose_commit_or_files_are_damaged_runs_again_and_no_other(
    name: str, damage: Callable[[Path], None], log: Path, tmp_path: Path
) -> None:
    job = make_job(tmp_path / "d", 3, log=str(log))
    run_job(job)
    whole = bytes_of(tmp_path / "d")
    (tmp_path / "d" / "manifest.json").unlink()

    damage(tmp_path / "d" / name)
    run_job(job)

    assert bytes_of(tmp_path / "d") == whole
    assert begun(log) == {"00000": 1, "00001": 2, "00002": 1}


def test_a_finished_run_returns_its_manifest_and_runs_nothing(log: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 2, log=str(log))

    first, second = run_job(job), run_job(job)

    assert first == second == read_manifest(tmp_path / "d")
    assert begun(log) == {"00000": 1, "00001": 1}


def test_a_finished_run_that_lost_a_file_says_which(tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 2)
    run_job(job)
    (tmp_path / "d" / "data" / "00001.bin").unlink()

    with pytest.raises(DamagedShardError, match=r"00001.bin: expected 500 bytes, found no file"):
        run_job(job)

    run_job(job, fresh=True)
    assert (tmp_path / "d" / "data" / "00001.bin").exists()


def test_every_file_is_in_the_manifest_with_its_hash(tmp_path: Path) -> None:
    body = run_job(make_job(tmp_path / "d", 3))

    assert {*body["files"], "manifest.json"} == set(bytes_of(tmp_path / "d"))
    assert body["files"]["notes/about.txt"]["size"] == len(b"six small units\n")
    assert body["sizes"] == [500, 500, 500]


def test_what_a_disturbed_run_left_half_written_is_swept(log: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 2, log=str(log), how="once raise", disturbed=["00001"])
    with pytest.raises(BadRecordError):
        run_job(job)
    assert list((tmp_path / "d").rglob("*.tmp"))

    run_job(job)

    assert not list((tmp_path / "d").rglob("*.tmp"))


def test_times_and_workers_stand_in_run_json_alone(tmp_path: Path) -> None:
    run_job(make_job(tmp_path / "d", 2, facts={"inputs": [], "workers": 7}))

    facts = read_sealed(tmp_path / "d" / "run.json")
    assert facts["workers"] == 7
    assert {"started", "finished", "python"} <= set(facts)
    assert not any(b"started" in data for data in bytes_of(tmp_path / "d").values())


# -- progress --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_rises_from_what_is_done_to_everything(workers: int, tmp_path: Path) -> None:
    seen: list[Progress] = []

    run_job(make_job(tmp_path / "d", 4), workers=workers, on_progress=seen.append)

    assert [p.num_done for p in seen] == [0, 1, 2, 3, 4]
    assert [p.weight_done for p in seen] == sorted(p.weight_done for p in seen)
    assert (seen[-1].weight_done, seen[-1].weight, seen[-1].num_units) == (10, 10, 4)


def test_progress_of_a_run_that_goes_on_begins_where_it_was(log: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 4, log=str(log), how="once raise", disturbed=["00002"])
    with pytest.raises(BadRecordError):
        run_job(job)
    seen: list[Progress] = []

    run_job(job, on_progress=seen.append)

    assert [p.num_done for p in seen] == [2, 3, 4]


# -- whose folder it is ----------------------------------------------------------------------------------------------


def test_another_run_s_folder_is_refused_with_the_difference(tmp_path: Path) -> None:
    run_job(make_job(tmp_path, 2, unit_mib=64))
    before = bytes_of(tmp_path)

    with pytest.raises(PlanError, match="has unit_mib = 64, this one 8; give the options of that run to go on with it"):
        run_job(make_job(tmp_path, 2, unit_mib=8))

    assert bytes_of(tmp_path) == before


def test_a_changed_input_is_refused_by_name(tmp_path: Path) -> None:
    old, new = ({"name": "b.txt", "size": size, "digest": f"d{size}"} for size in (3, 4))
    other = {"name": "a.txt", "size": 1, "digest": "d"}
    run_job(make_job(tmp_path, 2, inputs=[other, old]))

    with pytest.raises(PlanError, match=r"has the input b.txt \(3 bytes, digest d3\), this one b.txt \(4"):
        run_job(make_job(tmp_path, 2, inputs=[other, new]))
    with pytest.raises(PlanError, match="has inputs = 2, this one 1"):
        run_job(make_job(tmp_path, 2, inputs=[other]))


def test_what_was_read_is_checked_whenever_an_input_lies_elsewhere_or_was_touched(log: Path, tmp_path: Path) -> None:
    checked: list[str] = []

    def check(commit: dict[str, Any]) -> None:
        checked.append(commit["unit"])
        if "no longer" in str(tmp_path.joinpath("state").read_text()):
            raise PlanError("other bytes")

    def job(changed: str) -> Any:
        facts = {"inputs": [{"path": "/in/a.txt", "changed": changed}]}
        made = make_job(tmp_path / "d", 2, facts=facts, log=str(log), how="once raise", disturbed=["00001"])
        return replace(made, check_commit=check)

    (tmp_path / "state").write_text("as read")
    with pytest.raises(BadRecordError):
        run_job(job("monday"))
    assert not checked
    (tmp_path / "state").write_text("no longer as read")
    with pytest.raises(PlanError, match="other bytes"):
        run_job(job("tuesday"))
    assert checked == ["00000"]
    (tmp_path / "state").write_text("as read")
    run_job(job("tuesday"))
    run_job(job("monday"))
    assert checked == ["00000", "00000"]
    (tmp_path / "state").write_text("no longer as read")
    with pytest.raises(PlanError, match="other bytes"):  # a finished run too
        run_job(job("wednesday"))


def test_a_file_of_a_finished_unit_that_was_damaged_is_made_again(log: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path / "d", 2, log=str(log), how="once raise", disturbed=["00001"])
    with pytest.raises(BadRecordError):
        run_job(job)
    done = next(path for path in (tmp_path / "d").rglob("*00000*") if path.parent.name != "commits")
    whole = done.read_bytes()
    done.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    run_job(job)

    assert done.read_bytes() == whole


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")

    with pytest.raises(PlanError, match=r"expected a new or empty folder, found thesis.tex"):
        run_job(make_job(tmp_path))
    with pytest.raises(PlanError, match="not a dataset of lisdata, so --fresh does not empty it"):
        run_job(make_job(tmp_path), fresh=True)

    assert bytes_of(tmp_path) == {"thesis.tex": b"mine"}


@pytest.mark.parametrize("name", ["manifest.json", "plan.json"])
def test_a_manifest_of_somebody_else_does_not_let_fresh_empty_a_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"name": "a web page", "format": "other"}')
    (tmp_path / "thesis.tex").write_text("mine")

    with pytest.raises(PlanError, match="not a dataset of lisdata"):
        run_job(make_job(tmp_path), fresh=True)

    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_fresh_starts_over_with_another_plan_and_nothing_stays(tmp_path: Path) -> None:
    run_job(make_job(tmp_path / "d", 5))

    run_job(make_job(tmp_path / "d", 2), fresh=True)

    run_job(make_job(tmp_path / "calm", 2))
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_fresh_starts_over_where_the_plan_is_damaged(tmp_path: Path) -> None:
    run_job(make_job(tmp_path, 2))
    (tmp_path / "plan.json").write_bytes((tmp_path / "plan.json").read_bytes().replace(b"00001", b"00002"))

    with pytest.raises(DamagedShardError, match=r"plan.json: its bytes are not those that were written"):
        run_job(make_job(tmp_path, 2))

    assert run_job(make_job(tmp_path, 2), fresh=True)["sizes"] == [500, 500]


@pytest.mark.parametrize("num_removed", range(5))
def test_killed_while_it_empties_the_folder_fresh_can_be_asked_for_again(
    num_removed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_job(make_job(tmp_path, 2))
    removed: list[Path] = []

    def remove(path: Path, *arguments: Any, **keywords: Any) -> None:
        if len(removed) == num_removed:
            raise KeyboardInterrupt
        removed.append(path)
        (unlink if path.is_file() else rmtree)(path, *arguments, **keywords)

    unlink, rmtree = Path.unlink, shutil.rmtree
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", remove)
        patch.setattr(Path, "unlink", remove)
        with pytest.raises(KeyboardInterrupt):
            run_job(make_job(tmp_path, 3), fresh=True)

    assert run_job(make_job(tmp_path, 3), fresh=True)["sizes"] == [500] * 3


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(FileExistsError):
        run_job(make_job(tmp_path / "taken"))


def test_a_sidecar_stays_inside_the_folder(tmp_path: Path) -> None:
    job = replace(make_job(tmp_path / "d"), sidecars={"../outside": b""})

    with pytest.raises(SchemaError, match="expected names inside the folder"):
        run_job(job)

    assert not (tmp_path / "outside").exists()


# -- the lock --------------------------------------------------------------------------------------------------------


def test_two_runs_never_write_to_one_folder(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(PlanError, match="another run is writing here"):
            run_job(make_job(tmp_path))

    assert run_job(make_job(tmp_path))["sizes"]
    assert not (tmp_path / ".lock").exists()


def test_a_lock_that_its_holder_removed_is_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening the file and locking it, the run before may end and remove it, and a third one begin."""
    lock, taken = fcntl.flock, []

    def flock(stream: Any, how: int) -> None:
        if not taken:
            (tmp_path / ".lock").unlink()
            taken.append(stream)
        lock(stream, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    holders = []

    def look(_: Progress) -> None:
        with (tmp_path / ".lock").open("w") as other, pytest.raises(BlockingIOError):
            lock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holders.append("one")

    run_job(make_job(tmp_path, 1), on_progress=look)

    assert holders


def test_fewer_than_one_worker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected at least one worker"):
        run_job(make_job(tmp_path), workers=0)


# -- a full disk -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_names_the_unit_and_the_run_goes_on_when_there_is_room(
    workers: int, log: Path, tmp_path: Path
) -> None:
    job = make_job(tmp_path / "d", 4, log=str(log), how="once fill", disturbed=["00002"])

    with pytest.raises(RunError, match=r"d: unit 00002: \[Errno 28\] No space left on device; what is done is kept"):
        run_job(job, workers=workers)
    run_job(job, workers=workers)

    run_job(replace(job, directory=tmp_path / "calm"))
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")
