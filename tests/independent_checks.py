"""Whether a file and what came back of it say the same, by parsers other than ours: each check names a difference."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph
from graph_reading import graph_content, read_with_networkx
from lxml import etree
from PIL import Image
from pyoxigraph import BlankNode, RdfFormat
from selectolax.lexbor import LexborHTMLParser

Difference = str | None
Check = Callable[[bytes, bytes], Difference]

_TAG = re.compile(rb'"[ \t]*@([A-Za-z0-9-]+)')


def bytes_differ(before: bytes, after: bytes) -> Difference:
    """Compare byte by byte."""
    if before == after:
        return None
    at = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    return f"byte {at}: expected {before[at : at + 40]!r}, found {after[at : at + 40]!r}"


def _compare(before: Any, after: Any, what: str) -> Difference:
    if before == after:
        return None
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        pairs = enumerate(zip(before, after, strict=False))
        at = next((n for n, (a, b) in pairs if a != b), min(len(before), len(after)))
        shown = [repr(side[at])[:80] if at < len(side) else "no more" for side in (before, after)]
        return f"{what} {at}: expected {shown[0]}, found {shown[1]}"
    return f"{what}: expected {str(before)[:80]}, found {str(after)[:80]}"


# -- graphs ----------------------------------------------------------------------------------------------------------


def gml_differs(before: bytes, after: bytes) -> Difference:
    """Compare two GML files by networkx."""
    return _compare(*(graph_content(read_with_networkx(data, "gml")) for data in (before, after)), "graph")


def arcs_differ(before: bytes, after: bytes) -> Difference:
    """Compare two lists of directed edges by networkx."""
    found = (graph_content(read_with_networkx(data, "edgelist", "DiGraph")) for data in (before, after))
    return _compare(*found, "graph")


# -- JSON ------------------------------------------------------------------------------------------------------------


def json_model(data: bytes) -> Any:
    """Return a document by the standard library's parser: members as pairs in order, numbers as they are written."""

    def number(text: str) -> tuple[str, str]:
        return "number", text

    return json.loads(
        data.decode("utf-8-sig"),
        object_pairs_hook=lambda pairs: ("object", pairs),
        parse_int=number,
        parse_float=number,
        parse_constant=_refuse_constant,
    )


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"expected JSON, found {name}")


def json_differs(before: bytes, after: bytes) -> Difference:
    """Compare the models of two documents: order and repeats of members, numbers as written."""
    return _compare(json_model(before), json_model(after), "JSON model")


def hif_differs(before: bytes, after: bytes) -> Difference:
    """Compare two hypergraphs: as JSON, but that the members of an object have no order."""
    return _compare(_unordered(json_model(before)), _unordered(json_model(after)), "HIF model")


def _unordered(value: Any) -> Any:
    if isinstance(value, tuple) and value[0] == "object":
        return "object", sorted(((name, _unordered(member)) for name, member in value[1]), key=repr)
    return [_unordered(item) for item in value] if isinstance(value, list) else value


def json_lines_differ(before: bytes, after: bytes) -> Difference:
    """Compare the models of two files line by line."""
    models = [[json_model(line) for line in data.split(b"\n") if line.strip()] for data in (before, after)]
    return _compare(models[0], models[1], "document")


def entities_differ(before: bytes, after: bytes) -> Difference:
    """Compare entities, whose members have no order: of a document, or of the lines of a dump, maybe an open array."""
    return _compare(_entities(before), _entities(after), "entity")


def _entities(data: bytes) -> Any:
    try:
        found = json_model(data)
    except ValueError:
        lines = (line.strip().removesuffix(b",") for line in data.split(b"\n"))
        found = [json_model(line) for line in lines if line not in (b"", b"[", b"]")]
    return _unordered(found)


# -- trees -----------------------------------------------------------------------------------------------------------


def canonical_xml_differs(before: bytes, after: bytes) -> Difference:
    """Compare the canonical forms of two XML documents (C14N, with comments) by lxml."""
    return bytes_differ(_canonical_xml(before), _canonical_xml(after))


def _canonical_xml(data: bytes) -> bytes:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, strip_cdata=False)
    return bytes(etree.tostring(etree.fromstring(data, parser).getroottree(), method="c14n", with_comments=True))


def html_tree_differs(before: bytes, after: bytes) -> Difference:
    """Compare the HTML5 trees of two documents, node by node, by selectolax."""
    return _compare(list(iter_html_nodes(before)), list(iter_html_nodes(after)), "node")


def iter_html_nodes(data: bytes | str, **options: Any) -> Iterator[tuple[int, str, str, tuple[tuple[str, str], ...]]]:
    """Yield depth, tag, text and attributes of each node in document order; a <template> has its content inside."""
    parser: Any = LexborHTMLParser(data, **options)
    if parser.root is None:
        return
    first = parser.root.parent.first_child if parser.root.parent is not None else parser.root
    waiting: list[tuple[int, Any]] = [(0, first)]
    while waiting:
        depth, node = waiting.pop()
        if node is None:
            continue
        waiting.append((depth, node.next))
        text = node.text_content
        is_special = text is None and (node.tag is None or node.tag.startswith("-"))
        attributes = () if text is not None or is_special else tuple((k, v or "") for k, v in node.attributes.items())
        yield depth, node.tag or "", node.html if is_special else text or "", attributes
        fragments = node.template_fragments() if node.tag == "template" else []
        waiting.append((depth + 1, fragments[0].first_child if fragments else node.first_child))


# -- graphs ----------------------------------------------------------------------------------------------------------


def graph_check(form: RdfFormat, base_iri: str | None = None) -> Check:
    """Return a check that two files in `form` are the same graph: by order or RDFC-1.0, with how often each is there.

    Where a statement is a line the language tags must stand as they were, for which pyoxigraph has lower case.
    """
    is_lines = form in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)

    def graphs_differ(before: bytes, after: bytes) -> Difference:
        graphs = [_quads(data, form, None if is_lines else base_iri) for data in (before, after)]
        if is_lines and (tags := [Counter(_TAG.findall(data)) for data in (before, after)]) and tags[0] != tags[1]:
            return f"language tags: expected {dict(tags[0] - tags[1])}, found {dict(tags[1] - tags[0])}"
        if len(graphs[0]) != len(graphs[1]):
            return f"expected {len(graphs[0])} statements, found {len(graphs[1])}"
        if _named_by_place(graphs[0]) == _named_by_place(graphs[1]):
            return None
        missing = canonical_quads(graphs[0]) - canonical_quads(graphs[1])
        return f"{len(missing)} statements are missing, as {min(missing)[:120]}" if missing else None

    return graphs_differ


def _quads(data: bytes, form: RdfFormat, base_iri: str | None) -> list[Any]:
    try:
        return list(pyoxigraph.parse(data, form, base_iri=base_iri))
    except SyntaxError:
        return list(pyoxigraph.parse(data, form, base_iri=base_iri, lenient=True))


def _named_by_place(quads: list[Any]) -> list[tuple[Any, ...]]:
    """Return the terms of each quad in order, blank nodes numbered by where they appear first."""
    numbers: dict[Any, int] = {}

    def named(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return numbers.setdefault(term, len(numbers))
        if isinstance(term, pyoxigraph.Triple):
            return tuple(named(part) for part in (term.subject, term.predicate, term.object))
        return term

    return [tuple(named(term) for term in quad) for quad in quads]


def canonical_quads(quads: list[Any]) -> set[str]:
    """Return the quads with canonical names for blank nodes (RDFC-1.0)."""
    dataset = pyoxigraph.Dataset(quads)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}


# -- tables and grids ------------------------------------------------------------------------------------------------


def cells_differ(before: bytes, after: bytes) -> Difference:
    """Compare the cells of two CSV files by the standard library."""
    tables = [list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))) for data in (before, after)]
    return _compare(tables[0], tables[1], "row")


def databases_differ(before: bytes, after: bytes) -> Difference:
    """Compare two SQLite databases: columns, keys, indexes and cells with their storage classes."""
    return _compare(_dump(before), _dump(after), "table")


def _dump(data: bytes) -> list[Any]:
    """Return what a database holds, as SQLite itself tells it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.db"
        path.write_bytes(data)
        connection = sqlite3.connect(path)
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        found = [(name, _table(connection, '"' + name.replace('"', '""') + '"')) for (name,) in names]
        connection.close()
    return found


def _table(connection: sqlite3.Connection, name: str) -> list[Any]:
    about = [connection.execute(f"PRAGMA {p}({name})").fetchall() for p in ("table_xinfo", "foreign_key_list")]
    cells = ", ".join(f'"{column[1]}", typeof("{column[1]}")' for column in about[0])
    indexes = [index[1:] for index in connection.execute(f"PRAGMA index_list({name})").fetchall()]
    return [*about, sorted(indexes), connection.execute(f"SELECT {cells} FROM {name}").fetchall()]


def pixels_differ(before: bytes, after: bytes) -> Difference:
    """Compare mode, size and pixels of two images by Pillow."""
    images = [Image.open(io.BytesIO(data)) for data in (before, after)]
    arrays = [np.asarray(image) for image in images]
    if (images[0].mode, images[0].size) != (images[1].mode, images[1].size):
        return f"expected {images[0].mode} {images[0].size}, found {images[1].mode} {images[1].size}"
    return None if np.array_equal(*arrays) else f"{int((arrays[0] != arrays[1]).sum())} samples differ"


def arrays_differ(before: bytes, after: bytes) -> Difference:
    """Compare dtype, shape and values of two .npy files by NumPy."""
    arrays = [np.load(io.BytesIO(data), allow_pickle=False) for data in (before, after)]
    if (arrays[0].dtype, arrays[0].shape) != (arrays[1].dtype, arrays[1].shape):
        return f"expected {arrays[0].dtype} {arrays[0].shape}, found {arrays[1].dtype} {arrays[1].shape}"
    return None if np.array_equal(*arrays) else "values differ"
