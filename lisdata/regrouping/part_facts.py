"""The facts of one part of a dataset as flat columns that stand for themselves, whatever structure held them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import ContentBuilder, LabelBuilder, encode_text
from lisdata.errors import PlanError
from lisdata.exporters.input_ordinals import first_ordinals, inputs_of_ordinals, room_for_ordinals
from lisdata.exporters.ntriples_triples import PartTriples, triples_of
from lisdata.kernels.arrays import one_array
from lisdata.schema import NO_ROW, ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, Part

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]

FACTS = pa.schema(
    [
        pa.field("ordinal", pa.uint64(), nullable=False),  # in the one sequence of all inputs
        pa.field("file", pa.uint32(), nullable=False),
        pa.field("begin", pa.uint64(), nullable=False),  # bytes of the structure that held the fact
        pa.field("end", pa.uint64(), nullable=False),
        pa.field("subject", pa.uint32(), nullable=False),  # these four are rows of contents
        pa.field("predicate", pa.uint32(), nullable=False),
        pa.field("object", pa.uint32(), nullable=False),
        pa.field("graph", pa.uint32(), nullable=False),  # NO_ROW: the default graph
    ]
)
TERMS = pa.schema([pa.field(name, pa.uint32(), nullable=False) for name in ("term", "subject", "predicate", "object")])
"""RDF 1.2 triple terms and what they are of, all rows of contents."""

_NOT_OF_TRIPLES = ("span", "document", "shape", "tensor", "terminal", "nonterminal", "head", "deprel")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFacts:
    """Facts (FACTS) and triple terms (TERMS), the contents that both refer to, and labels that these refer to.

    A content may stand there twice, and some are used by none.
    """

    facts: pa.RecordBatch
    terms: pa.RecordBatch
    contents: pa.RecordBatch
    labels: pa.RecordBatch


def facts_of(dataset: IncidenceDataset, part: Part) -> PartFacts:
    """Return the facts of a part, in its own order; PlanError where it holds anything but triples of an input."""
    triples = triples_of(part)
    handles = _handles(part, len(triples.label))
    _refuse_others(part, triples, handles)
    chosen = np.flatnonzero(triples.is_triple & ~triples.is_term)
    row = np.repeat(np.arange(part.structures.num_rows), np.diff(triples.in_instances))[chosen]
    source = one_array(part.structures.column("source"))
    file, begin, end = (np.asarray(source.field(name))[row] for name in ("file", "begin", "end"))
    file, ordinal = _place(dataset, part, file.astype(np.int64) + part.first_file, triples.ordinal[chosen])
    columns = {
        "ordinal": ordinal,
        "file": file,
        "begin": begin,
        "end": end,
        "subject": triples.subject[chosen],
        "predicate": triples.label[chosen] + np.uint32(part.contents.num_rows),
        "object": triples.object[chosen],
        "graph": np.where(triples.has_graph, triples.graph, NO_ROW)[chosen],
    }
    is_term = triples.is_term
    terms = (handles, triples.subject, triples.predicate, triples.object)
    distinct = np.unique(np.stack([column[is_term].astype(np.uint32) for column in terms]), axis=1)
    return PartFacts(
        facts=_batch(FACTS, list(columns.values())),
        terms=_batch(TERMS, list(distinct)),
        contents=one_batch(pa.concat_tables([part.contents, _names_of_labels(part.labels)])),
        labels=one_batch(part.labels),
    )


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Return a table as one batch."""
    columns = [one_array(column) for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _names_of_labels(labels: pa.Table) -> pa.Table:
    """Return for each label the entity that it names as a predicate."""
    contents = ContentBuilder(LabelBuilder())
    names = labels["label"].to_pylist()
    rows = [contents.add(ContentKind.ENTITY, encode_text(name)) for name in names]
    return pa.Table.from_batches([contents.to_arrow().take(pa.array(rows, pa.int64()))])


def _batch(schema: pa.Schema, columns: list[npt.NDArray[np.generic]]) -> pa.RecordBatch:
    types = (field.type.to_pandas_dtype() for field in schema)
    arrays = [pa.array(values.astype(type_, copy=False)) for values, type_ in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _place(
    dataset: IncidenceDataset, part: Part, file: Int64, ordinal: npt.NDArray[np.uint64]
) -> tuple[Int64, npt.NDArray[np.uint64]]:
    """Return the input of each fact, and its ordinal in the sequence of all inputs of `dataset`."""
    firsts = first_ordinals(dataset, part)
    if firsts is not None:
        file = inputs_of_ordinals(part, firsts, ordinal)
        ordinal = ordinal - firsts[file - part.inputs.start]
    room = room_for_ordinals(len(dataset.inputs))
    if len(ordinal) and int(ordinal.max()) >= room:
        raise PlanError(f"{part.path('structures')}: expected ordinals below {room}, found {ordinal.max()}")
    return file, ordinal + file.astype(np.uint64) * np.uint64(room)


def _handles(part: Part, num_instances: int) -> UInt32:
    """Return the handle of each instance, NO_ROW where it has none."""
    column = one_array(part.structures.column("instance_handle"))
    sizes = np.asarray(pc.list_value_length(one_array(part.structures.column("instance_label"))))
    handles = np.full(num_instances, NO_ROW, np.uint32)
    handles[np.repeat(np.asarray(column.is_valid()), sizes)] = np.asarray(column.flatten().fill_null(NO_ROW))
    return handles


def _refuse_others(part: Part, triples: PartTriples, handles: UInt32) -> None:
    """Raise PlanError unless all that the part holds is triples, and would come through."""
    table = part.structures
    is_fact = triples.is_triple | triples.is_term
    kinds = sorted({StructureKind(kind).label for kind in np.unique(triples.kinds) if kind != StructureKind.TRIPLES})
    beside = [name for name in _NOT_OF_TRIPLES if table.column(name).null_count < table.num_rows]
    is_named = (handles != NO_ROW) != triples.is_term
    problems = (
        (bool(kinds), f"structures of kind {', '.join(kinds)}"),
        (not part.inputs and table.num_rows > 0, "structures made in memory, of no input"),
        (not is_fact.all(), "facts that are no triple"),
        (bool(beside), f"column {', '.join(beside)}"),
        (bool(is_named.any()), "triples with a handle"),
        (_has_positions(table), "positions in a role"),
        (_num_isolated(part) > 0, "contents that no structure shows"),
    )
    for is_there, found in problems:
        if is_there:
            raise PlanError(f"{part.path('structures')}: expected triples of files and nothing else, found {found}")


def _has_positions(table: pa.Table) -> bool:
    return bool(np.any(np.asarray(one_array(table.column("position")).flatten())))


def _num_isolated(part: Part) -> int:
    is_shown = np.zeros(part.contents.num_rows, np.bool_)
    for name in ("tau", "instance_handle"):
        is_shown[np.asarray(one_array(part.structures.column(name)).flatten().drop_null())] = True
    return int((~is_shown).sum())
