from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import ExportError
from lisdata.exporters.kgtk import KGTK
from lisdata.registry import load_exporter

IRI = "http://www.wikidata.org/entity/"
PREFIXES = [[], [f"Q={IRI}", f"P={IRI}"]]
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\t\r\n")
CELLS = st.sampled_from(
    ["a", "b", "Q5", f"{IRI}Q5", "P31", "e1", "e2", '"x"', '"x\\"y"', '"x"y"', '"open', "'l'@en", "'l\\''@en-US",
     "'l|m'@de", '"\\\'"', "12", "1.0", "1|2", "a||", "|", "\\|", "\\", "^2020-01-01T00:00:00Z/11", "@1/2",
     "True", "!", "é\u2028", " ", "\ufeff", "9kg", "''@en", '""', "'a'@", "\x0b", "\x00"]
) | st.text(CHARACTERS, max_size=4)  # fmt: skip
NONEMPTY = CELLS.filter(bool)
EDGES = st.tuples(CELLS | st.sampled_from(["e1", "e2", ""]), NONEMPTY, NONEMPTY, CELLS, CELLS).map("\t".join)
LINES = EDGES | st.sampled_from(["", "# a comment", "#\tx\ty\tz\tv", " \t "])


@st.composite
def edge_files(draw: st.DrawFn) -> bytes:
    mark = draw(st.sampled_from(["", "\ufeff"]))
    usual = draw(st.sampled_from(["\n", "\r\n"]))
    lines = ["id\tnode1\tlabel\tnode2\tx#%y", *draw(st.lists(LINES, max_size=12))]
    endings = [usual, *(draw(st.sampled_from([usual, usual, usual, "\n", "\r\n"])) for _ in lines[1:])]
    if draw(st.booleans()) and len(lines) > 1 and lines[-1]:
        endings[-1] = ""
    return (mark + "".join(map("".join, zip(lines, endings, strict=True)))).encode()


def test_it_is_registered() -> None:
    assert load_exporter("kgtk") is KGTK


@settings(max_examples=25, deadline=None)
@given(
    files=st.lists(edge_files(), min_size=1, max_size=8),
    id_prefix=st.sampled_from(PREFIXES),
    group=st.sampled_from(["node1", "edge"]),
    edges_about=st.sampled_from(["auto", "edges", "nodes"]),
)
def test_any_file_of_edges_comes_back_byte_for_byte(round_trip: Any, files: list[bytes], **options: Any) -> None:
    found, report = round_trip("kgtk", files, ".tsv", **options)

    assert found == files
    assert report.losses == {}


@settings(max_examples=10, deadline=None)
@given(
    rows=st.lists(st.tuples(NONEMPTY, CELLS, CELLS).map("\t".join), max_size=8),
    header=st.sampled_from(["id\tb\tc", "node1\tlabel\tc"]),
)
def test_any_file_of_nodes_or_rows_comes_back_byte_for_byte(round_trip: Any, rows: list[str], header: str) -> None:
    data = "\n".join([header, *rows, ""]).encode()

    assert round_trip("kgtk", [data], ".tsv")[0] == [data]


def test_a_file_without_a_header_comes_back(round_trip: Any) -> None:
    data = b"a\tb\tc\nc\tb\ta"

    assert round_trip("kgtk", [data], ".tsv", header=False)[0] == [data]


@pytest.mark.parametrize("id_prefix", PREFIXES)
def test_real_files_come_back_byte_for_byte(round_trip: Any, shared: Path, id_prefix: list[str]) -> None:
    files = [path.read_bytes() for path in sorted((shared / "data/kg/kgtk").glob("*.tsv"))]

    found, report = round_trip("kgtk", files, ".tsv", id_prefix=id_prefix)

    assert len(files) == 10
    assert found == files
    assert report.losses == {}


def test_the_samples_come_back(round_trip: Any, root: Path) -> None:
    files = [path.read_bytes() for path in sorted((root / "sample_data/kgtk").glob("*.tsv"))]

    assert len(files) == 2
    assert round_trip("kgtk", files, ".tsv")[0] == files


def test_rejected_lines_are_a_loss_and_the_others_are_written(round_trip: Any) -> None:
    found, report = round_trip("kgtk", [b"node1\tlabel\tnode2\na\tb\nc\td\te\n"], ".tsv", on_error="quarantine")

    assert found == [b"node1\tlabel\tnode2\nc\td\te\n"]
    assert report.losses == {"rejected records": 1}


def test_a_file_whose_header_is_bad_is_not_written(round_trip: Any) -> None:
    found, report = round_trip("kgtk", [b"id\tid\nx\ty\n", b"id\nx\n"], ".tsv", on_error="skip")

    assert found == [b"id\nx\n"]
    assert report.losses == {"rejected records": 1}


@pytest.mark.parametrize(
    ("source", "data", "message"),
    [
        ("text", b"one\n", "expected hyperedges, found a text structure"),
        ("hif", b'{"incidences": [{"edge": 1, "node": 2}]}', "expected a fact that tells the columns first"),
    ],
)
def test_structures_of_other_sources_are_refused(round_trip: Any, source: str, data: bytes, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        round_trip(source, [data], ".json" if source == "hif" else ".txt", as_format="kgtk", allow_losses=True)
