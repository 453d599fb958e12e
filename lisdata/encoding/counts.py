"""What an encoding counts: everything that was written, and everything that could not be."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any


def _count(text: str) -> Any:
    return field(default=0, metadata={"help": text})


@dataclass(slots=True, kw_only=True)
class EncodeCounts:
    """Counts of one part, summed in the manifest: its totals, and a report of what is not as one might expect."""

    structures: int = _count("structures read")
    rows: int = _count("rows written")
    tokens: int = _count("tokens written")
    headers_left_out: int = _count("structures that say how a file is written (with --headers they are rows, too)")
    empty_structures: int = _count("structures that gave no token")
    endpoints: int = _count("incidences that were spelled")
    endpoints_without_pieces: int = _count("of these, those that gave no token: their surface is empty")
    cells_left_out: int = _count("cells of grids beyond --grid-max-cells")
    isolated_occurrences: int = _count("occurrences of no instance, which no view shows")
    empty_instances: int = _count("instances without incidences, which endpoints do not show")
    documents_not_utf8: int = _count("texts with bytes that are not UTF-8, each read as one lone surrogate")
    incidences_left_out: int = _count("incidences of a sequence that are not its words' (arcs, fields ...), layouts")
    words: int = _count("occurrences that spell the running text")
    words_without_piece: int = _count("of these, those that share a token with the word before, so none is theirs")
    tags_lost: int = _count("hexatags of those words")
    pieces_over_several_words: int = _count("tokens over several words; they are the first one's")
    pieces_without_word: int = _count("tokens of no word (spaces ...); they are written all the same")
    contents_by_label: int = _count("contents spelled by a label (--surface label), distinct in a part")
    contents_by_local_name: int = _count("entities without a label, spelled by the end of their IRI")
    contents_without_label: int = _count("entities without a label in all, those with a local name included")
    contents_shown_as_others: int = _count("contents that a same_as table shows as others, distinct in a part")
    iris: int = _count("contents spelled by their IRI, distinct in a part")
    iri_tokens: int = _count("tokens of these IRIs, each IRI counted once a part")
    characters_replaced: int = _count("characters that became the unknown one, or that a tokenizer cannot take")
    unknown_roles: int = _count("tokens whose role became <unk>")
    unknown_deprels: int = _count("words whose dependency relation --deprels does not have, so they have none")
    structures_continued_in_next_row: int = _count("structures longer than --context; no token is lost")

    def to_dict(self) -> dict[str, int]:
        """Return all counts by name."""
        return asdict(self)

    def add(self, more: dict[str, int]) -> None:
        """Add the counts that `to_dict` of another part gave."""
        for count in fields(self):
            setattr(self, count.name, getattr(self, count.name) + more[count.name])
