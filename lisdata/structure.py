"""The friendly view of one structure H = (C, V, E, S, tau, I, sigma) (LIS Definition 4.1), for people and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Content, Role
from lisdata.schema import UNTAGGED, ContentKind, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch, StructureBuilder
from lisdata.tensors import check_plain, tensor_from_bytes

if TYPE_CHECKING:
    import networkx as nx


MAX_READ_CONTENTS = 100_000  # kept as objects by a reader, since structures share contents


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """An occurrence v: the content tau(v) it shows, the bytes of the document that spell it, its dependency tags.

    `head` is 1-based in its sentence, 0 the root; `terminal` and `nonterminal` are hexatag ids.
    """

    content: Content
    span: tuple[int, int] | None = None
    terminal: int | None = None
    nonterminal: int | None = None
    head: int | None = None
    deprel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance e: relation, edge type or table; `handle` names it where others refer to it."""

    label: str
    ordinal: int = 0
    handle: Content | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incidence:
    """An endpoint (v, e): numbers of the occurrence and the instance, the role sigma(v, e) and the local position."""

    occurrence: int
    instance: int
    role: Role
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """One structure; a grid has `tensor` and no listed occurrences or incidences (cell k of instance 0 is implied)."""

    record_id: str
    kind: StructureKind
    occurrences: tuple[Occurrence, ...] = ()
    instances: tuple[Instance, ...] = ()
    incidences: tuple[Incidence, ...] = ()
    document: bytes | None = None
    tensor: npt.NDArray[Any] | None = None
    source: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self) -> None:
        num_occurrences, num_instances = len(self.occurrences), len(self.instances)
        for i, incidence in enumerate(self.incidences):
            if not 0 <= incidence.occurrence < num_occurrences:
                raise ValueError(f"incidence {i} names occurrence {incidence.occurrence} of {num_occurrences}")
            if not 0 <= incidence.instance < num_instances:
                raise ValueError(f"incidence {i} names instance {incidence.instance} of {num_instances}")
        if self.tensor is not None and (self.occurrences or self.incidences):
            raise ValueError("a grid's occurrences and incidences are implied by its tensor: list none")
        if self.tensor is not None:
            check_plain(self.tensor.dtype)
        self._check_spans()

    def _check_spans(self) -> None:
        for index, occurrence in enumerate(self.occurrences):
            if occurrence.span is None:
                continue
            begin, end = occurrence.span
            if self.document is None:
                raise ValueError(f"occurrence {index} has the span [{begin}, {end}) but there is no document")
            if not 0 <= begin <= end <= len(self.document):
                size = len(self.document)
                raise ValueError(
                    f"span [{begin}, {end}) of occurrence {index} is not inside the document of {size} bytes"
                )

    def surface(self, occurrence: int) -> str:
        """Return how an occurrence is written: its bytes of the document, else its content's lexical form."""
        found = self.occurrences[occurrence]
        if found.span is None or self.document is None:
            return found.content.text
        return self.document[slice(*found.span)].decode("utf-8", errors="backslashreplace")

    # -- Arrow ---------------------------------------------------------------------------------------------------

    @staticmethod
    def to_arrow(structures: list[Structure], isolated: tuple[Content, ...] = ()) -> StructureBatch:
        """Return the structures as one batch; `isolated` are contents that no occurrence shows."""
        builder = StructureBuilder()
        for structure in structures:
            structure._append_to(builder)
        for content in isolated:
            builder.contents.add_content(content)
        return builder.finish()

    def _append_to(self, builder: StructureBuilder) -> None:
        file, begin, end = self.source
        builder.begin(self.kind, self.record_id, file=file, begin=begin, end=end, document=self.document)
        add = builder.contents.add_content
        for o in self.occurrences:
            builder.occurrence(
                add(o.content),
                span=o.span,
                terminal=o.terminal,
                nonterminal=o.nonterminal,
                head=o.head,
                deprel=o.deprel,
            )
        for e in self.instances:
            builder.instance(e.label, ordinal=e.ordinal, handle=None if e.handle is None else add(e.handle))
        for i in self.incidences:
            builder.incidence(i.occurrence, i.instance, i.role, i.position)
        if self.tensor is not None:
            builder.grid(self.tensor.shape, self.tensor.dtype.str, np.ascontiguousarray(self.tensor).tobytes())
        builder.end()

    @classmethod
    def from_arrow(cls, batch: StructureBatch, row: int) -> Structure:
        """Return row `row` of a batch."""
        return StructureReader(batch.contents, batch.labels).read(batch.structures, row)

    # -- dict ----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; bytes that are not UTF-8 become {"base64": ...}."""
        from lisdata.structure_json import structure_to_dict

        return structure_to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Structure:
        """Undo `to_dict`; a missing optional member means its default. SchemaError names the record and the member."""
        from lisdata.structure_json import structure_from_dict

        return structure_from_dict(data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.record_id, self.kind, self.occurrences))

    def _identity(self) -> tuple[object, ...]:
        tensor = None
        if self.tensor is not None:  # by bytes: -0.0 is not 0.0 here, and NaN is NaN
            tensor = (self.tensor.dtype.str, self.tensor.shape, self.tensor.tobytes())
        lists = (self.occurrences, self.instances, self.incidences)
        return (self.record_id, self.kind, self.source, self.document, *lists, tensor)

    # -- networkx ------------------------------------------------------------------------------------------------

    def to_networkx(self) -> nx.MultiDiGraph:
        """Return the bipartite multigraph of nodes ("v", i) and ("e", j): an edge an incidence, with its attributes."""
        import networkx as nx

        graph = nx.MultiDiGraph(
            record_id=self.record_id, kind=self.kind.label, document=self.document, source=self.source
        )
        if self.tensor is not None:
            graph.graph["tensor"] = self.tensor
        for index, occurrence in enumerate(self.occurrences):
            graph.add_node(("v", index), occurrence=occurrence)
        for index, instance in enumerate(self.instances):
            graph.add_node(("e", index), instance=instance)
        for order, i in enumerate(self.incidences):
            graph.add_edge(("v", i.occurrence), ("e", i.instance), key=order, role=i.role, position=i.position)
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.MultiDiGraph) -> Structure:
        """Undo `to_networkx`; the order of incidences is the edge keys'."""
        sides: dict[str, list[Any]] = {"v": [], "e": []}
        for (side, index), data in sorted(graph.nodes(data=True)):
            if index != len(sides[side]):
                raise ValueError(
                    f"nodes are numbered without gaps, expected {(side, len(sides[side]))}, found {(side, index)}"
                )
            sides[side].append(data["occurrence" if side == "v" else "instance"])
        edges = sorted(graph.edges(keys=True, data=True), key=lambda edge: edge[2])
        return cls(
            record_id=graph.graph["record_id"],
            kind=StructureKind[graph.graph["kind"].upper()],
            document=graph.graph.get("document"),
            tensor=graph.graph.get("tensor"),
            source=tuple(graph.graph.get("source", (0, 0, 0))),
            occurrences=tuple(sides["v"]),
            instances=tuple(sides["e"]),
            incidences=tuple(
                Incidence(occurrence=v[1], instance=e[1], role=d["role"], position=d["position"])
                for v, e, _, d in edges
            ),
        )


class StructureReader:
    """Turns rows into `Structure`s with one shard's contents and labels at hand."""

    def __init__(self, contents: pa.RecordBatch | pa.Table, labels: pa.RecordBatch | pa.Table) -> None:
        self._contents = contents
        self._read_contents: dict[int, Content] = {}
        rows = labels.to_pylist()
        self._labels: list[str] = [row["label"] for row in rows]
        self._roles = [
            Role(row["relation"], row["side"]) if row["kind"] == LabelKind.ROLE else None for row in rows
        ]  # fmt: skip

    def content(self, row: int) -> Content:
        """Return content number `row` of the shard."""
        found = self._read_contents.get(row)
        if found is None:
            c = self._contents
            kind, lexical = ContentKind(c["kind"][row].as_py()), c["lexical"][row].as_py()
            symbols = [c[name][row].as_py() for name in ("datatype", "language", "scope")]
            found = Content(kind, lexical, *(None if s is None else self._labels[s] for s in symbols))
            if len(self._read_contents) >= MAX_READ_CONTENTS:
                self._read_contents.clear()
            self._read_contents[row] = found
        return found

    def role(self, code: int) -> Role:
        """Return the role with this code."""
        role = self._roles[code]
        if role is None:
            raise ValueError(f"label {code} ({self._labels[code]!r}) is not a role")
        return role

    def read(self, structures: pa.RecordBatch | pa.Table, row: int, *, first_file: int = 0) -> Structure:
        """Return row `row` of `structures`, whose input files are numbered from `first_file` on."""
        r = {name: structures[name][row].as_py() for name in structures.schema.names}
        source = (r["source"]["file"] + first_file, r["source"]["begin"], r["source"]["end"])
        return Structure(
            record_id=r["record_id"],
            kind=StructureKind(r["kind"]),
            document=r["document"],
            source=source,
            occurrences=tuple(self._occurrences(r)),
            instances=tuple(self._instances(r)),
            incidences=tuple(
                Incidence(occurrence=i["occurrence"], instance=i["instance"], role=self.role(s), position=p)
                for i, s, p in zip(r["incidence"] or (), r["sigma"] or (), r["position"] or (), strict=True)
            ),
            tensor=None if r["tensor"] is None else tensor_from_row(r["tensor"], r["shape"]),
        )

    def _occurrences(self, r: dict[str, Any]) -> list[Occurrence]:
        tau = r["tau"] or []
        absent = [None] * len(tau)
        columns = [r[name] or absent for name in ("span", "terminal", "nonterminal", "head", "deprel")]
        return [
            Occurrence(
                content=self.content(c),
                span=None if span is None else (span["begin"], span["end"]),
                terminal=None if terminal == UNTAGGED else terminal,
                nonterminal=None if nonterminal == UNTAGGED else nonterminal,
                head=head,
                deprel=None if deprel is None else self._labels[deprel],
            )
            for c, span, terminal, nonterminal, head, deprel in zip(tau, *columns, strict=True)
        ]

    def _instances(self, r: dict[str, Any]) -> list[Instance]:
        handles = r["instance_handle"] or [None] * len(r["instance_label"])
        return [
            Instance(
                label=self._labels[label], ordinal=ordinal, handle=None if handle is None else self.content(handle)
            )
            for label, ordinal, handle in zip(r["instance_label"], r["instance_ordinal"], handles, strict=True)
        ]


def tensor_from_row(tensor: dict[str, Any], shape: list[int]) -> npt.NDArray[Any]:
    """Return the values of a grid as an array of its dtype and shape."""
    return tensor_from_bytes(tensor["dtype"], shape, tensor["bytes"])
