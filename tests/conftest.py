"""Fixtures of all tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# A shell has jobs in the background ignore SIGINT, and so their children: those that are to end by it never would.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


os.environ.setdefault("LISDATA_DEVICE", "cpu")  # runs are the same bit for bit only where a GPU has no part in them

# no test fails because a machine is busy, and all of them end within a quarter of an hour on two cores
settings.register_profile("untimed", deadline=None, max_examples=60)
settings.load_profile("untimed")


LONG = ("test_readme.py", "test_scale_benchmarks.py")
_COMPILE = """
import importlib, pkgutil, sys, lisdata.kernels
for name in sorted(module.name for module in pkgutil.iter_modules(lisdata.kernels.__path__)):
    if name.startswith("entity") == (sys.argv[1] == "entities"):
        importlib.import_module(f"lisdata.kernels.{name}")
"""


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile kernels once before several processes begin, each of which would compile all of them."""
    if not getattr(session.config.option, "numprocesses", None) or hasattr(session.config, "workerinput"):
        return
    halves = [subprocess.Popen([sys.executable, "-c", _COMPILE, half]) for half in ("entities", "others")]
    assert [half.wait() for half in halves] == [0, 0], "kernels do not compile"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that several processes end at about the same time."""
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real inputs; the tests that need it are skipped where it is absent."""
    path = Path(os.environ.get("LISDATA_SHARED", ROOT.parent / "shared"))
    if not (path / "data").is_dir():
        pytest.skip(f"real inputs not found at {path}: set LISDATA_SHARED to run the conformance tests")
    return path
