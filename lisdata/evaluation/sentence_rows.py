"""Sentences as rows of tokens and tags, and rows as batches, for the scorers of models."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from lisdata.encoding import Tokenizer, align_tags, template_ids
from lisdata.encoding.deprels import DeprelVocabulary
from lisdata.errors import LisDataError
from lisdata.evaluation.sentence_scores import Float64, Int64, TextTags, TokenSurprisals
from lisdata.training.batches import Batch
from lisdata.training.tag_regimes import UNTAGGED

ROW_COLUMNS = ("input_ids", "terminal", "nonterminal", "deprel")
COLUMNS = (*ROW_COLUMNS, "document")

_EXCERPT = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SentenceRow:
    """A text as tokens: `spans` (N, 2) are the characters of those of the text.

    `values` (3, T) are their ids and tags; (4, T) with numbers of dependency relations.
    """

    text: str
    spans: Int64
    values: Int64


class SentenceRows:
    """Makes rows of texts between a `start` and an `end`, texts themselves; None is what the tokenizer's template puts.

    `counts` adds up what could not be aligned: words whose tags no token bears, tokens that overlap several words.
    With `deprels` rows have a number of each word's dependency relation too, from tags that have these.
    """

    def __init__(
        self, tokenizer: Tokenizer, *, start: str | None, end: str | None, deprels: DeprelVocabulary | None = None
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._tokenizer, self._deprels = tokenizer, deprels
        before, after = template_ids(tokenizer)
        self.start = before if start is None else self._encode(start)
        self.end = after if end is None else self._encode(end)

    def make(self, texts: Sequence[str], tags: Sequence[TextTags] | None) -> list[SentenceRow]:
        """Return the row of each text, untagged where there are no `tags`."""
        pieces = self._tokenizer.encode_batch(texts)
        rows = []
        for number, bounds in enumerate(pairwise(pieces.offsets.tolist())):
            at = slice(*bounds)
            ids = np.concatenate([self.start, pieces.ids[at], self.end])
            values = np.full((3 if self._deprels is None else 4, len(ids)), UNTAGGED, np.int64)
            values[0] = ids
            spans = np.stack([pieces.begin[at], pieces.end[at]], 1)
            row = SentenceRow(text=texts[number], spans=spans, values=values)
            rows.append(row if tags is None else self.tagged(row, row.text, tags[number]))
        return rows

    def tagged(self, row: SentenceRow, text: str, tags: TextTags) -> SentenceRow:
        """Return the row with the tags of the words of `text`, each on its word's first token, and no others.

        `text` is that of the row, or another one as long.
        """
        aligned = align_tags(text, tags.spans, row.spans, tags.terminal, tags.nonterminal)
        values = row.values.copy()
        own = self.own_tokens(row)
        values[1:] = UNTAGGED
        values[1, own], values[2, own] = aligned.terminal, aligned.nonterminal
        if self._deprels is not None:
            if tags.deprels is None:
                raise ValueError(f"expected tags with dependency relations, got none for {text[:_EXCERPT]!r}")
            is_begun = aligned.first_piece >= 0
            values[3, own][aligned.first_piece[is_begun]] = self._deprels.numbers(tags.deprels)[is_begun]
        self.counts["tags_lost"] += aligned.tags_lost
        self.counts["tokens_over_several_words"] += aligned.pieces_over_several_words
        return SentenceRow(text=row.text, spans=row.spans, values=values)

    def own_tokens(self, row: SentenceRow) -> slice:
        """Return where in the row the tokens of the text are."""
        return slice(len(self.start), len(self.start) + len(row.spans))

    def _encode(self, text: str) -> Int64:
        return self._tokenizer.encode_batch([text]).ids.astype(np.int64)


def to_surprisals(row: SentenceRow, surprisals: Float64) -> TokenSurprisals:
    """Return surprisals of the tokens of a text and of those of its end, if any are given."""
    at_end = np.full((len(surprisals) - len(row.spans), 2), len(row.text))
    places = np.concatenate([row.spans, at_end])
    return TokenSurprisals(begin=places[:, 0], end=places[:, 1], surprisal=surprisals)


def iter_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield numbers of rows, shortest first, as many at a time as `batch_tokens` has room for when padded."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if batch and (len(batch) + 1) * lengths[number] > batch_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def pad_rows(rows: Sequence[Int64]) -> Batch:
    """Return rows (3 or 4, T), all alike, as a batch with `document` 0, and -1 at padding."""
    shape = len(rows), max(row.shape[1] for row in rows)
    names = ROW_COLUMNS[: len(rows[0])]
    columns = {name: torch.full(shape, UNTAGGED) for name in names}
    columns |= {"input_ids": torch.zeros(shape, dtype=torch.int64), "document": torch.full(shape, -1)}
    for number, row in enumerate(rows):
        length = row.shape[1]
        for name, values in zip(names, torch.from_numpy(row), strict=True):
            columns[name][number, :length] = values
        columns["document"][number, :length] = 0
    return columns


def check_model(model: nn.Module, tokenizer: Tokenizer) -> None:
    """Raise ValueError for a model that reads other columns, LisDataError for one of fewer tokens than there are."""
    parameters = inspect.signature(model.forward).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in COLUMNS]
    if needed:
        raise ValueError(f"expected a model that reads {', '.join(COLUMNS)}, got one that needs {', '.join(needed)}")
    size = getattr(getattr(model, "config", None), "vocabulary_size", None)
    if size is not None and size < tokenizer.vocab_size:
        raise LisDataError(
            f"expected the model's own tokenizer, of at most {size} tokens, found {tokenizer.vocab_size}"
        )
