"""Rows under tags that a reader could know: those of parses of the text as far as it was read.

The parse of a whole sentence tells of words to come. Here a token is predicted from tags that are a function of the
tokens before it alone, so that the product over tokens is a probability of the text. There are three forms:

    prefix         the text read so far is parsed anew at each token, and all its words have the tags of that parse,
                   but for the nonterminal of the newest word: that is EOS whatever follows
    prefix-moved   the same, each nonterminal moved to the word after its own, which undoes the left shift of SiPE: the
                   newest word then has the node that joins it to the words before it
    frozen         tags as in prefix-moved, but each word keeps those that it got when it was the newest: a parser that
                   never revises

"prefix" is what a model that learned from whole sentences can be given; "prefix-moved" and "frozen" are for one that
learned from frozen tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Literal, TypeAlias

import numpy as np

from lisdata.encoding import align_tags
from lisdata.encoding.frozen_tags import prefix_ends
from lisdata.evaluation.sentence_rows import SentenceRow
from lisdata.evaluation.sentence_scores import Int64, TagTexts, TextTags
from lisdata.hexatag.arrays import Int8
from lisdata.training.tag_regimes import EOS, UNTAGGED

PrefixForm: TypeAlias = Literal["prefix", "prefix-moved", "frozen"]
PREFIX_FORMS: tuple[PrefixForm, ...] = ("prefix", "prefix-moved", "frozen")


def tag_prefixes(rows: Sequence[SentenceRow], tag: TagTexts) -> list[list[TextTags]]:
    """Return for each row the tags of the text of its first 0, 1, 2 ... tokens."""
    texts = [["", *(row.text[:end] for end in prefix_ends(*row.spans.T).tolist())] for row in rows]
    distinct = list(dict.fromkeys(text for text in chain.from_iterable(texts) if text.strip()))
    found = dict(zip(distinct, tag(distinct), strict=True))
    return [[found.get(text, _NO_WORDS) for text in own] for own in texts]


_NO_WORDS = TextTags(spans=np.zeros((0, 2), np.int64), terminal=np.zeros(0, np.int8), nonterminal=np.zeros(0, np.int8))


def place_prefixes(
    rows: Sequence[SentenceRow], prefixes: Sequence[Sequence[TextTags]], form: PrefixForm
) -> list[list[Int64]]:
    """Return for each row the tags (2, n) of its first n = 0, 1, 2 ... tokens by the parse of their text.

    `prefixes` are those of `tag_prefixes`. For "frozen" tags are placed as for "prefix-moved".
    """
    change = withhold_last if form == "prefix" else move_nonterminals
    texts, words, pieces, terminal, nonterminal, sizes = [], [], [], [], [], []
    begin = 0
    for row, own in zip(rows, prefixes, strict=True):
        for number, end in enumerate(prefix_ends(*row.spans.T).tolist(), 1):
            tags = own[number]
            texts.append(row.text[:end])
            words.append(tags.spans + begin)
            pieces.append(np.minimum(row.spans[:number], end) + begin)
            terminal.append(tags.terminal)
            nonterminal.append(change(tags.nonterminal))
            sizes.append(number)
            begin += end
    if not sizes:
        return [[_NO_TOKENS] for _ in rows]
    joined = [np.concatenate(parts) for parts in (words, pieces, terminal, nonterminal)]
    aligned = align_tags("".join(texts), *joined)  # at once: as one text, whose parts do not touch each other's words
    placed = np.split(np.stack([aligned.terminal, aligned.nonterminal]).astype(np.int64), np.cumsum(sizes)[:-1], axis=1)
    remaining = iter(placed)
    return [[_NO_TOKENS, *islice(remaining, len(row.spans))] for row in rows]


_NO_TOKENS = np.zeros((2, 0), np.int64)


def withhold_last(nonterminal: Int8) -> Int8:
    """Return the nonterminals of a text without that of its last word."""
    kept = nonterminal.copy()
    kept[-1:] = UNTAGGED
    return kept


def move_nonterminals(nonterminal: Int8) -> Int8:
    """Return for each word of a text the nonterminal of the one before; EOS of the first."""
    return np.concatenate([np.array([EOS], np.int8), nonterminal[:-1]])[: len(nonterminal)]


def freeze_tags(row: SentenceRow, first: int, placed: Sequence[Int64]) -> SentenceRow:
    """Return the row with frozen tags; its text's tokens begin at `first`, `placed` are those of `place_prefixes`.

    A token has a tag where it is the first of the newest word of the text that ends with it.
    """
    values = row.values.copy()
    values[1:] = UNTAGGED
    for place, tags in enumerate(placed[1:], first):
        values[1:, place] = tags[:, -1]
    return SentenceRow(text=row.text, spans=row.spans, values=values)


def iter_steps(row: SentenceRow, first: int, placed: Sequence[Int64]) -> Iterator[Int64]:
    """Yield for each token of the row but its first (and of its end) the row as far as it, tagged as known before it.

    The last token of each is the one to predict, and has no tags. Arguments are those of `freeze_tags`.
    """
    for length in range(2, row.values.shape[1] + 1):
        num_read = min(max(length - 1 - first, 0), len(row.spans))
        values = row.values[:, :length].copy()
        values[1:] = UNTAGGED
        values[1:, first : first + num_read] = placed[num_read]
        yield values
