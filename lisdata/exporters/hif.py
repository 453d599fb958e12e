"""Hyperedges back to HIF JSON: the same model, in the same order, with numbers as they were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lisdata.contents import Content, decode_text
from lisdata.errors import ExportError
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.hif_layout import (
    ATTR,
    ATTRS,
    DIRECTION,
    HEAD,
    HYPEREDGE,
    ID,
    LAYOUT,
    MEMBER,
    NETWORK,
    NETWORK_TYPE,
    NODE,
    TAIL,
    HifLayout,
    HifOptions,
    split_side,
)
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_contents import json_from_content
from lisdata.sources.json_text import NumberText, read_json, write_json
from lisdata.sources.layouts import layout_from_text
from lisdata.structure import Structure

_ORDER = ("edge", "node", "weight", "direction", "attrs")


@dataclass(frozen=True, slots=True)
class HifExporter:
    """Writes a HIF document for each input: its JSON model, arrays in order; spaces and order of members may differ."""

    name: str = "hif"
    summary: str = "Hypergraphs in the Hypergraph Interchange Format (HIF JSON)"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the hypergraphs that came from `files`."""
        paths = target_paths(target, files, dataset.inputs)
        written: list[Path] = []
        losses: Counter[str] = Counter()
        for info, path in zip(files, paths, strict=True):
            rejected = info.records.get("rejected", 0)
            if rejected:
                losses["rejected records"] += rejected
                continue
            document = structures_to_hif(dataset.iter_structures(info.index), hif_options(info))
            with replacing(path) as stream:
                for piece in _iter_text(document):
                    stream.write(piece.encode())
            written.append(path)
        return ExportReport(files=tuple(written), num_records=len(written), losses=dict(losses))


def hif_options(info: InputInfo) -> HifOptions:
    """Return the options that an input was read with, the defaults when it was no HIF."""
    if info.source != HIF.name:
        return HifOptions()
    read_with: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in info.options.items()}
    return HifOptions(**read_with)


def structures_to_hif(structures: Iterator[Structure], options: HifOptions) -> dict[str, Any]:
    """Return the HIF document of one input's structures; its numbers are `NumberText`."""
    reader = _Reader(options)
    for structure in structures:
        reader.add(structure)
    return reader.to_document()


def _iter_text(document: dict[str, Any]) -> Iterator[str]:
    """Yield the document as text, an entry a line."""
    separator = "{\n"
    for name, value in document.items():
        yield f"{separator}{write_json(name)}: "
        separator = ",\n"
        if isinstance(value, list) and value:
            yield "[\n"
            for number, entry in enumerate(value):
                yield (",\n" if number else "") + write_json(entry)
            yield "\n]"
        else:
            yield write_json(value)
    yield "\n}\n"


@dataclass(slots=True)
class _Item:
    """An entry of an array in the making: its members but for attributes, and those."""

    members: dict[str, Any] = field(default_factory=dict)
    attrs: dict[str, Any] | None = None

    def set_detail(self, detail: str, value: Any) -> None:
        if detail.startswith(ATTR):
            self.attrs = {**(self.attrs or {}), detail.removeprefix(ATTR): value}
        elif detail == ATTRS:
            self.attrs = {**(self.attrs or {}), **value}
        else:
            self.members[detail] = value

    def to_entry(self, *, has_attrs: bool) -> dict[str, Any]:
        """Return the entry; `has_attrs` gives it an object of attributes even when it has none."""
        if self.attrs is not None or has_attrs:
            self.members["attrs"] = self.attrs or {}
        return {name: self.members[name] for name in _ORDER if name in self.members}


class _Reader:
    """Takes structures and gathers the entries of the three arrays by number."""

    def __init__(self, options: HifOptions) -> None:
        self._options = options
        self._prefixes = IdPrefixes.parse(options.id_prefix)
        self._network = _Item()
        self._layout = HifLayout()
        self._nodes: dict[int, _Item] = {}
        self._edges: dict[int, _Item] = {}
        self._incidences: dict[int, list[_Item]] = {}  # by number of the edge

    def add(self, structure: Structure) -> None:
        if structure.kind != StructureKind.HYPEREDGES:
            raise ExportError(f"{structure.record_id}: expected hyperedges, found a {structure.kind.label} structure")
        participants: list[list[tuple[str, int, Content]]] = [[] for _ in structure.instances]
        for incidence in structure.incidences:
            content = structure.occurrences[incidence.occurrence].content
            participants[incidence.instance].append((incidence.role.side, incidence.position, content))
        for instance, found in zip(structure.instances, participants, strict=True):
            if instance.label == NETWORK:
                self._add_network(found)
            elif instance.label == NODE:
                self._add_node(instance.ordinal, found)
            elif instance.handle is None:
                raise ExportError(f"{structure.record_id}: expected an edge with a handle, its id, found none")
            else:
                self._add_edge(instance.ordinal, instance.label, instance.handle, found)

    def _add_network(self, participants: list[tuple[str, int, Content]]) -> None:
        for side, _, content in participants:
            if side == LAYOUT:
                self._layout = layout_from_text(HifLayout, content.lexical.decode())
            else:
                self._network.set_detail(side, json_from_content(content.kind, content.lexical))

    def _add_node(self, number: int, participants: list[tuple[str, int, Content]]) -> None:
        item = self._nodes.setdefault(number, _Item())
        for side, _, content in participants:
            if side == NODE:
                item.members.setdefault("node", self._node_id(content))
            else:
                self._set_detail(item, side, content)

    def _add_edge(self, number: int, label: str, handle: Content, participants: list[tuple[str, int, Content]]) -> None:
        edge = read_json(handle.lexical.decode())
        item = self._edges.setdefault(number, _Item({"edge": edge}))
        if label != HYPEREDGE:
            item.set_detail(ATTR + self._options.label_attr, label)
        incidences: dict[int, _Item] = {}
        for side, position, content in participants:
            participant, detail = split_side(side)
            if not participant:
                self._set_detail(item, detail, content)
                continue
            incidence = incidences.setdefault(position, _Item({"edge": edge}))
            if detail:
                self._set_detail(incidence, detail, content)
                continue
            incidence.members.setdefault("node", self._node_id(content))
            if participant in (HEAD, TAIL):
                incidence.members[DIRECTION] = participant
            elif participant != MEMBER:
                incidence.set_detail(ATTR + self._options.role_attr, participant)
        self._incidences[number] = [incidences[position] for position in sorted(incidences)]

    def _set_detail(self, item: _Item, detail: str, content: Content) -> None:
        value = json_from_content(content.kind, content.lexical)
        item.set_detail("node" if detail == ID else detail, value)

    def _node_id(self, content: Content) -> str:
        if content.kind == ContentKind.ENTITY:
            return self._prefixes.restore(decode_text(content.lexical))
        if content.kind == ContentKind.JSON_INT:
            return NumberText(content.lexical.decode())
        raise ExportError(f"expected a node that is an entity or an integer, found {content}")

    def to_document(self) -> dict[str, Any]:
        layout, document = self._layout, {}
        if NETWORK_TYPE in self._network.members:
            document[NETWORK_TYPE] = self._network.members[NETWORK_TYPE]
        if self._network.attrs is not None:
            document["metadata"] = self._network.attrs
        num_entries = layout.edge_entries
        arrays = {
            "nodes": [item for _, item in sorted(self._nodes.items(), key=_number)],
            "edges": [
                item
                for number, item in sorted(self._edges.items(), key=_number)
                if num_entries is None or number < num_entries
            ],
            "incidences": list(self._iter_incidences()),
        }
        for name, items in arrays.items():
            if items or name in layout.empty or name == "incidences":
                document[name] = [item.to_entry(has_attrs=name in layout.attrs) for item in items]
        return document

    def _iter_incidences(self) -> Iterator[_Item]:
        """Yield the incidences in the array's order: by number of the edge unless the layout lists another."""
        lists = {number: iter(self._incidences[number]) for number in sorted(self._incidences)}
        if not self._layout.order:
            for items in lists.values():
                yield from items
        for number in self._layout.order:
            if number in lists:  # in a share of the document not every edge is
                yield next(lists[number])


def _number(item: tuple[int, _Item]) -> int:
    return item[0]


HIF = HifExporter()
