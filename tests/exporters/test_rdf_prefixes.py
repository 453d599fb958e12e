"""The prefixes that an RDF file declares are used again when it, or what was made of it, is written."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat

import lisdata
from lisdata.conversion import convert
from lisdata.inputs import InputSlice, find_inputs
from lisdata.selection import sample
from lisdata.shards import IncidenceDataset
from lisdata.sources.rdf_namespaces import root_namespaces

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TURTLE = b"""@prefix : <http://d/> .
@prefix garden: <http://example.org/garden/> .
@prefix unused: <http://u/#> .
garden:a :p garden:c , "x"^^:t .
"""
DECLARED = {"": "http://d/", "garden": "http://example.org/garden/", "unused": "http://u/#"}
HEAD = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in DECLARED.items())
NAMES = st.sampled_from(["", "a", "b-1", "c_2", "rdf", "foaf", "é", "x.y", "xmlthing"])
IRIS = st.sampled_from(["http://a/", "http://b/#", "http://xmlns.com/foaf/0.1/", RDF, "http://no/local", "http://é/"])


def exported(folder: Path, name: str, data: bytes, source: str, to: str, *prefixes: str) -> str:
    (folder / name).write_bytes(data)
    convert(source, folder / name, folder / "data", fresh=True)
    lisdata.export(folder / "data", folder / "out", format=to, prefixes=prefixes, force=True)
    return (folder / "out").read_text()


def test_turtle_comes_back_with_its_prefixes(tmp_path: Path) -> None:
    found = exported(tmp_path, "a.ttl", TURTLE, "turtle", "turtle")

    assert found == HEAD + 'garden:a :p garden:c ;\n    :p "x"^^:t .\n'
    assert IncidenceDataset(tmp_path / "data").inputs[0].prefixes == DECLARED


def test_rdf_xml_has_its_root_s_namespaces_the_empty_one_for_elements(tmp_path: Path) -> None:
    data = f"""<?xml version="1.0"?><!DOCTYPE r [ ]><!-- xmlns:no="http://no/" -->
<r:RDF xmlns:r="{RDF}" xmlns:e='http://e/' xmlns="http://d/" xmlns:odd="&lt;">
<r:Description r:about="http://x/a"><e:p>x</e:p><q>y</q></r:Description></r:RDF>""".encode()

    as_xml = exported(tmp_path, "b.rdf", data, "rdfxml", "rdfxml")

    assert f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="http://d/" xmlns:e="http://e/">' in as_xml
    assert "<e:p>x</e:p>\n  <q>y</q>\n" in as_xml
    assert {*pyoxigraph.parse(as_xml.encode(), RdfFormat.RDF_XML)} == {*pyoxigraph.parse(data, RdfFormat.RDF_XML)}
    as_turtle = exported(tmp_path, "b.rdf", data, "rdfxml", "turtle")
    assert as_turtle == '@prefix : <http://d/> .\n@prefix e: <http://e/> .\n<http://x/a> e:p "x" ;\n    :q "y" .\n'


@pytest.mark.parametrize("data", ["\ufeff<a/>".encode("utf-16"), b"", b"no xml", b'<a xmlns:x="\xff"/>'])
def test_xml_that_is_none_or_in_another_encoding_has_no_namespaces_that_are_kept(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.rdf").write_bytes(data)

    convert("rdfxml", tmp_path / "a.rdf", tmp_path / "data", on_error="skip")

    assert IncidenceDataset(tmp_path / "data").inputs[0].prefixes == {}


@pytest.mark.parametrize(
    "data",
    [b"<" + b"a" * 300_000, b" " * 300_000, b"<!--" * 80_000, b"<!DOCTYPE a [" * 20_000, b"<a " + b'b="' * 90_000],
)
def test_what_looks_like_the_begin_of_xml_for_long_is_looked_at_once(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.rdf").write_bytes(data)
    (file,) = find_inputs([str(tmp_path / "a.rdf")], suffixes=(".rdf",))

    assert root_namespaces(InputSlice(file=file)) == {}


def test_json_ld_gives_the_terms_that_are_prefixes(tmp_path: Path) -> None:
    data = b'{"@context": {"e": "http://e/", "n": "http://n/name"}, "@id": "e:a", "n": "x"}'

    assert exported(tmp_path, "c.jsonld", data, "jsonld", "turtle") == (
        '@prefix e: <http://e/> .\ne:a <http://n/name> "x" .\n'
    )


def test_a_prefix_that_is_asked_for_comes_before_those_of_the_file(tmp_path: Path) -> None:
    found = exported(tmp_path, "a.ttl", TURTLE, "turtle", "turtle", "garden=http://d/", "g=http://example.org/garden/")

    assert found.startswith("@prefix garden: <http://d/> .\n@prefix g: <http://example.org/garden/> .\n")
    assert "g:a garden:p g:c ;" in found
    assert "unused:" in found


@settings(max_examples=20, deadline=None)
@given(declared=st.lists(st.tuples(NAMES, IRIS), max_size=6), to=st.sampled_from(["turtle", "trig", "rdfxml"]))
def test_whatever_is_declared_the_graph_comes_back(
    tmp_path_factory: pytest.TempPathFactory, declared: list[tuple[str, str]], to: str
) -> None:
    formats = {"turtle": RdfFormat.TURTLE, "trig": RdfFormat.TRIG, "rdfxml": RdfFormat.RDF_XML}
    lines = [f"@prefix {name}: <{iri}> .\n" for name, iri in declared]
    body = "".join(f"<{iri}s> <{iri}p> <{iri}> .\n" for _, iri in [*declared, ("", "http://z/")])
    data = ("".join(lines) + body).encode()

    found = exported(tmp_path_factory.mktemp("prefixes"), "a.ttl", data, "turtle", to)

    as_read = [(q.subject, q.predicate, q.object) for q in pyoxigraph.parse(found.encode(), formats[to])]
    assert as_read == [(q.subject, q.predicate, q.object) for q in pyoxigraph.parse(data, RdfFormat.TURTLE)]


def test_each_file_has_its_own_and_shares_and_merges_keep_them_whoever_does_the_work(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(4):
        text = f"@prefix e: <http://e{number}/> . e:a e:p e:b . e:b e:p e:c ."
        (tmp_path / f"in/{number}.ttl").write_text(text)
    convert("turtle", tmp_path / "in", tmp_path / "one")
    convert("turtle", tmp_path / "in", tmp_path / "two", workers=2)
    sample(tmp_path / "one", tmp_path / "few", num_structures=7)
    exported(tmp_path, "other.ttl", TURTLE, "turtle", "turtle")
    lisdata.merge([tmp_path / "few", tmp_path / "data"], tmp_path / "both")
    lisdata.export(tmp_path / "one", tmp_path / "back")

    expected = [{"e": f"http://e{number}/"} for number in range(4)]
    found = {name: [i.prefixes for i in IncidenceDataset(tmp_path / name).inputs] for name in ("one", "few", "both")}
    assert found == {"one": expected, "few": expected, "both": [*expected, DECLARED]}
    assert (tmp_path / "one/manifest.json").read_bytes() == (tmp_path / "two/manifest.json").read_bytes()
    texts = [(tmp_path / f"back/{number}.ttl").read_text() for number in range(4)]
    assert all(text.startswith(f"@prefix e: <http://e{number}/> .\ne:a e:p e:b") for number, text in enumerate(texts))


def test_many_or_long_prefixes_are_not_all_kept(tmp_path: Path) -> None:
    lines = [f"@prefix e{number}: <http://e/{number}/> ." for number in range(1200)]
    lines += [f"@prefix long: <http://e/{'x' * 1000}/> .", "e0:a e1:b e2:c ."]
    (tmp_path / "a.ttl").write_text("\n".join(lines))

    convert("turtle", tmp_path / "a.ttl", tmp_path / "data")

    (info,) = IncidenceDataset(tmp_path / "data").inputs
    assert len(info.prefixes) == 1000
    assert "long" not in info.prefixes
