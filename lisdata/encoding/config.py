"""Settings of `encode`; each field is an option of the command line and a key of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from lisdata.encoding.characters import UnknownCharacter
from lisdata.encoding.tokenizers import CHARACTERS
from lisdata.patches import parse_patch
from lisdata.schema import DEPREL_COLUMN, TOKEN_COLUMNS
from lisdata.vocabulary import UnknownRole

RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def _help(text: str, *, is_path: bool = False) -> dict[str, Any]:
    return {"help": text, "is_path": is_path}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeConfig:
    """How structures become rows of tokens."""

    tokenizer: str = field(
        default=CHARACTERS,
        metadata=_help(
            "chars, or a local file: a tokenizers JSON (also .gz), a folder of one or of vocab.json and merges.txt, "
            "a NAME.vocab.json or NAME.merges.txt with the other beside it (byte-level BPE), or a characters.json"
        ),
    )
    vocabulary: str | None = field(
        default=None,
        metadata=_help("characters.json that freezes the characters (with --tokenizer chars)", is_path=True),
    )
    unknown_character: UnknownCharacter = field(
        default="error", metadata=_help("what a character outside the vocabulary is: error, or unk")
    )
    special_tokens: bool = field(
        default=False, metadata=_help("add the tokenizer's own special tokens around each sequence")
    )
    view: Literal["auto", "sequence", "endpoints", "mixed", "text-first"] = field(
        default="auto",
        metadata=_help(
            "sequence: running text once; endpoints: each incidence once; mixed: the endpoints of facts, then the "
            "running text; text-first: these two the other way round; auto: sequence for text, mixed for facts with "
            "text, else endpoints"
        ),
    )
    facts: Literal["endpoints", "serialized"] = field(
        default="endpoints",
        metadata=_help("serialized: write each endpoint's role before it as a marker, positions counting on"),
    )
    text_separator: str = field(
        default="", metadata=_help("text put between facts and running text, and between serialized facts")
    )
    separator: str = field(default="", metadata=_help("text put before each endpoint's surface, tokenised with it"))
    target: Literal["all", "sequence", "endpoints"] = field(
        default="all", metadata=_help("which view's pieces are scored (target 1)")
    )
    surface: Literal["lexical", "label"] = field(
        default="lexical", metadata=_help("how endpoints spell a content: as written, or by its label")
    )
    label_predicate: str = field(
        default=RDFS_LABEL, metadata=_help("the predicate whose objects are labels of its subjects")
    )
    label_columns: tuple[str, ...] = field(
        default=(), metadata=_help("further labels, as ROLE=>ROLE: e.g. Artist#ArtistId=>Artist#Name in a table")
    )
    label_language: tuple[str, ...] = field(
        default=("en", ""),
        metadata=_help(
            "languages of labels in order of preference; en also takes en-GB, an empty one takes labels without"
        ),
    )
    label_table: str | None = field(
        default=None, metadata=_help("TSV or CSV file of key and label, used instead of the predicate", is_path=True)
    )
    labels: str | None = field(
        default=None, metadata=_help("roles.json that freezes the numbers of roles", is_path=True)
    )
    unknown_role: UnknownRole = field(
        default="error", metadata=_help("what a role outside --labels is: error, unk, or append")
    )
    context: int | None = field(
        default=None, metadata=_help("fill rows of at most this many tokens with several structures")
    )
    max_length: int | None = field(default=None, metadata=_help("longest row in tokens; a longer one is an error"))
    columns: tuple[str, ...] = field(
        default=TOKEN_COLUMNS,
        metadata=_help("the columns to write (input_ids always); deprel only if it is named, for running text"),
    )
    deprels: str | None = field(
        default=None,
        metadata=_help("deprels.json that freezes the numbers of the column deprel; others have none", is_path=True),
    )
    same_as: bool = field(
        default=False,
        metadata=_help("column content numbers contents as the dataset's same_as tables show them; spelling stays"),
    )
    headers: bool = field(
        default=False,
        metadata=_help("also write what says how a file is written (the dialect of a table, a layout) as rows"),
    )
    record_ids: bool = field(default=True, metadata=_help("store the record id of each row"))
    patch: str | None = field(
        default=None,
        metadata=_help("cut grids into patches of these extents along their first axes, e.g. 8x8; default: each cell"),
    )
    grid_max_cells: int | None = field(default=None, metadata=_help("most cells of a grid that are written"))
    grid_overflow: Literal["error", "truncate"] = field(
        default="error", metadata=_help("what a grid of more cells is: error, or truncate")
    )

    def __post_init__(self) -> None:
        for name in ("context", "max_length", "grid_max_cells"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"expected {name} of at least 1, got {value}")
        if self.context is not None and self.max_length is not None and self.max_length < self.context:
            raise ValueError(f"rows of {self.context=} tokens exceed {self.max_length=}")
        if self.patch is not None:
            parse_patch(self.patch)
        if self.vocabulary is not None and self.tokenizer != CHARACTERS:
            raise ValueError(f"a vocabulary goes with the tokenizer {CHARACTERS!r}, got {self.tokenizer!r}")
        known = (*TOKEN_COLUMNS, DEPREL_COLUMN)
        if set(self.columns) - set(known) or "input_ids" not in self.columns:
            raise ValueError(f"expected input_ids and others of {', '.join(known)}, got {', '.join(self.columns)}")
        if self.deprels is not None and DEPREL_COLUMN not in self.columns:
            raise ValueError(f"deprels = {self.deprels} is for the column {DEPREL_COLUMN}, which is not written")
        if any(column.count("=>") != 1 for column in self.label_columns):
            raise ValueError(f"expected label columns of the form ROLE=>ROLE, got {', '.join(self.label_columns)}")
        if not self.label_language:
            raise ValueError("expected at least one label language ('' for labels without one)")
        if self.surface != "label":
            self._refuse_label_settings()

    def _refuse_label_settings(self) -> None:
        """Refuse what says how labels are found where none is looked for."""
        for setting in fields(self):
            if setting.name.startswith("label_") and getattr(self, setting.name) != setting.default:
                raise ValueError(f"{setting.name} is for surface = label only, got it with {self.surface}")

    @property
    def label_roles(self) -> tuple[tuple[str, str], ...]:
        """Pairs of roles: in an instance that has both, the second one's content labels the first one's."""
        pairs = [(f"{self.label_predicate}#subject", f"{self.label_predicate}#object")]
        for column in self.label_columns:
            named, label = column.split("=>")
            pairs.append((named, label))
        return tuple(pairs)
