"""Heads to hexatags and back, of one sentence or of many in flat arrays; errors name sentence, words and fault."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lisdata.errors import TagError, TreeError
from lisdata.hexatag.arrays import Int8, Int32, Integers, checked_offsets, flat_integers
from lisdata.hexatag.faults import describe_fault, describe_tag_fault


def encode(heads: Integers) -> tuple[Int8, Int8]:
    """Return the terminal and nonterminal tags of a sentence; heads are 1-based, 0 is the root's.

    Raise TreeError where the heads are not a projective tree with one root.
    """
    return encode_batch(heads, [0, len(heads)])


def decode(terminal: Integers, nonterminal: Integers) -> Int32:
    """Return the heads that the tags of a sentence stand for; raise TagError where the tags are not valid."""
    return decode_batch(terminal, nonterminal, [0, len(terminal)])


def encode_batch(heads: Integers, offsets: Integers) -> tuple[Int8, Int8]:
    """Return the tags of all sentences; sentence i is heads[offsets[i]:offsets[i + 1]].

    Contiguous int32 heads and int64 offsets are not copied. The tags have the length of `heads` and go with the same
    offsets; outside them they are -100. Raise TreeError at the first sentence that is no projective tree with one root.
    """
    from lisdata.kernels.hexatag_encode import encode_sentences

    bounds = checked_offsets(offsets, len(heads))
    terminal, nonterminal, faults = encode_sentences(flat_integers(heads, np.int32, "heads"), bounds)
    if faults.any():
        row = int(faults.argmax())
        sentence = _values(heads, bounds[row], bounds[row + 1])
        raise TreeError(_place(row, len(faults)) + describe_fault(faults[row], sentence))
    return terminal, nonterminal


def decode_batch(terminal: Integers, nonterminal: Integers, offsets: Integers) -> Int32:
    """Return the heads of all sentences, with the length of the tags and -1 outside the offsets.

    Contiguous int8 tags and int64 offsets are not copied. Raise TagError at the first sentence with tags that are not
    valid.
    """
    from lisdata.kernels.hexatag_decode import decode_sentences

    if len(terminal) != len(nonterminal):
        raise ValueError(f"expected as many tags of each kind, found {len(terminal)} and {len(nonterminal)}")
    bounds = checked_offsets(offsets, len(terminal))
    leaves, nodes = flat_integers(terminal, np.int8, "terminal"), flat_integers(nonterminal, np.int8, "nonterminal")
    heads, is_wrong = decode_sentences(leaves, nodes, bounds)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        sentence = (_values(tags, bounds[row], bounds[row + 1]) for tags in (terminal, nonterminal))
        raise TagError(_place(row, len(is_wrong)) + describe_tag_fault(*sentence))
    return heads


def canonicalise(terminal: Integers, nonterminal: Integers, offsets: Integers | None = None) -> tuple[Int8, Int8]:
    """Return the tags that `encode` gives to the tree of valid tags: those of one sentence, or of all at `offsets`.

    Several sequences decode to one tree, and a model may predict any of them. Raise TagError where tags are not valid.
    """
    bounds = [0, len(terminal)] if offsets is None else offsets
    return encode_batch(decode_batch(terminal, nonterminal, bounds), bounds)


def _values(numbers: Integers, begin: int, end: int) -> Sequence[int]:
    part = numbers[begin:end]
    return part if isinstance(part, Sequence) else np.asarray(part).tolist()


def _place(row: int, num_rows: int) -> str:
    return "" if num_rows == 1 else f"sentence {row} (counted from 0): "
