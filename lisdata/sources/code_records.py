"""Syntax trees as records: what each node shows, and its role in its parent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.inputs import InputFile
from lisdata.records import TreeRecords
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.byte_spans import cut_spans
from lisdata.sources.code_languages import Grammar
from lisdata.sources.code_trees import SyntaxTree

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]


def tree_to_records(tree: SyntaxTree, grammar: Grammar, data: bytes, file: InputFile) -> TreeRecords:
    """Return the tree as records, a node each.

    A leaf that has bytes is a token: its content is a WORD, so that a name is one content wherever it stands, and its
    kind is told by its role, child#token:KIND; an unnamed one ("+", "return") that is spelled as its kind is called is
    a plain child. Each other node is a NAME, its kind, whose datatype is the language (LANGUAGE:unnamed,
    LANGUAGE:missing). What stands in a field of its parent is in the role child#field:FIELD, with "+token:KIND" behind
    it where it is a token of a kind.
    """
    labels = LabelBuilder()
    contents = ContentColumns(labels)
    tokens = _Tokens.of(tree, grammar, data)
    words = contents.add(ContentKind.WORD, tokens.texts)
    kinds = _add_kinds(contents, tree, grammar, tokens)
    table, rows_of = contents.finish()
    size = len(tree.kind)
    content = np.empty(size, np.uint32)
    content[tokens.node] = rows_of[words]
    for column, row, node in kinds:
        content[node] = rows_of[column][row]
    return TreeRecords(
        file=file,
        label="code",
        documents=pa.array([data], pa.large_binary()),
        begin=np.zeros(1, np.uint64),
        end=np.full(1, len(data), np.uint64),
        contents=table,
        node_offsets=np.array([0, size], np.int64),
        node_parent=tree.parent,
        node_content=content,
        node_span_begin=tree.begin.astype(np.uint64),
        node_span_end=tree.end.astype(np.uint64),
        attribute_offsets=np.zeros(size + 1, np.int64),
        attribute_role=np.empty(0, np.uint32),
        attribute_content=np.empty(0, np.uint32),
        node_role=_roles(tree, grammar, tokens, labels),
        labels=labels.to_arrow(),
        counts=_count(tree, grammar),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tokens:
    """The leaves that have bytes: the node of each, its bytes, and whether these are not what its kind is called."""

    node: Int64
    texts: pa.LargeBinaryArray
    is_of_kind: Bools

    @staticmethod
    def of(tree: SyntaxTree, grammar: Grammar, data: bytes) -> _Tokens:
        is_token = tree.end > tree.begin
        is_token[tree.parent[1:]] = False
        node = np.flatnonzero(is_token)
        texts = cut_spans(data, tree.begin[node], tree.end[node])
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


def _roles(tree: SyntaxTree, grammar: Grammar, tokens: _Tokens, labels: LabelBuilder) -> UInt32:
    """Return the role of each node, NO_ROW for a plain one."""
    kind = np.zeros(len(tree.kind), np.int64)  # one more than that of a token of a kind
    kind[tokens.node[tokens.is_of_kind]] = tree.kind[tokens.node[tokens.is_of_kind]] + 1
    used, row = _distinct(kind * len(grammar.fields) + tree.field)
    roles = [NO_ROW if role is None else labels.role(role) for role in map(grammar.role, used.tolist())]
    found = np.array(roles, np.uint32)[row]
    if kind[0]:
        found[0] = labels.role(Role("root", grammar.sides[tree.kind[0]]))
    return found


def _distinct(numbers: Int64) -> tuple[Int64, Int64]:
    """Return the distinct numbers, which are small, and the row of each among them."""
    is_used = np.bincount(numbers) > 0
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[numbers]


def _count(tree: SyntaxTree, grammar: Grammar) -> dict[str, int]:
    errors = np.count_nonzero(tree.kind == len(grammar.kinds) - 1)
    counts = {"syntax errors": int(errors), "missing nodes": int(np.count_nonzero(tree.is_missing))}
    return {name: count for name, count in counts.items() if count}
