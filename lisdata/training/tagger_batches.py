"""Batches of sentences of like length for a hexatagger's training."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch

from lisdata.tagger.features import NUM_FEATURES, hash_forms
from lisdata.tagger.prediction import iter_batches, places_of
from lisdata.training.batches import Batch
from lisdata.training.loss import NOT_SCORED
from lisdata.training.tagger_corpus import TreeCorpus

_SPREAD = 0.15  # of its length: how far a sentence may go astray when they are sorted anew each epoch
_NUM_FORM_HASHES = 2


class SentenceBatches:
    """All sentences once an epoch, those of like length together; an epoch is a function of (seed, epoch) alone.

    A batch is time-major, (T, B): `features` (T, B, 5), `is_word`, the `terminal`, `nonterminal` and `deprel` to
    predict (-100 where none is) and, for the rate that is shown, `input_ids`. The forms of one word in
    1 / `unknown_rate` are made unknown, so that the network learns to do without. `deprels` numbers the relations.
    """

    def __init__(
        self,
        corpus: TreeCorpus,
        *,
        deprels: tuple[str, ...],
        num_rows: int,
        num_words: int,
        seed: int,
        unknown_rate: float = 0.05,
    ) -> None:
        self._corpus = corpus
        self._features = hash_forms(corpus.forms, num_rows).astype(np.int64)
        number_of = {name: number for number, name in enumerate(deprels)}
        rows = np.array([number_of.get(name, NOT_SCORED) for name in corpus.deprels], np.int64)
        self._deprel = rows[corpus.deprel]
        self._nonterminal = corpus.nonterminal.astype(np.int64)
        self._nonterminal[corpus.offsets[1:] - 1] = NOT_SCORED  # EOS is at the last word and nowhere else
        self._num_rows, self._num_words, self._seed, self._unknown_rate = num_rows, num_words, seed, unknown_rate
        self._epoch = self._number = 0
        self._batches = self._shuffle()

    def next_batch(self) -> Batch:
        """Return the next batch."""
        if self._number == len(self._batches):
            self._epoch, self._number = self._epoch + 1, 0
            self._batches = self._shuffle()
        at, is_word = places_of(self._corpus.offsets, self._batches[self._number])
        generator = np.random.default_rng([self._seed, self._epoch, self._number + 1])
        self._number += 1
        features = self._features[self._corpus.form[at]]
        is_unknown = generator.random(at.shape) < self._unknown_rate
        unknown = generator.integers(self._num_rows, size=(*at.shape, _NUM_FORM_HASHES))
        features[..., :_NUM_FORM_HASHES] = np.where(is_unknown[..., None], unknown, features[..., :_NUM_FORM_HASHES])
        columns = {
            "input_ids": self._corpus.form[at],
            "features": features.reshape(*at.shape, NUM_FEATURES),
            "is_word": is_word,
            "terminal": np.where(is_word, self._corpus.terminal[at].astype(np.int64), NOT_SCORED),
            "nonterminal": np.where(is_word, self._nonterminal[at], NOT_SCORED),
            "deprel": np.where(is_word, self._deprel[at], NOT_SCORED),
        }
        return {name: torch.from_numpy(column) for name, column in columns.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch and the number of its batches given so far."""
        return {"epoch": self._epoch, "number": self._number}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on after that batch."""
        self._epoch = int(state["epoch"])
        self._batches = self._shuffle()
        self._number = int(state["number"])

    def description(self) -> dict[str, Any]:
        """Return the settings and a hash of the sentences."""
        digest = hashlib.sha256("\0".join(self._corpus.forms).encode("utf-8", "surrogatepass"))
        for column in (self._corpus.form, self._corpus.offsets, self._corpus.head, self._deprel):
            digest.update(column.astype("<i8").tobytes())
        return {
            "num_sentences": len(self._corpus.offsets) - 1,
            "sha256": digest.hexdigest(),
            "num_words": self._num_words,
            "unknown_rate": self._unknown_rate,
            "seed": self._seed,
        }

    def _shuffle(self) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
        generator = np.random.default_rng([self._seed, self._epoch, 0])
        lengths = np.diff(self._corpus.offsets)
        order = np.argsort(lengths * (1 + _SPREAD * generator.random(len(lengths))), kind="stable")
        batches = list(iter_batches(lengths, self._num_words, order))
        return [batches[number] for number in generator.permutation(len(batches))]
