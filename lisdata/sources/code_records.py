"""Syntax trees as records: what each node shows, and its role in its parent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.inputs import InputFile
from lisdata.records import ParsedDocument, TreeRecords
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.byte_spans import cut_spans
from lisdata.sources.code_languages import Grammar
from lisdata.sources.code_trees import SyntaxTree, parse_code

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Parsed:
    """What `ParsedDocument.parsed` is for code."""

    grammar: Grammar
    tree: SyntaxTree


def parse_document(data: bytes, grammar: Grammar, file: InputFile) -> ParsedDocument:
    """Return a source file with its tree."""
    tree = parse_code(data, grammar)
    return ParsedDocument(
        file=file, size=len(data), data=data, parsed=_Parsed(grammar, tree), counts=_count(tree, grammar)
    )


def trees_to_records(documents: list[ParsedDocument], grammar: Grammar) -> TreeRecords:
    """Return the trees of documents in one language as records, a node each.

    A leaf that has bytes is a token: its content is a WORD, so that a name is one content wherever it stands, and its
    kind is told by its role, child#token:KIND; an unnamed one ("+", "return") that is spelled as its kind is called is
    a plain child. Each other node is a NAME, its kind, whose datatype is the language (LANGUAGE:unnamed,
    LANGUAGE:missing). What stands in a field of its parent is in the role child#field:FIELD, with "+token:KIND" behind
    it where it is a token of a kind.
    """
    labels = LabelBuilder()
    contents = ContentColumns(labels)
    joined = _Joined.of(documents)
    tree, size = joined.tree, len(joined.tree.kind)
    tokens = _Tokens.of(joined, grammar)
    words = contents.add(ContentKind.WORD, tokens.texts)
    kinds = _add_kinds(contents, tree, grammar, tokens)
    table, rows_of = contents.finish()
    content = np.empty(size, np.uint32)
    content[tokens.node] = rows_of[words]
    for column, row, node in kinds:
        content[node] = rows_of[column][row]
    return TreeRecords(
        file=documents[0].file,
        files=tuple(document.file for document in documents),
        label="code",
        documents=pa.array([document.data for document in documents], pa.large_binary()),
        begin=np.zeros(len(documents), np.uint64),
        end=np.array([document.size for document in documents], np.uint64),
        contents=table,
        node_offsets=joined.offsets,
        node_parent=tree.parent,
        node_content=content,
        node_span_begin=tree.begin.astype(np.uint64),
        node_span_end=tree.end.astype(np.uint64),
        attribute_offsets=np.zeros(size + 1, np.int64),
        attribute_role=np.empty(0, np.uint32),
        attribute_content=np.empty(0, np.uint32),
        node_role=_roles(joined, grammar, tokens, labels),
        labels=labels.to_arrow(),
        counts=dict(sum((Counter(document.counts) for document in documents), Counter())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joined:
    """Several trees, one after another: `tree` counts bytes and parents in each from its begin.

    `offsets` are where the nodes of each begin, `data` are the bytes of all, `shift` is where those of a node's do.
    """

    tree: SyntaxTree
    offsets: Int64
    data: bytes
    shift: Int64

    @staticmethod
    def of(documents: list[ParsedDocument]) -> _Joined:
        trees = [document.parsed.tree for document in documents]
        sizes = [len(tree.kind) for tree in trees]
        offsets = np.cumsum([0, *sizes], dtype=np.int64)
        begins = np.cumsum([0, *(document.size for document in documents[:-1])], dtype=np.int64)
        return _Joined(
            tree=trees[0] if len(trees) == 1 else SyntaxTree.joined(trees),
            offsets=offsets,
            data=b"".join([document.data or b"" for document in documents]),
            shift=np.repeat(begins, sizes),
        )

    @property
    def roots(self) -> Int64:
        return self.offsets[:-1]

    def is_inner(self) -> Bools:
        """Tell for each node whether it has children."""
        first = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        is_inner = np.zeros(len(first), bool)
        is_inner[(self.tree.parent + first)[self.tree.parent >= 0]] = True
        return is_inner


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tokens:
    """The leaves that have bytes: the node of each, its bytes, and whether these are not what its kind is called."""

    node: Int64
    texts: pa.LargeBinaryArray
    is_of_kind: Bools

    @staticmethod
    def of(joined: _Joined, grammar: Grammar) -> _Tokens:
        tree = joined.tree
        node = np.flatnonzero((tree.end > tree.begin) & ~joined.is_inner())
        shift = joined.shift[node]
        texts = cut_spans(joined.data, tree.begin[node] + shift, tree.end[node] + shift)
        kind = tree.kind[node]
        is_of_kind = grammar.is_named[kind]
        unnamed = np.flatnonzero(~is_of_kind)
        called = grammar.kinds.take(pa.array(kind[unnamed]))
        is_of_kind[unnamed] = np.asarray(pc.not_equal(texts.take(pa.array(unnamed)), called))
        return _Tokens(node=node, texts=texts, is_of_kind=is_of_kind)


def _add_kinds(
    contents: ContentColumns, tree: SyntaxTree, grammar: Grammar, tokens: _Tokens
) -> list[tuple[int, Int64, Int64]]:
    """Add the kinds of all nodes that are no tokens; return (column, rows in the column, nodes) of each sort."""
    is_node = np.ones(len(tree.kind), bool)
    is_node[tokens.node] = False
    is_named = grammar.is_named[tree.kind]
    sorts = {
        "": is_node & is_named & ~tree.is_missing,
        ":unnamed": is_node & ~is_named & ~tree.is_missing,
        ":missing": is_named & tree.is_missing,
        ":unnamed missing": ~is_named & tree.is_missing,
    }
    found = []
    for sort, is_of_sort in sorts.items():
        node = np.flatnonzero(is_of_sort)
        if len(node):
            used, row = _distinct(tree.kind[node])
            column = contents.add(
                ContentKind.NAME, grammar.kinds.take(pa.array(used)), datatype=f"{grammar.language}{sort}"
            )
            found.append((column, row, node))
    return found


def _roles(joined: _Joined, grammar: Grammar, tokens: _Tokens, labels: LabelBuilder) -> UInt32:
    """Return the role of each node, NO_ROW for a plain one."""
    tree = joined.tree
    kind = np.zeros(len(tree.kind), np.int64)  # one more than that of a token of a kind
    kind[tokens.node[tokens.is_of_kind]] = tree.kind[tokens.node[tokens.is_of_kind]] + 1
    used, row = _distinct(kind * len(grammar.fields) + tree.field)
    roles = [NO_ROW if role is None else labels.role(role) for role in map(grammar.role, used.tolist())]
    found = np.array(roles, np.uint32)[row]
    for root in joined.roots[kind[joined.roots] > 0].tolist():
        found[root] = labels.role(Role("root", grammar.sides[tree.kind[root]]))
    return found


def _distinct(numbers: Int64) -> tuple[Int64, Int64]:
    """Return the distinct numbers, which are small, and the row of each among them."""
    is_used = np.bincount(numbers) > 0
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[numbers]


def _count(tree: SyntaxTree, grammar: Grammar) -> dict[str, int]:
    errors = np.count_nonzero(tree.kind == len(grammar.kinds) - 1)
    counts = {"syntax errors": int(errors), "missing nodes": int(np.count_nonzero(tree.is_missing))}
    return {name: count for name, count in counts.items() if count}
