"""Surprisals of sentences under a causal model that is given the tags of what it has read: a true p(x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Any, get_args

import numpy as np
from torch import nn

from lisdata.encoding import Tokenizer
from lisdata.evaluation.causal_scorer import CausalScoring, score_rows
from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.prefix_rows import PrefixForm, freeze_tags, iter_steps, place_prefixes, tag_prefixes
from lisdata.evaluation.sentence_rows import (
    SentenceRow,
    SentenceRows,
    check_model,
    iter_batches,
    pad_rows,
    to_surprisals,
)
from lisdata.evaluation.sentence_scores import Float64, Int64, TagTexts, TextTags, TokenSurprisals
from lisdata.training.loss import move_batch, next_token_nll


class PrefixScorer:
    """A `SentenceScorer` that gives a model the tags of prefixes in one of `PREFIX_FORMS`; `tag` tags their texts.

    Where a text is tagged anew at each token, the model reads it anew at each token. `scoring.regime` is not looked at,
    all tags of the form are given; `tag` had better be a `TagCache`. Raises as `CausalScorer` does.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        tag: TagTexts,
        form: PrefixForm = "prefix",
        scoring: CausalScoring | None = None,
    ) -> None:
        if form not in get_args(PrefixForm):
            raise ValueError(f"{form=} is none of {', '.join(get_args(PrefixForm))}")
        self.scoring, self.form = scoring or CausalScoring(), form
        self._model, self._tag = model, tag
        self._rows = SentenceRows(tokenizer, start=self.scoring.start, end=self.scoring.end)
        check_model(model, tokenizer)

    def describe(self) -> dict[str, Any]:
        """Return, ready for JSON, the conventions under which sentences are scored."""
        first = "scored after the start" if len(self._rows.start) else "not scored: it counts 0"
        return {**asdict(self.scoring), "regime": self.form, "first_token": first}

    def score(self, texts: Sequence[str], tags: Sequence[TextTags] | None = None) -> list[TokenSurprisals]:
        """Return the surprisals of each text; `tags`, those of whole texts, are not looked at."""
        rows = self._rows.make(texts, None)
        placed = place_prefixes(rows, tag_prefixes(rows, self._tag), self.form)
        first = len(self._rows.start)
        if self.form == "frozen":
            frozen = [freeze_tags(row, first, own).values for row, own in zip(rows, placed, strict=True)]
            found = score_rows(self._model, frozen, self._all_tags)
        else:
            found = self._step_by_step(rows, first, placed)
        return [to_surprisals(row, surprisals[first:]) for row, surprisals in zip(rows, found, strict=True)]

    @property
    def _all_tags(self) -> CausalScoring:
        return replace(self.scoring, regime="full")

    def _step_by_step(
        self, rows: Sequence[SentenceRow], first: int, placed: Sequence[Sequence[Int64]]
    ) -> list[Float64]:
        """Return the surprisal of each token of each row, the last one of a row of its own."""
        steps = [list(iter_steps(row, first, own)) for row, own in zip(rows, placed, strict=True)]
        lasts = iter(score_last(self._model, list(chain.from_iterable(steps)), self._all_tags))
        return [
            np.array([0.0, *(next(lasts) for _ in own)])[: row.values.shape[1]]
            for row, own in zip(rows, steps, strict=True)
        ]


def score_last(model: nn.Module, rows: Sequence[Int64], scoring: CausalScoring) -> list[float]:
    """Return the surprisal of the last token of each row (3, T), T at least 2; equal rows are computed once."""
    distinct = {row.tobytes(): row for row in rows}
    keys = list(distinct)
    found: dict[bytes, float] = {}
    with evaluating(model) as device:
        for places in iter_batches([distinct[key].shape[1] for key in keys], scoring.batch_tokens):
            chosen = [keys[place] for place in places]
            nll, _ = next_token_nll(model, move_batch(pad_rows([distinct[key] for key in chosen]), device))
            for key, row in zip(chosen, nll, strict=True):
                found[key] = float(row[distinct[key].shape[1] - 2])
    return [found[row.tobytes()] for row in rows]
