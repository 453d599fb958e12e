"""The view `sequence`: running text tokenised once, its pieces aligned to the words they spell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lisdata.encoding.alignment import align_pieces
from lisdata.encoding.characters import CharacterTokenizer
from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.endpoints_view import num_unused, token_rows
from lisdata.encoding.part_tables import NO_CONTENT, NONE, RoleTable
from lisdata.encoding.pieces import Bools, Int64, Pieces, first_of_each, row_numbers, running_starts
from lisdata.encoding.running_text import RunningText
from lisdata.encoding.structure_rows import StructureRows
from lisdata.encoding.token_rows import Columns, TokenRows
from lisdata.encoding.tokenizers import Tokenizer
from lisdata.schema import DEPREL_COLUMN, UNTAGGED


def sequence_rows(
    rows: StructureRows,
    text: RunningText,
    tokenizer: Tokenizer,
    roles: RoleTable,
    ids: Int64,
    counts: EncodeCounts,
    *,
    target: int,
    special_tokens: bool,
    deprels: Int64 | None = None,
) -> TokenRows:
    """Return a row for each structure: the pieces of its text, in order.

    The words are the occurrences that have a span and take part in the structure's token role (relation#token, else
    the role that most spelled occurrences have). A piece shows the first word that it overlaps: `occurrence` is that
    word's number in the structure, `content` comes from `ids`, and the word's hexatags stand on its first piece, as
    does, with `deprels` (by label code, the last for none), the number of its dependency relation.
    A piece that overlaps none (white space between words) has occurrence -1, content 0 and the instance of the word
    before it, or of the row's first word; where there is no word, instance 0, or -1 in a structure without instances.
    Positions count the pieces of one (instance, role).
    """
    pieces = _tokenise(text, tokenizer, special_tokens)
    begin, end = text.byte_places(pieces)
    words = find_words(rows, text, roles)
    aligned = align_pieces(begin, end, text.begin[words.occurrence], text.end[words.occurrence], text.data)
    row, spelling = row_numbers(pieces.offsets), np.flatnonzero(aligned.word >= 0)  # the pieces that spell a word
    word = aligned.word[spelling]
    instance = _instances(words, word, spelling, pieces.offsets)
    instance[np.diff(rows.instance_offsets)[row] == 0] = NONE
    code = words.role_code
    columns: Columns = {
        "input_ids": pieces.ids,
        "role": np.where(code >= 0, np.append(roles.number, 0)[code], 0)[row],
        "instance": instance,
        "position": _positions(row, instance),
        "occurrence": np.full(len(row), NONE, np.int64),
        "content": np.full(len(row), NO_CONTENT, np.int64),
    }
    occurrence = words.occurrence[word]
    columns["occurrence"][spelling] = occurrence - rows.occurrence_offsets[row[spelling]]
    columns["content"][spelling] = ids[rows.tau[occurrence]]
    first = first_of_each(word, len(words.occurrence))
    is_begun = first >= 0
    tagged, at = words.occurrence[is_begun], spelling[first[is_begun]]
    columns |= _tags(rows, tagged, at, len(row))
    if deprels is not None:
        columns[DEPREL_COLUMN] = _deprels(rows.deprel[tagged], deprels, at, len(row), counts)
    _count(rows, words, is_begun, counts)
    counts.documents_not_utf8 += text.num_escaped
    counts.pieces_without_word += len(row) - len(spelling)
    counts.pieces_over_several_words += aligned.num_over_several
    counts.characters_replaced += pieces.num_replaced
    return token_rows(rows, columns, np.diff(pieces.offsets), target)


# -- words -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of N rows in text order: global occurrence, number of the instance in the row.

    `role_code` is the label code of each row's token role, -1 where it has none.
    """

    occurrence: Int64
    instance: Int64
    role_code: Int64


def find_words(rows: StructureRows, text: RunningText, roles: RoleTable) -> Words:
    """Return the occurrences that spell the running text, each with the first instance it has in the token role."""
    spelled = np.flatnonzero(text.begin[rows.incidence_occurrence] >= 0)
    row, code = rows.incidence_row[spelled], rows.sigma[spelled]
    role_code = _token_roles(rows, row, code, roles)
    taken = spelled[code == role_code[row]]
    occurrence, first = np.unique(rows.incidence_occurrence[taken], return_index=True)
    taken = taken[first]
    instance = rows.incidence_instance[taken] - rows.instance_offsets[rows.incidence_row[taken]]
    begin = text.begin[occurrence]
    if np.any(begin[1:] < begin[:-1]):
        order = np.argsort(begin, kind="stable")
        occurrence, instance = occurrence[order], instance[order]
    return Words(occurrence=occurrence, instance=instance, role_code=role_code)


def _token_roles(rows: StructureRows, row: Int64, code: Int64, roles: RoleTable) -> Int64:
    """Return each row's token role from the incidences of spelled occurrences (their rows and role codes).

    A row without any has the token role of its first instance's label.
    """
    found = np.full(rows.num_rows, -1, np.int64)
    has_instance = np.flatnonzero(np.diff(rows.instance_offsets) > 0)
    found[has_instance] = roles.token_code[rows.instance_label[rows.instance_offsets[has_instance]]]
    if not len(code):
        return found
    if code.min() == code.max():
        found[row] = code[0]
        return found
    num_codes = len(roles.number)
    pairs, first, count = np.unique(row * num_codes + code, return_index=True, return_counts=True)
    pair_row, pair_code = pairs // num_codes, pairs % num_codes
    order = np.lexsort((first, -count, ~roles.is_token[pair_code], pair_row))
    ordered = pair_row[order]
    best = order[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
    found[pair_row[best]] = pair_code[best]
    return found


# -- pieces ----------------------------------------------------------------------------------------------------------


def _tokenise(text: RunningText, tokenizer: Tokenizer, special_tokens: bool) -> Pieces:
    if isinstance(tokenizer, CharacterTokenizer):
        return tokenizer.encode_joined(text.text, text.char_offsets)
    return tokenizer.encode_batch(text.texts, special_tokens=special_tokens)


def _instances(words: Words, word: Int64, spelling: Int64, offsets: Int64) -> Int64:
    """Return the instance of each piece, where the pieces `spelling` spell `word`.

    That of the word itself, else of the word before it in the row, else of the row's first word, else 0.
    """
    num_pieces, last = int(offsets[-1]), len(spelling) - 1
    if not words.instance[word].any():
        return np.zeros(num_pieces, np.int64)
    is_spelling = np.zeros(num_pieces, np.int64)
    is_spelling[spelling] = 1
    following = np.cumsum(is_spelling)  # how many of `spelling` stand up to a piece, itself included
    before, after = np.maximum(following - 1, 0), np.minimum(following, last)
    lengths = np.diff(offsets)
    has_before = (following > 0) & (spelling[before] >= np.repeat(offsets[:-1], lengths))
    has_after = (following <= last) & (spelling[after] < np.repeat(offsets[1:], lengths))
    source = words.instance[word[np.where(has_before, before, after)]]
    return np.where(has_before | has_after, source, 0)


def _positions(row: Int64, instance: Int64) -> Int64:
    """Return the running number of each piece among those of its row and instance."""
    if not len(row):
        return np.zeros(0, np.int64)
    changes = (row[1:] != row[:-1]) | (instance[1:] != instance[:-1])
    begins = np.concatenate(([0], np.flatnonzero(changes) + 1))
    lengths = np.diff(begins, append=len(row))
    keys = row[begins] * (int(instance.max()) + 2) + instance[begins] - NONE  # instances begin at NONE
    starts = running_starts(keys, lengths)
    return np.arange(len(row)) + np.repeat(starts - begins, lengths)


def _tags(rows: StructureRows, occurrence: Int64, piece: Int64, num_pieces: int) -> Columns:
    """Return the hexatag columns: those of each of `occurrence` on its `piece`, the others untagged."""
    columns: Columns = {}
    for name, tags in (("terminal", rows.terminal), ("nonterminal", rows.nonterminal)):
        columns[name] = np.full(num_pieces, UNTAGGED, np.int8)
        columns[name][piece] = tags[occurrence]
    return columns


def _deprels(codes: Int64, number: Int64, piece: Int64, num_pieces: int, counts: EncodeCounts) -> Int64:
    """Return the column of dependency relations: the number of each of `codes` on its `piece`."""
    column = np.full(num_pieces, UNTAGGED, np.int64)
    column[piece] = number[codes]
    counts.unknown_deprels += int(np.count_nonzero((codes >= 0) & (number[codes] < 0)))
    return column


def _count(rows: StructureRows, words: Words, is_begun: Bools, counts: EncodeCounts) -> None:
    lost = words.occurrence[~is_begun]
    is_tagged = (rows.terminal[lost] != UNTAGGED) | (rows.nonterminal[lost] != UNTAGGED)
    counts.words += len(words.occurrence)
    counts.words_without_piece += len(lost)
    counts.tags_lost += int(np.count_nonzero(is_tagged))
    counts.incidences_left_out += len(rows.sigma) - len(words.occurrence)
    counts.isolated_occurrences += num_unused(rows.incidence_occurrence, rows.occurrence_offsets)
