"""Dependency trees of spaCy's documents as flat arrays, without tokens of white space."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from spacy.attrs import DEP, HEAD, IDX, IS_SPACE, LENGTH, SENT_START

from lisdata.parsers.sentences import ParserError

if TYPE_CHECKING:
    from spacy.tokens import Doc

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

OUTSIDE = -1  # stands for a head that lies in another sentence: no tree has it


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacyTrees:
    """The trees of the M sentences of some documents that have words, N words in all.

    Words of sentence m are rows offsets[m] : offsets[m + 1]; `doc` (M,) is the number of its document. `token` is a
    word's number in its document, `begin` and `end` its characters there, `head` 1-based inside the sentence with 0 =
    root, `deprel` a hash in the string store.
    """

    offsets: Int64
    doc: Int64
    token: Int64
    begin: Int64
    end: Int64
    head: Int32
    deprel: UInt64


def read_trees(docs: Iterable[Doc]) -> SpacyTrees:
    """Return the trees of documents, none of which is kept; what depends on white space goes to the head of that.

    Raises ParserError where no parser has run.
    """
    columns = [_read_columns(doc) for doc in docs]
    head, starts, deprel, begin, length, space = np.concatenate([np.zeros((0, 6), np.uint64), *columns]).T
    sizes = np.array([len(of_doc) for of_doc in columns], np.int64)
    doc_of, in_doc = np.repeat(np.arange(len(columns)), sizes), _count_up(sizes)
    sentence = np.cumsum((starts == 1) | (in_doc == 0)) - 1
    parent = np.arange(len(head)) + head.astype(np.int64)  # stored relative, negative ones wrapped round
    is_space = space != 0
    if (is_space[parent] & ~is_space).any():
        parent = _without_spaces(parent, is_space, sentence)
    token = np.flatnonzero(~is_space)
    counts = np.bincount(sentence[token])
    first = np.cumsum(counts) - counts  # words before the sentence
    number = np.cumsum(~is_space)  # words up to and with the token
    of, to = sentence[token], parent[token]
    heads = np.where(to == token, 0, np.where(sentence[to] == of, number[to] - first[of], OUTSIDE))
    offsets = np.concatenate(([0], np.cumsum(counts[counts > 0]))).astype(np.int64)
    return SpacyTrees(
        offsets=offsets,
        doc=doc_of[token[offsets[:-1]]],
        token=in_doc[token],
        begin=begin[token].astype(np.int64),
        end=(begin + length)[token].astype(np.int64),
        head=heads.astype(np.int32),
        deprel=deprel[token],
    )


def _read_columns(doc: Doc) -> UInt64:
    if not doc.has_annotation("DEP") and any(not token.is_space for token in doc):
        raise ParserError("expected a document with dependencies, found none: a parser has to run before")
    columns = doc.to_array([HEAD, SENT_START, DEP, IDX, LENGTH, IS_SPACE])
    return np.asarray(columns, np.uint64).reshape(-1, 6)  # as they are: the stubs know no integers


def _without_spaces(parent: Int64, is_space: Bools, sentence: Int64) -> Int64:
    """Return heads none of which is white space.

    Where white space is the root, the first word that would depend on it takes its place.
    """
    for _ in range(len(parent).bit_length()):  # each time twice as many spaces in a row are passed
        parent = np.where(is_space[parent], parent[parent], parent)
    orphans = np.flatnonzero(is_space[parent] & ~is_space)
    _, first = np.unique(sentence[orphans], return_index=True)
    roots = orphans[first]
    parent[orphans] = roots[np.searchsorted(sentence[roots], sentence[orphans])]
    return parent


def _count_up(sizes: Int64) -> Int64:
    """Return 0 .. n - 1 for each n of `sizes`, one after another."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
