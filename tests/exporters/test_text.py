from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.datasets import export
from lisdata.errors import ExportError
from lisdata.exporters.text import TEXT
from lisdata.registry import load_exporter

UNITS = ("line", "paragraph", "document")
PIECES = st.sampled_from(
    ["\n", "\r\n", " ", "\t", "\0", "\ufeff", "\u2028", "\x85", "don't", "COX-2", "漢字", "e\u0301", "🙂"]
)
FILES = st.lists(st.lists(PIECES | st.text(max_size=3), max_size=12).map(lambda p: "".join(p).encode()), max_size=6)


def test_it_is_registered() -> None:
    assert load_exporter("text") is TEXT


@settings(max_examples=8, deadline=None)
@given(files=FILES.filter(bool), unit=st.sampled_from(UNITS))
def test_any_text_comes_back_byte_for_byte(round_trip: Any, files: list[bytes], unit: str) -> None:
    found, report = round_trip("text", files, ".txt", unit=unit)

    assert found == files
    assert report.losses == {}


@pytest.mark.parametrize("unit", UNITS)
def test_real_text_comes_back_byte_for_byte(round_trip: Any, shared: Path, unit: str) -> None:
    files = [path.read_bytes() for path in sorted((shared / "data/kg/text_docs").glob("*.txt"))]

    assert round_trip("text", files, ".txt", unit=unit)[0] == files


def test_the_samples_come_back_byte_for_byte(round_trip: Any, root: Path) -> None:
    files = [path.read_bytes() for path in sorted((root / "sample_data/text").glob("*.txt"))]

    assert len(files) == 2
    assert round_trip("text", files, ".txt")[0] == files


def test_compressed_text_comes_back_decompressed(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    convert("text", [str(tmp_path / "a.txt.gz")], tmp_path / "data")

    export(tmp_path / "data", tmp_path / "a.txt")

    assert (tmp_path / "a.txt").read_bytes() == b"one\ntwo\n"


def test_rejected_lines_are_losses(round_trip: Any) -> None:
    found, report = round_trip("text", [b"good\nb\xffd\nfine\n"], ".txt", on_error="skip")

    assert found == [b"good\nfine\n"]
    assert report.losses == {"rejected records": 1}
    assert report.num_records == 2


def test_text_of_another_source_gets_line_ends_and_names_what_it_loses(round_trip: Any) -> None:
    line = b'{"text": "see Rome", "entities": [{"start": 4, "end": 8, "id": "Q220"}], "year": 2}\n'

    found, report = round_trip("jsonl", [line], ".jsonl", as_format="text")

    assert found == [b"see Rome\n"]
    assert report.losses == {"linked mentions": 1, "fields": 1}


def test_structures_that_are_no_text_are_refused(round_trip: Any) -> None:
    with pytest.raises(ExportError, match=r"expected a structure of text"):
        round_trip("hif", [b'{"incidences": [{"edge": 1, "node": 2}]}'], ".json", as_format="text", allow_losses=True)
