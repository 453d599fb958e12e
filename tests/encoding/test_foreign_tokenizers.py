"""Tokenizers that are not one JSON file: a pair of byte-level BPE is read, all else is refused with the way."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lisdata.cli import main
from lisdata.encoding import load_tokenizer
from lisdata.errors import SchemaError

TEXTS = ["The keys  to é😀", "", " lead"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with vocab.json and merges.txt of byte-level BPE, and whole/tokenizer.json of the same."""
    from tokenizers import ByteLevelBPETokenizer

    folder = tmp_path_factory.mktemp("bpe")
    backend: Any = ByteLevelBPETokenizer()
    backend.train_from_iterator(["the keys to the cabinet", "the sea"] * 9, 290, special_tokens=["<|endoftext|>"])
    backend.save_model(str(folder))
    (folder / "whole").mkdir()
    backend.save(str(folder / "whole" / "tokenizer.json"))
    return folder


@pytest.mark.parametrize("name", [".", "vocab.json", "merges.txt"])
def test_a_pair_of_files_gives_the_ids_of_its_one_file(name: str, pair: Path) -> None:
    found, expected = load_tokenizer(pair / name), load_tokenizer(pair / "whole" / "tokenizer.json")

    assert found.encode_batch(TEXTS).ids.tolist() == expected.encode_batch(TEXTS).ids.tolist()
    assert found.decode(found.encode_batch(TEXTS[:1]).ids) == TEXTS[0]
    special = found.encode_batch(["<|endoftext|>"]).ids.tolist()
    assert special == expected.encode_batch(["<|endoftext|>"]).ids.tolist()
    assert len(special) == 1


@pytest.mark.parametrize("name", ["gpt2.vocab.json", "gpt2.merges.txt"])
def test_a_pair_with_a_name_before_it_is_read_and_encode_says_so(name: str, pair: Path, tmp_path: Path) -> None:
    for file in ("vocab.json", "merges.txt"):
        (tmp_path / f"gpt2.{file}").write_bytes((pair / file).read_bytes())

    found, expected = load_tokenizer(tmp_path / name), load_tokenizer(pair)

    assert found.encode_batch(TEXTS).ids.tolist() == expected.encode_batch(TEXTS).ids.tolist()
    said = " ".join(CliRunner().invoke(main, ["encode", "--help"]).output.split())
    assert "NAME.vocab.json or NAME.merges.txt with the other beside it" in said


def test_a_vocabulary_without_its_merges_is_refused(pair: Path, tmp_path: Path) -> None:
    (tmp_path / "gpt2.vocab.json").write_bytes((pair / "vocab.json").read_bytes())

    with pytest.raises(SchemaError, match=r"gpt2\.vocab\.json: expected .* a tokenizer with a 'model'"):
        load_tokenizer(tmp_path / "gpt2.vocab.json")


def test_a_folder_stands_for_the_one_file_in_it_and_a_pair_is_kept_as_one(pair: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(load_tokenizer(pair).to_json())

    assert (
        load_tokenizer(tmp_path).encode_batch(TEXTS).ids.tolist()
        == load_tokenizer(pair).encode_batch(TEXTS).ids.tolist()
    )


def test_a_pair_that_is_not_byte_level_is_refused_with_the_way(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"low</w>": 0, "er": 1}), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")

    with pytest.raises(SchemaError, match=r"expected byte-level BPE.*found 0 of them.*save_pretrained"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(("data", "message"), [("{", "JSON of a vocabulary"), ("[1]", "JSON object of tokens")])
def test_a_vocabulary_that_is_none_is_refused(data: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(data, encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")

    with pytest.raises(SchemaError, match=message):
        load_tokenizer(tmp_path)


def test_merges_of_another_vocabulary_are_refused(pair: Path, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_bytes((pair / "vocab.json").read_bytes())
    (tmp_path / "merges.txt").write_text("#version: 0.2\nzz qq\n", encoding="utf-8")

    with pytest.raises(SchemaError, match=r"expected a tokenizer that works, found: .*zz"):
        load_tokenizer(tmp_path)


def test_a_folder_without_a_tokenizer_is_refused_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "spiece.model").write_bytes(b"\n\x0e\n\x05<unk>")

    with pytest.raises(SchemaError, match=r"expected tokenizer\.json, or vocab\.json and merges\.txt.*spiece\.model"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("spiece.model", b"\n\x0e\n\x05<unk>\x15", "looks like a model of SentencePiece.*AutoTokenizer"),
        ("cl100k.tiktoken", base64.b64encode(b"!") + b" 0\n", r"a file of tiktoken.*TikTokenConverter"),
        ("other.bin", b"\x00\x01", r"expected the JSON of a tokenizer, found .*\)$"),
    ],
)
def test_a_file_of_another_library_is_refused_with_the_way(
    name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)

    with pytest.raises(SchemaError, match=message):
        load_tokenizer(tmp_path / name)


def test_roberta_s_pair_gives_the_ids_of_its_one_file(shared: Path, tmp_path: Path) -> None:
    path = shared / "data" / "tokenizers" / "roberta-base.tokenizer.json"
    model = json.loads(path.read_bytes())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")

    found, expected = load_tokenizer(tmp_path), load_tokenizer(path)

    texts = [*TEXTS, "<s> naïve 日本語</s>"]
    assert found.encode_batch(texts).ids.tolist() == expected.encode_batch(texts).ids.tolist()
    assert (found.pad_id, found.mask_id, found.unk_id) == (expected.pad_id, expected.mask_id, expected.unk_id)
