"""What the columns of CoNLL-U can hold: texts and heads as they are where they can be, else changed and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.exporters.sentence_columns import ABSENT, Sentences
from lisdata.hexatag import TreeFault, tag_trees

Bools = npt.NDArray[np.bool_]

NO_TREE = "sentences whose heads are no tree"
TAGS = "hexatags"

_BINARY = pa.large_binary()
_LINE_BREAKS = "[\t\n\r]+"
_ANY_SPACES = "[\t\n\r ]+"
_ONLY_SPACES = "^ *$"
_MAX_HEAD = np.iinfo(np.int32).max


def fit_column(texts: pa.Array, what: str, losses: Counter[str], *, may_have_spaces: bool) -> pa.Array:
    """Return large_binary texts that a column can hold; those that are not as they were are a loss under `what`.

    Tabs and line ends become a space, or _ where the column may have none, nothing becomes _, and bytes that are not
    UTF-8 the replacement character.
    """
    fitting = to_utf8(texts)
    breaks, filling = (_LINE_BREAKS, " ") if may_have_spaces else (_ANY_SPACES, "_")
    fitting = pc.replace_substring_regex(fitting, breaks, filling)
    if may_have_spaces:
        is_blank = pc.and_(pc.match_substring_regex(fitting, _ONLY_SPACES), pc.not_equal(fitting, texts))
        fitting = pc.if_else(is_blank, pa.scalar(b"", _BINARY), fitting)
    fitting = pc.if_else(pc.equal(pc.binary_length(fitting), 0), pa.scalar(b"_", _BINARY), fitting)
    losses[f"{what} that no column can hold"] += pc.sum(pc.not_equal(fitting, texts)).as_py() or 0
    return fitting


def to_utf8(texts: pa.Array) -> pa.Array:
    """Return large_binary texts whose bytes are UTF-8."""
    try:
        texts.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([text.decode(errors="replace").encode() for text in texts.to_pylist()], _BINARY)
    return texts


def fit_trees(sentences: Sentences, losses: Counter[str], *, with_tags: bool) -> Sentences:
    """Return the sentences without those heads that are no tree with one root, which are a loss.

    Tags are losses too that are neither written (`with_tags`) nor those of the tree, by which they come back.
    """
    offsets = np.concatenate(([0], np.cumsum(sentences.num_words)))
    heads = np.clip(sentences.head, ABSENT, _MAX_HEAD).astype(np.int32)
    tagged = tag_trees(heads, offsets, lift=True)
    has_heads = np.bincount(sentences.word_row[heads != ABSENT], minlength=len(offsets) - 1) > 0
    is_wrong = has_heads & (tagged.fault != TreeFault.NONE)
    losses[NO_TREE] += int(np.count_nonzero(is_wrong))
    has_tags = (sentences.terminal >= 0) | (sentences.nonterminal >= 0)
    comes_back = (sentences.terminal == tagged.terminal) & (sentences.nonterminal == tagged.nonterminal)
    if with_tags:
        comes_back |= (sentences.terminal >= 0) & (sentences.nonterminal >= 0)
    losses[TAGS] += int(np.count_nonzero(has_tags & ~comes_back))
    return replace(sentences, head=np.where(is_wrong[sentences.word_row], ABSENT, sentences.head))
