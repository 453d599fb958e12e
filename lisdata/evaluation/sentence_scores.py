"""What a scorer of sentences is: surprisals of the tokens of each text, with the characters that they spell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lisdata.errors import LisDataError

Int8 = npt.NDArray[np.int8]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_EXCERPT = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenSurprisals:
    """The surprisals of the N tokens of a text, -log p in nats, float64; 0 where a scorer has none to give.

    Token n spells the characters begin[n] : end[n] of the text, maybe with white space before them. A token that spells
    nothing, such as one for the end, has an empty span.
    """

    begin: Int64
    end: Int64
    surprisal: Float64

    def __post_init__(self) -> None:
        if not len(self.begin) == len(self.end) == len(self.surprisal):
            sizes = f"{len(self.begin)}, {len(self.end)}, {len(self.surprisal)}"
            raise ValueError(f"expected a begin, an end and a surprisal a token, got {sizes} of them")

    @property
    def total(self) -> float:
        """-log p of the text, in nats."""
        return float(self.surprisal.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TextTags:
    """The hexatags of the W words of a text; `spans` (W, 2) are their characters [begin, end), in order.

    `terminal` and `nonterminal` are negative where a word is untagged. `num_lifted` arcs were lifted to tag the text.
    `deprels` are the words' dependency relations, None where they were not asked for.
    """

    spans: Int64
    terminal: Int8
    nonterminal: Int8
    num_lifted: int = 0
    deprels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        sizes = [len(self.spans), len(self.terminal), len(self.nonterminal)]
        sizes += [] if self.deprels is None else [len(self.deprels)]
        if len(set(sizes)) > 1 or self.spans.shape[1:] != (2,):
            raise ValueError(f"expected a span and two tags a word, got {', '.join(map(str, sizes))} of them")


TagTexts = Callable[[Sequence[str]], Sequence[TextTags]]
"""Gives the tags of each text, in order."""


class SentenceScorer(Protocol):
    """Anything that gives surprisals: a model, or a table of what another tool computed."""

    def score(self, texts: Sequence[str], tags: Sequence[TextTags] | None = None) -> Iterable[TokenSurprisals]:
        """Return the surprisals of each text, in order; `tags` are for scorers that read them."""


def score_sentences(
    scorer: SentenceScorer, texts: Sequence[str], tags: Sequence[TextTags] | None = None
) -> list[TokenSurprisals]:
    """Return what the scorer gives, one for each text, once every surprisal is known to be a number.

    Raises LisDataError for one that is none (of a model that diverged), ValueError for another number of results or a
    token outside its text.
    """
    scores = list(scorer.score(texts, tags))
    if len(scores) != len(texts):
        raise ValueError(f"expected surprisals for each of {len(texts)} texts, got {len(scores)}")
    for text, score in zip(texts, scores, strict=True):
        if np.isnan(score.surprisal).any():
            raise LisDataError(f"surprisals of {text[:_EXCERPT]!r}: expected numbers, found nan (a model diverged?)")
        if np.any(score.begin < 0) or np.any(score.begin > score.end) or np.any(score.end > len(text)):
            raise ValueError(f"expected tokens within the {len(text)} characters of {text[:_EXCERPT]!r}")
    return scores


def tags_of(texts: Sequence[str], tag: TagTexts | None) -> Sequence[TextTags] | None:
    """Return the tags that `tag` gives, one for each text (else ValueError); None where there is no `tag`."""
    if tag is None:
        return None
    tags = tag(texts)
    if len(tags) != len(texts):
        raise ValueError(f"expected tags for each of {len(texts)} texts, got {len(tags)}")
    return tags
