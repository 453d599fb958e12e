"""Settings of `encode`; each field is an option of the command line and a key of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from lisdata.encoding.characters import UnknownCharacter
from lisdata.encoding.tokenizers import CHARACTERS
from lisdata.vocabulary import UnknownRole

RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def option(default: Any, text: str) -> Any:
    """Return a dataclass field with a default and a help text."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeConfig:
    """How structures become rows of tokens."""

    tokenizer: str = option(CHARACTERS, "chars, or a local file: a tokenizers JSON (also .gz), or a characters.json")
    vocabulary: str | None = option(None, "characters.json that freezes the characters (with --tokenizer chars)")
    unknown_character: UnknownCharacter = option("error", "what a character outside the vocabulary is: error, or unk")
    special_tokens: bool = option(False, "add the tokenizer's own special tokens around each sequence")
    view: Literal["auto", "sequence", "endpoints"] = option(
        "auto", "sequence: running text once; endpoints: each incidence once; auto: sequence for text, else endpoints"
    )
    separator: str = option("", "text put before each endpoint's surface, tokenised with it")
    target: Literal["all", "sequence", "endpoints"] = option("all", "which view's pieces are scored (target 1)")
    surface: Literal["lexical", "label"] = option("lexical", "how endpoints spell a content: as written, or by its label")
    label_predicate: str = option(RDFS_LABEL, "the predicate (or table#column role) whose objects are labels")
    label_language: tuple[str, ...] = option(
        ("en", ""), "languages of labels in order of preference; en also takes en-GB, an empty one takes labels without"
    )
    label_table: str | None = option(None, "TSV or CSV file of key and label, used instead of the predicate")
    labels: str | None = option(None, "roles.json that freezes the numbers of roles")
    unknown_role: UnknownRole = option("error", "what a role outside --labels is: error, unk, or append")
    context: int | None = option(None, "fill rows of at most this many tokens with several structures")
    max_length: int | None = option(None, "longest row in tokens; a longer one is an error")
    grid_max_cells: int | None = option(None, "most cells of a grid that are written")
    grid_overflow: Literal["error", "truncate"] = option("error", "what a grid of more cells is: error, or truncate")

    def __post_init__(self) -> None:
        for name in ("context", "max_length", "grid_max_cells"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"expected {name} of at least 1, got {value}")
        if self.context is not None and self.max_length is not None and self.max_length < self.context:
            raise ValueError(f"rows of {self.context=} tokens exceed {self.max_length=}")
        if self.vocabulary is not None and self.tokenizer != CHARACTERS:
            raise ValueError(f"a vocabulary goes with the tokenizer {CHARACTERS!r}, got {self.tokenizer!r}")
        if not self.label_language:
            raise ValueError("expected at least one label language ('' for labels without one)")
