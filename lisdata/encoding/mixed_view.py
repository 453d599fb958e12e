"""Structures of facts and text: the facts' endpoints, then the running text; and facts written out as text.

    endpoints    ` ann bo| ann is bo's boss`           roles and instances beside, positions restart in each role
    serialized   `<boss> ann<captain> bo| ann is ...`  role markers among the tokens, one position after another
    text first   `ann is bo's boss| ann bo`            either of them behind the text

The second is what LIS compares itself with (LIS appendix F.3): the same entities and text, roles as markers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.endpoints_view import num_unused, token_rows
from lisdata.encoding.part_tables import NO_CONTENT, NONE, RoleTable, SpelledContents
from lisdata.encoding.pieces import Bools, Int64, offsets_of, ragged_index, row_numbers
from lisdata.encoding.structure_rows import StructureRows
from lisdata.encoding.token_rows import Columns, TokenRows
from lisdata.errors import SchemaError
from lisdata.schema import DEPREL_COLUMN
from lisdata.vocabulary import RoleVocabulary

FIRST_MARKER, NUM_MARKERS = 0xE000, 0x1900  # Unicode's private use area: one character a side of roles


@dataclass(frozen=True, slots=True)
class Split:
    """The rows with the incidences of facts alone, and with all others (the text's)."""

    facts: StructureRows
    text: StructureRows

    @classmethod
    def of(cls, rows: StructureRows, token_code: Int64) -> Split:
        """Take for facts the instances without a spelled occurrence whose label has no token role (`token_codes`)."""
        is_text = token_code[rows.instance_label] >= 0
        is_text[rows.incidence_instance[rows.spans[0][rows.incidence_occurrence] >= 0]] = True
        is_fact = ~is_text[rows.incidence_instance]
        return cls(rows.with_incidences(is_fact), rows.with_incidences(~is_fact))


def mixed_rows(
    rows: StructureRows,
    roles: RoleTable,
    counts: EncodeCounts,
    *,
    facts: Callable[[StructureRows], TokenRows],
    text: Callable[[StructureRows], TokenRows],
    separator: Int64,
    is_serialized: bool,
    is_text_first: bool,
) -> TokenRows:
    """Return a row for each structure: what `facts` makes of its facts, the pieces `separator`, what `text` makes.

    With `is_text_first` the order is text, separator, facts. The separator belongs to the text: it has its instance and
    role, and positions go on from one to the other. Of serialized facts and their text the positions count all pieces
    of the row.
    """
    split = Split.of(rows, roles.token_code)
    before = (counts.isolated_occurrences, counts.empty_instances)
    encoded_facts, encoded_text = facts(split.facts), text(split.text)
    # each half looks only at its own incidences: what neither shows is counted over both
    counts.isolated_occurrences = before[0] + num_unused(rows.incidence_occurrence, rows.occurrence_offsets)
    counts.empty_instances = before[1] + num_unused(rows.incidence_instance, rows.instance_offsets)
    if is_text_first:
        joined = _joined(_ended(encoded_text, separator), encoded_facts)
    else:
        joined = _joined(encoded_facts, _with_separator(encoded_text, separator))
    if not is_serialized:
        return joined
    position = np.arange(int(joined.offsets[-1])) - np.repeat(joined.offsets[:-1], joined.lengths)
    return replace(joined, columns=joined.columns | {"position": position})


def _with_separator(text: TokenRows, separator: Int64) -> TokenRows:
    """Return the rows with the separator's pieces before each that has any."""
    size = len(separator)
    if not size:
        return text
    has_text = text.lengths > 0
    columns = _separators(text, text.offsets[:-1][has_text], separator, np.zeros(int(has_text.sum()), np.int64))
    is_first_instance = text.columns["instance"] == np.repeat(
        text.columns["instance"][np.minimum(text.offsets[:-1], max(int(text.offsets[-1]) - 1, 0))], text.lengths
    )
    moved = text.columns["position"] + size * is_first_instance
    before = replace(text, offsets=offsets_of(size * has_text), columns=columns)
    return _joined(before, replace(text, columns=text.columns | {"position": moved}))


def _ended(text: TokenRows, separator: Int64) -> TokenRows:
    """Return the rows with the separator's pieces behind each that has any."""
    has_text = text.lengths > 0
    last = text.offsets[1:][has_text] - 1
    columns = _separators(text, last, separator, text.columns["position"][last] + 1)
    return _joined(text, replace(text, offsets=offsets_of(len(separator) * has_text), columns=columns))


def _separators(text: TokenRows, neighbour: Int64, separator: Int64, position: Int64) -> Columns:
    """Return the columns of separators that are at home where the tokens `neighbour` are, from `position` on."""
    size, num_rows = len(separator), len(neighbour)
    repeated = np.repeat(neighbour, size)
    columns: Columns = {name: values[repeated] for name, values in text.columns.items()}
    columns |= {
        "input_ids": np.tile(separator, num_rows),
        "position": np.repeat(position, size) + np.tile(np.arange(size), num_rows),
        "occurrence": np.full(len(repeated), NONE, np.int64),
        "content": np.full(len(repeated), NO_CONTENT, np.int64),
    }
    for name in ("terminal", "nonterminal", DEPREL_COLUMN):
        columns[name] = np.full(len(repeated), -100, text.columns[name].dtype)
    return columns


def _joined(first: TokenRows, second: TokenRows) -> TokenRows:
    """Return rows with the tokens of `first` and then those of `second`."""
    shift = first.offsets[-1]
    begins = np.stack([first.offsets[:-1], second.offsets[:-1] + shift], axis=1).ravel()
    lengths = np.stack([first.lengths, second.lengths], axis=1).ravel()
    index = ragged_index(begins, lengths)
    names = first.columns
    return replace(
        first,
        offsets=first.offsets + second.offsets,
        columns={name: np.concatenate([first.columns[name], second.columns[name]])[index] for name in names},
    )


# -- facts written out -----------------------------------------------------------------------------------------------


def role_markers(roles: RoleVocabulary, *, is_character: bool) -> list[str]:
    """Return the marker of each role: its side in angle brackets, or one character of private use.

    Characters are numbered by the order of sides in the vocabulary, so that a frozen one freezes them too.
    """
    sides = [label.rpartition("#")[2] for label in roles.roles]
    if not is_character:
        return [f"<{side}>" for side in sides]
    numbers = {side: number for number, side in enumerate(dict.fromkeys(sides))}
    if len(numbers) > NUM_MARKERS:
        raise SchemaError(f"expected at most {NUM_MARKERS} sides of roles to mark, found {len(numbers)}")
    return [chr(FIRST_MARKER + numbers[side]) for side in sides]


def serialized_rows(
    rows: StructureRows,
    spelled: SpelledContents,
    markers: SpelledContents,
    separator: Int64,
    roles: RoleTable,
    ids: Int64,
    counts: EncodeCounts,
    *,
    target: int,
) -> TokenRows:
    """Return a row for each structure: for each incidence its role's marker and its surface, in source order.

    Each instance but the row's last ends with the pieces `separator`. Positions count the row's pieces.
    """
    order = np.argsort(rows.incidence_instance, kind="stable")
    row, occurrence, instance = (
        rows.incidence_row[order],
        rows.incidence_occurrence[order],
        rows.incidence_instance[order],
    )
    content, role = rows.tau[occurrence], roles.number[rows.sigma[order]]
    is_end = _ends_before_another(row, instance)
    marker_lengths, lengths = (np.diff(table.offsets)[n] for table, n in ((markers, role), (spelled, content)))
    # three items an endpoint: marker, surface, and the separator behind the last of an instance
    pool = np.concatenate([markers.ids, spelled.ids, separator])
    starts = (markers.offsets[role], spelled.offsets[content] + len(markers.ids))
    begins = np.stack([*starts, np.full(len(row), len(pool) - len(separator))], axis=1).ravel()
    sizes = np.stack([marker_lengths, lengths, len(separator) * is_end], axis=1).ravel()
    item_offsets = offsets_of(sizes)
    item = row_numbers(item_offsets)
    endpoint, is_surface = item // 3, item % 3 == 1
    tokens_of_row = np.bincount(row[endpoint], minlength=rows.num_rows)
    row_begin = offsets_of(tokens_of_row)[:-1]
    columns: Columns = {
        "input_ids": pool[ragged_index(begins, sizes)],
        "role": role[endpoint],
        "instance": (instance - rows.instance_offsets[row])[endpoint],
        "position": np.arange(len(item)) - row_begin[row[endpoint]],
        "occurrence": np.where(is_surface, (occurrence - rows.occurrence_offsets[row])[endpoint], NONE),
        "content": np.where(is_surface, ids[content][endpoint], NO_CONTENT),
    }
    counts.endpoints += int(np.count_nonzero(lengths))
    counts.endpoints_without_pieces += int(np.count_nonzero(lengths == 0))
    return token_rows(rows, columns, tokens_of_row, target)


def _ends_before_another(row: Int64, instance: Int64) -> Bools:
    """Return which endpoints are the last of an instance that another of the row follows."""
    is_end = np.zeros(len(row), bool)
    is_end[:-1] = (instance[1:] != instance[:-1]) & (row[1:] == row[:-1])
    return is_end
