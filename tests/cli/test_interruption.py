"""Ctrl-C, a full disk and a terminal: the program itself, as a process."""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_conversion import write_text

from lisdata.cli import main
from lisdata.shards import verify_dataset

PROGRAM = [sys.executable, "-c", "from lisdata.cli import main; main()"]


def run_whole(arguments: list[str]) -> None:
    """Run the program undisturbed, which needs no process of its own."""
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output


def bytes_of(directory: Path) -> dict[str, bytes]:
    files = (p for p in directory.rglob("*") if p.is_file() and p.name not in ("run.json", ".lock"))
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in files}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of five units of 1 MiB."""
    return write_text(tmp_path_factory.mktemp("text") / "text.txt", 120_000)


@pytest.fixture(scope="module")
def calm(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("calm") / "d"
    run_whole(arguments(text, directory))
    return directory


def arguments(text: Path, directory: Path, **options: Any) -> list[str]:
    more = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ["convert", "text", str(text), "--to", str(directory), "--unit-mib", "1", *more]


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_exits_with_130_and_the_same_command_goes_on(
    workers: int, text: Path, calm: Path, tmp_path: Path
) -> None:
    command = arguments(text, tmp_path / "d", workers=workers)
    process = subprocess.Popen(
        [*PROGRAM, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list((tmp_path / "d" / "commits").glob("*.json")):
        assert process.poll() is None
        time.sleep(0.01)

    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()

    assert process.returncode == 130
    assert out == ""
    assert "Interrupted: what is done is kept; the same command goes on from there." in err
    assert "Traceback" not in err
    run_whole(command)
    assert bytes_of(tmp_path / "d") == bytes_of(calm)


def workers_of(process: int) -> list[int]:
    """Return the worker processes of a run that have begun, be it only to import."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(c) for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_ctrl_c_while_workers_start_is_told_in_one_line_too(seconds: float, text: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, *arguments(text, tmp_path / "d", workers=3)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not workers_of(process.pid):
        assert process.poll() is None
        time.sleep(0.002)
    time.sleep(seconds)

    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()

    assert process.returncode == 130
    assert [line for line in err.splitlines() if not line.startswith("convert text: ")] == [
        "Interrupted: what is done is kept; the same command goes on from there."
    ]


def test_ctrl_c_of_a_command_that_does_not_resume_says_so(calm: Path, tmp_path: Path) -> None:
    code = "import os, signal; import lisdata.shards.merging as m; from lisdata.cli import main\n"
    code += "m.refuse_collisions = lambda parts: os.kill(os.getpid(), signal.SIGINT)\nmain()"
    arguments = ["merge", str(calm), "--to", str(tmp_path / "merged")]

    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)

    assert done.returncode == 130
    assert done.stderr == "Interrupted: the same command begins anew.\n"
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("limit", [2_000, 150_000])
def test_a_disk_without_room_exits_with_1_and_the_run_goes_on_later(
    limit: int, text: Path, calm: Path, tmp_path: Path
) -> None:
    """A limit on the size of files stands for the full disk: the same failing writes, at the plan or in a unit."""
    command = arguments(text, tmp_path / "d")

    done = subprocess.run(
        [*PROGRAM, *command],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)),
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert str(tmp_path / "d") in done.stderr
    assert not list((tmp_path / "d").rglob("*.tmp"))
    run_whole(command)
    assert bytes_of(tmp_path / "d") == bytes_of(calm)
    assert verify_dataset(tmp_path / "d").problems == ()


def test_on_a_terminal_progress_is_a_bar(text: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    convert = subprocess.Popen(
        [*PROGRAM, *arguments(text, tmp_path / "d")], stderr=theirs, stdout=subprocess.PIPE, text=True
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the terminal's other end is closed
            break
    os.close(ours)
    out, _ = convert.communicate()

    assert convert.returncode == 0
    assert out.startswith(f"{tmp_path / 'd'}: ")
    assert b"5/5 units" in shown
    assert b"100%" in shown
    assert b"Traceback" not in shown
