"""Byte-level BPE learned from text files: the tokenizer that `encode` then takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lisdata.atomic import write_atomically
from lisdata.inputs import InputSlice, find_inputs
from lisdata.paths import StrPath

if TYPE_CHECKING:
    from tokenizers import Tokenizer

START, END, PADDING, MASK = "<s>", "</s>", "<pad>", "<mask>"
SPECIAL_TOKENS = (PADDING, START, END, MASK)
_STRAIGHT = {"‘": "'", "’": "'", "“": '"', "”": '"'}
_TEXT_SUFFIXES = (".txt",)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerSettings:
    """How a tokenizer is learned: `vocabulary_size` tokens in all, of pairs that occur `min_frequency` times or more.

    With `straight_quotes` typographic quotation marks and apostrophes are read as the straight ones.
    """

    vocabulary_size: int = 32_768
    min_frequency: int = 2
    straight_quotes: bool = False

    def __post_init__(self) -> None:
        least = 256 + len(SPECIAL_TOKENS)
        if self.vocabulary_size < least:
            raise ValueError(f"expected a vocabulary_size of at least {least}, got {self.vocabulary_size}")
        if self.min_frequency < 1:
            raise ValueError(f"expected a min_frequency of at least 1, got {self.min_frequency}")


def train_tokenizer(paths: str | Sequence[str], to: StrPath, settings: TokenizerSettings | None = None) -> int:
    """Learn a tokenizer from text files (or folders, globs, URLs) and write it to `to`; return its number of tokens.

    White space around a text is no token and a text begins as if after a space, so that a word is spelled alike
    wherever it stands. The template puts `<s>` before and `</s>` behind a text. The same files give the same bytes.
    """
    files = find_inputs([paths] if isinstance(paths, str) else list(paths), suffixes=_TEXT_SUFFIXES)
    chosen = settings or TokenizerSettings()
    lines = (line for file in files for line in _iter_lines(InputSlice(file=file)))
    tokenizer = learn_tokenizer(lines, chosen)
    write_atomically(Path(to), tokenizer.to_str(pretty=True).encode())
    return int(tokenizer.get_vocab_size(with_added_tokens=True))


def learn_tokenizer(texts: Iterator[str], settings: TokenizerSettings) -> Tokenizer:
    """Return a tokenizer of the `tokenizers` library that is learned from texts."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    quotes = [normalizers.Replace(*pair) for pair in _STRAIGHT.items()] if settings.straight_quotes else []
    tokenizer.normalizer = normalizers.Sequence([*quotes, normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=settings.vocabulary_size,
        min_frequency=settings.min_frequency,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (START, END)],
    )
    return tokenizer


def _iter_lines(piece: InputSlice) -> Iterator[str]:
    """Yield the lines of a file in UTF-8; bytes that are none are read as U+FFFD."""
    for _, block in piece.blocks():
        yield from block.decode(errors="replace").split("\n")
