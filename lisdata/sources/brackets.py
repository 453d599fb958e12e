"""Constituency trees in brackets, as the Penn Treebank has them: ( (S (NP-SBJ (NNP Ada)) (VP (VBZ sings)) (. .)) )."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from lisdata.inputs import InputSlice
from lisdata.records import TreeRecords
from lisdata.registry import Reject
from lisdata.sources.brackets_blocks import iter_trees
from lisdata.sources.brackets_records import trees_to_records

_MAX_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class BracketsOptions:
    """Options of source brackets."""

    labels: Literal["split", "whole"] = field(
        default="split",
        metadata={"help": "NP-SBJ-1 is NP with the attributes function SBJ and index 1, or a label of its own."},
    )
    keep_document: bool = field(default=True, metadata={"help": "Keep the bytes of each tree beside it."})
    max_tree_bytes: int = field(default=1 << 20, metadata={"help": "Refuse a tree that is not closed by then."})

    def __post_init__(self) -> None:
        if not 1 <= self.max_tree_bytes <= _MAX_LIMIT:
            raise ValueError(f"expected a limit of 1 to {_MAX_LIMIT} bytes, got {self.max_tree_bytes=}")


@dataclass(frozen=True, slots=True)
class BracketsSource:
    """Reads files of one tree or many, on any number of lines; together the records are the file's bytes.

    A file is not cut, because a line that begins with a bracket need not begin a tree. What is between trees and is no
    white space is a bad record.
    """

    name: str = "brackets"
    summary: str = "Constituency trees in brackets (Penn Treebank), functions and traces kept"
    suffixes: tuple[str, ...] = (".mrg", ".ptb", ".parse", ".brackets")
    converter: str = "trees"
    exporter: str = "brackets"
    splits: bool = False
    options_type: type[BracketsOptions] = BracketsOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: BracketsOptions) -> int:
        """Raise ValueError: a file of trees is never cut."""
        raise ValueError(f"a file of bracketed trees is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: BracketsOptions, reject: Reject) -> Iterator[TreeRecords]:
        """Yield the trees of `piece`."""
        for block, trees in iter_trees(piece, options.max_tree_bytes, reject):
            if len(trees.root):
                yield trees_to_records(
                    block, trees, splits_labels=options.labels == "split", keeps_documents=options.keep_document
                )


BRACKETS = BracketsSource()
