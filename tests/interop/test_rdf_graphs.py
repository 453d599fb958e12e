"""rdflib graphs and pyoxigraph quads as structures, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib
from rdflib.compare import isomorphic

from lisdata.contents import Role, entity
from lisdata.conversion import convert
from lisdata.datasets import export
from lisdata.datasets import open as open_dataset
from lisdata.errors import ExportError
from lisdata.interop.pyoxigraph_quads import from_pyoxigraph, to_pyoxigraph
from lisdata.interop.rdflib_graphs import from_rdflib, to_rdflib
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import write_structures
from lisdata.structure import Incidence, Instance, Occurrence, Structure

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

QUADS = (
    '_:b <a:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '_:b <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '<a:s> <a:p> "x"@en-US <a:g> .\n'
    '<a:s> <a:p> "x" <a:g> .\n'
    "<a:s> <a:p> _:b _:g .\n"
)


def dataset_of(data: str) -> rdflib.Dataset:
    """A dataset whose literals are exact, which rdflib's own parsers do not promise."""
    dataset = rdflib.Dataset()
    rdflib.NORMALIZE_LITERALS = False
    try:
        dataset.parse(data=data, format="nquads")
    finally:
        rdflib.NORMALIZE_LITERALS = True
    return dataset


def quads_of(dataset: rdflib.Dataset) -> set[tuple[str, ...]]:
    return {(s.n3(), p.n3(), o.n3(), str(g)) for s, p, o, g in dataset.quads((None, None, None, None))}


def canonical(data: str) -> pyoxigraph.Dataset:
    dataset = pyoxigraph.Dataset(pyoxigraph.parse(data, pyoxigraph.RdfFormat.N_QUADS))
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


def test_an_rdflib_dataset_comes_back_the_same() -> None:
    dataset = dataset_of(QUADS)

    back = to_rdflib(from_rdflib(dataset))

    assert isinstance(back, rdflib.Dataset)
    assert quads_of(back) == quads_of(dataset)
    assert {str(o) for o in back.objects()} >= {"01", "1"}


def test_an_rdflib_graph_comes_back_into_a_graph(shared: Path) -> None:
    graph = rdflib.Graph().parse(shared / "data/kg/rdf_real/variants/blank_and_base_prefix.ttl")

    back = to_rdflib(from_rdflib(graph), into=rdflib.Graph())

    assert len(back) == len(graph) > 0
    assert isomorphic(back, graph)


def test_a_graph_becomes_the_structures_of_its_file_but_for_order_and_scope(tmp_path: Path) -> None:
    lines = sorted(line for line in QUADS.splitlines(keepends=True) if "<a:g>" not in line and "_:g" not in line)
    (tmp_path / "a.nt").write_text("".join(lines))
    convert("ntriples", tmp_path / "a.nt", tmp_path / "data")
    expected = list(open_dataset(tmp_path / "data").iter_structures())  # type: ignore[union-attr]

    found = from_pyoxigraph(pyoxigraph.parse((tmp_path / "a.nt").read_bytes(), pyoxigraph.RdfFormat.N_TRIPLES))

    def shape(structures: list[Structure]) -> list[Any]:
        return [([o.content.lexical for o in s.occurrences], s.incidences) for s in structures]

    assert shape(found) == shape(expected)


def test_a_dataset_on_disk_goes_to_rdflib_and_structures_go_to_disk(tmp_path: Path) -> None:
    dataset = dataset_of(QUADS)
    write_structures(tmp_path / "data", from_rdflib(dataset))

    assert quads_of(to_rdflib(open_dataset(tmp_path / "data"))) == quads_of(dataset)  # type: ignore[arg-type]
    export(tmp_path / "data", tmp_path / "out.nq", format="nquads")
    assert canonical((tmp_path / "out.nq").read_text()) == canonical(QUADS)


def test_blank_nodes_of_two_graphs_stay_apart() -> None:
    both = [
        structure
        for line in ("_:b <a:p> <a:o> .\n", "_:b <a:q> <a:o> .\n")
        for structure in from_pyoxigraph(pyoxigraph.parse(line, pyoxigraph.RdfFormat.N_TRIPLES))
    ]

    assert len({s for s, _, _ in to_rdflib(both, into=rdflib.Graph())}) == 2
    assert len({quad.subject for quad in to_pyoxigraph(both)}) == 2


def test_a_scope_can_be_given_and_else_does_not_depend_on_the_order() -> None:
    forth, back = (list(pyoxigraph.parse(QUADS, pyoxigraph.RdfFormat.N_QUADS)) for _ in range(2))
    back.reverse()

    def scopes(structures: list[Structure]) -> set[str | None]:
        return {o.content.scope for s in structures for o in s.occurrences if o.content.kind == ContentKind.BNODE}

    assert scopes(from_pyoxigraph(forth)) == scopes(from_pyoxigraph(back))
    assert scopes(from_pyoxigraph(forth, scope="mine")) == {"mine"}


def test_pyoxigraph_quads_come_back_in_order_with_duplicates_and_triple_terms() -> None:
    lines = QUADS.lower() + QUADS.lower()
    lines += '_:r <a:p> <<( _:b <a:p> <<( <a:s> <a:p> "x"@en--ltr )>> )>> .\n'
    quads = list(pyoxigraph.parse(lines, pyoxigraph.RdfFormat.N_QUADS))

    structures = from_pyoxigraph(quads)

    assert list(to_pyoxigraph(structures)) == quads
    handles = [i.handle for s in structures for i in s.instances if i.handle is not None]
    assert len(handles) == 2


@pytest.mark.parametrize("term", ["<<( <a:s> <a:p> <a:o> )>>", '"x"@en--ltr'])
def test_what_rdflib_does_not_have_is_refused(term: str) -> None:
    structures = from_pyoxigraph(pyoxigraph.parse(f"<a:s> <a:p> {term} .\n", pyoxigraph.RdfFormat.N_TRIPLES))

    with pytest.raises(ExportError, match="expected what rdflib can hold"):
        to_rdflib(structures)


def test_a_named_graph_does_not_fit_a_graph() -> None:
    structures = from_rdflib(dataset_of(QUADS))

    with pytest.raises(ExportError, match="use a Dataset"):
        to_rdflib(structures, into=rdflib.Graph())


def test_a_literal_is_no_subject() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.Literal("x"), rdflib.URIRef("a:p"), rdflib.URIRef("a:o")))

    with pytest.raises(ValueError, match="expected a triple of RDF"):
        from_rdflib(graph)


def test_a_term_of_n3_is_refused() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("a:s"), rdflib.URIRef("a:p"), rdflib.Variable("x")))

    with pytest.raises(ValueError, match="expected an IRI, a blank node or a literal"):
        from_rdflib(graph)


def structure_of(*sides: str, relation: str = "a:p", kind: StructureKind = StructureKind.TRIPLES) -> Structure:
    return Structure(
        record_id="r",
        kind=kind,
        occurrences=tuple(Occurrence(content=entity(f"a:{n}")) for n in range(len(sides))),
        instances=(Instance(label="a:p"),),
        incidences=tuple(
            Incidence(occurrence=n, instance=0, role=Role(relation, side)) for n, side in enumerate(sides)
        ),
    )


@pytest.mark.parametrize(
    "structure",
    [
        structure_of("subject"),
        structure_of("subject", "object", "object"),
        structure_of("subject", "object", "weight"),
        structure_of("subject", "object", relation="a:q"),
        structure_of("subject", "object", kind=StructureKind.HYPEREDGES),
    ],
)
def test_facts_that_are_no_triples_are_refused(structure: Structure) -> None:
    with pytest.raises(ExportError, match="r: expected"):
        list(to_pyoxigraph([structure]))


def test_an_empty_graph_has_no_structures() -> None:
    assert from_rdflib(rdflib.Graph()) == []
    assert len(to_rdflib([])) == 0


def test_a_conjunctive_graph_keeps_the_names_of_its_graphs() -> None:
    graph = rdflib.ConjunctiveGraph()
    triple = (rdflib.URIRef("a:s"), rdflib.URIRef("a:p"), rdflib.URIRef("a:o"))
    graph.get_context(rdflib.URIRef("a:g")).add(triple)
    graph.default_context.add((triple[0], triple[1], triple[0]))

    back = to_rdflib(from_rdflib(graph))

    assert isinstance(back, rdflib.Dataset)
    assert set(back.graph(rdflib.URIRef("a:g"))) == {triple}
    assert len(back.default_graph) == 1


@pytest.mark.parametrize("kind", [rdflib.Graph, rdflib.Dataset])
def test_blank_nodes_stay_apart_from_those_that_a_graph_has_already(kind: type[rdflib.Graph]) -> None:
    into = kind()
    for text in ("1", "2"):
        graph = rdflib.Graph()
        graph.add((rdflib.BNode("x"), rdflib.URIRef("a:p"), rdflib.Literal(text)))
        to_rdflib(from_rdflib(graph), into=into)

    assert len(set(into.subjects())) == 2


def test_a_lone_surrogate_goes_through_unchanged() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("a:s"), rdflib.URIRef("a:p"), rdflib.Literal("\ud800", lang="en")))

    (found,) = to_rdflib(from_rdflib(graph), into=rdflib.Graph()).objects()

    assert str(found) == "\ud800"
