"""RDF of any format to each of the others: the same graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat

from lisdata.contents import Content, entity
from lisdata.conversion import convert
from lisdata.datasets import export
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import write_structures
from lisdata.sources.ntriples_terms import content_from_term, term_from_content
from lisdata.structure import Incidence, Instance, Occurrence, Structure

FORMATS = {
    "ntriples": (RdfFormat.N_TRIPLES, ".nt"),
    "nquads": (RdfFormat.N_QUADS, ".nq"),
    "turtle": (RdfFormat.TURTLE, ".ttl"),
    "trig": (RdfFormat.TRIG, ".trig"),
    "rdfxml": (RdfFormat.RDF_XML, ".rdf"),
    "jsonld": (RdfFormat.JSON_LD, ".jsonld"),
}
WITH_GRAPHS = ("nquads", "trig", "jsonld")
ALL = tuple(FORMATS)

UNICODE = st.text(st.characters(codec="utf-8"), max_size=10)
IRIS = st.builds(
    lambda s, t: entity(f"http://example.org/{s}{t}"),
    st.sampled_from(["", "a/", "a#", "%20"]),
    st.text("aZ0-é漢😀&'.", max_size=4),
) | st.sampled_from([entity(f"http://xmlns.com/foaf/0.1/{name}") for name in ("", "name", "a.b", "-a", "1", "é")])
PREDICATES = st.builds(lambda s: entity(f"http://example.org/p{s}"), st.text("aZ0-é漢.", max_size=3))
BNODES = st.sampled_from(["b", "b1", "a.b-c", "_", "0", "renamed-b"]).map(
    lambda s: Content(ContentKind.BNODE, s.encode())
)
LITERALS = st.builds(
    lambda text, tag, datatype: Content(ContentKind.LITERAL, text.encode(), None if tag else datatype, tag),
    UNICODE,
    st.none() | st.sampled_from(["en", "en-US", "en-us", "DE"]),
    st.none() | st.sampled_from(["http://example.org/t", "http://www.w3.org/2001/XMLSchema#integer"]),
)
QUADS = st.tuples(
    IRIS | BNODES, PREDICATES, IRIS | BNODES | LITERALS, st.none() | st.sampled_from([entity("a:g"), entity("a:h")])
)


def spell(quads: list[tuple[Content | None, ...]]) -> bytes:
    return b"".join(b" ".join(term_from_content(c) for c in quad if c is not None) + b" .\n" for quad in quads)


def parse(data: bytes, format_: RdfFormat) -> list[Any]:
    return list(pyoxigraph.parse(data, format=format_))


def canonical(quads: list[Any]) -> pyoxigraph.Dataset:
    dataset = pyoxigraph.Dataset(quads)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


@pytest.mark.parametrize("name", ALL)
def test_it_is_registered(name: str) -> None:
    assert load_exporter(name).name == name


@settings(max_examples=12, deadline=None)
@given(quads=st.lists(QUADS, max_size=12))
@pytest.mark.parametrize("name", ["trig", "jsonld"])
def test_any_dataset_comes_out_as_the_same_dataset_in_order(
    round_trip: Any, name: str, quads: list[tuple[Content | None, ...]]
) -> None:
    ((data,), report) = round_trip("nquads", [spell(quads)], ".nq", as_format=name)

    assert parse(data, FORMATS[name][0]) == parse(spell(quads), RdfFormat.N_QUADS)
    assert report.losses == {}


@settings(max_examples=12, deadline=None)
@given(quads=st.lists(QUADS.map(lambda quad: (*quad[:3], None)), max_size=12))
@pytest.mark.parametrize("name", ["turtle", "rdfxml"])
def test_any_graph_comes_out_as_the_same_graph_but_for_what_is_counted(
    round_trip: Any, name: str, quads: list[tuple[Content | None, ...]]
) -> None:
    ((data,), report) = round_trip("nquads", [spell(quads)], ".nq", as_format=name)
    found, expected = parse(data, FORMATS[name][0]), parse(spell(quads), RdfFormat.N_QUADS)

    assert len(expected) - len(found) == report.losses.pop("triples with characters that XML does not have", 0)
    if len(found) == len(expected):
        assert canonical(found) == canonical(expected)
        assert found == expected or report.losses.pop("labels of blank nodes") > 0
    assert name == "rdfxml" or not report.losses


@settings(max_examples=10, deadline=None)
@given(quads=st.lists(QUADS, max_size=10))
def test_canonical_n_quads_come_back_byte_for_byte(round_trip: Any, quads: list[tuple[Content | None, ...]]) -> None:
    found, report = round_trip("nquads", [spell(quads)], ".nq", group_by="graph")

    assert (found, report.losses) == ([spell(quads)], {})


@pytest.mark.parametrize("name", ALL)
def test_language_tags_are_written_as_they_were(round_trip: Any, name: str) -> None:
    ((data,), _) = round_trip(
        "nquads", [b'<a:s> <a:p> "x"@en-US, "y"@EN-us .\n'.replace(b", ", b" .\n<a:s> <a:p> ")], ".nq", as_format=name
    )

    assert b"en-US" in data
    assert b"EN-us" in data


@pytest.mark.parametrize(
    ("name", "line", "loss"),
    [
        ("ntriples", b"<a:s> <a:p> <a:o> <a:g> .\n", "graph names"),
        ("turtle", b"<a:s> <a:p> <a:o> <a:g> .\n", "graph names"),
        ("rdfxml", b"<a:s> <a:p> <a:o> <a:g> .\n", "graph names"),
        ("rdfxml", b"<a:s> <a:p/1> <a:o> .\n", "triples whose predicate is no XML name"),
        (
            "rdfxml",
            b"<a:s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#li> <a:o> .\n",
            "triples whose predicate is no XML name",
        ),
        ("rdfxml", b'<a:s> <a:p> "\\u0001" .\n', "triples with characters that XML does not have"),
        ("rdfxml", b"_:0 <a:p> <a:o> .\n", "labels of blank nodes"),
        ("rdfxml", b'<a:s> <a:p> "x"@ar--rtl .\n', "directions of language tags"),
        ("rdfxml", b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n", "triples of triple terms"),
        ("jsonld", b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n", "triples of triple terms"),
    ],
)
def test_what_a_format_cannot_hold_is_a_loss(round_trip: Any, name: str, line: bytes, loss: str) -> None:
    _, report = round_trip("nquads", [line], ".nq", as_format=name)

    assert report.losses == {loss: 1}


def test_directions_of_language_tags_come_back_in_json_ld(round_trip: Any) -> None:
    line = b'<a:s> <a:p> "x"@ar--rtl .\n'

    ((data,), report) = round_trip("nquads", [line], ".nq", as_format="jsonld")

    assert list(pyoxigraph.parse(data, RdfFormat.JSON_LD)) == list(pyoxigraph.parse(line, RdfFormat.N_QUADS))
    assert report.losses == {}


@pytest.mark.parametrize("name", ["ntriples", "nquads", "turtle", "trig"])
def test_triple_terms_come_back(round_trip: Any, name: str) -> None:
    line = b'_:r <a:reifies> <<( <a:s> <a:p> <<( _:r <a:p> "x"@en--ltr )>> )>> .\n_:r <a:p> <a:o> .\n'

    ((data,), report) = round_trip("nquads", [line], ".nq", as_format=name)

    assert parse(data, FORMATS[name][0]) == parse(line, RdfFormat.N_QUADS)
    assert report.losses == {}


@pytest.mark.parametrize("name", ALL)
def test_no_triples_make_a_file_of_the_format(round_trip: Any, name: str) -> None:
    ((data,), report) = round_trip("nquads", [b""], ".nq", as_format=name)

    assert parse(data, FORMATS[name][0]) == []
    assert (report.num_records, report.losses) == (0, {})


def of_memory(*scopes: str) -> Iterator[Structure]:
    for number, scope in enumerate(scopes):
        node = Content(ContentKind.BNODE, b"b", scope=scope)
        roles = [Incidence(occurrence=n, instance=0, role=r) for n, r in enumerate(map(role, ("subject", "object")))]
        yield Structure(
            record_id=str(number),
            kind=StructureKind.TRIPLES,
            occurrences=(Occurrence(content=node), Occurrence(content=entity("a:o"))),
            instances=(Instance(label="a:p", ordinal=number),),
            incidences=tuple(roles),
        )


def role(side: str) -> Any:
    from lisdata.contents import Role

    return Role("a:p", side)


@pytest.mark.parametrize(("scopes", "losses"), [(("x", "x"), {}), (("x", "y"), {"scopes of blank nodes": 1})])
def test_a_dataset_made_in_memory_is_written_to_one_file(
    tmp_path: Path, scopes: tuple[str, ...], losses: dict[str, int]
) -> None:
    write_structures(tmp_path / "data", list(of_memory(*scopes)))

    (report,) = export(tmp_path / "data", tmp_path / "out.nt", format="ntriples")

    assert (tmp_path / "out.nt").read_bytes() == b"_:b <a:p> <a:o> .\n" * 2
    assert report.losses == losses


@given(st.one_of(IRIS, BNODES, LITERALS))
def test_a_term_is_read_as_the_content_that_it_was_spelled_from(content: Content) -> None:
    assert content_from_term(term_from_content(content)) == content


# -- prefixes ---------------------------------------------------------------------------------------------------------

PEOPLE = b"""\
<http://a.example/x#b> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://xmlns.com/foaf/0.1/Person> .
<http://a.example/x#b> <http://xmlns.com/foaf/0.1/age> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://a.example/x#b> <http://b.example/p> "<http://xmlns.com/foaf/0.1/x>"@en .
"""
ASKED = ("x=http://a.example/x#", "b=http://b.example/")


def exported(folder: Path, data: bytes, format_: str, *prefixes: str) -> bytes:
    """Return a graph in another format."""
    (folder / "a.nt").write_bytes(data)
    convert("ntriples", folder / "a.nt", folder / "data")
    export(folder / "data", folder / "out", format=format_, prefixes=prefixes)
    return (folder / "out").read_bytes()


def test_turtle_has_the_prefixes_that_are_asked_for_and_well_known_ones_that_are_used(tmp_path: Path) -> None:
    found = exported(tmp_path, PEOPLE, "turtle", *ASKED)

    assert found.decode() == (
        "@prefix x: <http://a.example/x#> .\n@prefix b: <http://b.example/> .\n"
        "@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n"
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        "x:b a foaf:Person ;\n"
        '    foaf:age "7"^^xsd:integer ;\n'
        '    b:p "<http://xmlns.com/foaf/0.1/x>"@en .\n'
    )
    assert parse(found, RdfFormat.TURTLE) == parse(PEOPLE, RdfFormat.N_TRIPLES)


def test_rdf_xml_declares_them_once(tmp_path: Path) -> None:
    found = exported(tmp_path, PEOPLE, "rdfxml", *ASKED)

    assert parse(found, RdfFormat.RDF_XML) == parse(PEOPLE, RdfFormat.N_TRIPLES)
    assert found.count(b"xmlns:") == 5
    assert b"<b:p xml:lang" in found


def test_graph_names_of_trig_have_prefixes_too(round_trip: Any) -> None:
    line = b"<a:s> <a:p> <a:o> <http://xmlns.com/foaf/0.1/g> .\n"

    ((data,), _) = round_trip("nquads", [line], ".nq", as_format="trig")

    assert b"foaf:g {\n" in data
    assert parse(data, RdfFormat.TRIG) == parse(line, RdfFormat.N_QUADS)


def test_a_prefix_of_the_users_comes_before_a_well_known_one(tmp_path: Path) -> None:
    found = exported(tmp_path, PEOPLE, "turtle", "foaf=http://b.example/", "f=http://xmlns.com/foaf/0.1/")

    assert b"f:age" in found
    assert b"foaf:p " in found
    assert parse(found, RdfFormat.TURTLE) == parse(PEOPLE, RdfFormat.N_TRIPLES)


@pytest.mark.parametrize(
    ("prefixes", "message"),
    [
        (("a",), "expected a prefix NAME=IRI"),
        (("1=http://a/",), "expected a prefix NAME=IRI"),
        (("xmlns=http://a/",), "not xml"),
        (("a=http://a/ b/",), "expected a prefix NAME=IRI"),
        (("a=http://a",), "to end in what no local name has"),
        (("a=http://a/", "a=http://b/"), "expected each prefix and IRI once"),
        (("a=http://a/", "b=http://a/"), "expected each prefix and IRI once"),
        (("rdf=http://a/",), "expected prefix rdf for http://www.w3.org"),
    ],
)
def test_what_cannot_be_a_prefix_is_refused(tmp_path: Path, prefixes: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exported(tmp_path, PEOPLE, "turtle", *prefixes)


def test_a_format_without_prefixes_refuses_them(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exporter ntriples writes no prefixes"):
        exported(tmp_path, PEOPLE, "ntriples", *ASKED)
