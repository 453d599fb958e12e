from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import ExportError
from lisdata.exporters.kept_documents import CODE
from lisdata.registry import load_exporter

PIECES = st.sampled_from(["def f(x):", "\n", "\r\n", "\t", "#é", "'", "(", ")", "\0", "x = 1", "\ufeff"]).map(
    str.encode
)
FILES = st.lists(PIECES | st.binary(max_size=4), max_size=20).map(b"".join)


def test_it_is_registered() -> None:
    assert load_exporter("code") is CODE


@settings(max_examples=10, deadline=None)
@given(st.lists(FILES, min_size=1, max_size=6), st.sampled_from([".py", ".js", ".java", ".c", ".rs", ".json"]))
def test_any_bytes_come_back(round_trip: Any, files: list[bytes], suffix: str) -> None:
    found, report = round_trip("code", files, suffix)

    assert found == files
    assert (report.losses, report.num_records) == ({}, len(files))


def test_files_of_the_standard_library_and_the_samples_come_back(round_trip: Any, root: Path) -> None:
    paths = [*sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::20], *(root / "sample_data/code").glob("*.py")]
    files = [path.read_bytes() for path in paths]

    found, report = round_trip("code", files, ".py")

    assert found == files
    assert report.losses == {}


def test_deep_nesting_comes_back(round_trip: Any) -> None:
    files = [b"[" * 100_000 + b"]" * 100_000, b"(" * 100_000, b"-" * 100_000 + b"1"]

    assert round_trip("code", files, ".py")[0] == files


def test_a_file_that_was_rejected_is_a_loss_and_not_written(round_trip: Any) -> None:
    found, report = round_trip("code", [b"x = 1\n", b"y"], ".py", on_error="quarantine", max_document_bytes=2)

    assert found == [b"y"]
    assert report.losses == {"rejected records": 1}


def test_a_structure_without_a_document_is_refused(round_trip: Any) -> None:
    with pytest.raises(ExportError, match=r"000\.html: expected a structure with its document, found one without"):
        round_trip("html", [b"<p>x"], ".html", as_format="code", allow_losses=True, keep_document=False)
