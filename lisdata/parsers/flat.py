"""Parses of several texts as flat arrays: what a corpus goes through, without a Python object a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from lisdata.hexatag.arrays import flat_integers
from lisdata.parsers.sentences import ParsedSentence

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatParses:
    """M sentences of some texts, in order, with N words in all.

    `text` (M,) is the number of a sentence's text, `sentence_begin` (M,) a character of that; words of sentence m are
    rows offsets[m] : offsets[m + 1]. `begin` and `end` (N,) are characters of the text, `head` (N,) is 1-based inside
    the sentence with 0 = root, `deprel` (N,) holds rows of `deprels`. `forms` has an entry a word, or is None where
    spans spell all of them. `huge_heads` has the true head of a row where int32 cannot hold it and `head` has the
    nearest number that it does: no sentence is that long.
    """

    text: Int64
    sentence_begin: Int64
    offsets: Int64
    begin: Int64
    end: Int64
    head: Int32
    deprel: Int64
    deprels: list[str]
    forms: list[str] | None = None
    huge_heads: dict[int, int] = field(default_factory=dict)

    def heads_in(self, first: int, last: int) -> list[int]:
        """Return the heads of rows first : last as the parser gave them."""
        return [self.huge_heads.get(row, head) for row, head in enumerate(self.head[first:last].tolist(), first)]

    def to_sentences(self, num_texts: int) -> list[list[ParsedSentence]]:
        """Return the sentences of each of `num_texts` texts; a sentence ends with its last word."""
        begins, ends, heads = self.begin.tolist(), self.end.tolist(), self.head.tolist()
        deprels = [self.deprels[row] for row in self.deprel.tolist()]
        found: list[list[ParsedSentence]] = [[] for _ in range(num_texts)]
        numbers = zip(self.text.tolist(), self.sentence_begin.tolist(), pairwise(self.offsets.tolist()), strict=True)
        for text, begin, (first, last) in numbers:
            sentence = ParsedSentence(
                begin=begin,
                end=ends[last - 1],
                word_begins=begins[first:last],
                word_ends=ends[first:last],
                heads=heads[first:last],
                deprels=deprels[first:last],
                forms=None if self.forms is None else self.forms[first:last],
            )
            found[text].append(sentence)
        return found


def flatten(texts: Sequence[str], parses: Iterable[Sequence[ParsedSentence]]) -> FlatParses:
    """Return the sentences of each text as flat arrays, with forms; they hold to the protocol of `Parser`."""
    pairs = [(number, sentence) for number, sentences in enumerate(parses) for sentence in sentences]
    sentences = [sentence for _, sentence in pairs]
    rows: dict[str, int] = {}
    deprel = [rows.setdefault(name, len(rows)) for sentence in sentences for name in sentence.deprels]
    heads = [head for sentence in sentences for head in sentence.heads]
    head = flat_integers(heads, np.int32, "heads")
    is_extreme = (head == _INT32.min) | (head == _INT32.max)
    return FlatParses(
        text=np.array([number for number, _ in pairs], np.int64),
        sentence_begin=np.array([sentence.begin for sentence in sentences], np.int64),
        offsets=np.cumsum([0, *(len(sentence.heads) for sentence in sentences)], dtype=np.int64),
        begin=_numbers(sentence.word_begins for sentence in sentences),
        end=_numbers(sentence.word_ends for sentence in sentences),
        head=head,
        deprel=np.array(deprel, np.int64),
        deprels=list(rows),
        forms=[form for number, sentence in pairs for form in sentence.forms_in(texts[number])],
        huge_heads={row: heads[row] for row in np.flatnonzero(is_extreme).tolist()},
    )


def join_parses(parts: Sequence[FlatParses], num_texts: Sequence[int]) -> FlatParses:
    """Return one parser's sentences of several calls as those of one call; each was about so many texts."""
    rows: dict[str, int] = {}
    row_of = [np.array([rows.setdefault(name, len(rows)) for name in part.deprels], np.int64) for part in parts]
    text, offsets, deprel = [], [np.zeros(1, np.int64)], []
    huge_heads: dict[int, int] = {}
    first_text = first_word = 0
    for part, count, rows_of_part in zip(parts, num_texts, row_of, strict=True):
        text.append(part.text + first_text)
        offsets.append(part.offsets[1:] + first_word)
        deprel.append(rows_of_part[part.deprel])
        huge_heads |= {row + first_word: head for row, head in part.huge_heads.items()}
        first_text, first_word = first_text + count, first_word + len(part.head)
    forms = [part.forms for part in parts if part.forms is not None]
    return FlatParses(
        text=np.concatenate(text),
        sentence_begin=np.concatenate([part.sentence_begin for part in parts]),
        offsets=np.concatenate(offsets),
        begin=np.concatenate([part.begin for part in parts]),
        end=np.concatenate([part.end for part in parts]),
        head=np.concatenate([part.head for part in parts]),
        deprel=np.concatenate(deprel),
        deprels=list(rows),
        forms=list(chain.from_iterable(forms)) if forms else None,
        huge_heads=huge_heads,
    )


def _numbers(columns: Iterable[Sequence[int]]) -> Int64:
    return np.fromiter(chain.from_iterable(columns), np.int64)
