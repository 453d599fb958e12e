"""Sentences of a part as flat arrays: their words, and the notes beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.converters.sentences import SENTENCE, TOKEN
from lisdata.kernels.conllu_notes import Note
from lisdata.schema import UNTAGGED, LabelKind
from lisdata.shards import Part

Int64 = npt.NDArray[np.int64]

ABSENT = -1
WORDLESS, SEVERAL = "structures without words of a sentence", "structures of several sentences"
_TOKEN, _OTHER, _NO_ROLE = -1, -2, -3  # beside the numbers of notes
_NUMBERS = {note.name.lower(): int(note) for note in Note} | {TOKEN: _TOKEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """N sentences. A word or note belongs to sentence `word_row` or `note_row`; words are in order.

    `form` and `note_content` are rows of `lexical`, `deprel` of `labels`; `begin` and `end` are bytes of the document.
    ABSENT stands where there is no span, head or deprel, UNTAGGED where there is no tag. `note_kind` is a member of
    Note; `num_other_notes` counts those that CoNLL-U has no place for.
    """

    record_ids: pa.Array
    documents: pa.Array
    lexical: pa.LargeBinaryArray
    labels: pa.Array
    num_words: Int64
    word_row: Int64
    form: Int64
    begin: Int64
    end: Int64
    head: Int64
    deprel: Int64
    terminal: Int64
    nonterminal: Int64
    note_row: Int64
    note_position: Int64
    note_content: Int64
    note_kind: npt.NDArray[np.int8]
    num_other_notes: int

    @property
    def word_number(self) -> Int64:
        """The number of each word in its sentence, from 0."""
        return np.arange(len(self.word_row)) - (np.cumsum(self.num_words) - self.num_words)[self.word_row]


def find_sentences(part: Part, rows: Int64) -> tuple[Sentences, dict[str, int]]:
    """Return those of the structures `rows` that are one sentence with words, and how many are none or several."""
    table = part.structures.take(pa.array(rows))
    kinds = np.array([_kind(label) for label in part.labels.to_pylist()], np.int8)
    sigma = np.asarray(table["sigma"].combine_chunks().flatten())
    row_of = np.repeat(np.arange(len(rows)), _sizes(table, "sigma"))
    is_token = kinds[sigma] == _TOKEN
    pairs = table["incidence"].combine_chunks().flatten()
    instances = np.asarray(pairs.field("instance"))[is_token]
    num_sentences = np.bincount(np.unique(row_of[is_token] << 32 | instances) >> 32, minlength=len(rows))
    if (num_sentences != 1).any():
        table = table.filter(pa.array(num_sentences == 1))
    left_out = {WORDLESS: num_sentences == 0, SEVERAL: num_sentences > 1}
    return _flatten(table, part, kinds), {name: int(np.count_nonzero(found)) for name, found in left_out.items()}


def _flatten(table: pa.Table, part: Part, kinds: npt.NDArray[np.int8]) -> Sentences:
    rows = np.arange(table.num_rows)
    occurrences = _sizes(table, "tau")
    first = np.cumsum(occurrences) - occurrences
    pairs, position = (table[name].combine_chunks().flatten() for name in ("incidence", "position"))
    row = np.repeat(rows, _sizes(table, "incidence"))
    kind = kinds[np.asarray(table["sigma"].combine_chunks().flatten())]
    occurrence = first[row] + np.asarray(pairs.field("occurrence"))
    positions = np.asarray(position)
    tokens, notes = np.flatnonzero(kind == _TOKEN), np.flatnonzero(kind >= 0)
    tokens = tokens[np.lexsort((positions[tokens], row[tokens]))]
    words, tau = occurrence[tokens], _values(table, "tau")
    span = table["span"].combine_chunks()
    begin, end = (_values(table, "span", pc.struct_field(span.flatten(), field)) for field in ("begin", "end"))
    return Sentences(
        record_ids=table["record_id"].combine_chunks(),
        documents=table["document"].combine_chunks().fill_null(b""),
        lexical=part.contents["lexical"].combine_chunks(),
        labels=part.labels["label"].combine_chunks(),
        num_words=np.bincount(row[tokens], minlength=len(rows)),
        word_row=row[tokens],
        form=tau[words],
        begin=begin[words],
        end=end[words],
        head=_values(table, "head")[words],
        deprel=_values(table, "deprel")[words],
        terminal=_values(table, "terminal", absent=UNTAGGED)[words],
        nonterminal=_values(table, "nonterminal", absent=UNTAGGED)[words],
        note_row=row[notes],
        note_position=positions[notes],
        note_content=tau[occurrence[notes]],
        note_kind=kind[notes],
        num_other_notes=int(np.count_nonzero(kind == _OTHER)),
    )


def _kind(label: dict[str, Any]) -> int:
    """Return what an incidence with this label is: the number of a note, or one of the signs beside these."""
    is_own = label["kind"] == LabelKind.ROLE and label["relation"] == SENTENCE
    return _NUMBERS.get(label["side"], _OTHER) if is_own else _NO_ROLE


def _sizes(table: pa.Table, name: str) -> Int64:
    return np.asarray(pc.list_value_length(table[name].combine_chunks()).fill_null(0)).astype(np.int64)


def _values(table: pa.Table, name: str, items: pa.Array | None = None, *, absent: int = ABSENT) -> Int64:
    """Return a value an occurrence from a list column (or from `items`, its flat ones); rows may have no list."""
    column = table[name].combine_chunks()
    items = column.flatten() if items is None else items
    is_listed = np.repeat(np.asarray(column.is_valid()), _sizes(table, "tau"))
    values = np.full(len(is_listed), absent, np.int64)
    values[is_listed] = np.asarray(items.cast(pa.int64()).fill_null(absent))
    return values
