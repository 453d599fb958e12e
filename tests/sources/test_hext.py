"""Hextuples: what rdflib writes is read as it is, what is written rdflib reads, and nothing of a graph is lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

import lisdata
from lisdata.conversion import convert
from lisdata.inputs import InputSlice
from lisdata.registry import load_exporter
from lisdata.sources.hext import HEXT
from lisdata.sources.ntriples import NTriplesOptions
from tests.rdf_reading import accepted, rejected, texts, whole

XSD = "http://www.w3.org/2001/XMLSchema#"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
IRIS = st.sampled_from(["http://e/a", "http://e/b#é", "urn:x:漢", "http://e/p%20q"])
NODES = IRIS | st.sampled_from(["_:b", "_:b1", "_:x-y"])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.one_of(
    IRIS.map(lambda iri: (iri, "globalId", "")),
    st.sampled_from(["_:b", "_:b2"]).map(lambda node: (node, "localId", "")),
    st.tuples(TEXTS, st.sampled_from([f"{XSD}string", f"{XSD}integer", "http://e/type"]), st.just("")),
    st.tuples(TEXTS, st.just(LANG_STRING), st.sampled_from(["en", "en-GB", "EN-gb"])),
)
LINES = st.tuples(NODES, IRIS, VALUES, st.just("") | NODES).map(lambda parts: [*parts[:2], *parts[2], parts[3]])


def spell(lines: list[list[str]]) -> bytes:
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


def test_they_are_registered() -> None:
    assert load_exporter(HEXT.exporter).name == "hext"


@settings(max_examples=30, deadline=None)
@given(lines=st.lists(LINES, max_size=12), group_by=st.sampled_from(["subject", "graph", "none", "2"]))
def test_lines_come_back_byte_for_byte_however_they_are_grouped(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]], group_by: str
) -> None:
    folder = tmp_path_factory.mktemp("hext")
    (folder / "a.hext").write_bytes(spell(lines))

    manifest = convert("hext", folder / "a.hext", folder / "data", options={"group_by": group_by})
    (report,) = lisdata.export(folder / "data", folder / "back.hext")

    assert (folder / "back.hext").read_bytes() == spell(lines)
    assert report.losses == {}
    assert manifest["inputs"][0]["records"] == {"seen": len(lines), "converted": len(lines), "rejected": 0}


@pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")
def test_what_rdflib_writes_is_read_and_what_is_written_rdflib_reads(tmp_path: Path) -> None:
    graph = rdflib.Graph().parse(
        format="turtle",
        data='@prefix e: <http://e/> . e:a e:p "x\\ny"@en-gb, "01"^^e:t, "p", [ e:q e:b ], true, "\\u0007é" .',
    )
    (tmp_path / "a.hext").write_text(graph.serialize(format="hext"))

    convert("hext", tmp_path / "a.hext", tmp_path / "data")
    lisdata.export(tmp_path / "data", tmp_path / "back.hext")

    theirs, ours = (rdflib.Graph().parse(tmp_path / name, format="hext") for name in ("a.hext", "back.hext"))
    assert isomorphic(ours, theirs)  # which has "p" as "p"^^xsd:string, what is another literal to rdflib
    assert len(graph) == len(ours) == 7


def test_it_gives_the_contents_that_n_quads_give(tmp_path: Path) -> None:
    lines = [
        ["http://e/a", "http://e/p", "x", LANG_STRING, "en-GB", ""],
        ["_:b", "http://e/p", "http://e/o", "globalId", "", "http://e/g"],
        ["http://e/a", "http://e/p", "b", "localId", "", "_:g"],
        ["http://e/a", "http://e/p", 'a "\\\n', f"{XSD}string", "", ""],
    ]
    same = (
        b'<http://e/a> <http://e/p> "x"@en-GB .\n_:b <http://e/p> <http://e/o> <http://e/g> .\n'
        b'<http://e/a> <http://e/p> _:b _:g .\n<http://e/a> <http://e/p> "a \\"\\\\\\n" .\n'
    )

    found = accepted(tmp_path / "a.hext", "hext", b"\n" + spell(lines) + b"  \n")

    wanted = accepted(tmp_path / "a.nq", "nquads", same)
    assert [[(c.kind, c.lexical, c.datatype, c.language) for c in quad if c] for quad in found] == [
        [(c.kind, c.lexical, c.datatype, c.language) for c in quad if c] for quad in wanted
    ]


GOOD = ["http://e/a", "http://e/p", "x", f"{XSD}string", "", ""]


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (GOOD[:5], "no array of six strings"),
        ([*GOOD[:4], None, ""], "no array of six strings"),
        ({"subject": "a"}, "no array of six strings"),
        ([*GOOD[:2], "x", LANG_STRING, "no tag", ""], "no language"),
        ([*GOOD[:2], "x", "http://e/t", "en", ""], "no language"),
        ([*GOOD[:2], "http://e/o", "globalId", "en", ""], "a language"),
        ([*GOOD[:2], "x", "", "", ""], "IRI"),
        (["_:a b", *GOOD[1:]], "no label of a blank node"),
        (["_:a> <http://e/p> <http://e/q> .", *GOOD[1:]], "no label of a blank node"),
        (["http://e/a b", *GOOD[1:]], "IRI"),
        (["http://e/a> <http://e/p> <http://e/b", *GOOD[1:]], "IRI"),
        (["relative", *GOOD[1:]], "IRI"),
    ],
)
def test_a_line_that_is_no_statement_is_rejected_with_its_place(tmp_path: Path, bad: Any, found: str) -> None:
    data = spell([GOOD]) + b"\n" + orjson.dumps(bad) + b"\n" + spell([GOOD])

    (error,) = rejected(tmp_path / "a.hext", "hext", data)

    assert error.place.line == 3
    assert found in error.found
    assert data[error.begin : error.end] == orjson.dumps(bad) + b"\n" == error.data


@pytest.mark.parametrize("bad", [b'["a", \n', b'["\xff"]\n', b'["\\ud800", "http://e/p", "x", "http://e/t", "", ""]\n'])
def test_what_is_no_json_is_rejected(tmp_path: Path, bad: bytes) -> None:
    (error,) = rejected(tmp_path / "a.hext", "hext", spell([GOOD]) + bad)

    assert (error.place.line, error.data) == (2, bad)


def test_lenient_reading_keeps_iris_as_they_are(tmp_path: Path) -> None:
    (quad,) = accepted(tmp_path / "a.hext", "hext", spell([["http://e/a b", *GOOD[1:]]]), lenient=True)

    assert texts([quad]) == ["http://e/a b http://e/p x"]


@pytest.mark.parametrize(("group_by", "column"), [("subject", 0), ("graph", 5)])
def test_a_file_is_cut_between_runs(tmp_path: Path, group_by: str, column: int) -> None:
    lines = [[f"http://e/{n // 40}", "http://e/p", '"]', f"{XSD}string", "", f"http://g/{n // 60}"] for n in range(240)]
    piece = whole(tmp_path / "a.hext", spell(lines))
    options = NTriplesOptions(group_by=group_by)
    cuts = {HEXT.find_cut(piece, wanted, options) for wanted in range(1, piece.file.size, 997)}
    bounds = sorted({0, piece.file.size, *cuts})

    pieces = [InputSlice(file=piece.file, begin=begin, end=end) for begin, end in pairwise(bounds)]
    found = [[orjson.loads(line)[column] for line in part.read().splitlines()] for part in pieces]

    assert len(found) > 2
    assert all(before[-1] != after[0] for before, after in pairwise(found))


def test_what_hextuples_have_no_place_for_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_bytes(
        b'<a:a> <a:p> <<( <a:b> <a:p> "c" )>> .\n<a:a> <a:p> "d"@en--ltr .\n<a:a> <a:p> "e" <a:g> .\n'
    )

    convert("nquads", tmp_path / "a.nq", tmp_path / "data")
    (report,) = lisdata.export(tmp_path / "data", tmp_path / "back.hext", format="hext")

    assert report.losses == {"triples of triple terms": 1, "directions of language tags": 1}
    assert [orjson.loads(line)[2:] for line in (tmp_path / "back.hext").read_bytes().splitlines()] == [
        ["d", LANG_STRING, "en", ""],
        ["e", f"{XSD}string", "", "a:g"],
    ]
