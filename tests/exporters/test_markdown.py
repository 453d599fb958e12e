from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.exporters.kept_documents import MARKDOWN
from lisdata.registry import load_exporter

PIECES = st.sampled_from(
    ["# ", "- ", "> ", "\n", "\n\n", "\r\n", "\r", "```", "|a|\n|-|\n", "é", "𝒳", "word. ", "A", "\0", "\ufeff", "<b>"]
)
FILES = st.lists(PIECES, max_size=20).map(lambda pieces: "".join(pieces).encode())


def test_it_is_registered() -> None:
    assert load_exporter("markdown") is MARKDOWN


@settings(max_examples=12, deadline=None)
@given(st.lists(FILES, min_size=1, max_size=6))
def test_any_document_comes_back_byte_for_byte(round_trip: Any, files: list[bytes]) -> None:
    found, report = round_trip("markdown", files, ".md")

    assert found == files
    assert (report.losses, report.num_records) == ({}, len(files))


def test_real_documents_come_back_and_as_text_too(round_trip: Any, shared: Path, root: Path) -> None:
    paths = [shared / "data/kg/text_docs/commonmark_spec.txt", *(root / "sample_data").rglob("*.md")]
    files = [path.read_bytes() for path in paths]

    assert round_trip("markdown", files, ".md")[0] == files
    found, report = round_trip("markdown", files, ".md", as_format="text")
    assert found == files
    assert report.losses == {}


def test_what_was_rejected_is_a_loss_and_not_written(round_trip: Any) -> None:
    found, report = round_trip("markdown", [b"a\n", b"\xff"], ".md", on_error="quarantine")

    assert found == [b"a\n"]
    assert report.losses == {"rejected records": 1}
