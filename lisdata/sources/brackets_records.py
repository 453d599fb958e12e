"""Bracketed trees as records: constituents with what their labels say, words, traces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.inputs import InputFile
from lisdata.records import TreeRecords
from lisdata.schema import ContentKind
from lisdata.sources.brackets_labels import CONSTITUENT, EMPTY, ESCAPES, TRACE, Parts, split_label
from lisdata.sources.brackets_scan import Brackets, parents_of
from lisdata.sources.byte_spans import cut_spans

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlaces:
    """T whole trees of a block of bytes: the token that opens each, and the bytes [begin, end) that are its record."""

    root: Int64
    begin: Int64
    end: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class BracketBlock:
    """A block of bytes at `offset` of a file, and its tokens."""

    file: InputFile
    offset: int
    data: bytes
    brackets: Brackets


def trees_to_records(
    block: BracketBlock, trees: TreePlaces, *, splits_labels: bool, keeps_documents: bool
) -> TreeRecords:
    """Return trees as records.

    A constituent is a NAME of datatype constituent, its span the whole bracket; where `splits_labels`, NP-SBJ-1 is NP
    with the attributes function and index. A word is a WORD; -LRB- and -RRB- show the brackets that they stand for.
    What stands under -NONE- is a NAME of datatype trace.
    """
    brackets = block.brackets
    nodes, node_offsets, parent = _find_nodes(brackets, trees)
    tree = np.repeat(np.arange(len(trees.root)), np.diff(node_offsets))
    labels = LabelBuilder()
    shown = _show(block, nodes, parent, labels, splits_labels=splits_labels)
    spans: tuple[UInt64 | None, UInt64 | None] = (None, None)
    documents: list[bytes | None] = [None] * len(trees.root)
    if keeps_documents:
        is_open = brackets.is_open[nodes]
        closing = np.where(is_open, brackets.match[nodes], nodes)
        bounds = (brackets.begin[nodes], brackets.end[closing])
        spans = ((bounds[0] - trees.begin[tree]).astype(np.uint64), (bounds[1] - trees.begin[tree]).astype(np.uint64))
        places = zip(trees.begin.tolist(), trees.end.tolist(), strict=True)
        documents = [block.data[begin:end] for begin, end in places]
    return TreeRecords(
        file=block.file,
        label="brackets",
        documents=pa.array(documents, pa.large_binary()),
        begin=(trees.begin + block.offset).astype(np.uint64),
        end=(trees.end + block.offset).astype(np.uint64),
        contents=shown.contents,
        labels=labels.to_arrow(),
        node_offsets=node_offsets,
        node_parent=np.where(parent < 0, -1, parent - node_offsets[tree]),
        node_content=shown.node_content,
        node_span_begin=spans[0],
        node_span_end=spans[1],
        attribute_offsets=shown.attribute_offsets,
        attribute_role=shown.attribute_role,
        attribute_content=shown.attribute_content,
    )


def _find_nodes(brackets: Brackets, trees: TreePlaces) -> tuple[Int64, Int64, Int64]:
    """Return the token of each node, where each tree's nodes begin among them, and the number of each one's parent."""
    inside = np.zeros(len(brackets.begin) + 1, np.int64)
    inside[trees.root] += 1
    inside[brackets.match[trees.root]] -= 1
    is_node = (brackets.is_open | brackets.is_word) & (np.cumsum(inside[:-1]) > 0)
    nodes = np.flatnonzero(is_node)
    number = np.cumsum(is_node) - 1
    parent = number[parents_of(brackets, nodes)]
    first = number[trees.root]
    parent[first] = -1
    return nodes, np.append(first, len(nodes)), parent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """The contents of nodes, and the attributes that the labels of constituents hold."""

    contents: pa.RecordBatch
    node_content: UInt32
    attribute_offsets: Int64
    attribute_role: UInt32
    attribute_content: UInt32


def _show(block: BracketBlock, nodes: Int64, parent: Int64, labels: LabelBuilder, *, splits_labels: bool) -> _Shown:
    row, written = _read_labels(block, nodes)
    split: list[tuple[str, Parts]] = [split_label(label) if splits_labels else (label, []) for label in written]
    is_word = block.brackets.is_word[nodes]
    is_trace = is_word.copy()
    is_trace[is_word] = np.array([label == EMPTY for label in written])[row[parent[is_word]]]
    is_word &= ~is_trace
    contents = ContentColumns(labels)
    categories = _texts([category for category, _ in split])
    columns = (
        contents.add(ContentKind.NAME, categories, datatype=CONSTITUENT),
        contents.add(ContentKind.WORD, _unescaped(_spelled(block, nodes[is_word]))),
        contents.add(ContentKind.NAME, _spelled(block, nodes[is_trace]), datatype=TRACE),
        contents.add(ContentKind.TEXT, _texts([value for _, parts in split for _, value in parts])),
    )
    table, rows_of = contents.finish()
    category, word, trace, value = (rows_of[column] for column in columns)
    node_content = category[row]
    node_content[is_word], node_content[is_trace] = word, trace
    role = [labels.role(Role("node", f"attr:{sort}")) for _, parts in split for sort, _ in parts]
    in_label = np.cumsum([0, *(len(parts) for _, parts in split)])
    counts = np.where(is_word | is_trace, 0, np.diff(in_label)[row])
    offsets = np.concatenate(([0], np.cumsum(counts)))
    picked = np.repeat(in_label[row] - offsets[:-1], counts) + np.arange(offsets[-1])
    return _Shown(
        contents=table,
        node_content=node_content,
        attribute_offsets=offsets,
        attribute_role=np.array(role, np.uint32)[picked],
        attribute_content=value[picked],
    )


def _read_labels(block: BracketBlock, nodes: Int64) -> tuple[Int64, list[str]]:
    """Return the number of each node's label, and the distinct labels; words have the first, which is empty."""
    has_label = np.append(block.brackets.is_label, False)[nodes + 1] & block.brackets.is_open[nodes]
    encoded = _spelled(block, nodes[has_label] + 1).dictionary_encode()
    row = np.zeros(len(nodes), np.int64)
    row[has_label] = np.asarray(encoded.indices) + 1
    return row, ["", *(label.decode() for label in encoded.dictionary.to_pylist())]


def _spelled(block: BracketBlock, tokens: Int64) -> pa.LargeBinaryArray:
    return cut_spans(block.data, block.brackets.begin[tokens], block.brackets.end[tokens])


def _unescaped(words: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    encoded = words.dictionary_encode()
    distinct = [ESCAPES.get(word, word) for word in encoded.dictionary.to_pylist()]
    return pa.array(distinct, pa.large_binary()).take(encoded.indices)


def _texts(values: list[str]) -> pa.LargeStringArray:
    return pa.array(values, pa.large_string())
