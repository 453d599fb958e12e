"""Hexatags on subwords: a word's pair stands on its first piece, under real tokenizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

from lisdata.contents import Role, word
from lisdata.encoding import load_tokenizer
from lisdata.schema import UNTAGGED, StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure

TOKENIZERS = ("roberta-base.tokenizer.json", "gpt-neox-20b-olmo.tokenizer.json.gz", "t5-small.tokenizer.json.gz")
VOCABULARIES = ("gpt2", "bert-base-cased")  # given as vocabulary files: made a tokenizers JSON first
Words = list[tuple[str, int, int]]


@pytest.fixture(scope="module")
def sentences(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "data" / "hexatag" / "golden_open.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module", params=(*TOKENIZERS, *VOCABULARIES))
def tokenizer(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = shared / "data" / "tokenizers"
    if request.param not in VOCABULARIES:
        return load_tokenizer(folder / request.param)
    if request.param == "gpt2":
        made = ByteLevelBPETokenizer.from_file(str(folder / "gpt2.vocab.json"), str(folder / "gpt2.merges.txt"))
    else:
        made = BertWordPieceTokenizer.from_file(str(folder / "bert-base-cased.vocab.txt"), lowercase=False)
    path = tmp_path_factory.mktemp("tokenizers") / f"{request.param}.json"
    made.save(str(path))
    return load_tokenizer(path)


def sentence(record_id: str, words: Words, text: str) -> Structure:
    """Make a tagged sentence; the words stand in `text` in order."""
    occurrences, incidences, end = [], [], 0
    for n, (form, terminal, nonterminal) in enumerate(words):
        begin = text.index(form, end)
        end = begin + len(form)
        span = (len(text[:begin].encode()), len(text[:end].encode()))
        tags = {"terminal": terminal, "nonterminal": nonterminal}
        occurrences.append(Occurrence(content=word(form), span=span, head=0, **tags))
        incidences.append(Incidence(occurrence=n, instance=0, role=Role("sentence", "token"), position=n))
    return Structure(
        record_id=record_id,
        kind=StructureKind.TEXT,
        document=text.encode(),
        occurrences=tuple(occurrences),
        instances=(Instance(label="sentence"),),
        incidences=tuple(incidences),
    )


def words_of(golden: dict[str, Any]) -> Words:
    return list(zip(golden["forms"], golden["terminal_id"], golden["nonterminal_id"], strict=True))


def tags_in_order(row: dict[str, Any]) -> list[tuple[int, int]]:
    pairs = zip(row["terminal"], row["nonterminal"], strict=True)
    return [pair for pair in pairs if pair != (UNTAGGED, UNTAGGED)]


def test_each_word_has_its_pair_once_on_its_first_piece(
    encode_in_memory: Any, tokenizer: Any, sentences: list[dict[str, Any]]
) -> None:
    structures = [sentence(str(n), words_of(g), " ".join(g["forms"])) for n, g in enumerate(sentences)]

    rows, counts = encode_in_memory(structures, tokenizer)

    assert counts["words_without_piece"] == counts["tags_lost"] == 0
    assert counts["words"] == sum(len(g["forms"]) for g in sentences)
    for row, golden in zip(rows, sentences, strict=True):
        assert tags_in_order(row) == [(t, nt) for _, t, nt in words_of(golden)]
        shown = [o for o in row["occurrence"] if o >= 0]
        assert shown == sorted(shown)
        for n in range(len(golden["forms"])):
            pieces = [k for k, o in enumerate(row["occurrence"]) if o == n]
            assert row["terminal"][pieces[0]] != UNTAGGED
            assert all(row["terminal"][k] == UNTAGGED for k in pieces[1:])


def test_every_piece_of_spaced_words_spells_its_word(
    encode_in_memory: Any, shared: Path, sentences: list[dict[str, Any]]
) -> None:
    roberta = load_tokenizer(shared / "data" / "tokenizers" / TOKENIZERS[0])
    structures = [sentence(str(n), words_of(g), " ".join(g["forms"])) for n, g in enumerate(sentences)]

    rows, _ = encode_in_memory(structures, roberta)

    for row, golden in zip(rows, sentences, strict=True):
        for n, form in enumerate(golden["forms"]):
            ids = [i for i, o in zip(row["input_ids"], row["occurrence"], strict=True) if o == n]
            assert roberta.decode(ids).strip() == form


def test_special_tokens_are_untagged_and_belong_to_no_word(encode_in_memory: Any, shared: Path) -> None:
    roberta = load_tokenizer(shared / "data" / "tokenizers" / TOKENIZERS[0])
    tagged = sentence("s", [("She", 0, 2), ("reads", 1, 0)], "She reads")

    rows, _ = encode_in_memory([tagged], roberta, special_tokens=True)

    assert rows[0]["input_ids"][0] == 0
    assert rows[0]["input_ids"][-1] == 2
    assert rows[0]["occurrence"] == [-1, 0, 1, -1]
    assert rows[0]["terminal"] == [UNTAGGED, 0, 1, UNTAGGED]


def test_a_word_that_the_tokenizer_drops_is_counted_with_its_tags(encode_in_memory: Any, shared: Path) -> None:
    t5 = load_tokenizer(shared / "data" / "tokenizers" / TOKENIZERS[2])
    tagged = sentence("s", [("She", 0, 2), ("\u200b", 0, 3), ("reads", 1, 0)], "She \u200b reads")

    rows, counts = encode_in_memory([tagged], t5)

    assert counts["words"] == 3
    assert counts["words_without_piece"] == counts["tags_lost"] == 1
    assert tags_in_order(rows[0]) == [(0, 2), (1, 0)]


def test_a_piece_over_two_words_carries_the_tags_of_the_first(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    tagged = sentence("s", [("a", 0, 2), ("b", 0, 3), ("c", 1, 0)], "ab c")

    rows, counts = encode_in_memory([tagged], chunk_tokenizer(2))

    assert tags_in_order(rows[0]) == [(0, 2), (1, 0)]
    assert (counts["pieces_over_several_words"], counts["words_without_piece"], counts["tags_lost"]) == (1, 1, 1)


def test_a_word_with_a_space_inside_is_one_word(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    tagged = sentence("s", [("2 001", 0, 2), ("km", 1, 0)], "2 001 km")

    rows, _ = encode_in_memory([tagged], chunk_tokenizer(1))

    assert rows[0]["occurrence"] == [0, 0, 0, 0, 0, -1, 1, 1]
    assert [n for n, t in enumerate(rows[0]["terminal"]) if t != UNTAGGED] == [0, 6]
