"""Surprisals of sentences under a causal model of lisdata, with hexatags where the model takes them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from lisdata.encoding import Tokenizer, align_tags
from lisdata.errors import LisDataError
from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.sentence_scores import Float64, Int64, TextTags, TokenSurprisals
from lisdata.training.batches import Batch
from lisdata.training.loss import NOT_SCORED, move_batch, next_token_nll
from lisdata.training.tag_regimes import TAG_REGIMES, UNTAGGED, apply_tag_regime

COLUMNS = ("input_ids", "terminal", "nonterminal", "document")
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
        self.counts: Counter[str] = Counter()
        self._model, self._tokenizer = model, tokenizer
        self._start, self._end = self._find_start(), self._encode(self.scoring.end)
        _check_columns(model)
        _check_vocabulary(model, tokenizer)

    def describe(self) -> dict[str, Any]:
        """Return, ready for JSON, the conventions under which sentences are scored, and the counts so far."""
        first = "scored after the start" if len(self._start) else "not scored: it counts 0"
        ids = {"start_ids": self._start.tolist(), "end_ids": self._end.tolist()}
        return {**asdict(self.scoring), **ids, "first_token": first, **self.counts}

    def score(self, texts: Sequence[str], tags: Sequence[TextTags] | None = None) -> list[TokenSurprisals]:
        """Return the surprisals of each text; rows of the same tokens and tags are computed once, so they are equal.

        Without `tags` the model sees none.
        """
        pieces = self._tokenizer.encode_batch(texts)
        bounds = [slice(*pair) for pair in pairwise(pieces.offsets.tolist())]
        spans = [np.stack([pieces.begin[at], pieces.end[at]], 1) for at in bounds]
        rows = [self._row(pieces.ids[at]) for at in bounds]
        if tags is not None and self.scoring.regime not in TAGLESS:
            for text, span, tag, row in zip(texts, spans, tags, rows, strict=True):
                self._tag(text, span, tag, row)
        distinct = {row.tobytes(): row for row in rows}
        found = dict(zip(distinct, self._surprisals(list(distinct.values())), strict=True))
        return [
            self._result(text, span, found[row.tobytes()]) for text, span, row in zip(texts, spans, rows, strict=True)
        ]

    def _find_start(self) -> Int64:
        if self.scoring.start is not None:
            return self._encode(self.scoring.start)
        if not len(self._tokenizer.encode_batch([""], special_tokens=True).ids):
            return np.zeros(0, np.int64)
        own = self._encode("a").tolist()
        ids = self._tokenizer.encode_batch(["a"], special_tokens=True).ids.tolist()
        return np.array(next(ids[:n] for n in range(len(ids)) if ids[n : n + len(own)] == own), np.int64)

    def _encode(self, text: str) -> Int64:
        return self._tokenizer.encode_batch([text]).ids.astype(np.int64)

    def _row(self, ids: npt.NDArray[np.int32]) -> Int64:
        """Return a row of the three columns of a text, untagged, (3, T)."""
        row = np.full((3, len(self._start) + len(ids) + len(self._end)), UNTAGGED, np.int64)
        row[0] = np.concatenate([self._start, ids, self._end])
        return row

    def _tag(self, text: str, spans: Int64, tags: TextTags, row: Int64) -> None:
        """Put the tags of the words into the row of a text, each on its word's first token."""
        aligned = align_tags(text, tags.spans, spans, tags.terminal, tags.nonterminal)
        tagged = row[1:, len(self._start) : len(self._start) + len(spans)]
        tagged[0], tagged[1] = aligned.terminal, aligned.nonterminal
        self.counts["tags_lost"] += aligned.tags_lost
        self.counts["tokens_over_several_words"] += aligned.pieces_over_several_words

    def _surprisals(self, rows: list[Int64]) -> list[Float64]:
        """Return the surprisal of each token of each row, 0 of the first."""
        found = [np.zeros(row.shape[1]) for row in rows]
        order = sorted((number for number, row in enumerate(rows) if row.shape[1] > 1), key=lambda n: rows[n].shape[1])
        with evaluating(self._model) as device:
            for numbers in _iter_batches(order, rows, self.scoring.batch_tokens):
                batch = _pad([rows[number] for number in numbers])
                batch = apply_tag_regime(batch, self.scoring.regime, seed=self.scoring.seed)
                nll, targets = next_token_nll(self._model, move_batch(batch, device))
                scored = [
                    row[is_scored].double().cpu().numpy()
                    for row, is_scored in zip(nll, targets != NOT_SCORED, strict=True)
                ]
                for number, surprisals in zip(numbers, scored, strict=True):
                    found[number][1:] = surprisals
        return found

    def _result(self, text: str, spans: Int64, surprisals: Float64) -> TokenSurprisals:
        places = np.concatenate([spans, np.full((len(self._end), 2), len(text))])
        own = surprisals[len(self._start) :].copy()
        return TokenSurprisals(begin=places[:, 0], end=places[:, 1], surprisal=own)


def _iter_batches(order: Sequence[int], rows: Sequence[Int64], batch_tokens: int) -> Iterator[list[int]]:
    """Yield row numbers, shortest rows first, as many at a time as `batch_tokens` has room for when padded."""
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * rows[number].shape[1] > batch_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _pad(rows: Sequence[Int64]) -> Batch:
    """Return the rows as a batch with `document` 0, and -1 at padding."""
    longest = max(row.shape[1] for row in rows)
    columns = {
        "input_ids": torch.zeros(len(rows), longest, dtype=torch.int64),
        "terminal": torch.full((len(rows), longest), UNTAGGED),
        "nonterminal": torch.full((len(rows), longest), UNTAGGED),
        "document": torch.full((len(rows), longest), -1),
    }
    for number, row in enumerate(rows):
        length = row.shape[1]
        for name, values in zip(COLUMNS, torch.from_numpy(row), strict=False):
            columns[name][number, :length] = values
        columns["document"][number, :length] = 0
    return columns


def _check_columns(model: nn.Module) -> None:
    parameters = inspect.signature(model.forward).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in COLUMNS]
    if needed:
        raise ValueError(f"expected a model that reads {', '.join(COLUMNS)}, got one that needs {', '.join(needed)}")


def _check_vocabulary(model: nn.Module, tokenizer: Tokenizer) -> None:
    size = getattr(getattr(model, "config", None), "vocabulary_size", None)
    if size is not None and size < tokenizer.vocab_size:
        raise LisDataError(
            f"expected the model's own tokenizer, of at most {size} tokens, found {tokenizer.vocab_size}"
        )
