"""The concrete syntax tree of a source file as flat arrays, walked with tree-sitter's cursor and never by recursion."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lisdata.sources.code_languages import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_CHUNK_NODES = 1 << 12
_KIND, _BEGIN, _END, _MISSING = (attrgetter(n) for n in ("kind_id", "start_byte", "end_byte", "is_missing"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxTree:
    """N nodes in document order: number of the kind in the grammar, bytes, field in the parent, number of the parent.

    A node that the parser made up to go on is missing: it has no bytes. An error is a node of the kind ERROR.
    """

    kind: Int64
    begin: Int64
    end: Int64
    field: Int64
    parent: Int64
    is_missing: Bools

    @staticmethod
    def joined(trees: list[SyntaxTree]) -> SyntaxTree:
        """Return several trees, one after another."""
        return SyntaxTree(**{f.name: np.concatenate([getattr(tree, f.name) for tree in trees]) for f in _FIELDS})


_FIELDS = fields(SyntaxTree)


def parse_code(data: bytes, grammar: Grammar) -> SyntaxTree:
    """Return the tree of a source file, which any bytes have."""
    tree = grammar.parser.parse(data)
    return _Walk(tree).to_arrays(grammar)


class _Walk:
    """What is gathered of the nodes on the way: objects only for a chunk of them at a time."""

    def __init__(self, tree: Tree) -> None:
        self._chunks: list[tuple[npt.NDArray[Any], ...]] = []
        self._num_taken = 0
        self._has_error = tree.root_node.has_error
        self._visit(tree)

    def _visit(self, tree: Tree) -> None:
        cursor = tree.walk()
        to_child, to_sibling, to_parent = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
        nodes: list[Node | None] = []
        parents: list[int] = []
        in_field: list[int] = []  # nodes that stand in a field, which most do not, and their fields
        fields: list[int] = []
        note_node, note_parent = nodes.append, parents.append
        note_in_field, note_field = in_field.append, fields.append
        open_nodes: list[int] = []
        parent, number, take_at = -1, 0, _CHUNK_NODES
        while True:
            note_node(cursor.node)
            note_parent(parent)
            if field := cursor.field_id:
                note_in_field(number)
                note_field(field)
            if to_child():
                open_nodes.append(parent)
                parent = number
                number += 1
                continue
            number += 1
            while not to_sibling():
                if not to_parent():
                    return self._take(nodes, parents, in_field, fields)
                parent = open_nodes.pop()
            if number >= take_at:
                self._take(nodes, parents, in_field, fields)
                take_at = number + _CHUNK_NODES

    def _take(self, nodes: list[Any], parents: list[int], in_field: list[int], fields: list[int]) -> None:
        """Read the attributes of a chunk, one after another: that is faster than node by node; empty the lists."""
        size = len(nodes)
        field = np.zeros(size, np.int64)
        field[np.array(in_field, np.int64) - self._num_taken] = fields
        self._num_taken += size
        chunk = (
            np.fromiter(map(_KIND, nodes), np.uint16, size),
            np.fromiter(map(_BEGIN, nodes), np.int64, size),
            np.fromiter(map(_END, nodes), np.int64, size),
            field,
            np.fromiter(parents, np.int64, size),
            np.fromiter(map(_MISSING, nodes), bool, size) if self._has_error else np.zeros(size, bool),
        )
        self._chunks.append(chunk)
        for values in (nodes, parents, in_field, fields):
            values.clear()

    def to_arrays(self, grammar: Grammar) -> SyntaxTree:
        ids, begin, end, field, parent, is_missing = map(np.concatenate, zip(*self._chunks, strict=True))
        return SyntaxTree(
            kind=grammar.kind_numbers(ids), begin=begin, end=end, field=field, parent=parent, is_missing=is_missing
        )
