"""Tests of tree-sitter's own (code, and the S-expression of its tree), and how our structures of code read as such."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from lisdata.contents import Content
from lisdata.converters.trees import TREES, TreeOptions
from lisdata.inputs import InputFile
from lisdata.invariants import check_structures
from lisdata.schema import ContentKind
from lisdata.sources.code_languages import Language, load_grammar
from lisdata.sources.code_records import parse_document, trees_to_records
from lisdata.structure import Structure

FILE = InputFile(index=0, path="a.py", name="a.py", size=0, digest="d", scope="s", compression=None)


def structure_of(data: bytes, language: Language = "python") -> Structure:
    """Return the structure of code, whose invariants are checked."""
    grammar = load_grammar(language)
    records = trees_to_records([parse_document(data, grammar, FILE)], grammar)
    batch = TREES.convert(records, TreeOptions())
    check_structures(*(pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels)), "code")
    return Structure.from_arrow(batch, 0)


def places(structure: Structure) -> list[tuple[int, str]]:
    """Parent (-1 at the root) and side of the role of each node."""
    parents = {i.instance: i.occurrence for i in structure.incidences if i.role.side == "PARENT"}
    own = [i for i in structure.incidences if i.role.side != "PARENT"]
    assert [i.occurrence for i in own] == list(range(len(structure.occurrences)))
    return [(parents.get(i.instance, -1), i.role.side) for i in own]


def s_expression(structure: Structure) -> str:
    """Return the named and the missing nodes as tree-sitter writes them, without fields."""
    text = ""
    open_nodes: list[tuple[int, bool]] = []  # and whether the node is written
    for number, (parent, side) in enumerate(places(structure)):
        while open_nodes and open_nodes[-1][0] != parent:
            text += ")" * open_nodes.pop()[1]
        kind = kind_of(structure.occurrences[number].content, side)
        text += f" ({kind}" if kind else ""
        open_nodes.append((number, bool(kind)))
    return (text + ")" * sum(is_written for _, is_written in open_nodes)).strip()


def kind_of(content: Content, side: str) -> str:
    """Return how an S-expression names a node, "" where it leaves it out."""
    if content.kind == ContentKind.WORD:
        return side.rpartition("token:")[2] if "token:" in side else ""
    assert content.datatype is not None
    sort = content.datatype.partition(":")[2]
    return {
        "": content.text,
        "unnamed": "",
        "missing": f"MISSING {content.text}",
        "unnamed missing": f'MISSING "{content.text}"',
    }[sort]


def corpus_cases(path: Path) -> list[tuple[bytes, str]]:
    """Code and expected S-expression of each case of a file of tree-sitter's tests."""
    cases = re.split(r"^=+\n.*\n(?::.*\n)*=+\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    pairs = [re.split(r"^---+\n", case, maxsplit=1, flags=re.MULTILINE) for case in cases]
    return [(code.removeprefix("\n").removesuffix("\n").encode(), squeezed(tree)) for code, tree in pairs]


def squeezed(tree: str) -> str:
    """Return an S-expression on one line, without fields and the characters of errors."""
    tree = re.sub(r"\(UNEXPECTED .*?'\)", "(ERROR)", re.sub(r"\w+: ", "", tree))
    return re.sub(r"\s+", " ", tree).replace(" )", ")").strip()


def without_statements(tree: str) -> str:
    """Return an S-expression in which what stands in an expression_statement stands in its place.

    The grammar that the tests belong to is a little newer than the one that is released: it hides these nodes.
    """
    parts, open_nodes = [], []
    for token in re.findall(r"\(expression_statement|\(|\)|[^()]+", tree):
        if token.startswith("("):
            open_nodes.append(token == "(")
        if token == ")":
            token = token * open_nodes.pop()
        parts.append(token.removeprefix("(expression_statement"))
    return squeezed("".join(parts))
