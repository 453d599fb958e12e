"""Units run here or in worker processes; errors come back whole, and no process outlives the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import small_units
from disturbed_units import write_unit

from lisdata.engines import deaths, pool, run_units
from lisdata.errors import BadRecordError, Place, RunError

Unit = dict[str, Any]


def units(number: int) -> list[Unit]:
    return [{"name": f"{n:05d}", "weight": 1} for n in range(number)]


def is_alive(process: int) -> bool:
    """Tell whether a process runs; a zombie that nobody waits for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


@pytest.mark.parametrize("workers", [1, 3])
def test_each_unit_is_run_once_and_yielded(workers: int, log: Path, tmp_path: Path) -> None:
    run = partial(write_unit, tmp_path, {"log": str(log)})

    done = [one.unit["name"] for one in run_units(run, units(7), workers=workers)]

    assert sorted(done) == [unit["name"] for unit in units(7)]
    assert all(len((log / name).read_text().split()) == 1 for name in done)


def test_one_worker_and_one_unit_need_no_other_process(log: Path, tmp_path: Path) -> None:
    for workers, number in ((1, 3), (4, 1)):
        list(run_units(partial(write_unit, tmp_path, {"log": str(log)}), units(number), workers=workers))

    assert {int(pid) for path in log.iterdir() for pid in path.read_text().split()} == {os.getpid()}


def test_what_a_worker_of_a_conversion_begins_with_knows_no_remote_files() -> None:
    program = (
        "import sys, lisdata.conversion.unit; print(*{'fsspec', 'asyncio', 'numba', 'torch'} & sys.modules.keys())"
    )

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"


def test_no_units_are_no_work(tmp_path: Path) -> None:
    assert list(run_units(partial(write_unit, tmp_path, {}), [], workers=4)) == []


def test_an_error_comes_back_from_a_worker_with_all_it_says(log: Path, tmp_path: Path) -> None:
    run = partial(write_unit, tmp_path, {"log": str(log), "how": "raise", "disturbed": ["00001"]})

    with pytest.raises(BadRecordError) as raised:
        list(run_units(run, units(4), workers=2))

    error = raised.value
    assert (error.place, error.expected, error.found, error.begin) == (Place("x.txt", line=3), "good", "bad", 0)


def test_an_error_ends_the_other_workers_at_once(log: Path, tmp_path: Path) -> None:
    plan = {"log": str(log), "units": units(2), "seconds": 3600, "patient": ["00001"]}

    with pytest.raises(BadRecordError):
        list(
            run_units(
                partial(write_unit, tmp_path, plan | {"how": "raise", "disturbed": ["00001"]}), units(2), workers=2
            )
        )

    workers = [int(pid) for path in log.iterdir() for pid in path.read_text().split()]
    assert len(workers) == 2
    assert not any(is_alive(worker) for worker in workers)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, -signal.SIGINT)])
def test_workers_end_with_the_run_that_began_them(sent: signal.Signals, code: int, tmp_path: Path) -> None:
    program = [sys.executable, small_units.__file__, str(tmp_path / "d"), "2", "2", "3600"]
    process = subprocess.Popen(program, start_new_session=True, stderr=subprocess.DEVNULL)
    while len(begun := list((tmp_path / "d").glob("data/.*.tmp"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    workers = [int(path.suffixes[-2][1:]) for path in begun]
    assert all(is_alive(worker) for worker in workers)

    process.send_signal(sent)  # to the parent alone

    assert process.wait() == code
    while any(is_alive(worker) for worker in workers):
        time.sleep(0.02)


def test_a_dead_worker_is_told_and_its_units_run_again_alone(
    log: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plan = {"log": str(log), "how": "once kill", "disturbed": ["00002"]}

    done = {one.unit["name"]: one.tries for one in run_units(partial(write_unit, tmp_path, plan), units(6), workers=3)}

    assert sorted(done) == [unit["name"] for unit in units(6)]
    assert done["00002"] == 2
    (message,) = caplog.messages
    assert message.startswith("a worker process died; run again (try 2 of 4): unit ")
    assert "00002" in message


def test_a_worker_that_keeps_dying_is_blamed_on_its_own_unit_alone(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deaths, "MAX_DEATHS", 2)
    plan = {"log": str(log), "how": "kill", "disturbed": ["00001"]}
    done = []

    with pytest.raises(RunError, match=r"^unit 00001: its worker process died 3 times, killed from outside or out of"):
        done.extend(run_units(partial(write_unit, tmp_path, plan), units(2), workers=2))


def test_seconds_are_those_of_the_unit(log: Path, tmp_path: Path) -> None:
    plan = {"log": str(log), "seconds": 0.2}

    for workers in (1, 2):
        done = list(run_units(partial(write_unit, tmp_path, plan), units(2), workers=workers))

        assert all(one.seconds >= 0.2 for one in done)


def test_an_interruption_that_another_thread_receives_waits_until_all_workers_are_started() -> None:
    idle = threading.Event()
    other = threading.Thread(target=idle.wait)
    other.start()
    reached = []

    def start_workers() -> None:
        with pool._interruptions_put_off():
            signal.pthread_kill(other.ident or 0, signal.SIGINT)
            time.sleep(0.1)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        start_workers()

    idle.set()
    other.join()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
