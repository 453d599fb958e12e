"""Tokenizers of the `tokenizers` library, from local files only."""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from changed_documents import changed_documents, refusal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.encoding import load_tokenizer
from lisdata.errors import LisDataError, SchemaError
from lisdata.shards.manifest import sealed

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

    assert (roberta.pad_id, roberta.unk_id, roberta.mask_id, roberta.vocab_size) == (1, 3, 50264, 50265)


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


def tokenizer_json(kind: str) -> Any:
    """Return the JSON of a tokenizer that has a bit of everything."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    vocabulary = {"[UNK]": 0, "<s>": 1, "a": 2, "b": 3, "ab": 4}
    model = {
        "words": lambda: models.WordLevel(vocabulary, unk_token="[UNK]"),
        "merges": lambda: models.BPE(vocabulary, [("a", "b")], unk_token="[UNK]"),
        "scores": lambda: models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -2.0)], unk_id=0),
    }[kind]()
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace("x", "y")])
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    backend.decoder = decoders.ByteLevel()
    backend.enable_truncation(2)
    backend.enable_padding(length=8)
    backend.add_special_tokens(["[UNK]"])
    return json.loads(backend.to_str())


@pytest.mark.parametrize("kind", ["words", "merges", "scores"])
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_one_field_says_it_works_or_is_refused(kind: str, tmp_path: Path, data: Any) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data.draw(changed_documents(tokenizer_json(kind)))), encoding="utf-8")

    def use() -> None:
        tokenizer = load_tokenizer(path)
        tokenizer.encode_batch(["a ab", "x [UNK]", "", "x"])
        tokenizer.decode(tokenizer.encode_batch(["a b"], special_tokens=True).ids)

    error = refusal(use, SchemaError)

    assert error is None or str(error).startswith(f"{path}: expected ")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": {}}, "expected a tokenizer that works, found: "),
        ({"model": {"type": "Song"}}, "expected a tokenizer that works, found: "),
        ({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}}, "expected a tokenizer that works"),
    ],
)
def test_a_json_that_the_library_does_not_take_is_refused_with_its_words(
    body: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(body), encoding="utf-8")

    with pytest.raises(SchemaError, match=f"^{path}: {message}"):
        load_tokenizer(path).encode_batch(["b"])


@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_sealed_vocabulary_says_it_works_or_is_refused(tmp_path: Path, data: Any) -> None:
    body = {"format": "lisdata-characters", "characters": [97, 98], "has_unknown": True}
    path = tmp_path / "characters.json"
    path.write_bytes(sealed(data.draw(changed_documents(body))))

    error = refusal(lambda: load_tokenizer(path).encode_batch(["a"]), LisDataError)

    assert error is None or str(path) in str(error)


def test_an_interruption_is_no_error_of_a_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tokenizers

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json("words")))
    monkeypatch.setattr(tokenizers.Tokenizer, "from_str", interrupt)

    with pytest.raises(KeyboardInterrupt):
        load_tokenizer(tmp_path / "tokenizer.json")
