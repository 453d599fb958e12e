"""Fixtures of the exporters' tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lisdata.conversion import convert
from lisdata.datasets import export, verify
from lisdata.registry import ExportReport

RoundTrip = Callable[..., tuple[list[bytes], ExportReport]]


@pytest.fixture(scope="session")
def round_trip(tmp_path_factory: pytest.TempPathFactory) -> RoundTrip:
    """Convert files of one source, verify the dataset, export it; return the exported files and the report."""

    def run(
        source: str,
        files: list[bytes],
        suffix: str,
        *,
        as_format: str | None = None,
        on_error: Any = "stop",
        allow_losses: bool = False,
        **options: Any,
    ) -> tuple[list[bytes], ExportReport]:
        folder = tmp_path_factory.mktemp("round_trip")
        (folder / "in").mkdir()
        (folder / "out").mkdir()
        names = [f"{number:03d}{suffix}" for number in range(len(files))]
        for name, data in zip(names, files, strict=True):
            (folder / "in" / name).write_bytes(data)
        convert(source, [str(folder / "in")], folder / "data", options=options, on_error=on_error)
        assert not verify(folder / "data").problems
        (report,) = export(folder / "data", folder / "out", format=as_format, allow_losses=allow_losses)
        found = [(folder / "out" / name).read_bytes() for name in names if (folder / "out" / name).exists()]
        return found, report

    return run
