"""Datasets to damage and to merge."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import lisdata
import lisdata.conversion
from lisdata.conversion import convert


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of several parts with every kind of file that a conversion writes; not to be changed."""
    folder = tmp_path_factory.mktemp("converted")
    (folder / "in").mkdir()
    for name in ("a", "b"):
        lines = [f"{name} says line {i} of many\n".encode() for i in range(60)]
        (folder / "in" / f"{name}.txt").write_bytes(b"".join([*lines, b"bad \xff line\n", *lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lisdata.conversion.config, "MEBIBYTE", 1000)
        convert("text", [str(folder / "in")], folder / "d.lis", on_error="quarantine", unit_mib=1)
    return folder / "d.lis"


@pytest.fixture(scope="session")
def encoded(converted: Path) -> Path:
    """The token shards of `converted`, with every kind of file that an encoding writes; not to be changed."""
    lisdata.encode(converted, converted.parent / "d.tok", tokenizer="chars")
    return converted.parent / "d.tok"


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Path], Path]:
    """Copies a dataset, so that a test may damage it."""

    def copy(dataset: Path) -> Path:
        return Path(shutil.copytree(dataset, tmp_path / "copy"))

    return copy
