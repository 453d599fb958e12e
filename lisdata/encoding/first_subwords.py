"""Hexatags on a tokenizer's pieces, for a training script of one's own: plain lists in, plain arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.encoding.alignment import align_pieces
from lisdata.encoding.pieces import Int64, first_of_each, offsets_of
from lisdata.schema import UNTAGGED

Int8 = npt.NDArray[np.int8]
Spans = Sequence[tuple[int, int]] | npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedTags:
    """Hexatags of P pieces: those of each of W words on its first piece, -100 elsewhere.

    `first_piece` (W) is -1 for a word that no piece begins: `tags_lost` counts those. `word` (P) is the first word that
    a piece overlaps, -1 where none; `pieces_over_several_words` counts pieces that overlap more.
    """

    terminal: Int8
    nonterminal: Int8
    first_piece: Int64
    word: Int64
    tags_lost: int
    pieces_over_several_words: int


def align_tags(
    text: str,
    word_spans: Spans,
    piece_spans: Spans,
    terminal: Sequence[int] | npt.NDArray[np.integer],
    nonterminal: Sequence[int] | npt.NDArray[np.integer],
) -> AlignedTags:
    """Return the tags of the W words of `text` on its P pieces (SiPE: a word's pair stands on its first subword).

    Spans are (begin, end) in characters of `text`; `piece_spans` are `Encoding.offsets` of the `tokenizers` library, or
    `offset_mapping` of a fast tokenizer of `transformers`: an empty span (special tokens, padding) is untagged.
    Raises ValueError for spans outside the text, words out of order, or tags of another number than the words.
    """
    words, pieces = _spans(word_spans, len(text), "word"), _spans(piece_spans, len(text), "piece")
    if not len(words) == len(terminal) == len(nonterminal):
        raise ValueError(f"expected a tag pair a word: {len(words)} words, {len(terminal)} and {len(nonterminal)} tags")
    if np.any(np.diff(words[:, 0]) < 0):
        raise ValueError("expected words in the order of the text")
    data = np.frombuffer(text.encode("utf-8", errors="surrogatepass"), np.uint8)
    byte_of = offsets_of(np.fromiter((_width(c) for c in text), np.int64, len(text)))
    places, spelled = byte_of[pieces], byte_of[words]
    aligned = align_pieces(places[:, 0], places[:, 1], spelled[:, 0], spelled[:, 1], data)
    spelling = np.flatnonzero(aligned.word >= 0)
    first = first_of_each(aligned.word[spelling], len(words))
    is_begun = first >= 0
    first_piece = np.full(len(words), -1, np.int64)
    first_piece[is_begun] = spelling[first[is_begun]]
    tags = []
    for values in (terminal, nonterminal):
        tags.append(np.full(len(pieces), UNTAGGED, np.int8))
        tags[-1][first_piece[is_begun]] = np.asarray(values, np.int8)[is_begun]
    return AlignedTags(
        terminal=tags[0],
        nonterminal=tags[1],
        first_piece=first_piece,
        word=aligned.word,
        tags_lost=int(np.count_nonzero(~is_begun)),
        pieces_over_several_words=aligned.num_over_several,
    )


def _spans(spans: Spans, length: int, what: str) -> Int64:
    found = np.asarray(spans, np.int64).reshape(-1, 2)
    is_wrong = (found[:, 0] < 0) | (found[:, 1] > length) | (found[:, 0] > found[:, 1])
    if is_wrong.any():
        wrong = int(np.argmax(is_wrong))
        raise ValueError(f"{what} {wrong}: expected a span inside the text of {length} characters, got {spans[wrong]}")
    return found


def _width(character: str) -> int:
    code = ord(character)
    return 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000)
