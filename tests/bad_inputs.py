"""Malformed files of every source: each with the bytes that are wrong, the place and the words of the refusal."""

from __future__ import annotations

import io
import sqlite3
import struct
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True, kw_only=True)
class BadInput:
    """A file called `name` with one bad record among `num_good` good ones.

    `bad` is what quarantine keeps of it: the record's own bytes, all of the file when None, and of the sources whose
    rows are no run of bytes the row as JSON. `place` stands before ": expected", `expected` and `found` behind.
    """

    source: str
    what: str
    name: str
    data: bytes
    place: str
    expected: str
    found: str
    bad: bytes | None = None
    num_good: int = 0
    options: tuple[str, ...] = ()


def bad_line(
    source: str, what: str, name: str, good: tuple[bytes, bytes], bad: bytes, at: str, expected: str, found: str
) -> BadInput:
    """Return a file of lines whose second is bad, at column `at` or, "LINE:COLUMN", elsewhere."""
    place = f"{name}:{at if ':' in at else f'2:{at}'}"
    data = good[0] + bad + good[1]
    return BadInput(
        source=source, what=what, name=name, data=data, place=place, expected=expected, found=found, bad=bad, num_good=2
    )


# -- text and words --------------------------------------------------------------------------------------------------

_PROSE = (b"Ada sings.\n", b"Bo rests.\n")
_WORD = b"1\tAda\tada\tPROPN\t_\t_\t0\troot\t_\t_\n\n"
_WORDS = (_WORD, _WORD)
_ORPHAN = b"1\tAda\tada\tPROPN\t_\t_\t7\tobj\t_\t_\n\n"
_SHORT = b"1\tAda\tada\tPROPN\t_\t_\t0\troot\t_\n\n"
_SKIPPED = b"3\tAda\tada\tPROPN\t_\t_\t0\troot\t_\t_\n\n"
_TREES = (b"( (S (N Ada)) )\n", b"( (S (N Bo)) )\n")

TEXTS = (
    bad_line("text", "no UTF-8", "a.txt", _PROSE, b"caf\xe9\n", "4", "UTF-8", "byte 0xe9"),
    bad_line("text", "a surrogate", "a.txt", _PROSE, b"\xed\xa0\x80\n", "1", "UTF-8", "byte 0xed"),
    BadInput(
        source="parsed",
        what="no UTF-8",
        name="a.txt",
        data=b"Ada sings.\n\ncaf\xe9\n\nBo rests.\n",
        place="a.txt:3:4",
        expected="UTF-8",
        found="byte 0xe9",
        bad=b"caf\xe9\n\n",
        num_good=2,
        options=("--parser", "python:small_parser:parse"),
    ),
    bad_line("conllu", "a head that is no word", "a.conllu", _WORDS, _ORPHAN, "3:1", "a tree", "word 1 has head 7"),
    bad_line("conllu", "a missing column", "a.conllu", _WORDS, _SHORT, "3:1", "10 columns with tabs between them", "9"),
    bad_line("conllu", "a word left out", "a.conllu", _WORDS, _SKIPPED, "3:1", "ID 1", "'3'"),
    bad_line("brackets", "a bracket left open", "a.mrg", _TREES, b"( (S (N b) )\n", "1", "a ) for this (", "none"),
    bad_line("brackets", "a bracket too many", "a.mrg", _TREES, b")\n", "1", "( at the begin of a tree", ")"),
    bad_line("brackets", "no UTF-8", "a.mrg", _TREES, b"( (N \xff) )\n", "6", "UTF-8", "byte 0xff"),
)

# -- documents -------------------------------------------------------------------------------------------------------

_DOCUMENTS = (b'{"a": 1}\n', b'{"b": [2]}\n')
_DEEP_DTD = b'<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]>\n<a>&c;</a>'
_OUTER_DTD = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>\n<a>&b;</a>'


def document(
    source: str, what: str, name: str, data: bytes, at: str, expected: str, found: str, *options: str
) -> BadInput:
    """Return a file that is bad as a whole."""
    place = f"{name}{at}"
    return BadInput(
        source=source, what=what, name=name, data=data, place=place, expected=expected, found=found, options=options
    )


DOCUMENTS = (
    document("json", "a value left out", "a.json", b'{"a": [1,,2]}', ":1:10", "a value", '",2]}"'),
    document("json", "a bracket left open", "a.json", b'{"a":\n [1, 2}', ":2:7", ", or ]", '"}"'),
    document("json", "NaN", "a.json", b"[\n NaN]", ":2:2", "a value", '"NaN]"'),
    document("json", "no UTF-8", "a.json", b'["\xff"]', ":1:3", "UTF-8", "byte 0xff"),
    document("json", "nothing", "a.json", b"", ":1:1", "a value", "the end"),
    bad_line("json", "a line that is no JSON", "a.ndjson", _DOCUMENTS, b'{"a": }\n', "7", "a value", '"}"'),
    document("xml", "an end tag of another element", "a.xml", b"<a>\n<b></a>", ":2:6", "the end tag", "mismatched tag"),
    document("xml", "an element left open", "a.xml", b"<a>\n<b/>", ":2:5", "an end tag", "the end of the document"),
    document(
        "xml", "an attribute twice", "a.xml", b'<a b="1" b="2"/>', ":1:10", "each attribute", "duplicate attribute"
    ),
    document(
        "xml", "entities in entities", "a.xml", _DEEP_DTD, ":1:", "without declarations of entities", "the entity b"
    ),
    document("xml", "an entity of another file", "a.xml", _OUTER_DTD, ":1:", "without declarations", "an external one"),
    document("html", "too long", "a.html", b"<p>abc", "@5", "at most 5 bytes", "6 bytes", "--max-document-bytes", "5"),
    document("markdown", "no UTF-8", "a.md", b"# a\n\xff\n", ":2:1", "UTF-8", "byte 0xff"),
    document("code", "an unknown language", "a.zig", b"x", "@0", "a language", "another name"),
    document("code", "too long", "a.py", b"x = 1\n", "@5", "at most 5 bytes", "6", "--max-document-bytes", "5"),
)

# -- statements ------------------------------------------------------------------------------------------------------

_TRIPLE = b'<http://a> <http://p> "x" .\n'
_TRIPLES = (_TRIPLE, b'<http://b> <http://p> "x" .\n')
_RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n'
_OPEN = b'<rdf:Description rdf:about="http://a"></rdf:RDF>'
_ITEMS = (b'{"type":"item","id":"Q1","claims":{}}\n', b'{"type":"item","id":"Q3","claims":{}}\n')
_BAD_ITEM = b'{"type":"item","id":"Q2","claims":{"P1":7}}\n'


def statement(
    source: str, what: str, name: str, bad: bytes, at: str, expected: str, found: str, num_lines: int = 2
) -> BadInput:
    """Return a line that is no statement, after one that is and (`num_lines` 2) before another."""
    good = (_TRIPLES[0], _TRIPLES[1] if num_lines == 2 else b"")
    data, place = good[0] + bad + b"\n" + good[1], f"{name}:{at}"
    return BadInput(
        source=source,
        what=what,
        name=name,
        data=data,
        place=place,
        expected=expected,
        found=found,
        bad=bad + b"\n",
        num_good=num_lines,
    )


_HEXT = b'["a:a","a:p","b","http://www.w3.org/2001/XMLSchema#string","",""]\n'
STATEMENTS = (
    bad_line(
        "hext",
        "five strings",
        "a.hext",
        (_HEXT, _HEXT),
        b'["a:a","a:p","b","a:t",""]\n',
        "1",
        "six strings",
        "no array",
    ),
    statement("ntriples", "a string left open", "a.nt", b'<http://a> <http://p> "x', "2:23", "a triple", "end of file"),
    statement("ntriples", "no UTF-8", "a.nt", b'<http://a> <http://p> "\xff" .', "2:24", "a triple", "Invalid UTF-8"),
    statement("ntriples", "no full stop", "a.nt", b"<a:a> <a:p> <a:b>", "2:18", "a triple", "followed by a dot"),
    statement("ntriples", "a literal as subject", "a.nt", b'"a" <http://p> <http://b> .', "2:1", "a triple", '"a"'),
    statement("ntriples", "a space in an IRI", "a.nt", b"<a:a b> <a:p> <a:b> .", "2:1", "a triple", "Invalid IRI"),
    statement(
        "nquads", "five terms", "a.nq", b"<a:a> <a:p> <a:b> <a:g> <a:h> .", "2:25", "a statement", "followed by a dot"
    ),
    statement(
        "turtle", "an unknown prefix", "a.ttl", b'x:b <http://p> "y" .', "2:1", "Turtle", "has not been declared"
    ),
    statement("turtle", "no object", "a.ttl", b"<a:b> <a:p> ;;; [ .", "2:13", "Turtle", "not a valid RDF object"),
    statement("trig", "a graph left open", "a.trig", b"<a:g> { <a:a> <a:p> .", "2:21", "TriG", "not a valid RDF", 1),
    statement("n3", "half an implication", "a.n3", b"<http://g> => .", "2:15", "N3", "not a valid RDF value", 1),
    BadInput(
        source="rdfxml",
        what="an element left open",
        name="a.rdf",
        data=_RDF + _OPEN,
        place="a.rdf:2",
        expected="RDF/XML",
        found="ill-formed document",
        bad=_OPEN,
    ),
    document("rdfxml", "an entity of another file", "a.rdf", _OUTER_DTD, ":1:14", "entities of at most", "entity b"),
    document(
        "jsonld", "an object left open", "a.jsonld", b'{"@id": "http://a"', ":1:19", "JSON-LD", "must be followed by"
    ),
    document(
        "jsonld", "a context to fetch", "a.jsonld", b'{"@context": "http://x/c"}', ":1:14", "a file for the", "none"
    ),
    bad_line("wikidata", "a cut line", "a.ndjson", _ITEMS, _ITEMS[0][:30] + b"\n", "26", "JSON", "Unterminated string"),
    bad_line("wikidata", "claims that are none", "a.ndjson", _ITEMS, _BAD_ITEM, "41", "at $.claims.P1", "7"),
    BadInput(
        source="wikidata",
        what="an id that is none",
        name="a.json",
        data=b'[{"type":"item","id":7}]',
        place="a.json:1:22",
        expected="a string at $.id",
        found="7",
        bad=b'{"type":"item","id":7}',
    ),
)

# -- facts and tables ------------------------------------------------------------------------------------------------

_HYPEREDGE = b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph><hyperedge/></graph></graphml>'
_RECORDS = (b'{"text": "a"}\n', b'{"text": "b"}\n')
_FAR = b'{"text": "a", "entities": [{"start": 0, "end": 9, "id": "Q1"}]}\n'
_FACT = b'{"facts": [{"relation": "r", "participants": [["x", "a"]]}], "text": "a"}\n'
_EDGES = (b"id\tnode1\tlabel\tnode2\n1\tQ1\tP1\tQ2\n", b"3\tQ3\tP1\tQ2\n")
_PAIRS = (b"Q1,P1,Q2\n", b"Q3,P1,Q2\n")
_LINKS = (b'{"P1_h": ["Q1"], "P1_t": ["Q2"], "N": 2}\n', b'{"P1_h": ["Q3"], "P1_t": ["Q2"], "N": 2}\n')
_ROWS = (b"id,name\n1,a\n", b"3,c\n")
_TWO_ROWS = b"id,name\n1,a\n2,b\n"
_SCHEMA_ROW = b'{"row":1}\n'

FACTS = (
    bad_line("jsonl", "a span beyond the text", "a.jsonl", _RECORDS, _FAR, "48", "an offset from 0 to 1", "9"),
    bad_line("jsonl", "a member twice", "a.jsonl", _RECORDS, b'{"a": 1, "a": 2}\n', "15", "each member once", '"a"'),
    bad_line("jsonl", "an array", "a.jsonl", _RECORDS, b"[1]\n", "1", "an object", "[1]"),
    bad_line("fact-text", "facts that are none", "a.jsonl", (_FACT,) * 2, b'{"facts": 3}\n', "1", "an object", "3"),
    document("hif", "an incidence without a node", "a.json", b'{"incidences": [{"edge": 1}]}', ":1:17", "node", "edge"),
    document(
        "graph", "an entity of another file", "a.graphml", _OUTER_DTD, ":1:", "without declarations", "an external one"
    ),
    document("graph", "entities in entities", "a.graphml", _DEEP_DTD, ":1:", "without declarations of", "the entity b"),
    document("graph", "a hyperedge", "a.graphml", _HYPEREDGE, ":1:56", "node or edge", "an element hyperedge"),
    document(
        "graph", "an edge to no node", "a.gml", b"graph [\n edge [ source 1 target 2 ]\n]", ":1:1", "GML", "undefined"
    ),
    document("graph", "a bracket left open", "a.gml", b"graph [\n node [ id 1\n", ":3:1", "GML", "found EOF"),
    document("graph", "an edge of one node", "a.edgelist", b"a b\nc\n", ":2:1", "an edge, NODE NODE", "'c'"),
    document("graph", "an edge twice", "a.edgelist", b"a b\nb a\n", ":2:1", "each edge once", "again 'b a'"),
    document(
        "graph", "code for attributes", "a.edgelist", b"a b {'x': open('y')}\n", ":1:1", "an edge", "Failed to conv"
    ),
    document("graph", "no UTF-8", "a.adjlist", b"a b\n\xff c\n", ":2:1", "UTF-8", "byte 0xff"),
    document("graph", "an unknown form", "a.net", b"*Vertices 1", "@0", "a name that ends in .gml", "another name"),
    document("graph", "too long", "a.gml", b"graph [ ]", "@5", "at most 5 bytes", "9", "--max-document-bytes", "5"),
    document("hif", "no JSON", "a.json", b'{"incidences": [', ":1:17", "JSON", "the end"),
    bad_line("kgtk", "a cell too few", "a.tsv", _EDGES, b"2\tQ1\tP1\n", "3:1", "4 cells", "3"),
    bad_line("kgtk", "no UTF-8", "a.tsv", _EDGES, b"2\tQ1\tP1\t\xff\n", "3:9", "UTF-8", "0xff"),
    document("kgtk", "a column twice", "a.tsv", b"id\tnode1\tid\n", ":1:10", "each column's name once", "'id'"),
    bad_line("nary", "a fact without object", "a.txt", _PAIRS, b"Q1,P1\n", "1", "subject,relation,object", "2 names"),
    bad_line("nary", "no JSON", "a.json", _LINKS, b'{"P1_h": }\n', "10", "JSON", '"}'),
    bad_line("csv", "a cell too many", "a.csv", _ROWS, b"2,b,c\n", "3:1", "2 cells", "3"),
    bad_line("csv", "no UTF-8", "a.csv", _ROWS, b"2,\xff\n", "3:3", "text in utf-8", "byte 0xFF"),
    bad_line("csv", "a quote left open", "a.csv", (_TWO_ROWS, b""), b'3,"c\n', "4:3", "a closing quote", "the end"),
    document("csv", "a column twice", "a.csv", b"id,id\n1,2\n", ":1:4", "each column name once", "'id'"),
)

# -- files that are no text ------------------------------------------------------------------------------------------


def saved(array: object) -> bytes:
    """Return a .npy file; objects are pickled, as no good file has them."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=True)
    return stream.getvalue()


def archive(*members: tuple[str, bytes]) -> bytes:
    """Return a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members:
            opened.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def member_of(data: bytes, number: int) -> bytes:
    """Return the bytes of a member of an archive, with its header."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        begins = [member.header_offset for member in opened.infolist()] + [opened.start_dir]
    return data[begins[number] : begins[number + 1]]


def written(write: Callable[[Path], object]) -> bytes:
    """Return what `write` puts in a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        write(path)
        return path.read_bytes()


def texts_with_bad_second() -> pa.Table:
    """Return a column of three texts, the second of which is no UTF-8."""
    offsets, data = pa.py_buffer(struct.pack("<4i", 0, 1, 2, 3)), pa.py_buffer(b"a\xffc")
    return pa.table({"name": pa.Array.from_buffers(pa.string(), 3, [None, offsets, data])})


def arrow_file(table: pa.Table) -> bytes:
    """Return an Arrow IPC file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def write_database(path: Path) -> None:
    """Write a table of three rows, the second with a text that is no UTF-8."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE people (name TEXT)")
        connection.execute("INSERT INTO people VALUES ('a'), (CAST(X'ff' AS TEXT)), ('c')")
    connection.close()


def workbook() -> bytes:
    """Return a sheet of two columns and three rows, the second with a third cell."""
    from openpyxl import Workbook

    book = Workbook()
    for row in (["id", "name"], [1, "a"], [2, "b", "x"], [3, "c"]):
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


_OBJECTS = saved(np.array([{}, None], object))
_ARRAYS = archive(("a.npy", saved(np.ones(2))), ("b.npy", _OBJECTS), ("c.npy", saved(np.zeros(3))))
_OUTSIDE = archive(("a.npy", saved(np.ones(2))), ("../../b.txt", b"x"), ("c.npy", saved(np.zeros(3))))
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)
_PARQUET = written(lambda path: pq.write_table(pa.table({"id": [1, 2, 3]}), path))
_DATABASE = written(write_database)

BINARIES = (
    document("npy", "a cut header", "a.npy", b"\x93NUMPY\x01\x00", "@8", "a header", "the end of the file"),
    document("npy", "a cut array", "a.npy", saved(np.ones(9))[:-8], "@192", "72 bytes of values", "64 bytes"),
    document("npy", "pickled objects", "a.npy", _OBJECTS, "@8", "a dtype of plain values", "object"),
    document("npz", "no archive", "a.npz", b"PK", "@0", "a zip archive of arrays", "none"),
    BadInput(
        source="npz",
        what="pickled objects",
        name="a.npz",
        data=_ARRAYS,
        place=f"a.npz@{len(member_of(_ARRAYS, 0))}",
        expected="array 'b.npy' with a dtype of plain values",
        found="object at its byte 8",
        bad=member_of(_ARRAYS, 1),
        num_good=2,
    ),
    BadInput(
        source="npz",
        what="a path that leads outside",
        name="a.npz",
        data=_OUTSIDE,
        place=f"a.npz@{len(member_of(_OUTSIDE, 0))}",
        expected="an array, NAME.npy",
        found="'../../b.txt'",
        bad=member_of(_OUTSIDE, 1),
        num_good=2,
    ),
    document("image", "a cut header", "a.png", b"\x89PNG\r\n\x1a\n", "@0", "an image of format PNG", r"\x89PNG"),
    document("image", "no pixels", "a.png", _PNG, "@0", "an image of format PNG", r"\x89PNG"),
    document("parquet", "no Parquet", "a.parquet", b"PAR1abcd", "@0", "a Parquet file", "magic bytes"),
    document(
        "parquet", "a cut footer", "a.parquet", _PARQUET[:-40] + _PARQUET[-8:], "@0", "a Parquet file", "Invalid data"
    ),
    document("arrow", "a cut file", "a.arrow", b"ARROW1\0\0abc", "@0", "an Arrow IPC file", "too small"),
    BadInput(
        source="arrow",
        what="no UTF-8",
        name="a.arrow",
        data=arrow_file(texts_with_bad_second()),
        place="a.arrow[a]:2",
        expected="a valid string in column 'name'",
        found="other bytes",
        bad=_SCHEMA_ROW,
        num_good=2,
    ),
    document("sql", "no database", "a.sqlite", b"SQLite format 3\0" + bytes(200), "@0", "an SQLite database", "not"),
    BadInput(
        source="sql",
        what="no UTF-8",
        name="a.sqlite",
        data=_DATABASE,
        place="a.sqlite[people]:2",
        expected="text in UTF-8 in column 'name'",
        found=r"b'\xff'",
        bad=b'[{"hex":"ff"}]\n',
        num_good=2,
    ),
    document("excel", "no workbook", "a.xlsx", b"PK\x03\x04", "@0", "an Excel workbook", "not a zip file"),
    BadInput(
        source="excel",
        what="a cell too many",
        name="a.xlsx",
        data=workbook(),
        place="a.xlsx[Sheet]:3",
        expected="at most 2 cells",
        found="3",
        bad=b'["2","b","x"]\n',
        num_good=2,
    ),
)

BAD_INPUTS = (*TEXTS, *DOCUMENTS, *STATEMENTS, *FACTS, *BINARIES)
