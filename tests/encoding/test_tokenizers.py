"""Tokenizers of the `tokenizers` library, from local files only."""

from __future__ import annotations

import gzip
import socket
from pathlib import Path
from typing import Any

import pytest

from lisdata.encoding import load_tokenizer
from lisdata.errors import SchemaError

REAL = ("roberta-base.tokenizer.json", "gpt-neox-20b-olmo.tokenizer.json.gz", "t5-small.tokenizer.json.gz")
TEXTS = ["The keys  to é😀 isn't of\nthe cabinet", "", " lead", "a\u00adb", "naïve 日本語 text"]


@pytest.fixture(scope="module", params=REAL)
def real(request: pytest.FixtureRequest, shared: Path) -> Any:
    return load_tokenizer(shared / "data" / "tokenizers" / request.param)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A word-level tokenizer with its own template, truncation and padding."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {"[PAD]": 0, "[UNK]": 1, "<s>": 2, "a": 3, "b": 4}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2)])
    backend.enable_truncation(2)
    backend.enable_padding(length=8)
    path = tmp_path / "tokenizer.json"
    path.write_text(backend.to_str(), encoding="utf-8")
    return path


def test_offsets_are_those_of_each_text_alone(real: Any) -> None:
    together = real.encode_batch(TEXTS)

    assert together.offsets[-1] == len(together.ids) == len(together.begin) == len(together.end)
    for n, text in enumerate(TEXTS):
        inside = slice(together.offsets[n], together.offsets[n + 1])
        alone = real.encode_batch([text])
        assert together.ids[inside].tolist() == alone.ids.tolist()
        assert together.begin[inside].tolist() == alone.begin.tolist()
        assert all(0 <= b <= e <= len(text) for b, e in zip(alone.begin, alone.end, strict=True))


def test_plain_text_comes_back(real: Any) -> None:
    pieces = real.encode_batch(["The keys to the cabinet"])

    assert real.decode(pieces.ids) == "The keys to the cabinet"
    assert max(pieces.ids) < real.vocab_size


def test_the_file_is_kept_as_it_was(real: Any, tmp_path: Path) -> None:
    path = tmp_path / real.file_name
    path.write_bytes(real.to_json())

    assert load_tokenizer(path).encode_batch(TEXTS).ids.tolist() == real.encode_batch(TEXTS).ids.tolist()


def test_a_lone_surrogate_is_read_as_the_replacement_character(real: Any) -> None:
    pieces = real.encode_batch(["a\ud800b", "c"])

    assert pieces.num_replaced == 1
    assert pieces.ids.tolist() == real.encode_batch(["a\ufffdb", "c"]).ids.tolist()


def test_reserved_ids_are_found(shared: Path) -> None:
    roberta = load_tokenizer(shared / "data" / "tokenizers" / REAL[0])

    assert (roberta.pad_id, roberta.unk_id, roberta.vocab_size) == (1, 3, 50265)


def test_truncation_and_padding_of_the_file_are_turned_off(tiny: Path) -> None:
    assert load_tokenizer(tiny).encode_batch(["a b a", "a"]).ids.tolist() == [3, 4, 3, 3]


def test_special_tokens_come_when_asked_for_and_spell_nothing(tiny: Path) -> None:
    pieces = load_tokenizer(tiny).encode_batch(["a b"], special_tokens=True)

    assert pieces.ids.tolist() == [2, 3, 4]
    assert (pieces.begin[0], pieces.end[0]) == (0, 0)


def test_a_gzipped_file_is_read(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "any-name"
    path.write_bytes(gzip.compress(tiny.read_bytes()))

    assert load_tokenizer(path).to_json() == tiny.read_bytes()


def test_an_unknown_name_is_refused_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a tokenizer is never fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(ValueError, match="no tokenizer is called 'gpt2': expected 'chars', or a local file"):
        load_tokenizer("gpt2")


def test_characters_need_a_vocabulary() -> None:
    with pytest.raises(ValueError, match=r"name the characters\.json"):
        load_tokenizer("chars")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "expected the JSON of a tokenizer"),
        (b"[]", "expected a JSON object, found list"),
        (b'{"vocab": {}}', "a tokenizer with a 'model'"),
        (gzip.compress(b"{}" * 99, mtime=0)[:-9], "whole gzip file"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data)

    with pytest.raises(SchemaError, match=rf"tokenizer\.json: .*{message}"):
        load_tokenizer(path)
