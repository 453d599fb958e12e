"""Frozen tags in token rows: of each word those of a parse that ends with its first token, and nothing else changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lisdata.conversion import convert
from lisdata.encoding import encode, load_tokenizer
from lisdata.encoding.frozen_tags import EOS, freeze_tags, newest_tags
from lisdata.encoding.tokenizer_training import TokenizerSettings, train_tokenizer
from lisdata.errors import SchemaError, TreeError
from lisdata.evaluation.tag_cache import tag_texts
from lisdata.statistics.summary import summarise
from lisdata.token_shards import TokenDataset

RULE = "python:rule_parser:parse"
TEXT = "the cat sat on a mat. it slept.\nwatching dogs bark at unseen things\n\nok.\n"
N = -100


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frozen")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    train_tokenizer(str(folder / "text.txt"), folder / "t.json", TokenizerSettings(vocabulary_size=270))
    convert("parsed", [str(folder / "text.txt")], folder / "text.lis", options={"parser": RULE, "unit": "line"})
    encode_text(folder, "text.tok", special_tokens=True)
    return folder / "text.tok"


def encode_text(folder: Path, name: str, **settings: object) -> Path:
    encode(folder / "text.lis", folder / name, tokenizer=str(folder / "t.json"), view="sequence", **settings)
    return folder / name


@pytest.mark.parametrize("special_tokens", [True, False])
def test_each_word_has_the_tags_of_a_parse_that_ends_with_its_first_token(
    tokens: Path, tmp_path: Path, special_tokens: bool
) -> None:
    source = tokens if special_tokens else encode_text(tokens.parent, "bare.tok", special_tokens=False)
    freeze_tags(source, tmp_path / "frozen", RULE)
    before, after = TokenDataset(source), TokenDataset(tmp_path / "frozen", verify="full")
    tokenizer = load_tokenizer(tokens.parent / "t.json")

    assert len(before) == len(after) > 4
    for old, new in zip(before, after, strict=True):
        assert {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in old.items() if "terminal" not in n} == {
            n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in new.items() if "terminal" not in n
        }
        own = slice(1, -1) if special_tokens else slice(None)
        ids = old["input_ids"][own].tolist()
        for place in range(len(ids)):
            expected = (N, N)
            if old["terminal"][own][place] != N:
                (parsed,) = tag_texts([tokenizer.decode(ids[: place + 1]).strip()], RULE)
                newest = [*parsed.nonterminal[-2:-1], EOS][0]
                expected = (parsed.terminal[-1], newest) if len(parsed.terminal) else (N, N)
            assert (new["terminal"][own][place], new["nonterminal"][own][place]) == expected


def test_workers_change_no_byte_and_a_second_call_does_nothing(tokens: Path, tmp_path: Path) -> None:
    freeze_tags(tokens, tmp_path / "one", RULE)
    freeze_tags(tokens, tmp_path / "two", RULE, workers=2)
    time = (tmp_path / "one" / "manifest.json").stat().st_mtime_ns
    body = freeze_tags(tokens, tmp_path / "one", RULE)

    assert (tmp_path / "one" / "manifest.json").read_bytes() == (tmp_path / "two" / "manifest.json").read_bytes()
    assert (tmp_path / "one" / "manifest.json").stat().st_mtime_ns == time
    assert (body["frozen_tags"]["parser"], body["frozen_tags"]["rows respelled"]) == (RULE, 0)


def test_rows_without_tags_or_of_several_sentences_are_refused(tokens: Path, tmp_path: Path) -> None:
    bare = encode_text(tokens.parent, "ids.tok", columns=("input_ids",))
    packed = encode_text(tokens.parent, "packed.tok", context=32)

    for source, found in ((bare, "no terminal, nonterminal"), (packed, "several structures in a row")):
        with pytest.raises(SchemaError, match=f"rows of one sentence each with their hexatags, found {found}"):
            freeze_tags(source, tmp_path / "out", RULE)


def test_a_text_without_words_has_no_newest_tags() -> None:
    terminal, nonterminal = newest_tags(["", "a", " ", "a b"], RULE)

    assert (terminal.tolist(), nonterminal.tolist()) == (
        [N, 0, N, 1],
        [N, EOS, N, tag_texts(["a b"], RULE)[0].nonterminal[0]],
    )


def test_what_is_no_tree_is_told_with_its_text() -> None:
    with pytest.raises(TreeError, match="expected trees for 'bad bad'"):
        newest_tags(["bad bad"], "python:cyclic_parser:parse")


def test_statistics_count_a_sentence_a_row_and_no_depth_of_stacks(tokens: Path, tmp_path: Path) -> None:
    freeze_tags(tokens, tmp_path / "frozen", RULE)

    whole, frozen = summarise(tokens), summarise(tmp_path / "frozen")

    assert frozen["tagged_sentences"] == whole["tagged_sentences"] > 1
    assert "sentences_by_stack_depth" in whole
    assert "sentences_by_stack_depth" not in frozen


def test_a_dataset_that_is_not_encoded_yet_is_refused_with_what_to_do(tokens: Path, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="holds structures, not tokens yet: encode it first"):
        freeze_tags(tokens.parent / "text.lis", tmp_path / "frozen", RULE)
    with pytest.raises(SchemaError, match="holds tokens already: give that of its structures"):
        encode(tokens, tmp_path / "again")
