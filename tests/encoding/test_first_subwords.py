"""align_tags: the pairs of words on a tokenizer's own offsets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from lisdata.encoding import align_tags
from lisdata.schema import UNTAGGED

WORDS = st.lists(st.text("aé漢🙂\u0301", min_size=1, max_size=4), min_size=1, max_size=8)


def spaced(words: list[str]) -> tuple[str, list[tuple[int, int]]]:
    spans, end = [], -1
    for word in words:
        spans.append((end + 1, end + 1 + len(word)))
        end = spans[-1][1]
    return " ".join(words), spans


@given(words=WORDS, data=st.data())
def test_each_word_s_pair_stands_on_the_first_piece_that_overlaps_it(words: list[str], data: st.DataObject) -> None:
    text, spans = spaced(words)
    cuts = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text)), max_size=12))})
    pieces = [*pairwise(cuts), (0, 0)]

    found = align_tags(text, spans, pieces, [n % 2 for n in range(len(words))], [n % 5 for n in range(len(words))])

    owner = {}
    for number, (begin, end) in enumerate(pieces):
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        overlapped = [w for w, (b, e) in enumerate(spans) if b < end and begin < e]
        if overlapped:
            owner.setdefault(overlapped[0], number)
    assert found.first_piece.tolist() == [owner.get(w, -1) for w in range(len(words))]
    assert found.tags_lost == len(words) - len(owner)
    expected = {piece: (w % 2, w % 5) for w, piece in owner.items()}
    got = list(zip(found.terminal.tolist(), found.nonterminal.tolist(), strict=True))
    assert got == [expected.get(piece, (UNTAGGED, UNTAGGED)) for piece in range(len(pieces))]


def test_offsets_of_the_tokenizers_library_are_taken_as_they_are(shared: Path) -> None:
    roberta = tokenizers.Tokenizer.from_file(str(shared / "data" / "tokenizers" / "roberta-base.tokenizer.json"))
    text, spans = spaced(["She", "reads", "unputdownable", "books"])
    encoding = roberta.encode(text)

    found = align_tags(text, spans, encoding.offsets, [0, 1, 0, 1], [2, 1, 3, 0])

    assert found.terminal[0] == found.terminal[-1] == UNTAGGED  # <s> and </s>
    assert [t for t in found.terminal.tolist() if t != UNTAGGED] == [0, 1, 0, 1]
    assert [encoding.tokens[p] for p in found.first_piece] == ["She", "Ġreads", "Ġun", "Ġbooks"]


@pytest.mark.parametrize(
    ("words", "pieces", "tags", "message"),
    [
        ([(0, 9)], [(0, 2)], 1, "word 0: expected a span inside the text of 5 characters"),
        ([(0, 2)], [(0, 1), (3, 2)], 1, "piece 1: expected a span inside the text"),
        ([(3, 5), (0, 2)], [(0, 2)], 2, "expected words in the order of the text"),
        ([(0, 2)], [(0, 2)], 2, "expected a tag pair a word: 1 words, 2 and 2 tags"),
    ],
)
def test_what_cannot_be_aligned_is_refused(
    words: list[tuple[int, int]], pieces: list[tuple[int, int]], tags: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        align_tags("ab cd", words, pieces, [0] * tags, [0] * tags)
