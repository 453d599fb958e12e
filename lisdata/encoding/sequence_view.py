"""The view `sequence`: running text tokenised once, its pieces aligned to the words they spell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lisdata.encoding.alignment import align_pieces
from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.part_tables import NO_CONTENT, RoleTable
from lisdata.encoding.pieces import Bools, Int64, Pieces, first_of_each, offsets_of, row_numbers, running_starts
from lisdata.encoding.structure_rows import StructureRows
from lisdata.encoding.token_rows import Columns, TokenRows
from lisdata.encoding.tokenizers import Tokenizer
from lisdata.encoding.endpoints_view import count_hidden, token_rows
from lisdata.errors import LisDataError
from lisdata.kernels.arrays import UInt8
from lisdata.schema import UNTAGGED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningText:
    """The documents of N structures: as strings, and as bytes one after the other, cut at `offsets`.

    `begin` and `end` say, in those bytes, where each occurrence is spelled, -1 where it is not.
    """

    texts: list[str]
    data: UInt8
    offsets: Int64
    begin: Int64
    end: Int64


def sequence_rows(
    rows: StructureRows,
    text: RunningText,
    tokenizer: Tokenizer,
    roles: RoleTable,
    ids: Int64,
    counts: EncodeCounts,
    *,
    target: int,
    special_tokens: bool = False,
) -> TokenRows:
    """Return a row for each structure: the pieces of its document, in order.

    The words are the occurrences that have a span and take part in the structure's token role (a role relation#token,
    else the role that most spelled occurrences have). A piece has `occurrence` 1 + the number of the first word that it
    overlaps and that word's instance and content; one that overlaps none (white space between words) has occurrence and
    content 0 and the instance of the word before it (of the first word at the begin). Positions count the pieces of one
    (instance, role). A word's hexatags stand on its first piece.
    """
    pieces = tokenizer.encode_batch(text.texts, special_tokens=special_tokens)
    begin, end = _byte_places(pieces, text)
    words = _find_words(rows, text, roles)
    aligned = align_pieces(begin, end, text.begin[words.occurrence], text.end[words.occurrence], text.data)
    piece_row = row_numbers(pieces.offsets)
    is_word = aligned.word >= 0
    word = np.maximum(aligned.word, 0)
    instance = _instances(rows, words, aligned.word, piece_row)
    role = np.where(words.role >= 0, roles.number[np.maximum(words.role, 0)], 0)[piece_row]
    occurrence = _gather(words.occurrence, word, is_word)
    columns: Columns = {
        "input_ids": pieces.ids,
        "role": role,
        "instance": instance - np.minimum(rows.instance_offsets[piece_row], instance),
        "position": _positions(instance, piece_row),
        "occurrence": np.where(is_word, occurrence - rows.occurrence_offsets[piece_row] + 1, 0),
        "content": np.where(is_word, ids[rows.tau[occurrence]] if len(rows.tau) else NO_CONTENT, NO_CONTENT),
    }
    first = first_of_each(aligned.word[is_word], len(words.occurrence))
    first = np.where(first >= 0, np.append(np.flatnonzero(is_word), 0)[first], -1)
    columns |= _tags(rows, words.occurrence, first, len(pieces.ids))
    _count(rows, words, first, is_word, counts)
    counts.pieces_over_several_words += aligned.num_over_several
    counts.characters_replaced += pieces.num_replaced
    return token_rows(rows, columns, np.diff(pieces.offsets), target)
