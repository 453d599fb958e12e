"""Compiling is told once where someone is waiting at a terminal."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

PROGRAM = """
from lisdata.cli.terminal import tell_compilation
tell_compilation()
from lisdata.kernels import compiled
import {module}
"""
MESSAGE = "compiling kernels for this machine, once"


def stderr_of(program: str, cache: Path, *, is_terminal: bool) -> str:
    """Run a program with a cache of kernels of its own, its stderr a terminal or not."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    if not is_terminal:
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stderr
    master, slave = pty.openpty()
    subprocess.run([sys.executable, "-c", program], env=environment, stderr=slave, check=True)
    os.close(slave)
    with os.fdopen(master, "rb", buffering=0) as stream, suppress(OSError):  # of a terminal that nobody wrote to
        return stream.read(1 << 16).decode()
    return ""


def test_the_first_use_of_a_kernel_is_told_on_a_terminal_the_next_is_not(tmp_path: Path) -> None:
    program = PROGRAM.format(module="lisdata.kernels.compare, lisdata.kernels.groups")

    assert stderr_of(program, tmp_path, is_terminal=True).count(MESSAGE) == 1
    assert stderr_of(program, tmp_path, is_terminal=True) == ""


def test_elsewhere_nothing_is_told(tmp_path: Path) -> None:
    program = PROGRAM.format(module="lisdata.kernels.compare")

    assert stderr_of(program, tmp_path, is_terminal=False) == ""


def test_what_is_told_goes_through_logging(caplog: pytest.LogCaptureFixture) -> None:
    from lisdata.kernels import compiled

    compiled._tell_compilation.cache_clear()
    with caplog.at_level(logging.INFO, "lisdata.kernels"):
        compiled._tell_compilation()
        compiled._tell_compilation()

    assert [record.getMessage().split(":")[0] for record in caplog.records] == [MESSAGE.split(":")[0]]
