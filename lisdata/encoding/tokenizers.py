"""Tokenizers: characters, or any JSON of the `tokenizers` library; from local files only."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson

from lisdata.encoding.characters import CHARACTERS_FORMAT, CharacterTokenizer
from lisdata.encoding.foreign_tokenizers import advice, byte_level_json, find_tokenizer
from lisdata.encoding.pieces import Int64, Pieces, offsets_of
from lisdata.errors import SchemaError
from lisdata.shards.manifest import read_sealed

CHARACTERS = "chars"
_PAD_NAMES = ("<pad>", "[PAD]", "<|padding|>", "<|pad|>")
_MASK_NAMES = ("<mask>", "[MASK]", "<|mask|>")
_UNK_NAMES = ("<unk>", "[UNK]", "<|unk|>")
_SURROGATE, _REPLACEMENT = re.compile("[\ud800-\udfff]"), "\ufffd"


class Tokenizer(Protocol):
    """What `encode` asks of a tokenizer; ids are 0 .. `vocab_size` - 1."""

    @property
    def file_name(self) -> str:
        """The file beside the shards that holds `to_json`."""

    @property
    def vocab_size(self) -> int:
        """One more than the greatest id."""

    @property
    def pad_id(self) -> int | None:
        """The padding id, where the vocabulary has one."""

    @property
    def unk_id(self) -> int | None:
        """The id of what the vocabulary cannot spell, where it has one."""

    @property
    def mask_id(self) -> int | None:
        """The id of what stands for a token to be predicted, where the vocabulary has one."""

    def encode_batch(self, texts: Sequence[str], *, special_tokens: bool = False) -> Pieces:
        """Return the pieces of each text; `special_tokens` adds those that the tokenizer's own template asks for."""

    def encode_pair(self, first: str, second: str) -> Int64:
        """Return the ids of two texts in one row, with what the tokenizer's own template for two adds."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that `ids` spell, special tokens included."""

    def to_json(self) -> bytes:
        """Return the file that `load_tokenizer` reads back."""


class SubwordTokenizer:
    """A tokenizer of the `tokenizers` library, given by its JSON; truncation and padding set in it are turned off."""

    file_name = "tokenizer.json"

    def __init__(self, data: bytes, origin: str) -> None:
        # One unit is the work of one process: the pool of workers is the parallelism.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer as Backend

        self.origin = origin
        self._data = data
        with self._library_errors():
            self._backend: Any = Backend.from_str(data.decode())
        self._backend.no_truncation()
        self._backend.no_padding()
        vocabulary: dict[str, int] = self._backend.get_vocab(with_added_tokens=True)
        self.vocab_size = max(vocabulary.values(), default=-1) + 1
        self.pad_id = next((vocabulary[name] for name in _PAD_NAMES if name in vocabulary), None)
        self.mask_id = next((vocabulary[name] for name in _MASK_NAMES if name in vocabulary), None)
        self.unk_id = next((vocabulary[name] for name in _UNK_NAMES if name in vocabulary), None)

    def encode_batch(self, texts: Sequence[str], *, special_tokens: bool = False) -> Pieces:
        """Return the pieces of each text; a lone surrogate, which the library cannot take, is read as U+FFFD."""
        scalar, num_replaced = without_surrogates(texts)
        with self._library_errors():
            found = self._backend.encode_batch(scalar, add_special_tokens=special_tokens)
        offsets = offsets_of(np.fromiter(map(len, found), np.int64, len(found)))
        total = int(offsets[-1])
        with self._library_errors():
            ids = np.fromiter(chain.from_iterable(e.ids for e in found), np.int32, total)
        flat = chain.from_iterable(chain.from_iterable(e.offsets for e in found))
        places = np.fromiter(flat, np.int64, 2 * total).reshape(-1, 2)
        return Pieces(offsets=offsets, ids=ids, begin=places[:, 0], end=places[:, 1], num_replaced=num_replaced)

    def encode_pair(self, first: str, second: str) -> Int64:
        """Return the ids of two texts in one row, with what the tokenizer's own template for two adds."""
        (left, right), _ = without_surrogates([first, second])
        with self._library_errors():
            return np.array(self._backend.encode(left, right).ids, np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that `ids` spell, by the tokenizer's own decoder, special tokens included."""
        with self._library_errors():
            text: str = self._backend.decode([int(i) for i in ids], skip_special_tokens=False)
        return text

    def to_json(self) -> bytes:
        """Return the JSON as it was read."""
        return self._data

    @contextmanager
    def _library_errors(self) -> Iterator[None]:
        """Turn what the library says of a JSON that it cannot take, or of an id beyond int32, into a SchemaError."""
        try:
            yield
        except BaseException as error:
            # The library has no class of its own for its errors; those of a panic cannot be imported.
            is_its_own = type(error) in (Exception, OverflowError) or type(error).__name__ == "PanicException"
            if not is_its_own:
                raise
            raise SchemaError(f"{self.origin}: expected a tokenizer that works, found: {error}") from error


def without_surrogates(texts: Sequence[str]) -> tuple[list[str], int]:
    """Return the texts with U+FFFD for each lone surrogate (as many characters, all encodable), and their number."""
    if all(map(str.isascii, texts)):
        return list(texts), 0
    pairs = [(text, 0) if text.isascii() else _SURROGATE.subn(_REPLACEMENT, text) for text in texts]
    return [text for text, _ in pairs], sum(count for _, count in pairs)


def template_ids(tokenizer: Tokenizer) -> tuple[Int64, Int64]:
    """Return the ids that the tokenizer's template puts before and after a text."""
    if not len(tokenizer.encode_batch([""], special_tokens=True).ids):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    own = tokenizer.encode_batch(["a"]).ids.tolist()
    ids = tokenizer.encode_batch(["a"], special_tokens=True).ids.astype(np.int64)
    begin = next(n for n in range(len(ids)) if ids[n : n + len(own)].tolist() == own)
    return ids[:begin], ids[begin + len(own) :]


def pair_template_ids(tokenizer: Tokenizer) -> tuple[Int64, Int64, Int64]:
    """Return the ids that the tokenizer's template puts before, between and after two texts in one row.

    Where it has none for two, each text is followed by what follows one that is alone.
    """
    before, after = template_ids(tokenizer)
    own = tokenizer.encode_batch(["a"]).ids.tolist()
    ids, size = tokenizer.encode_pair("a", "a"), len(own)
    places = [n for n in range(len(ids)) if ids[n : n + size].tolist() == own]
    second = next((n for n in places if n >= places[0] + size), None)
    if second is None or len(ids) == 2 * size:
        return before, after, after
    return ids[: places[0]], ids[places[0] + size : second], ids[second + size :]


def load_tokenizer(name: str | Path) -> Tokenizer:
    """Return the tokenizer of a file: `characters.json` of a dataset, or a `tokenizers` JSON (also gzipped).

    A folder stands for the tokenizer.json in it; a folder, or one file, of vocab.json and merges.txt is read where
    these are byte-level BPE, and the `to_json` of it is one file.
    Nothing is ever fetched: a name that is no file is a ValueError. "chars" has no vocabulary before the data was seen
    (`encode` collects it), so it is refused here.
    """
    path = Path(name)
    if str(name) == CHARACTERS:
        raise ValueError(f"{CHARACTERS!r} needs a vocabulary: name the characters.json of an encoded dataset")
    if not path.exists():
        raise ValueError(
            f"no tokenizer is called {str(name)!r}: expected {CHARACTERS!r}, or a local file: the characters.json of a "
            "dataset, or a tokenizer.json of the tokenizers library (also .gz); nothing is fetched from the network"
        )
    found = find_tokenizer(path)
    if isinstance(found, tuple):
        return SubwordTokenizer(byte_level_json(*found), str(path))
    path, data = found, _read(found)
    body = _parsed(data, path)
    if body.get("format") == CHARACTERS_FORMAT:
        return CharacterTokenizer.from_body(read_sealed(path), path)
    if not isinstance(body.get("model"), dict):
        raise SchemaError(
            f"{path}: expected {CHARACTERS_FORMAT!r} or a tokenizer with a 'model', found {sorted(body)[:8]}"
        )
    return SubwordTokenizer(data, str(path))


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise SchemaError(f"{path}: expected a whole gzip file, found a cut or damaged one ({error})") from error


def _parsed(data: bytes, path: Path) -> dict[str, Any]:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{path}: expected the JSON of a tokenizer, found {error}{advice(path, data)}") from error
    if not isinstance(body, dict):
        raise SchemaError(f"{path}: expected a JSON object, found {type(body).__name__}")
    return body
