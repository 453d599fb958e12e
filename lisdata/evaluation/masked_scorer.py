"""Pseudo-log-likelihoods of sentences under a masked model of lisdata (Salazar et al. 2020), with hexatags.

Each token of a text is masked in turn and predicted from all the others. Where it is masked its tags are withheld, as
in training. Those of the other words may still tell of it: with `parse_masked` they come from a parse of the text in
which it cannot be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from lisdata.encoding import Tokenizer
from lisdata.encoding.deprels import DeprelVocabulary
from lisdata.evaluation.causal_scorer import SCORING_REGIMES, TAGLESS
from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.sentence_rows import (
    ROW_COLUMNS,
    SentenceRow,
    SentenceRows,
    check_model,
    iter_batches,
    pad_rows,
    to_surprisals,
)
from lisdata.evaluation.sentence_scores import Float64, Int64, TagTexts, TextTags, TokenSurprisals
from lisdata.training.loss import NOT_SCORED, move_batch
from lisdata.training.masked_losses import masked_token_nll
from lisdata.training.masking import MASKED_TARGET
from lisdata.training.tag_regimes import UNTAGGED, apply_tag_regime

_WORD = re.compile(r"\w+|[^\w\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedScoring:
    """How a masked model reads sentences.

    Each stands between `start` and `end`, texts that are read and not scored; None is what the tokenizer's own template
    puts there. With `within_word_l2r` the tokens after the masked one in its word are masked too (Kauf and Ivanova
    2023): else the rest of a rare word gives it away. A word is a run of letters and digits, or of other characters.

    `regime` says which of the given tags the model sees (see `lisdata.training.tag_regimes`), `seed` is for "shuffled".
    A parser that may not read a masked token is given `placeholder` for each of its characters.
    """

    start: str | None = None
    end: str | None = None
    within_word_l2r: bool = False
    regime: str = "full"
    seed: int = 0
    placeholder: str = "_"
    batch_tokens: int = 2048

    def __post_init__(self) -> None:
        if self.regime not in SCORING_REGIMES:
            raise ValueError(f"regime={self.regime!r} is none of {', '.join(SCORING_REGIMES)}")
        if self.batch_tokens < 1 or self.seed < 0:
            raise ValueError(f"expected batch_tokens from 1 and a seed from 0, got {self.batch_tokens}, {self.seed}")
        if len(self.placeholder) != 1 or self.placeholder.isspace():
            raise ValueError(f"expected one visible character for a placeholder, got {self.placeholder!r}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Masked:
    """Token `place` of row `row`, to be predicted where it and `hidden` ones of the row are masked."""

    row: int
    place: int
    hidden: Int64


class MaskedScorer:
    """A `SentenceScorer` of a masked model of lisdata, whose surprisals add up to the pseudo-log-likelihood, negated.

    `parse_masked` tags each text once more for each of its tokens, and takes the place of the tags given. A model that
    reads dependency relations needs their numbers, `deprels`, and tags that have them. Raises ValueError for a model of
    other kind, LisDataError for one of fewer tokens than the tokenizer has.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        scoring: MaskedScoring | None = None,
        *,
        parse_masked: TagTexts | None = None,
        deprels: DeprelVocabulary | None = None,
    ) -> None:
        self.scoring = scoring or MaskedScoring()
        self._model, self._parse_masked = model, parse_masked
        self._rows = SentenceRows(tokenizer, start=self.scoring.start, end=self.scoring.end, deprels=deprels)
        check_model(model, tokenizer)
        mask_id = getattr(getattr(model, "config", None), "mask_id", None)
        if mask_id is None:
            raise ValueError(f"expected a model of masked tokens, got {type(model).__name__}")
        self._mask_id = int(mask_id)

    def describe(self) -> dict[str, Any]:
        """Return, ready for JSON, the conventions under which sentences are scored, and the counts so far."""
        tags = "of each masked sentence" if self._parse_masked else "of the whole sentence, withheld at the mask"
        ids = {"start_ids": self._rows.start.tolist(), "end_ids": self._rows.end.tolist()}
        seen = {"first_token": "masked and scored as all others", "tags": tags, "mask_id": self._mask_id}
        return {"kind": "pseudo-log-likelihood", **asdict(self.scoring), **ids, **seen, **self.counts}

    @property
    def counts(self) -> Counter[str]:
        """What could not be aligned so far."""
        return self._rows.counts

    def score(self, texts: Sequence[str], tags: Sequence[TextTags] | None = None) -> list[TokenSurprisals]:
        """Return the surprisals of each text's tokens; equal texts with equal tags are computed once.

        Without `tags` and `parse_masked` the model sees none.
        """
        rows = [self._under_regime(row) for row in self._rows.make(texts, tags if self._sees_tags else None)]
        distinct = {row.values.tobytes() + row.text.encode(): row for row in rows}
        found = dict(zip(distinct, self._surprisals(list(distinct.values())), strict=True))
        return [to_surprisals(row, found[row.values.tobytes() + row.text.encode()].copy()) for row in rows]

    @property
    def _sees_tags(self) -> bool:
        return self.scoring.regime not in TAGLESS

    def _under_regime(self, row: SentenceRow) -> SentenceRow:
        batch = apply_tag_regime(pad_rows([row.values]), self.scoring.regime, seed=self.scoring.seed)
        return replace(row, values=torch.cat([batch[name] for name in ROW_COLUMNS if name in batch]).numpy())

    def _surprisals(self, rows: list[SentenceRow]) -> list[Float64]:
        """Return the surprisal of each token of each text."""
        all_masked = [masked for number, row in enumerate(rows) for masked in self._mask_each(number, row)]
        found = [np.zeros(len(row.spans)) for row in rows]
        lengths = [rows[masked.row].values.shape[1] for masked in all_masked]
        begin = len(self._rows.start)
        with evaluating(self._model) as device:
            for numbers in iter_batches(lengths, self.scoring.batch_tokens):
                chosen = [all_masked[number] for number in numbers]
                batch = pad_rows(self._hide(rows, chosen))
                place = torch.tensor([[masked.place] for masked in chosen])
                true = torch.tensor([[rows[masked.row].values[0, masked.place]] for masked in chosen])
                batch[MASKED_TARGET] = torch.full_like(batch["input_ids"], NOT_SCORED).scatter(1, place, true)
                nll, _ = masked_token_nll(self._model, move_batch(batch, device))
                for masked, surprisal in zip(chosen, nll.sum(1).double().tolist(), strict=True):
                    found[masked.row][masked.place - begin] = surprisal
        return found

    def _mask_each(self, number: int, row: SentenceRow) -> list[_Masked]:
        own = np.arange(len(row.values[0]))[self._rows.own_tokens(row)]
        words = _words_of(row) if self.scoring.within_word_l2r else np.zeros_like(own)
        in_word = [own[at:][(words[at:] == word) & (word > 0)] for at, word in enumerate(words)]
        hidden = [tokens if len(tokens) else own[at : at + 1] for at, tokens in enumerate(in_word)]
        return [_Masked(row=number, place=int(place), hidden=h) for place, h in zip(own, hidden, strict=True)]

    def _hide(self, rows: Sequence[SentenceRow], chosen: Sequence[_Masked]) -> list[Int64]:
        """Return the rows with tokens masked and the tags there withheld."""
        shown = [rows[masked.row] for masked in chosen]
        if self._parse_masked is not None and self._sees_tags:
            shown = self._parse(shown, chosen, self._parse_masked)
        values = [row.values.copy() for row in shown]
        for value, masked in zip(values, chosen, strict=True):
            value[0, masked.hidden] = self._mask_id
            value[1:, masked.hidden] = UNTAGGED
        return values

    def _parse(
        self, rows: Sequence[SentenceRow], chosen: Sequence[_Masked], tag: Callable[[Sequence[str]], Sequence[TextTags]]
    ) -> list[SentenceRow]:
        """Return the rows with the tags of texts in which masked tokens cannot be read."""
        begin = len(self._rows.start)
        texts = [
            _cover(row.text, row.spans[masked.hidden - begin], self.scoring.placeholder)
            for row, masked in zip(rows, chosen, strict=True)
        ]
        tagged = map(self._rows.tagged, rows, texts, tag(texts))
        return [self._under_regime(row) for row in tagged]


def _words_of(row: SentenceRow) -> Int64:
    """Return the number, from 1, of the word in which each token ends; 0 of one that ends in none."""
    word = np.zeros(len(row.text) + 1, np.int64)
    for number, match in enumerate(_WORD.finditer(row.text), 1):
        word[match.start() + 1 : match.end() + 1] = number
    return word[row.spans[:, 1]]


def _cover(text: str, spans: Int64, placeholder: str) -> str:
    """Return the text with `placeholder` for each character of the spans that is no white space."""
    characters = list(text)
    for begin, end in spans.tolist():
        characters[begin:end] = [c if c.isspace() else placeholder for c in characters[begin:end]]
    return "".join(characters)
