"""The character tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.encoding import load_tokenizer
from lisdata.encoding.characters import CharacterTokenizer, collect_characters
from lisdata.errors import LabelError, SchemaError
from lisdata.shards.manifest import sealed

any_text = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates too


def collected(texts: list[str], **settings: bool) -> CharacterTokenizer:
    return CharacterTokenizer(collect_characters(texts), **settings)


@given(st.lists(any_text, max_size=5))
def test_decoding_gives_the_text_back(texts: list[str]) -> None:
    tokenizer = collected(texts)

    pieces = tokenizer.encode_batch(texts)

    assert tokenizer.vocab_size == len(set("".join(texts)))
    for n, text in enumerate(texts):
        inside = slice(pieces.offsets[n], pieces.offsets[n + 1])
        assert tokenizer.decode(pieces.ids[inside]) == text
        assert pieces.begin[inside].tolist() == list(range(len(text)))
        assert pieces.end[inside].tolist() == list(range(1, len(text) + 1))


@given(st.lists(any_text, max_size=5))
def test_ids_ascend_with_the_code_points(texts: list[str]) -> None:
    characters = collected(texts).characters

    assert list(characters) == sorted(set(map(ord, "".join(texts))))


@given(any_text, st.booleans())
def test_a_vocabulary_survives_its_file(tmp_path_factory: pytest.TempPathFactory, text: str, unknown: bool) -> None:
    path = tmp_path_factory.mktemp("characters") / "characters.json"
    tokenizer = collected([text], has_unknown=unknown)
    path.write_bytes(tokenizer.to_json())

    found = load_tokenizer(path)

    assert found == tokenizer
    assert found.to_json() == tokenizer.to_json()


def test_an_unknown_character_is_an_error_that_names_it_and_the_file(tmp_path: Path) -> None:
    path = tmp_path / "characters.json"
    path.write_bytes(collected(["ab"]).to_json())

    with pytest.raises(LabelError, match=r"characters.json: expected only its 2 characters, found 'é' \(U\+00E9\)"):
        load_tokenizer(path).encode_batch(["ab", "bé"])


def test_an_unknown_character_is_the_last_id_by_choice_and_counted() -> None:
    tokenizer = collected(["ab"], has_unknown=True)

    pieces = tokenizer.encode_batch(["axb", "y"])

    assert pieces.ids.tolist() == [0, 2, 1, 2]
    assert pieces.num_replaced == 2
    assert (tokenizer.vocab_size, tokenizer.unk_id, tokenizer.pad_id, tokenizer.mask_id) == (3, 2, None, None)
    assert tokenizer.decode(pieces.ids) == "a\ufffdb\ufffd"


def test_a_vocabulary_with_an_unknown_id_may_still_refuse() -> None:
    with pytest.raises(LabelError):
        collected(["ab"], has_unknown=True, refuses_unknown=True).encode_batch(["x"])


def test_ids_outside_the_vocabulary_are_refused() -> None:
    with pytest.raises(ValueError, match="expected ids below 2, got 2"):
        collected(["ab"]).decode([0, 2])
    with pytest.raises(ValueError, match="expected ids below 2, got -1"):
        collected(["ab"]).decode([-1])


@pytest.mark.parametrize(
    ("characters", "message"),
    [((97, 97), "distinct"), ((0x110000,), "below 0x110000"), ("ab", "list of code points"), ([97.5], "list of code")],
)
def test_a_file_with_other_characters_is_refused(tmp_path: Path, characters: object, message: str) -> None:
    path = tmp_path / "characters.json"
    path.write_bytes(sealed({"format": "lisdata-characters", "characters": characters}))

    with pytest.raises(SchemaError, match=message):
        load_tokenizer(path)


def test_tiny_shakespeare_has_65_characters_and_no_specials(shared: Path) -> None:
    text = (shared / "data" / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")

    tokenizer = collected([text])

    assert tokenizer.vocab_size == 65
    assert tokenizer.decode(tokenizer.encode_batch([text]).ids) == text
