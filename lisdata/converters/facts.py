"""Facts with any number of participants (hyperedges, n-ary facts) to structures: one occurrence a participant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lisdata.converters.structure_rows import incidence_array, structure_rows
from lisdata.records import FactRecords
from lisdata.schema import NO_ROW, STRUCTURES, StructureKind
from lisdata.structure_batch import StructureBatch, list_array


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOptions:
    """Facts have no options: the source decides how they are grouped."""


@dataclass(frozen=True, slots=True)
class FactsConverter:
    """Makes an instance of each fact and an occurrence of each participant, in the order given."""

    name: str = "facts"
    options_type: type[FactOptions] = FactOptions

    def convert(self, records: FactRecords, options: FactOptions) -> StructureBatch:
        """Return one structure for each group of facts."""
        participants = records.participant_offsets[records.structure_offsets]  # where each structure's begin
        in_structure = np.repeat(np.arange(len(records.begin)), np.diff(participants))
        fact = np.repeat(np.arange(len(records.fact_label)), np.diff(records.participant_offsets))
        occurrence = np.arange(len(fact)) - participants[in_structure]
        pairs = incidence_array(occurrence, fact - records.structure_offsets[in_structure])
        columns = {
            "tau": list_array(participants, pa.array(records.participant_content)),
            "instance_label": list_array(records.structure_offsets, pa.array(records.fact_label)),
            "instance_handle": _handles(records),
            "instance_ordinal": list_array(records.structure_offsets, pa.array(records.fact_ordinal)),
            "incidence": list_array(participants, pairs),
            "sigma": list_array(participants, pa.array(records.participant_role)),
            "position": list_array(participants, pa.array(records.participant_position)),
        }
        structures = structure_rows(
            StructureKind.HYPEREDGES, records.files or records.file, records.begin, records.end, columns
        )
        return StructureBatch(structures=structures, contents=records.contents, labels=records.labels)


def _handles(records: FactRecords) -> pa.Array:
    """Return the handles, null where a structure has none at all."""
    sizes = np.diff(records.structure_offsets)
    structure = np.repeat(np.arange(len(sizes)), sizes)
    is_named = np.zeros(len(sizes), bool)
    is_named[structure[records.fact_handle != NO_ROW]] = True
    kept = records.fact_handle[is_named[structure]]
    offsets = np.concatenate(([0], np.cumsum(np.where(is_named, sizes, 0))))
    values = pa.array(kept, mask=kept == NO_ROW)
    type_ = STRUCTURES.field("instance_handle").type
    return pa.LargeListArray.from_arrays(pa.array(offsets), values, type=type_, mask=pa.array(~is_named))


FACTS = FactsConverter()
