"""The view `endpoints`: each incidence once, spelled by its content, addressed by role, instance and position."""

from __future__ import annotations

import numpy as np

from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.part_tables import RoleTable, SpelledContents
from lisdata.encoding.pieces import Int64, offsets_of, ragged_index, row_numbers, running_starts
from lisdata.encoding.structure_rows import StructureRows
from lisdata.encoding.token_rows import Columns, TokenRows
from lisdata.schema import DEPREL_COLUMN, UNTAGGED


def endpoint_rows(
    rows: StructureRows, spelled: SpelledContents, roles: RoleTable, ids: Int64, counts: EncodeCounts, *, target: int
) -> TokenRows:
    """Return a row for each structure: its incidences by instance number, in each in the order of `incidence`.

    Positions count the pieces of one (instance, role), so that (role, instance, position) is unique in a row.
    `occurrence` is the number in the structure, `ids` gives column `content` by content number.
    """
    order = _by_instance(rows.incidence_instance)
    row, occurrence, instance = (
        rows.incidence_row[order],
        rows.incidence_occurrence[order],
        rows.incidence_instance[order],
    )
    content, code = rows.tau[occurrence], rows.sigma[order]
    role = roles.number[code]
    begins = spelled.offsets[content]
    lengths = spelled.offsets[content + 1] - begins
    codes = len(roles.number)
    starts = running_starts(instance * codes + code, lengths)
    piece_offsets = offsets_of(lengths)
    endpoint = row_numbers(piece_offsets)
    columns: Columns = {
        "input_ids": spelled.ids[ragged_index(begins, lengths)],
        "role": role[endpoint],
        "instance": (instance - rows.instance_offsets[row])[endpoint],
        "position": np.arange(len(endpoint)) + (starts - piece_offsets[:-1])[endpoint],
        "occurrence": (occurrence - rows.occurrence_offsets[row])[endpoint],
        "content": ids[content][endpoint],
    }
    _count(rows, lengths, counts)
    tokens_of_row = np.bincount(row, weights=lengths, minlength=rows.num_rows).astype(np.int64)
    return token_rows(rows, columns, tokens_of_row, target)


def _by_instance(instance: Int64) -> slice | Int64:
    """Return the stable order of incidences by instance; most sources write them so already."""
    if np.all(instance[1:] >= instance[:-1]):
        return slice(None)
    return np.argsort(instance, kind="stable")


def _count(rows: StructureRows, lengths: Int64, counts: EncodeCounts) -> None:
    counts.endpoints += int(np.count_nonzero(lengths))
    counts.endpoints_without_pieces += int(np.count_nonzero(lengths == 0))
    counts.isolated_occurrences += num_unused(rows.incidence_occurrence, rows.occurrence_offsets)
    counts.empty_instances += num_unused(rows.incidence_instance, rows.instance_offsets)


def num_unused(numbers: Int64, offsets: Int64) -> int:
    """Return how many of the occurrences (or instances) between `offsets` no incidence names by `numbers`."""
    is_used = np.zeros(offsets[-1], bool)
    is_used[numbers] = True
    return int(np.count_nonzero(~is_used))


def token_rows(rows: StructureRows, columns: Columns, lengths: Int64, target: int) -> TokenRows:
    """Return a row for each structure from what its pieces are; those without tags are untagged."""
    num_tokens = int(lengths.sum())
    untagged = np.full(num_tokens, UNTAGGED, np.int8)
    defaults: Columns = dict.fromkeys(("terminal", "nonterminal", DEPREL_COLUMN), untagged)
    defaults["target"] = np.full(num_tokens, target, np.int8)
    return TokenRows(
        offsets=offsets_of(lengths),
        columns=defaults | columns,
        kinds=rows.kinds,
        num_instances=np.diff(rows.instance_offsets),
        record_ids=rows.record_ids,
    )
