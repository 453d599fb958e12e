"""Triples back to N-Triples."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role, entity, word
from lisdata.datasets import open as open_dataset
from lisdata.exporters.ntriples import NTRIPLES
from lisdata.exporters.ntriples_triples import triples_of
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import write_structures
from lisdata.sources.ntriples_terms import term_from_content
from lisdata.structure import Incidence, Instance, Occurrence, Structure

UNICODE = st.text(st.characters(codec="utf-8"), max_size=10)
ENTITIES = st.builds(lambda s: entity(f"http://example.org/{s}"), st.text("aZ0-é漢😀", max_size=4))
BNODES = st.sampled_from(["b", "b1", "a.b-c", "_"]).map(lambda s: Content(ContentKind.BNODE, s.encode()))
LITERALS = st.builds(
    lambda text, tag, datatype: Content(ContentKind.LITERAL, text.encode(), None if tag else datatype, tag),
    UNICODE,
    st.none() | st.sampled_from(["en", "en-US", "en-us", "ar--rtl"]),
    st.none() | st.sampled_from(["http://example.org/t", "http://www.w3.org/2001/XMLSchema#integer"]),
)
TRIPLES = st.tuples(ENTITIES | BNODES, ENTITIES, ENTITIES | BNODES | LITERALS)
GRAPHS = st.lists(st.lists(TRIPLES, max_size=10), min_size=1, max_size=3)


def spell(triples: list[tuple[Content, ...]]) -> bytes:
    return b"".join(b" ".join(map(term_from_content, triple)) + b" .\n" for triple in triples)


def parse(data: bytes) -> list[Any]:
    return list(pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES))


def test_it_is_registered() -> None:
    assert load_exporter("ntriples") is NTRIPLES


@settings(max_examples=10, deadline=None)
@given(graphs=GRAPHS, group_by=st.sampled_from(["subject", "graph", "none", "3"]))
def test_canonical_files_come_back_byte_for_byte(
    round_trip: Any, graphs: list[list[tuple[Content, ...]]], group_by: str
) -> None:
    files = [spell(triples) for triples in graphs]

    found, report = round_trip("ntriples", files, ".nt", group_by=group_by)

    assert found == files
    assert (report.num_records, report.losses) == (sum(map(len, graphs)), {})


def test_real_files_come_back_in_order_and_with_their_duplicates(round_trip: Any, shared: Path) -> None:
    folder = shared / "data/kg/rdf_real"
    files = [path.read_bytes() for path in (folder / "schemaorg-30.0.nt", *sorted(folder.glob("variants/*.nt")))]

    found, report = round_trip("ntriples", files, ".nt")

    assert [parse(data) for data in found] == [parse(data) for data in files]
    assert report.losses == {}


def test_the_canonical_forms_of_the_w3c_suite_are_written_but_for_the_case_of_tags(
    round_trip: Any, shared: Path
) -> None:
    with tarfile.open(shared / "data/kg/rdf_w3c/rdf12_rdf-n-triples.tar.gz") as archive:
        members = {
            m.name: archive.extractfile(m) for m in archive if m.name.startswith("c14n/") and m.name.endswith(".nt")
        }
        files = {name: stream.read() for name, stream in members.items() if stream is not None}
    pairs = [(data, files[n]) for name, data in files.items() if (n := name.replace(".nt", "-c14n.nt")) in files]
    assert len(pairs) > 30

    found, _ = round_trip("ntriples", [data for data, _ in pairs], ".nt")

    differing = [(a, b) for a, (_, b) in zip(found, pairs, strict=True) if a != b]
    assert [a.lower() for a, _ in differing] == [b.lower() for _, b in differing]
    assert all(b"@en" in canonical for _, canonical in differing)


def test_the_invalid_iris_of_lenient_input_are_escaped(round_trip: Any) -> None:
    found, _ = round_trip("ntriples", [b'<a:\\u0020|> <a:p> "x"^^<a:\\u003E> .\n'], ".nt", lenient=True)

    assert found == [b'<a:\\u0020\\u007C> <a:p> "x"^^<a:\\u003E> .\n']


def test_rejected_lines_are_losses_and_leave_no_content(tmp_path: Path, round_trip: Any) -> None:
    found, report = round_trip("ntriples", [b"<a:s> <a:p> <a:o> .\n<a:x> <y> <z> .\n"], ".nt", on_error="skip")

    assert found == [b"<a:s> <a:p> <a:o> .\n"]
    assert report.losses == {"rejected records": 1}


def test_structures_of_other_kinds_are_losses(round_trip: Any) -> None:
    found, report = round_trip("text", [b"one\ntwo\n"], ".txt", as_format="ntriples", allow_losses=True)

    assert found == [b""]
    assert report.losses == {"structures of kind text": 2}


def chosen_of(tmp_path: Path, structures: list[Structure]) -> tuple[list[tuple[bytes, bytes]], Counter[str]]:
    """Subject and object of the triples that would be written, and the losses."""
    write_structures(tmp_path / "data", structures)
    (part,) = open_dataset(tmp_path / "data").parts  # type: ignore[union-attr]
    losses: Counter[str] = Counter()
    triples = triples_of(part)
    rows = triples.choose(np.arange(part.structures.num_rows), losses)
    lexical = part.contents["lexical"].to_pylist()
    pairs = [(lexical[s], lexical[o]) for s, o in zip(triples.subject[rows], triples.object[rows], strict=True)]
    return pairs, +losses


def fact(name: str, *sides: str, ordinal: int = 0, relation: str = "a:p", content: Content | None = None) -> Structure:
    """A structure of one instance a:p, whose participants are the subject `name` and others in roles relation#side."""
    occurrences = (entity(name), *(content or entity(f"a:{side}") for side in sides[1:]))
    return Structure(
        record_id=name,
        kind=StructureKind.TRIPLES,
        occurrences=tuple(Occurrence(content=c) for c in occurrences),
        instances=(Instance(label="a:p", ordinal=ordinal),),
        incidences=tuple(
            Incidence(occurrence=number, instance=0, role=Role(relation, side)) for number, side in enumerate(sides)
        ),
    )


def test_triples_are_written_in_the_order_of_their_ordinals(tmp_path: Path) -> None:
    structures = [fact(f"a:{n}", "subject", "object", ordinal=n) for n in (2, 0, 1)]

    assert [s for s, _ in chosen_of(tmp_path, structures)[0]] == [b"a:0", b"a:1", b"a:2"]


@pytest.mark.parametrize(
    ("structure", "loss"),
    [
        (fact("a:s", "subject"), "facts that are no triple"),
        (fact("a:s", "subject", "object", "object"), "facts that are no triple"),
        (fact("a:s", "subject", "object", "weight"), "facts that are no triple"),
        (fact("a:s", "subject", "object", relation="a:q"), "facts that are no triple"),
        (fact("a:s", "subject", "object", content=word("w")), "triples of contents that are no RDF terms"),
    ],
)
def test_facts_that_n_triples_cannot_hold_are_losses(tmp_path: Path, structure: Structure, loss: str) -> None:
    assert chosen_of(tmp_path, [structure]) == ([], {loss: 1})


def test_a_quad_is_written_without_its_graph_and_that_is_a_loss(tmp_path: Path) -> None:
    pairs, losses = chosen_of(tmp_path, [fact("a:s", "subject", "object", "graph")])

    assert (pairs, losses) == ([(b"a:s", b"a:object")], {"graph names": 1})


def test_a_term_of_another_kind_has_no_spelling() -> None:
    with pytest.raises(ValueError, match="WORD is no RDF term"):
        term_from_content(word("w"))
