"""What an encoding counts: everything that was written, and everything that could not be."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields


@dataclass(slots=True, kw_only=True)
class EncodeCounts:
    """Counts of one part, summed in the manifest.

    structures, rows, tokens: what was read and written; empty_structures gave no token.
    endpoints: those that were spelled; endpoints_without_pieces have an empty surface; cells_left_out were cut from
    grids.
    isolated_occurrences take part in no instance, so no view shows them; nor do endpoints show empty_instances.
    documents_not_utf8: their bytes that do not fit are read as lone surrogates, one a byte.
    incidences_left_out: those of a sequence that are not its words' (arcs, fields), which do not repeat its text.
    words, words_without_piece: occurrences that spell the running text, and those that no piece begins; tags_lost are
    the hexatags of the latter. pieces_over_several_words went to the first of them; pieces_without_word belong to none.
    contents_by_label, contents_by_local_name, contents_without_label: what `--surface label` found, distinct in a part.
    characters_replaced: unknown ones that became UNK, or lone surrogates that a tokenizer cannot take.
    unknown_roles: pieces whose role became UNK. structures_cut were longer than the context.
    """

    structures: int = 0
    rows: int = 0
    tokens: int = 0
    empty_structures: int = 0
    endpoints: int = 0
    endpoints_without_pieces: int = 0
    cells_left_out: int = 0
    isolated_occurrences: int = 0
    empty_instances: int = 0
    documents_not_utf8: int = 0
    incidences_left_out: int = 0
    words: int = 0
    words_without_piece: int = 0
    tags_lost: int = 0
    pieces_over_several_words: int = 0
    pieces_without_word: int = 0
    contents_by_label: int = 0
    contents_by_local_name: int = 0
    contents_without_label: int = 0
    characters_replaced: int = 0
    unknown_roles: int = 0
    structures_cut: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return all counts by name."""
        return asdict(self)

    def add(self, more: dict[str, int]) -> None:
        """Add the counts that `to_dict` of another part gave."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + more[field.name])
