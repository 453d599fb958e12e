"""Tokenizers in other forms than the one JSON file: byte-level BPE as a pair of files is read, others told the way."""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from lisdata.errors import SchemaError

_ONE_FILE = "tokenizer.json"
_VOCABULARY, _MERGES = "vocab.json", "merges.txt"
_TO_ONE_FILE = (
    "python -c \"from transformers import AutoTokenizer as A; A.from_pretrained('FOLDER').save_pretrained('NEW')\" "
    f"with transformers writes NEW/{_ONE_FILE}"
)
_TIKTOKEN = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")
_NUM_BYTES = 256
_SPECIAL = ("<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>")
"""What GPT-2's and RoBERTa's vocabularies call their special tokens."""


def find_tokenizer(path: Path) -> Path | tuple[Path, Path]:
    """Return the one file that a path stands for, or the pair vocab.json and merges.txt of it.

    A folder stands for its tokenizer.json, else for its pair; one file of a pair stands for both. SchemaError for a
    folder that has neither.
    """
    if path.is_dir():
        if (path / _ONE_FILE).is_file():
            return path / _ONE_FILE
        pair = path / _VOCABULARY, path / _MERGES
        if all(file.is_file() for file in pair):
            return pair
        names = sorted(file.name for file in path.iterdir())[:8]
        raise SchemaError(
            f"{path}: expected {_ONE_FILE}, or {_VOCABULARY} and {_MERGES}, in this folder, found {names}; "
            f"{_TO_ONE_FILE}"
        )
    for name, other in ((_VOCABULARY, _MERGES), (_MERGES, _VOCABULARY)):
        beside = path.with_name(path.name.removesuffix(name) + other)
        if path.name.endswith(name) and beside.is_file():
            return (path, beside) if name == _VOCABULARY else (beside, path)
    return path


def byte_level_json(vocabulary: Path, merges: Path) -> bytes:
    """Return the tokenizers JSON of byte-level BPE (GPT-2, RoBERTa) in two files.

    SchemaError for a vocabulary without a token for each of the 256 bytes, whose text would be split in another way.
    """
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.pre_tokenizers import ByteLevel

    tokens = _read_vocabulary(vocabulary)
    num_bytes = sum(byte in tokens for byte in ByteLevel.alphabet())
    if num_bytes < _NUM_BYTES:
        raise SchemaError(
            f"{vocabulary}: expected byte-level BPE, with a token for each of {_NUM_BYTES} bytes, found {num_bytes} of "
            f"them; how it splits text these two files do not say: {_TO_ONE_FILE}"
        )
    body = orjson.loads(ByteLevelBPETokenizer().to_str())
    body["model"]["vocab"] = tokens
    lines = merges.read_text(encoding="utf-8", errors="replace").splitlines()
    body["model"]["merges"] = [line for line in lines if line and not line.startswith("#version")]
    flags = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    body["added_tokens"] = [
        {"id": tokens[token], "content": token} | flags
        for token in sorted(_SPECIAL, key=lambda t: tokens.get(t, 0))
        if token in tokens
    ]
    return orjson.dumps(body)


def _read_vocabulary(path: Path) -> dict[str, int]:
    try:
        tokens = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{path}: expected the JSON of a vocabulary, found {error}") from error
    if not isinstance(tokens, dict) or not all(isinstance(number, int) for number in tokens.values()):
        raise SchemaError(f"{path}: expected a JSON object of tokens and their numbers")
    return tokens


def advice(path: Path, data: bytes) -> str:
    """Return how a file that is no JSON becomes one, after "; ", where it is a tokenizer of a known form; else ""."""
    if _TIKTOKEN.match(data):
        return (
            '; this is a file of tiktoken: python -c "from transformers.convert_slow_tokenizer import '
            f"TikTokenConverter as T; T('{path.name}').converted().save('{_ONE_FILE}')\" with transformers and "
            "tiktoken converts it, for the splitting of cl100k"
        )
    if path.suffix == ".model" or (data[:1] == b"\n" and b"<unk>" in data[:64]):
        return f"; this looks like a model of SentencePiece: in a FOLDER with its configuration, {_TO_ONE_FILE}"
    return ""
