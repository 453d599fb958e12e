"""Fixtures of all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
