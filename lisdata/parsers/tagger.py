"""The learned hexatagger as a parser: the English one of this package, or one in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lisdata.parsers.flat import FlatParses
from lisdata.parsers.sentences import ParsedSentence, ParserError
from lisdata.tagger.features import Int32, hash_forms
from lisdata.tagger.weights import ENGLISH, TaggerError, load_tagger, read_config
from lisdata.tagger.words import Tokenizer

if TYPE_CHECKING:
    from lisdata.tagger.network import HexatagNetwork
    from lisdata.tagger.prediction import Precision


def tagger_parser(folder: str | None = None) -> TaggerParser:
    """Return a parser that runs the tagger in `folder`, by default the English one of this package, on one thread.

    Words and sentences are found by rules made for English (`lisdata.tagger.words`). Raises ParserError where there is
    no such tagger.
    """
    try:
        return TaggerParser(_load(folder))
    except TaggerError as error:
        raise ParserError(f"the parser {_name(folder)} cannot be loaded: {error}") from error


def pin_tagger(folder: str | None = None) -> str:
    """Return the name and hash of a tagger and what decides its arithmetic; raises as `tagger_parser` does."""
    from lisdata.tagger.prediction import describe_arithmetic

    try:
        config = read_config(_folder(folder))
    except TaggerError as error:
        raise ParserError(f"the parser {_name(folder)} cannot be loaded: {error}") from error
    return f"{_name(folder)} {config['sha256'][:16]}, {describe_arithmetic()}"


class TaggerParser:
    """Calls a loaded tagger; see `tagger_parser`. By default the machine decides on the `precision`."""

    def __init__(self, network: HexatagNetwork, *, precision: Precision | None = None) -> None:
        self._network, self._precision = network, precision
        self._tokenizer = Tokenizer()
        self._features = hash_forms([], network.config.num_rows)

    def __call__(self, texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
        """Yield the sentences of each text."""
        yield from self.parse_flat(texts).to_sentences(len(texts))

    def parse_flat(self, texts: Sequence[str]) -> FlatParses:
        """Return the sentences of some texts as flat arrays."""
        from lisdata.tagger.prediction import predict_rows

        if self._tokenizer.forget():
            self._features = self._features[:0]
        words = self._tokenizer.cut(texts)
        used = np.flatnonzero(np.bincount(words.form, minlength=len(self._tokenizer.forms)))
        row_of = np.zeros(len(self._tokenizer.forms), np.int64)
        row_of[used] = np.arange(len(used))
        features = self._known_features()[used]
        rows = row_of[words.form]
        trees = predict_rows(self._network, features, rows, words.offsets, precision=self._precision)
        return FlatParses(
            text=words.text,
            sentence_begin=words.begin[words.offsets[:-1]],
            offsets=words.offsets,
            begin=words.begin,
            end=words.end,
            head=trees.head,
            deprel=trees.deprel,
            deprels=list(self._network.config.deprels),
        )

    def _known_features(self) -> Int32:
        """Return the features of every form that the tokenizer has met."""
        new = self._tokenizer.forms[len(self._features) :]
        if new:
            self._features = np.concatenate([self._features, hash_forms(new, self._network.config.num_rows)])
        return self._features


@cache
def _load(folder: str | None) -> HexatagNetwork:
    return load_tagger(_folder(folder))


def _folder(folder: str | None) -> Path:
    return ENGLISH if folder is None else Path(folder)


def _name(folder: str | None) -> str:
    return "tagger" if folder is None else f"tagger:{folder}"
