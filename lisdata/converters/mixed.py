"""Facts and the text that says them to structures of kind mixed: instances of the facts, then that of the text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.converters.facts import FACTS, FactOptions
from lisdata.converters.structure_rows import struct_array, structure_rows
from lisdata.converters.text import TEXT, TextStructureOptions
from lisdata.records import FactTextRecords
from lisdata.schema import INCIDENCE_TYPE, SPAN_TYPE, StructureKind
from lisdata.structure_batch import StructureBatch, list_array

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTextStructureOptions:
    """Facts with text have no options."""


@dataclass(frozen=True, slots=True)
class FactTextConverter:
    """Puts the structures of converters `facts` and `text` together, one by one.

    Occurrences, instances and incidences of the facts come first; only those of the text have a span. The ordinal of
    the text's instances counts on from the number of facts.
    """

    name: str = "fact-text"
    options_type: type[FactTextStructureOptions] = FactTextStructureOptions

    def convert(self, records: FactTextRecords, options: FactTextStructureOptions) -> StructureBatch:
        """Return one structure a text."""
        text = TEXT.convert(records.text, TextStructureOptions())
        facts = FACTS.convert(records.facts, FactOptions()).structures
        columns = _joined(facts, text.structures)
        columns["document"] = text.structures.column("document")
        file, begin, end = records.text.file, records.text.begin, records.text.end
        structures = structure_rows(StructureKind.MIXED, file, begin, end, columns)
        # the text's contents are those of the records, which the facts have too, and then the words
        return StructureBatch(structures=structures, contents=text.contents, labels=text.labels)


def _joined(facts: pa.RecordBatch, text: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the list columns, row by row those of the facts and then those of the text."""
    from lisdata.kernels.interleave import interleave  # compiled on import

    def join(first: _Lists, second: _Lists, *, shift: Int64 | None = None) -> npt.NDArray[np.generic]:
        """Join values; `shift` is added to the second's, row by row."""
        values = second.values
        if shift is not None:
            values = (values + np.repeat(shift, np.diff(second.offsets))).astype(values.dtype)
        joined: npt.NDArray[np.generic] = interleave(first.values, first.offsets, values, second.offsets)
        return joined

    def pair(name: str) -> tuple[_Lists, _Lists]:
        return _Lists.of(facts, name), _Lists.of(text, name)

    offsets = {name: np.add(*(lists.offsets for lists in pair(name))) for name in ("tau", "sigma", "instance_label")}
    num_occurrences, num_instances = (np.diff(pair(name)[0].offsets) for name in ("tau", "instance_label"))
    occurrence, instance = (
        join(_Lists.of(facts, "incidence", part), _Lists.of(text, "incidence", part), shift=shift)
        for part, shift in (("occurrence", num_occurrences), ("instance", num_instances))
    )
    pairs = struct_array(INCIDENCE_TYPE, [occurrence, instance])
    return {
        "tau": list_array(offsets["tau"], pa.array(join(*pair("tau")))),
        "span": list_array(offsets["tau"], _spans(facts, text), nullable=True),
        "instance_label": list_array(offsets["instance_label"], pa.array(join(*pair("instance_label")))),
        "instance_ordinal": list_array(
            offsets["instance_label"], pa.array(join(*pair("instance_ordinal"), shift=num_instances))
        ),
        "incidence": list_array(offsets["sigma"], pairs),
        "sigma": list_array(offsets["sigma"], pa.array(join(*pair("sigma")))),
        "position": list_array(offsets["sigma"], pa.array(join(*pair("position")))),
    }


@dataclass(frozen=True, slots=True)
class _Lists:
    """A list column without nulls: the values, and where those of each row begin."""

    offsets: Int64
    values: npt.NDArray[np.generic]

    @classmethod
    def of(cls, rows: pa.RecordBatch, name: str, part: str | None = None) -> _Lists:
        column = rows.column(name)
        values = column.values if part is None else column.values.field(part)
        return cls(np.asarray(column.offsets), np.asarray(values))


def _spans(facts: pa.RecordBatch, text: pa.RecordBatch) -> pa.Array:
    """Return the spans of all occurrences, null for those of facts."""
    from lisdata.kernels.interleave import interleave

    nothing, spelled = _Lists.of(facts, "tau"), text.column("span")
    offsets = np.asarray(spelled.offsets)
    none = np.zeros(len(nothing.values), np.uint64)
    bounds = [interleave(none, nothing.offsets, np.asarray(spelled.values.field(n)), offsets) for n in ("begin", "end")]
    is_valid = np.asarray(spelled.values.is_valid()).view(np.uint8)
    mask = interleave(np.zeros(len(none), np.uint8), nothing.offsets, is_valid, offsets) == 0
    return struct_array(SPAN_TYPE, bounds, pa.array(mask))


FACT_TEXT = FactTextConverter()
