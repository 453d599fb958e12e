"""RDF read by its sources, in memory: the statements as contents, and the errors."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph
from pyoxigraph import RdfFormat

from lisdata.contents import Content
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_source
from lisdata.sources.ntriples_terms import term_from_content
from lisdata.structure import StructureReader

Quad = tuple[Content | None, ...]
P = "@prefix : <http://e/> . "
RDF = '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n{}\n</r:RDF>'
FORMATS = {
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "rdfxml": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
    "n3": RdfFormat.N3,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
}


def whole(path: Path, data: str | bytes) -> InputSlice:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return InputSlice(file=find_inputs([str(path)], suffixes=("",))[0])


def read(source: str, piece: InputSlice, **options: Any) -> tuple[list[Quad], list[BadRecordError]]:
    bad: list[BadRecordError] = []
    found = load_source(source)
    quads: list[Quad] = []
    for batch in found.read(piece, found.options_type(**options), bad.append):
        content = cache(StructureReader(batch.contents, batch.labels).content)  # type: ignore[union-attr]
        columns = [batch.subject_content, batch.predicate_content, batch.object_content]  # type: ignore[union-attr]
        if batch.graph_content is not None:  # type: ignore[union-attr]
            columns.append(batch.graph_content)  # type: ignore[union-attr]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        quads += [tuple(content(row) for row in quad if row != 0xFFFF_FFFF) for quad in rows]
    return quads, bad


def accepted(path: Path, source: str, data: str | bytes, **options: Any) -> list[Quad]:
    quads, bad = read(source, whole(path, data), **options)
    assert bad == []
    return quads


def rejected(path: Path, source: str, data: str | bytes, **options: Any) -> list[BadRecordError]:
    piece = whole(path, data)
    try:
        return read(source, piece, **options)[1]
    except BadRecordError as error:
        return [error]


def texts(quads: list[Quad]) -> list[str]:
    return [" ".join(c.text for c in quad if c is not None) for quad in quads]


def canonical(quads: Any) -> pyoxigraph.Dataset:
    dataset = pyoxigraph.Dataset(quads)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


def as_parsed(quads: list[Quad]) -> list[Any]:
    lines = (b" ".join(term_from_content(c) for c in quad if c is not None) + b" .\n" for quad in quads)
    return list(pyoxigraph.parse(b"".join(lines), RdfFormat.N_QUADS, lenient=True))
