"""Surprisals that another tool computed, as a scorer: the tables of LM Zoo and SyntaxGym.

They are tab-separated, with the columns sentence_id (from 1), token_id, token and surprisal (in bits).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lisdata.errors import Place, SchemaError
from lisdata.evaluation.sentence_scores import TextTags, TokenSurprisals

_HEADER = ["sentence_id", "token_id", "token", "surprisal"]
_SPECIAL = re.compile(r"<\S+>")
_WORD = re.compile(r"\s*(\S+)")


class SurprisalTable:
    """A `SentenceScorer` for the texts that a table was computed for; `surprisals` has an entry a text."""

    def __init__(self, surprisals: dict[str, TokenSurprisals]) -> None:
        self._surprisals = surprisals

    def score(self, texts: Sequence[str], tags: Sequence[TextTags] | None = None) -> list[TokenSurprisals]:
        """Return the surprisals of each text; ValueError for one that is not in the table, or for tags."""
        if tags is not None:
            raise ValueError("a table of surprisals cannot take tags")
        unknown = [text for text in texts if text not in self._surprisals]
        if unknown:
            raise ValueError(f"expected texts of the table, got {unknown[0]!r}")
        return [self._surprisals[text] for text in texts]


def read_surprisal_table(path: Path, texts: Sequence[str]) -> SurprisalTable:
    """Return the table of a file whose sentence n is texts[n - 1], each token with the characters that it spells.

    A token in angle brackets (<unk>) stands for the next word, at the end (<eos>) for nothing. Raises SchemaError with
    the line where a token is not what follows in the text, or a sentence has no text.
    """
    found: dict[int, tuple[list[int], list[int], list[float]]] = {}
    for place, sentence, token, bits in _iter_rows(path):
        if not 1 <= sentence <= len(texts):
            raise SchemaError(f"{place}: expected a sentence_id of 1 to {len(texts)}, found {sentence}")
        begins, ends, nats = found.setdefault(sentence, ([], [], []))
        begin, end = _locate(token, texts[sentence - 1], ends[-1] if ends else 0, place)
        begins.append(begin)
        ends.append(end)
        nats.append(bits * math.log(2))
    missing = [number for number in range(1, len(texts) + 1) if number not in found]
    if missing:
        raise SchemaError(f"{path}: expected {len(texts)} sentences, found no sentence {missing[0]}")
    return SurprisalTable(
        {
            texts[sentence - 1]: TokenSurprisals(begin=np.array(begins), end=np.array(ends), surprisal=np.array(nats))
            for sentence, (begins, ends, nats) in found.items()
        }
    )


def _iter_rows(path: Path) -> Iterator[tuple[Place, int, str, float]]:
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            place = Place(str(path), line=number)
            if number == 1:
                if row != _HEADER:
                    raise SchemaError(f"{place}: expected the columns {', '.join(_HEADER)}, found {', '.join(row)}")
                continue
            try:
                sentence, _, token, bits = row
                yield place, int(sentence), token, float(bits)
            except ValueError as error:
                raise SchemaError(f"{place}: expected two numbers, a token and a surprisal, found {row}") from error


def _locate(token: str, text: str, at: int, place: Place) -> tuple[int, int]:
    """Return the characters of `text` from `at` on that a token spells."""
    word = _WORD.match(text, at)
    if word is not None and text.startswith(token, word.start(1)):
        return word.start(1), word.start(1) + len(token)
    if _SPECIAL.fullmatch(token):
        return word.span(1) if word is not None else (len(text), len(text))
    raise SchemaError(f"{place}: expected a token of {text[at : at + 40]!r}, found {token!r}")
