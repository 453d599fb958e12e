"""Real RDF files: equal in all serialisations, and back as the same graph."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest
from pyoxigraph import RdfFormat
from rdf_reading import FORMATS, accepted, as_parsed, canonical, read, texts

from lisdata.contents import Content
from lisdata.conversion import convert
from lisdata.inputs import InputSlice, find_inputs


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a"


def shapes(source: str, path: Path, folder: Path) -> Counter[tuple[bytes, ...]]:
    """How often each (key, role) is in a converted file, blank nodes under their canonical names."""
    quads = read(source, InputSlice(file=find_inputs([str(path)], suffixes=("",))[0]))[0]
    canonical_quads = canonical(as_parsed(quads))
    (folder / "c.nq").write_bytes(pyoxigraph.serialize(canonical_quads, format=RdfFormat.N_QUADS))
    found: Counter[tuple[bytes, ...]] = Counter()
    for quad in read("nquads", InputSlice(file=find_inputs([str(folder / "c.nq")], suffixes=("",))[0]))[0]:
        contents = [Content(c.kind, c.lexical, c.datatype, c.language) for c in quad if c is not None]
        found.update((c.key, contents[1].lexical, b"%d" % side) for side, c in enumerate(contents) if side != 1)
    return found


SERIALISATIONS = {
    "schemaorg-30.0": {"ntriples": "nt", "turtle": "ttl", "rdfxml": "rdf"},
    "variants/diverse_triples": {"ntriples": "nt", "turtle": "ttl", "rdfxml": "xml", "jsonld": "jsonld"},
    "variants/diverse_quads": {"nquads": "nq", "trig": "trig", "jsonld": "jsonld"},
    "variants/diverse_quads-variant-typed": {"nquads": "nq", "jsonld": "jsonld"},
    "variants/rdf11trig_eg2": {"nquads": "nq", "trig": "trig"},  # its JSON-LD has one graph more, without a name
    "variants/blank_and_base_prefix": {"ntriples": "nt", "turtle": "ttl", "rdfxml": "xml"},
}


@pytest.mark.parametrize("name", SERIALISATIONS)
def test_serialisations_of_one_graph_have_equal_contents_and_roles(shared: Path, tmp_path: Path, name: str) -> None:
    folder = shared / "data/kg/rdf_real"

    first, *others = (
        shapes(source, folder / f"{name}.{suffix}", tmp_path) for source, suffix in SERIALISATIONS[name].items()
    )

    assert first
    assert all(other == first for other in others)


REAL = {
    "turtle": ["rdf_real/schemaorg-30.0.ttl", "wikidata/rdf/*.ttl", "rdf_real/variants/*.ttl"],
    "trig": ["rdf_real/bnode_refs.trig", "rdf_real/variants/*.trig"],
    "rdfxml": ["rdf_real/schemaorg-30.0.rdf", "rdf_real/variants/*.xml"],
    "jsonld": ["rdf_real/variants/*.jsonld"],
    "nquads": ["rdf_real/example.nquads", "rdf_real/variants/*.nq"],
    "ntriples": ["kgtk/*.nt", "rdf_real/variants/*.nt"],
}


@pytest.mark.parametrize("source", REAL)
def test_real_files_come_back_as_the_same_graph(shared: Path, tmp_path: Path, source: str) -> None:
    from lisdata.datasets import export

    paths = [path for pattern in REAL[source] for path in sorted((shared / "data/kg").glob(pattern))]
    assert paths
    for number, path in enumerate(paths):
        data = path.read_bytes()
        lenient = path.name == "import-ntriples-langstrings.nt"  # has strings whose datatype is rdf:langString
        parsed = list(pyoxigraph.parse(data, FORMATS[source], lenient=lenient))
        convert(source, path, tmp_path / f"data{number}", options={"lenient": lenient})
        (report,) = export(tmp_path / f"data{number}", tmp_path / f"out{number}")
        back = list(pyoxigraph.parse((tmp_path / f"out{number}").read_bytes(), FORMATS[source], lenient=lenient))

        assert (report.losses, report.num_records) == ({}, len(parsed)), path
        assert Counter(q.predicate for q in back) == Counter(q.predicate for q in parsed), path
        if len(parsed) < 30_000:
            assert canonical(back) == canonical(parsed), path


def test_contexts_come_from_given_files(shared: Path, path: Path) -> None:
    context = f"https://schema.org={shared}/data/kg/rdf_real/schemaorg-context.jsonld"
    data = '{"@context": "https://schema.org", "@id": "http://a/b", "@type": "Person", "name": "x"}'

    assert texts(accepted(path, "jsonld", data, context=(context,))) == [
        "http://a/b http://www.w3.org/1999/02/22-rdf-syntax-ns#type http://schema.org/Person",
        "http://a/b http://schema.org/name x",
    ]
