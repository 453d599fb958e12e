"""A sentence as people look at it: words, their heads and labels, and the hexatags beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from lisdata.hexatag import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS
from lisdata.schema import ContentKind
from lisdata.structure import Occurrence, Structure

ABSENT_GLYPH = "·"
MAX_DRAWN_WORDS = 400
"""A tree over more is not drawn: it may be as high as it is wide, and nobody could follow its arcs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Words in order, each with its head (1-based, 0 the root), deprel and hexatag ids; None where there is none.

    Where the tree is not projective, the heads are the tree's own and the tags those of the lifted tree.
    """

    words: tuple[str, ...]
    heads: tuple[int | None, ...]
    deprels: tuple[str | None, ...]
    terminal: tuple[int | None, ...]
    nonterminal: tuple[int | None, ...]

    def __post_init__(self) -> None:
        for name in ("heads", "deprels", "terminal", "nonterminal"):
            if len(getattr(self, name)) != len(self.words):
                raise ValueError(f"{len(self.words)} words have {len(getattr(self, name))} {name}")
        for name, glyphs in (("terminal", TERMINAL_GLYPHS), ("nonterminal", NONTERMINAL_GLYPHS)):
            for tag in getattr(self, name):
                if tag is not None and not 0 <= tag < len(glyphs):
                    raise ValueError(f"{tag} is no {name} tag: they are 0..{len(glyphs) - 1}, or None")

    @classmethod
    def from_structure(cls, structure: Structure) -> Sentence | None:
        """Return the first sentence of a structure (see `iter_sentences`), None when no word has a head or a tag."""
        return next(iter_sentences(structure), None)

    @property
    def has_any_tag(self) -> bool:
        """Whether at least one word has a tag."""
        return any(tag is not None for tag in (*self.terminal, *self.nonterminal))

    @property
    def is_drawable(self) -> bool:
        """Whether it is short enough to be drawn."""
        return len(self.words) <= MAX_DRAWN_WORDS

    def check_drawable(self) -> None:
        """Raise ValueError where it is too long to be drawn."""
        if not self.is_drawable:
            raise ValueError(f"a sentence of {len(self.words):,} words is too long to draw: at most {MAX_DRAWN_WORDS}")

    def tag_glyphs(self, index: int) -> str:
        """Return the tags of word `index` (from 0) as SiPE writes them, for example ↖⇗L."""
        terminal, nonterminal = self.terminal[index], self.nonterminal[index]
        first = ABSENT_GLYPH if terminal is None else TERMINAL_GLYPHS[terminal]
        return first + (ABSENT_GLYPH if nonterminal is None else NONTERMINAL_GLYPHS[nonterminal])

    def stack_depths(self) -> list[int]:
        """Return the number of partial trees on the decoder's stack after each word's terminal tag."""
        depths, depth = [], 0
        for terminal, nonterminal in zip(self.terminal, self.nonterminal, strict=True):
            depth += terminal == 0
            depths.append(depth)
            depth -= nonterminal in {3, 4}
        return depths


def iter_sentences(structure: Structure) -> Iterator[Sentence]:
    """Yield the sentences of a structure in text order: the words with a head or a tag that share an instance."""
    places = [
        (i.instance, i.position, i.occurrence)
        for i in structure.incidences
        if i.role.side == "token" and _is_parsed(structure.occurrences[i.occurrence])
    ]
    for _, group in groupby(sorted(places), key=lambda place: place[0]):
        words = [structure.occurrences[occurrence] for _, _, occurrence in group]
        yield Sentence(
            words=tuple(w.content.text for w in words),  # not the surface: words of one multiword token share its span
            heads=tuple(w.head for w in words),
            deprels=tuple(w.deprel for w in words),
            terminal=tuple(w.terminal for w in words),
            nonterminal=tuple(w.nonterminal for w in words),
        )


def _is_parsed(occurrence: Occurrence) -> bool:
    tags = (occurrence.head, occurrence.terminal, occurrence.nonterminal)
    return occurrence.content.kind == ContentKind.WORD and any(tag is not None for tag in tags)
