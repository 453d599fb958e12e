"""Surprisals of sentences under a causal model of lisdata, with hexatags where the model takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import nn

from lisdata.encoding import Tokenizer
from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.sentence_rows import SentenceRows, check_model, iter_batches, pad_rows, to_surprisals
from lisdata.evaluation.sentence_scores import Float64, Int64, TextTags, TokenSurprisals
from lisdata.training.loss import NOT_SCORED, move_batch, next_token_nll
from lisdata.training.tag_regimes import TAG_REGIMES, apply_tag_regime

SCORING_REGIMES = tuple(regime for regime in TAG_REGIMES if regime != "prefix")
TAGLESS = ("none", "losses-only")
"""Regimes under which a model sees no tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalScoring:
    """How a causal model reads sentences.

    Each begins with `start`, a text that the tokenizer knows as tokens ("<s>", or a newline for characters): these are
    read and not scored. None is what the tokenizer's own template puts first. With no start the first token has nothing
    before it and counts 0. Then comes `end`, which is scored; by default there is none.

    `regime` says which of the given tags the model sees (see `lisdata.training.tag_regimes`), `seed` is for "shuffled".
    "prefix" is not among them: there a text has other tags for each of its tokens, so a caller scores prefixes.
    """

    start: str | None = None
    end: str = ""
    regime: str = "full"
    seed: int = 0
    batch_tokens: int = 2048

    def __post_init__(self) -> None:
        if self.regime not in SCORING_REGIMES:
            raise ValueError(f"regime={self.regime!r} is none of {', '.join(SCORING_REGIMES)}")
        if self.batch_tokens < 1 or self.seed < 0:
            raise ValueError(f"expected batch_tokens from 1 and a seed from 0, got {self.batch_tokens}, {self.seed}")


class CausalScorer:
    """A `SentenceScorer` of a model with logits (B, T, V) of the next token, from some of `COLUMNS`.

    `counts` adds up what could not be aligned: words whose tags no token bears, tokens that overlap several words.
    Raises ValueError for a model that reads other columns, LisDataError for one of fewer tokens than the tokenizer has.
    """

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, scoring: CausalScoring | None = None) -> None:
        self.scoring = scoring or CausalScoring()
        self._model = model
        self._rows = SentenceRows(tokenizer, start=self.scoring.start, end=self.scoring.end)
        check_model(model, tokenizer)

    def describe(self) -> dict[str, Any]:
        """Return, ready for JSON, the conventions under which sentences are scored, and the counts so far."""
        first = "scored after the start" if len(self._rows.start) else "not scored: it counts 0"
        ids = {"start_ids": self._rows.start.tolist(), "end_ids": self._rows.end.tolist()}
        return {**asdict(self.scoring), **ids, "first_token": first, **self.counts}

    @property
    def counts(self) -> Counter[str]:
        """What could not be aligned so far."""
        return self._rows.counts

    def score(self, texts: Sequence[str], tags: Sequence[TextTags] | None = None) -> list[TokenSurprisals]:
        """Return the surprisals of each text; rows of the same tokens and tags are computed once, so they are equal.

        Without `tags` the model sees none.
        """
        rows = self._rows.make(texts, None if self.scoring.regime in TAGLESS else tags)
        found = score_rows(self._model, [row.values for row in rows], self.scoring)
        begin = len(self._rows.start)
        return [to_surprisals(row, surprisals[begin:]) for row, surprisals in zip(rows, found, strict=True)]


def score_rows(model: nn.Module, rows: Sequence[Int64], scoring: CausalScoring) -> list[Float64]:
    """Return the surprisal of each token of each row (3, T), 0 of the first.

    Rows of the same tokens and tags are computed once, so they are equal.
    """
    distinct = {row.tobytes(): row for row in rows}
    found = {key: np.zeros(row.shape[1]) for key, row in distinct.items()}
    scorable = [key for key, row in distinct.items() if row.shape[1] > 1]
    lengths = [distinct[key].shape[1] for key in scorable]
    with evaluating(model) as device:
        for places in iter_batches(lengths, scoring.batch_tokens):
            keys = [scorable[place] for place in places]
            batch = apply_tag_regime(pad_rows([distinct[key] for key in keys]), scoring.regime, seed=scoring.seed)
            nll, targets = next_token_nll(model, move_batch(batch, device))
            for key, row, is_scored in zip(keys, nll, targets != NOT_SCORED, strict=True):
                found[key][1:] = row[is_scored].double().cpu().numpy()
    return [found[row.tobytes()].copy() for row in rows]
