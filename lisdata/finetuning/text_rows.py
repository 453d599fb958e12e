"""One text or two as a row of tokens with their hexatags, put together as the tokenizer's template says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lisdata.encoding import Tokenizer, pair_template_ids, template_ids
from lisdata.evaluation.sentence_rows import SentenceRows
from lisdata.evaluation.sentence_scores import Int64, TagTexts, tags_of
from lisdata.training.tag_regimes import UNTAGGED


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TextRows:
    """Rows (3, T) of ids and tags; `counts` says what was cut and what could not be aligned."""

    rows: list[Int64]
    counts: Counter[str]


def make_text_rows(
    texts: Sequence[tuple[str, ...]], tokenizer: Tokenizer, tag: TagTexts | None, *, max_length: int
) -> TextRows:
    """Return a row of at most `max_length` tokens for each text or pair of texts.

    Each text is tagged by itself, if there is a `tag`; tokens of the template have no tags. What is too long loses
    tokens at the end of its longer text. Raises ValueError where the template alone fills a row.
    """
    maker = SentenceRows(tokenizer, start="", end="")
    sides = [[row.values for row in maker.make(side, tags_of(side, tag))] for side in zip(*texts, strict=True)]
    template = template_ids(tokenizer) if len(sides) == 1 else pair_template_ids(tokenizer)
    room = max_length - sum(map(len, template))
    if room < len(sides):
        raise ValueError(f"{max_length=} leaves no room beside {max_length - room} tokens of the tokenizer's template")
    frame = [_untagged(ids) for ids in template]
    rows, counts = [], maker.counts
    for parts in zip(*sides, strict=True):
        kept = cut_lengths([part.shape[1] for part in parts], room)
        counts["rows_cut"] += any(length < part.shape[1] for length, part in zip(kept, parts, strict=True))
        shown = [part[:, :length] for part, length in zip(parts, kept, strict=True)]
        between = [piece for pair in zip(frame[:-1], shown, strict=True) for piece in pair]
        rows.append(np.concatenate([*between, frame[-1]], axis=1))
    return TextRows(rows=rows, counts=counts)


def cut_lengths(lengths: Sequence[int], room: int) -> list[int]:
    """Return how much stays of one part or two that have `room` together: a part beyond half gives up first."""
    if len(lengths) == 1:
        return [min(lengths[0], room)]
    first, second = lengths
    kept = min(first, max(room - second, room - room // 2))
    return [kept, min(second, room - kept)]


def _untagged(ids: Int64) -> Int64:
    return np.stack([ids, np.full_like(ids, UNTAGGED), np.full_like(ids, UNTAGGED)])
