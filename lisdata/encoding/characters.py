"""The character tokenizer: a vocabulary of code points, collected from what is to be encoded or frozen in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lisdata.encoding.pieces import Ids, Int64, Pieces, offsets_of
from lisdata.errors import LabelError, SchemaError
from lisdata.shards.manifest import sealed

CHARACTERS_FORMAT = "lisdata-characters"
NUM_CODE_POINTS = 0x110000
_ABSENT = -1

UnknownCharacter = Literal["error", "unk"]


@dataclass(frozen=True, slots=True)
class CharacterTokenizer:
    """One piece a code point, lone surrogates included; piece n is `characters[n]`, in ascending order when collected.

    With `has_unknown` a further id after them stands for every other code point; without it, or when it
    `refuses_unknown`, such a one is a LabelError.
    """

    characters: tuple[int, ...]
    has_unknown: bool = False
    refuses_unknown: bool = False
    origin: str = field(default="the character vocabulary", compare=False)
    _ids: Ids = field(init=False, repr=False, compare=False)

    file_name = "characters.json"
    pad_id = None
    mask_id = None

    def __post_init__(self) -> None:
        if not all(0 <= c < NUM_CODE_POINTS for c in self.characters):
            raise ValueError(f"expected code points below {NUM_CODE_POINTS:#x}, got {max(self.characters)}")
        if len(set(self.characters)) != len(self.characters):
            raise ValueError("expected distinct code points, got one twice")
        ids = np.full(NUM_CODE_POINTS, _ABSENT, np.int32)
        ids[np.array(self.characters, np.int64)] = np.arange(len(self.characters))
        object.__setattr__(self, "_ids", ids)

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return len(self.characters) + self.has_unknown

    @property
    def unk_id(self) -> int | None:
        """The id of characters that the vocabulary does not have."""
        return len(self.characters) if self.has_unknown else None

    def encode_batch(self, texts: Sequence[str], *, special_tokens: bool = False) -> Pieces:
        """Return one piece a character (there are no special tokens to add); LabelError at an unknown character."""
        return self.encode_joined("".join(texts), offsets_of(np.fromiter(map(len, texts), np.int64, len(texts))))

    def encode_joined(self, text: str, offsets: Int64) -> Pieces:
        """Do what `encode_batch` does for texts that stand one after the other, cut at `offsets` (characters)."""
        codes = code_points(text)
        ids = self._ids[codes]
        absent = np.flatnonzero(ids == _ABSENT)
        if len(absent):
            if self.unk_id is None or self.refuses_unknown:
                raise self._unknown(text, int(absent[0]))
            ids[absent] = self.unk_id
        begin = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets))
        return Pieces(offsets=offsets, ids=ids, begin=begin, end=begin + 1, num_replaced=len(absent))

    def _unknown(self, text: str, index: int) -> LabelError:
        around = text[max(0, index - 10) : index + 10]
        return LabelError(
            f"{self.origin}: expected only its {len(self.characters)} characters, "
            f"found {text[index]!r} (U+{ord(text[index]):04X}) in {around!r}"
        )

    def encode_pair(self, first: str, second: str) -> Int64:
        """Return the ids of two texts, one after the other."""
        return self.encode_batch([first, second]).ids.astype(np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that `ids` spell; U+FFFD stands for the unknown id."""
        characters = (*map(chr, self.characters), "\ufffd")
        limit = self.vocab_size
        numbers = [int(i) for i in ids]
        if any(not 0 <= i < limit for i in numbers):
            raise ValueError(f"expected ids below {limit}, got {max(numbers, key=abs)}")
        return "".join(characters[i] for i in numbers)

    def to_json(self) -> bytes:
        """Return the bytes of the file `characters.json`, which `load_tokenizer` reads."""
        body = {"format": CHARACTERS_FORMAT, "characters": list(self.characters), "has_unknown": self.has_unknown}
        return sealed(body)

    @classmethod
    def from_body(cls, body: dict[str, Any], path: Path) -> CharacterTokenizer:
        """Undo `to_json` on the body of the sealed file at `path`."""
        characters = body.get("characters")
        if not isinstance(characters, list) or not all(isinstance(c, int) for c in characters):
            raise SchemaError(
                f"{path}: expected a list of code points in 'characters', found {type(characters).__name__}"
            )
        try:
            return cls(tuple(characters), bool(body.get("has_unknown", False)), origin=str(path))
        except ValueError as error:
            raise SchemaError(f"{path}: {error}") from error


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the code points of `text`, lone surrogates as they are."""
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), np.uint32)


def collect_characters(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the distinct code points of all texts, ascending."""
    is_used = np.zeros(NUM_CODE_POINTS, bool)
    for text in texts:
        is_used[code_points(text)] = True
    return tuple(np.flatnonzero(is_used).tolist())
