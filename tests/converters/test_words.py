from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import decode_text, encode_text
from lisdata.converters import words

CHARACTERS = (
    st.sampled_from(list(" \n\t.,'-\u2019\u00ad\u200d_aZé9٣漢あ\u3099\u0301\ufe0f🙂€\0\ufeff\u2028\ud800\udfff"))
    | st.characters()
)
TEXTS = st.lists(CHARACTERS, max_size=15).map("".join).map(lambda text: decode_text(encode_text(text)))


def find(text: str, breaks: list[int] | None = None) -> list[str]:
    """The words of `text`, which is broken at the characters `breaks`."""
    data = encode_text(text)
    offsets = np.array([len(encode_text(text[:b])) for b in breaks or []], np.int64)
    return [
        decode_text(data[chunk.begin + begin : chunk.begin + end])
        for chunk in words.iter_words(np.frombuffer(data, np.uint8), offsets)
        for begin, end in zip(chunk.word_begin, chunk.word_end, strict=True)
    ]


def is_letter(character: str) -> bool:
    alone = (
        0x2E80 <= ord(character) <= 0x2FD5 or 0x3005 <= ord(character) <= 0x3007 or 0x3041 <= ord(character) <= 0x309F
    )
    alone |= any(low <= ord(character) <= high for low, high in ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)))
    alone |= 0x20000 <= ord(character) <= 0x323AF
    return not alone and (unicodedata.category(character)[0] in "LN" or character == "_")


def is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def is_space(character: str) -> bool:
    return character.isspace() or character in "\u200b\ufeff"


def find_plainly(text: str, breaks: list[int]) -> list[str]:
    """The rule, a character at a time."""
    groups: list[list[str]] = []  # a character with its marks each; an empty one where no word goes on
    for i, c in enumerate(text):
        if i in breaks:
            groups.append([])
        if is_mark(c) and groups and groups[-1]:
            groups[-1].append(c)
        else:
            groups.append([] if is_space(c) else [c])
    found: list[str] = []
    goes_on = False
    for i, group in enumerate(groups):
        base = [g[0] if g else " " for g in groups[max(i - 1, 0) : i + 2]]
        is_inner = 0 < i < len(groups) - 1 and len(group) == 1 and bool(group) and joins(base)
        in_word = bool(group) and (is_letter(group[0]) or is_mark(group[0]) or is_inner)
        if in_word and goes_on:
            found[-1] += "".join(group)
        elif group:
            found.append("".join(group))
        goes_on = in_word
    return found


def joins(base: list[str]) -> bool:
    before, between, after = base
    if between in "'-\u00ad\u00b7\u200c\u200d\u2010\u2011\u2019":
        return all(is_letter(c) or is_mark(c) for c in (before, after))
    return between in ".," and before.isdecimal() and after.isdecimal()


@settings(deadline=None)
@given(text=TEXTS, breaks=st.lists(st.integers(0, 15), max_size=3, unique=True).map(sorted))
def test_the_words_are_those_of_the_rule(text: str, breaks: list[int]) -> None:
    breaks = [b for b in breaks if b <= len(text)]

    assert find(text, breaks) == find_plainly(text, breaks)


@settings(deadline=None)
@given(text=TEXTS)
def test_every_character_but_spaces_is_in_one_word(text: str) -> None:
    assert "".join(find(text)) == "".join(c for c in text if not is_space(c))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Aspirin inhibits COX-2.", ["Aspirin", "inhibits", "COX-2", "."]),
        ("don't 'quote' rock\u2019n\u2019roll", ["don't", "'", "quote", "'", "rock\u2019n\u2019roll"]),
        ("a--b -c d-", ["a", "-", "-", "b", "-", "c", "d", "-"]),
        ("3.14, 1,000. v1.2 a.b", ["3.14", ",", "1,000", ".", "v1.2", "a", ".", "b"]),
        ("e\u0301te\u0301 ❤\ufe0fx \u0301y", ["e\u0301te\u0301", "❤\ufe0f", "x", "\u0301y"]),
        ("漢字kana か\u3099き カナ", ["漢", "字", "kana", "か\u3099", "き", "カナ"]),
        ("\ufeffx\u200by\0z", ["x", "y", "\0", "z"]),
        ("snake_case £3.50", ["snake_case", "£", "3.50"]),
        ("", []),
    ],
)
def test_words_in_writing(text: str, expected: list[str]) -> None:
    assert find(text) == expected


@pytest.mark.parametrize("text", ["one two-three four's\n" * 4, "été l\u2019été 漢字 \ud800\n" * 4, "unbroken" * 9])
def test_the_size_of_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    expected = find(text, [3, 5, 30])

    for size in (1, 2, 7, 16):
        monkeypatch.setattr(words, "CHUNK_BYTES", size)
        assert find(text, [3, 5, 30]) == expected


@settings(deadline=None)
@given(text=TEXTS, spaceless=st.booleans(), size=st.integers(4, 12), tail=st.integers(4, 12))
def test_no_word_is_cut_between_two_chunks(text: str, spaceless: bool, size: int, tail: int) -> None:
    text = text.replace(" ", "").replace("\n", "") if spaceless else text
    expected = find(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "CHUNK_BYTES", size)
        patch.setattr(words, "_TAIL_BYTES", tail)
        found = find(text)

    assert found == expected


def test_text_without_spaces_is_cut_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.frombuffer("漢字仮名交じり文、".encode() * 1000, np.uint8)
    monkeypatch.setattr(words, "CHUNK_BYTES", 100)

    chunks = list(words.iter_words(data, np.empty(0, np.int64)))

    assert [chunk.begin for chunk in chunks[1:]] == [chunk.end for chunk in chunks[:-1]]
    assert max(chunk.end - chunk.begin for chunk in chunks) <= 100
