"""N-Triples read by its source, in memory: the triples as contents, and the errors; and as a parser reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph
from hypothesis import strategies as st

from lisdata.contents import Content
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import TripleRecords
from lisdata.sources.ntriples import NTRIPLES, NTriplesOptions
from lisdata.sources.ntriples_terms import term_from_content
from lisdata.structure import StructureReader

Triple = tuple[Content, Content, Content]
SUITES = ("rdf11_rdf-n-triples", "rdf12_rdf-n-triples")
LENIENT = NTriplesOptions(lenient=True)


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=NTRIPLES.suffixes)[0])


def read(piece: InputSlice, options: NTriplesOptions | None = None) -> tuple[list[TripleRecords], list[BadRecordError]]:
    bad: list[BadRecordError] = []
    return list(NTRIPLES.read(piece, options or NTriplesOptions(), bad.append)), bad


def triples_of(batches: list[TripleRecords]) -> list[Triple]:
    triples: list[Triple] = []
    for batch in batches:
        content = StructureReader(batch.contents, batch.labels).content
        numbers = (batch.subject_content, batch.predicate_content, batch.object_content)
        triples += [
            (content(s), content(p), content(o)) for s, p, o in zip(*(n.tolist() for n in numbers), strict=True)
        ]
    return triples


def accepted(path: Path, data: bytes, options: NTriplesOptions | None = None) -> list[Triple]:
    batches, bad = read(whole(path, data), options)
    assert bad == []
    return triples_of(batches)


def rejected(path: Path, data: bytes) -> list[BadRecordError]:
    return read(whole(path, data))[1]


def parsed(data: bytes, *, lenient: bool = False) -> list[Any] | None:
    """What pyoxigraph reads, None where it refuses."""
    try:
        return [
            (q.subject, q.predicate, q.object)
            for q in pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES, lenient=lenient)
        ]
    except SyntaxError:
        return None


def as_parsed(triples: list[Triple]) -> list[Any] | None:
    lines = (b" ".join(map(term_from_content, triple)) + b" .\n" for triple in triples)
    return parsed(b"".join(lines), lenient=True)


PIECES = (
    st.sampled_from(
        ["", "", "", ".", "#", "%", "%4", "%c3", "[", ":", "//", "?", "/a", "-", "--ltr", " ", "<", "^", "@"]
    )
    | st.sampled_from([":80", "u@", "é", "\u200c", "😀", "\ufffe", "\ue000", "\U000e0001", "\0", "\x7f"])
    | st.sampled_from(["\\u00e9", "\\U0001F600", "\\uD800", "\\n", '\\"', "\\x"])
)
SCHEMES = st.sampled_from(
    ["http://example.org/", "http://example.org", "urn:x:", "file:///", "1a:", "a+b-.c:", "", "c"]
)
TAGS = st.sampled_from(
    ["en", "e", "eng", "engl", "en-US", "en-Latn-US", "es-419", "de-1996", "x-y", "en-", "EN", "en--rtl"]
)
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
IRIS = st.builds("<{}{}{}>".format, SCHEMES, PIECES, PIECES) | st.sampled_from(["<a:a>", f"<{RDF}langString>", "a:a"])
LABELS = st.builds("_:{}{}".format, st.sampled_from(["a", "0", "_", "a.b", "-", ".", "a."]), PIECES)
STRINGS = st.builds('"{}{}{}"'.format, PIECES, PIECES, PIECES)
LITERALS = STRINGS | st.builds("{}@{}{}".format, STRINGS, TAGS, PIECES) | st.builds("{}^^{}".format, STRINGS, IRIS)
TRIPLE_TERMS = st.builds("<<( {} {} {} )>>".format, IRIS | LABELS, IRIS, LITERALS | LABELS)
BLANKS = st.sampled_from([" ", " ", "", "\t", "  ", "\x0b"])
LINES = st.builds(
    "{0}{6}{1}{7}{2}{6}{3}{5}{4}".format,
    IRIS | LABELS,
    IRIS,
    IRIS | LABELS | LITERALS | TRIPLE_TERMS,
    st.sampled_from([".", ".", ".", "", "..", ". <a:a>"]),
    st.sampled_from(["", "", "#c", "# \ud800"]),
    BLANKS,
    BLANKS,
    BLANKS,
)
