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
        distinct = {row.values.tobytes(): row.values for row in rows}
        found = dict(zip(distinct, self._surprisals(list(distinct.values())), strict=True))
        begin = len(self._rows.start)
        return [to_surprisals(row, found[row.values.tobytes()][begin:].copy()) for row in rows]

    def _surprisals(self, rows: list[Int64]) -> list[Float64]:
        """Return the surprisal of each token of each row, 0 of the first."""
        found = [np.zeros(row.shape[1]) for row in rows]
        scorable = [number for number, row in enumerate(rows) if row.shape[1] > 1]
        lengths = [rows[number].shape[1] for number in scorable]
        with evaluating(self._model) as device:
            for places in iter_batches(lengths, self.scoring.batch_tokens):
                numbers = [scorable[place] for place in places]
                batch = pad_rows([rows[number] for number in numbers])
                batch = apply_tag_regime(batch, self.scoring.regime, seed=self.scoring.seed)
                nll, targets = next_token_nll(self._model, move_batch(batch, device))
                scored = [
                    row[is_scored].double().cpu().numpy()
                    for row, is_scored in zip(nll, targets != NOT_SCORED, strict=True)
                ]
                for number, surprisals in zip(numbers, scored, strict=True):
                    found[number][1:] = surprisals
        return found
