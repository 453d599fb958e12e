"""Lays out the notes of sentences: what CoNLL-U says beyond words and trees, sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import OUT_BYTES, OUT_INT64S, OUT_UINT32S, UINT32S, inner, kernel
from lisdata.kernels.conllu_scan import LINE_ARRAY, SENTENCE_ARRAY, Line
from lisdata.schema import NO_ROW

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]


class Note(IntEnum):
    """What a note is: a column of a word, or something that stands before a word or after the last."""

    LEMMA = 0
    UPOS = 1
    XPOS = 2
    FEATS = 3
    DEPS = 4
    MISC = 5
    COMMENT = 6  # a whole line that begins with #
    LINE = 7  # the whole line of a multiword token or an empty node
    CONLLU = 8  # the bytes of a sentence that is not plain


NUM_COLUMN_NOTES = 6
"""The first kinds of notes are of columns."""

_WORD, _COMMENT_LINE = int(Line.WORD), int(Line.COMMENT)
_COMMENT, _LINE, _CONLLU = int(Note.COMMENT), int(Note.LINE), int(Note.CONLLU)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Notes of sentence n are rows offsets[n] : offsets[n + 1]; `text` is a number of a text.

    First column by column what is not _ (their numbers compress better than word by word), then the lines that are no
    words as they come. The position of a note is the number of its word, or of the words before it. `num_of_kind`
    counts them by kind.
    """

    offsets: Int64
    kind: UInt8
    position: Int64
    text: UInt32
    num_of_kind: Int64


@inner
def _add(kind: Any, position: Any, text: Any, kinds: Any, positions: Any, texts: Any, at: Any, num_of_kind: Any) -> Any:
    kinds[at], positions[at], texts[at] = kind, position, text
    num_of_kind[kind] += 1
    return at + 1


@kernel(
    types.void(
        LINE_ARRAY, SENTENCE_ARRAY, types.Array(types.uint32, 2, "C", readonly=True), UINT32S, UINT32S,
        OUT_INT64S, OUT_BYTES, OUT_INT64S, OUT_UINT32S, OUT_INT64S,
    )
)  # fmt: skip
def _lay_out(
    lines: Any, sentences: Any, cells: Any, line_texts: Any, sentence_texts: Any,
    offsets: Any, kinds: Any, positions: Any, texts: Any, num_of_kind: Any,
) -> None:  # fmt: skip
    at = first = 0
    for number in range(len(sentences)):
        sentence = sentences[number]
        for kind in range(NUM_COLUMN_NOTES):
            own = cells[kind, first : first + sentence.num_words]
            for word in range(len(own)):
                if own[word] != NO_ROW:
                    at = _add(kind, word, own[word], kinds, positions, texts, at, num_of_kind)
        word = 0
        for index in range(sentence.first_line, sentence.end_line):
            if lines[index].kind == _WORD:
                word += 1
            else:
                kind = _COMMENT if lines[index].kind == _COMMENT_LINE else _LINE
                at = _add(kind, word, line_texts[index], kinds, positions, texts, at, num_of_kind)
        if sentence_texts[number] != NO_ROW:
            at = _add(_CONLLU, 0, sentence_texts[number], kinds, positions, texts, at, num_of_kind)
        first += sentence.num_words
        offsets[number + 1] = at


def lay_out_notes(
    lines: npt.NDArray[np.void],
    sentences: npt.NDArray[np.void],
    cells: UInt32,
    line_texts: UInt32,
    sentence_texts: UInt32,
) -> Notes:
    """Return the notes of `sentences` (SENTENCE), whose lines are among `lines` (LINE).

    `cells` (NUM_COLUMN_NOTES, words) are the texts of columns, `line_texts` those of lines that are no words and
    `sentence_texts` those of sentences that are not plain; NO_ROW stands where there is no note.
    """
    room = cells.size + len(lines) + len(sentences)
    offsets, num_of_kind = np.zeros(len(sentences) + 1, np.int64), np.zeros(len(Note), np.int64)
    kind, position, text = np.empty(room, np.uint8), np.empty(room, np.int64), np.empty(room, np.uint32)
    _lay_out(lines, sentences, cells, line_texts, sentence_texts, offsets, kind, position, text, num_of_kind)
    count = int(offsets[-1])
    return Notes(
        offsets=offsets, kind=kind[:count], position=position[:count], text=text[:count], num_of_kind=num_of_kind
    )


def no_notes(num_sentences: int) -> Notes:
    """Return that there are none."""
    return Notes(
        offsets=np.zeros(num_sentences + 1, np.int64),
        kind=np.empty(0, np.uint8),
        position=np.empty(0, np.int64),
        text=np.empty(0, np.uint32),
        num_of_kind=np.zeros(len(Note), np.int64),
    )
