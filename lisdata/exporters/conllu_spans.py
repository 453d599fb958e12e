"""How the words of sentences lie in their text: which have no space after them, which are of one multiword token."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.exporters.sentence_columns import Sentences
from lisdata.kernels.arrays import binary_array, binary_buffers

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

WHITE_SPACE = "text around words that is not one space"
SPELLINGS = "words that the text spells otherwise"

_SPACE = ord(" ")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSpans:
    """Of each of W words: whether no space follows, whether the neighbours share its span (`is_shared`), its surface.

    Words that share a span are a multiword token, from `first` to `last`; these have an entry a token.
    """

    has_no_space: Bools
    is_shared: Bools
    surface: pa.Array
    first: Int64
    last: Int64


def find_spans(sentences: Sentences, losses: Counter[str], *, has_spaces_after: bool) -> WordSpans:
    """Return how words lie in the documents; what else stands around them than one space, or nothing, is a loss.

    Sentences of running text have the white space after them (`has_spaces_after`), those of a treebank have not, and a
    space is taken to follow. A word that is not what its span spells, without being of a multiword token, is a loss.
    """
    begin, end, row = sentences.begin, sentences.end, sentences.word_row
    is_last = np.append(row[1:] != row[:-1], np.ones(min(1, len(row)), np.bool_))
    following = np.append(begin[1:], 0)
    goes_on = ~is_last & (begin == following) & (end == np.append(end[1:], 0)) & (begin < end)
    was_on = np.concatenate(([False], goes_on))[:-1]
    offsets, data = binary_buffers(sentences.documents)
    size = np.diff(offsets)[row]
    gap = np.where(is_last, size - end, following - end)
    place = np.minimum(offsets[row] + np.maximum(end, 0), max(len(data) - 1, 0))
    is_odd = (gap != 0) & ((gap != 1) | (is_last & (not has_spaces_after)))
    if len(data):
        is_odd |= (gap == 1) & (data[place] != _SPACE)
    is_first = np.concatenate(([True], is_last))[:-1]
    losses[WHITE_SPACE] += int(np.count_nonzero(is_odd & ~goes_on & (end >= 0)) + np.count_nonzero(begin[is_first] > 0))
    is_shared = goes_on | was_on
    surface = _spell(sentences)
    is_spelled = np.asarray(pc.equal(surface, sentences.lexical.take(pa.array(sentences.form))))
    losses[SPELLINGS] += int(np.count_nonzero(~is_shared & ~is_spelled))
    return WordSpans(
        has_no_space=(has_spaces_after | ~is_last) & ~goes_on & (gap == 0) & (end >= 0),
        is_shared=is_shared,
        surface=surface,
        first=np.flatnonzero(goes_on & ~was_on),
        last=np.flatnonzero(~goes_on & was_on),
    )


def _spell(sentences: Sentences) -> pa.Array:
    """Return the bytes of each word's span as large_binary; none where it has no span in the document."""
    offsets, data = binary_buffers(sentences.documents)
    size = np.diff(offsets)[sentences.word_row]
    is_inside = (sentences.begin >= 0) & (sentences.begin <= sentences.end) & (sentences.end <= size)
    lengths = np.where(is_inside, sentences.end - sentences.begin, 0)
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    first = np.where(is_inside, offsets[:-1][sentences.word_row] + sentences.begin, 0)
    at = np.repeat(first - bounds[:-1], lengths) + np.arange(bounds[-1])
    return binary_array(bounds.astype(np.int64), data[at], pa.large_binary())
