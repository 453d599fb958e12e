"""The triples in one part of a dataset, as flat arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.converters.flat_structures import count_from_zero
from lisdata.converters.triple_terms import TRIPLE_TERM
from lisdata.converters.triples import SIDES
from lisdata.kernels.arrays import one_array
from lisdata.schema import ContentKind, LabelKind, StructureKind
from lisdata.shards import Part

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_OTHER, _SUBJECT, _OBJECT, _GRAPH = range(len(SIDES) + 1)
_RESOURCES = (ContentKind.ENTITY, ContentKind.BNODE)
_TERMS = (*_RESOURCES, ContentKind.LITERAL, ContentKind.INSTANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTriples:
    """The instances of a part, numbered across it: each one's label, ordinal, subject, object and graph.

    The last three are rows of the part's contents, meant where `is_triple` (and `has_graph`). `kinds` are those of the
    structures; structure n has the instances in_instances[n] : in_instances[n + 1]. `is_term` marks the instances that
    say what a triple term is: its content says it too, and `predicate` is meant there.
    """

    kinds: npt.NDArray[np.uint8]
    in_instances: Int64
    label: npt.NDArray[np.uint32]
    ordinal: npt.NDArray[np.uint64]
    subject: Int64
    object: Int64
    graph: Int64
    predicate: Int64
    is_triple: Bools
    is_rdf: Bools
    has_graph: Bools
    is_term: Bools

    def choose(
        self, rows: Int64, losses: Counter[str], *, with_graphs: bool = False, is_wanted: Bools | None = None
    ) -> Int64:
        """Return the triples of the structures `rows` in the order of the source; count what RDF cannot hold.

        Unless `with_graphs`, the names of graphs are losses. With `is_wanted`, only these instances are looked at.
        """
        for kind, count in zip(*np.unique(self.kinds[rows], return_counts=True), strict=True):
            if kind != StructureKind.TRIPLES:
                losses[f"structures of kind {StructureKind(kind).label}"] += int(count)
        facts = self._instances_of(rows[self.kinds[rows] == StructureKind.TRIPLES])
        if is_wanted is not None:
            facts = facts[is_wanted[facts]]
        is_triple, is_rdf = self.is_triple[facts], self.is_rdf[facts]
        losses["facts that are no triple"] += int((~is_triple & ~self.is_term[facts]).sum())
        losses["triples of contents that are no RDF terms"] += int((is_triple & ~is_rdf).sum())
        chosen = facts[is_triple & is_rdf]
        if not with_graphs:
            losses["graph names"] += int(self.has_graph[chosen].sum())
        ordinals = self.ordinal[chosen]
        if (ordinals[1:] < ordinals[:-1]).any():
            chosen = chosen[np.argsort(ordinals, kind="stable")]
        return chosen

    def _instances_of(self, rows: Int64) -> Int64:
        counts = self.in_instances[rows + 1] - self.in_instances[rows]
        return np.repeat(self.in_instances[rows], counts) + count_from_zero(counts)


def triples_of(part: Part) -> PartTriples:
    """Return the triples of a part: instances with one subject, one object and at most one graph in their own roles."""
    in_tau, tau = _flat(part, "tau")
    in_instances, label = _flat(part, "instance_label")
    in_incidences, incidence = _flat(part, "incidence")
    structures = np.arange(part.structures.num_rows)
    row = np.repeat(structures, np.diff(in_incidences))
    instance = in_instances[row] + np.asarray(incidence.field("instance"))
    content = np.asarray(tau)[in_tau[row] + np.asarray(incidence.field("occurrence"))]
    labels = np.asarray(label)
    side = _sides(part.labels, np.asarray(_flat(part, "sigma")[1]), labels[instance])
    counts = [np.bincount(instance[side == number], minlength=len(labels)) for number in range(len(SIDES) + 1)]
    subject, object_, graph, other = (
        _placed(instance[side == number], content[side == number], len(labels))
        for number in (_SUBJECT, _OBJECT, _GRAPH, _OTHER)
    )
    kinds = np.append(np.asarray(part.contents["kind"]), ContentKind.NULL)  # of row 0 too, where there is none
    has_graph = counts[_GRAPH] > 0
    is_graph_rdf = ~has_graph | np.isin(kinds, _RESOURCES)[graph]
    names = part.labels["label"].to_pylist()
    terms = [code for code, name in enumerate(names) if name == TRIPLE_TERM]
    return PartTriples(
        kinds=np.asarray(part.structures["kind"]),
        in_instances=in_instances,
        label=labels,
        ordinal=np.asarray(_flat(part, "instance_ordinal")[1]),
        subject=subject,
        object=object_,
        graph=graph,
        predicate=other,
        is_triple=(counts[_SUBJECT] == 1) & (counts[_OBJECT] == 1) & (counts[_GRAPH] <= 1) & (counts[_OTHER] == 0),
        is_rdf=np.isin(kinds, _RESOURCES)[subject] & np.isin(kinds, _TERMS)[object_] & is_graph_rdf,
        has_graph=has_graph,
        is_term=np.isin(labels, terms),
    )


def _sides(labels: pa.Table, sigma: npt.NDArray[np.uint32], label: npt.NDArray[np.uint32]) -> Int64:
    """Return which side of its instance's own relation each incidence is, _OTHER where it is none."""
    rows = labels.to_pylist()
    relations = {row["label"]: code for code, row in enumerate(rows) if row["kind"] == LabelKind.INSTANCE}
    numbers = {side: number for number, side in enumerate(SIDES, start=1)}
    side = np.array([numbers.get(row["side"], _OTHER) for row in rows], np.int64)
    relation = np.array([relations.get(row["relation"], -1) for row in rows], np.int64)
    return np.where(relation[sigma] == label, side[sigma], _OTHER)


def _placed(instance: Int64, content: npt.NDArray[np.uint32], size: int) -> Int64:
    values = np.zeros(size, np.int64)
    values[instance] = content
    return values


def _flat(part: Part, name: str) -> tuple[Int64, pa.Array]:
    """Return the offsets and the values of a list column; a null list is an empty one."""
    column = one_array(part.structures.column(name))
    lengths = np.asarray(pc.list_value_length(column).fill_null(0))
    return np.concatenate(([0], np.cumsum(lengths))), column.flatten()
