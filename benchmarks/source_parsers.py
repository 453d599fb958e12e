"""Bare parsers that conversions are compared with: each reads a file, walks what it got and returns how many things."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Parser = Callable[[Path], int]


def pyoxigraph(path: Path) -> int:
    """Parse RDF, strictly."""
    import pyoxigraph

    format_ = pyoxigraph.RdfFormat.from_extension(path.suffix[1:])
    return sum(1 for _ in pyoxigraph.parse(path=str(path), format=format_))


def orjson_walk(path: Path) -> int:
    """Parse one JSON document and walk its values."""
    import orjson

    return _walk(orjson.loads(path.read_bytes()))


def orjson_lines_walk(path: Path) -> int:
    """Parse JSON lines and walk their values."""
    import orjson

    with path.open("rb") as stream:
        return sum(_walk(orjson.loads(line)) for line in stream)


def json_walk(path: Path) -> int:
    """Parse one JSON document with the standard library and walk its values."""
    return _walk(json.loads(path.read_bytes()))


def _walk(value: Any) -> int:
    waiting = [value]
    total = 0
    while waiting:
        value = waiting.pop()
        total += 1
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return total


def pyarrow_csv(path: Path) -> int:
    """Read a CSV file as text."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    parse = pa_csv.ParseOptions(newlines_in_values=True)
    names = path.open(encoding="utf-8").readline().rstrip("\r\n").split(",")
    convert = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    read = pa_csv.ReadOptions(use_threads=False)
    return int(pa_csv.read_csv(path, parse_options=parse, convert_options=convert, read_options=read).num_rows)


def csv_module(path: Path) -> int:
    """Read a CSV file with the standard library."""
    with path.open(encoding="utf-8", newline="") as stream:
        return sum(len(row) for row in csv.reader(stream))


def pyarrow_parquet(path: Path) -> int:
    """Read a Parquet file."""
    import pyarrow.parquet as pq

    return int(pq.read_table(path, use_threads=False).num_rows)


def numpy_load(path: Path) -> int:
    """Read the arrays of an archive."""
    import numpy as np

    with np.load(path) as archive:
        return sum(archive[name].size for name in archive.files)


def selectolax_walk(path: Path) -> int:
    """Parse a page and walk its nodes: tag, text, attributes."""
    from selectolax.lexbor import LexborHTMLParser

    total = 0
    root: Any = LexborHTMLParser(path.read_bytes().decode()).root
    for node in root.traverse(include_text=True):
        total += 1
        if node.text_content is None and node.tag[0] != "-":
            total += len(node.attributes)
    return total


def lxml_walk(path: Path) -> int:
    """Parse a document and walk its elements: tag, text, tail, attributes."""
    from lxml import etree

    total = 0
    for element in etree.parse(str(path)).iter():
        total += 1 + len(element.tag) + len(element.text or "") + len(element.tail or "") + len(element.attrib)
    return total


def tree_sitter_walk(path: Path) -> int:
    """Parse Python and walk the tree by a cursor: kind, bytes and field of each node."""
    import tree_sitter
    import tree_sitter_python

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
    cursor = parser.parse(path.read_bytes()).walk()
    to_child, to_sibling, to_parent = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    nodes = []
    while True:
        node: Any = cursor.node
        nodes.append((node.kind_id, node.start_byte, node.end_byte, cursor.field_id))
        if to_child():
            continue
        while not to_sibling():
            if not to_parent():
                return len(nodes)


def markdown_it(path: Path) -> int:
    """Parse CommonMark with tables."""
    from markdown_it import MarkdownIt

    return len(MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")))


def bracket_lists(path: Path) -> int:
    """Read brackets into nested lists."""
    stack: list[list[Any]] = [[]]
    with path.open(encoding="utf-8") as stream:
        for token in _bracket_tokens(stream):
            if token == "(":
                stack.append([])
            elif token == ")":
                tree = stack.pop()
                stack[-1].append(tree)
            else:
                stack[-1].append(token)
    return len(stack[0])


def _bracket_tokens(lines: Any) -> Iterator[str]:
    pattern = re.compile(r"[()]|[^\s()]+")
    for line in lines:
        yield from pattern.findall(line)


def _split_lines(path: Path, separator: str) -> int:
    with path.open(encoding="utf-8") as stream:
        return sum(len(line.rstrip("\n").split(separator)) for line in stream)


def tab_split(path: Path) -> int:
    """Split lines at tabs."""
    return _split_lines(path, "\t")


def comma_split(path: Path) -> int:
    """Split lines at commas."""
    return _split_lines(path, ",")


def networkx_edges(path: Path) -> int:
    """Read a list of edges with their attributes."""
    import networkx as nx

    return int(nx.read_edgelist(path, create_using=nx.MultiDiGraph).number_of_edges())
