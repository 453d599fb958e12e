"""RDF statements as contents, to structures and back: what the modules for other libraries' graphs share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import xxhash

from lisdata.contents import Content, ContentBuilder, LabelBuilder, encode_text
from lisdata.converters.triple_terms import TRIPLE_TERM
from lisdata.converters.triples import TRIPLES, TriplesOptions
from lisdata.errors import ExportError
from lisdata.inputs import InputFile
from lisdata.records import TripleRecords
from lisdata.schema import NO_ROW, ContentKind, StructureKind
from lisdata.shards import IncidenceDataset
from lisdata.sources.ntriples_terms import term_from_content
from lisdata.sources.rdf_grouping import Grouping
from lisdata.structure import Structure, StructureReader

Triple = tuple[Content, Content, Content]
Quad = tuple[Content, Content, Content, Content | None]
Structures = IncidenceDataset | Iterable[Structure]


def scope_of(quads: Iterable[Quad]) -> str:
    """Return a scope for blank nodes: the digest of the statements, in whatever order they come."""
    lines = sorted(b" ".join(term_from_content(c) for c in quad if c is not None) for quad in quads)
    return xxhash.xxh3_64_hexdigest(b"\n".join(lines))


def structures_from_quads(
    quads: list[Quad], *, scope: str, group_by: str, triple_terms: dict[Content, Triple] | None = None
) -> list[Structure]:
    """Return the structures that the RDF sources make of these statements; record ids are `scope`#number."""
    contents = ContentBuilder(LabelBuilder())
    rows = [[NO_ROW if c is None else contents.add_content(c) for c in quad] for quad in quads]
    subject, predicate, object_, graph = np.array(rows, np.uint32).reshape(-1, 4).T
    parts = [[contents.add_content(c) for c in (term, *parts)] for term, parts in (triple_terms or {}).items()]
    numbers = np.arange(len(quads), dtype=np.uint64)
    records = TripleRecords(
        file=InputFile(index=0, path="", name="", size=0, digest=scope, scope=scope, compression=None),
        contents=contents.to_arrow(),
        labels=contents.labels.to_arrow(),
        subject_content=subject,
        predicate_content=predicate,
        object_content=object_,
        graph_content=graph,
        structure_offsets=Grouping(group_by).offsets(subject, graph),
        begin=np.zeros_like(numbers),
        end=np.zeros_like(numbers),
        ordinal=numbers,
        triple_terms=np.array(parts, np.uint32).reshape(-1, 4).T if parts else None,
    )
    batch = TRIPLES.convert(records, TriplesOptions())
    reader = StructureReader(batch.contents, batch.labels)
    return [reader.read(batch.structures, row) for row in range(batch.structures.num_rows)]


def iter_quads(data: Structures) -> Iterator[Quad]:
    """Yield the statements of structures of triples; ExportError for a fact that is no statement of RDF."""
    for structure in data.iter_structures() if isinstance(data, IncidenceDataset) else data:
        if structure.kind != StructureKind.TRIPLES:
            raise ExportError(f"{structure.record_id}: expected triples, found {structure.kind.label}")
        yield from _quads_of(structure)


def _quads_of(structure: Structure) -> Iterator[Quad]:
    sides: list[dict[str, Content]] = [{} for _ in structure.instances]
    for incidence in structure.incidences:
        content = structure.occurrences[incidence.occurrence].content
        known = sides[incidence.instance]
        role, label = incidence.role, structure.instances[incidence.instance].label
        if role.relation != label or role.side in known:
            raise ExportError(f"{structure.record_id}: expected a triple, found a fact with {role.label}")
        known[role.side] = content
    for instance, known in zip(structure.instances, sides, strict=True):
        if instance.label == TRIPLE_TERM:  # its content says it too
            continue
        if not {"subject", "object"} <= set(known) <= {"subject", "object", "graph"}:
            raise ExportError(f"{structure.record_id}: expected a triple, found a fact with {', '.join(known)}")
        predicate = Content(ContentKind.ENTITY, encode_text(instance.label))
        yield known["subject"], predicate, known["object"], known.get("graph")


class NodeNames:
    """Names for blank nodes of any scopes: a node keeps its label unless one of another scope has it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._names: dict[tuple[str | None, bytes], str] = {}
        self._taken = set(taken)

    def name(self, node: Content) -> str:
        """Return the name of a blank node, the same each time."""
        key = (node.scope, node.lexical)
        if key not in self._names:
            label = name = node.lexical.decode()
            copy = 1
            while name in self._taken:
                copy += 1
                name = f"{label}-{copy}"
            self._names[key] = name
            self._taken.add(name)
        return self._names[key]
