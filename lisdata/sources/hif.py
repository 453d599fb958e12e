"""HIF hypergraphs: a structure an edge, with its participants, weights and attributes, and one a node entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from lisdata.contents import Role, encode_text
from lisdata.errors import BadRecordError
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import FactRecords, ParsedDocument
from lisdata.registry import Reject
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.cycle_collection import no_cycle_collection
from lisdata.sources.fact_columns import FactColumns
from lisdata.sources.hif_document import HifDocument, parse_hif
from lisdata.sources.hif_layout import (
    ATTR,
    ATTRS,
    DIRECTION,
    HYPEREDGE,
    ID,
    LAYOUT,
    MEMBER,
    NETWORK,
    NETWORK_TYPE,
    NODE,
    WEIGHT,
    HifLayout,
    HifOptions,
    is_label,
    is_role,
)
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_contents import is_side, json_to_content
from lisdata.sources.json_text import JsonTextError, NumberText, write_json
from lisdata.sources.layouts import layout_to_text
from lisdata.sources.whole_documents import read_document


@dataclass(frozen=True, slots=True)
class HifSource:
    """Reads HIF JSON, a file whole; the file is one record, good or rejected.

    An edge is a structure: an instance with the edge's id (as JSON) for a handle and, for each incidence, a participant
    in the role its attribute names, else head, tail or member; the position is its place among the edge's incidences.
    A node id that is a string is an entity, an integer a JSON integer. Details of an incidence are further participants
    at its position (SIDE.weight, SIDE.attr:NAME), those of the edge have sides of their own (weight, attr:NAME). The
    instance's ordinal is the edge's number: as array edges lists them, then by first incidence; an edge listed again is
    a further instance. Each entry of array nodes is a structure "node"; network type, metadata and layout are one,
    "network".
    """

    name: str = "hif"
    summary: str = "Hypergraphs in the Hypergraph Interchange Format (HIF JSON)"
    suffixes: tuple[str, ...] = (".json",)
    converter: str = "facts"
    exporter: str = "hif"
    splits: bool = False
    options_type: type[HifOptions] = HifOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: HifOptions) -> int:
        """Raise ValueError: a document is never cut."""
        raise ValueError(f"a HIF file is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: HifOptions, reject: Reject) -> Iterator[FactRecords]:
        """Yield the facts of the document; one that breaks the format's schema is rejected."""
        document = self.read_document(piece, options, reject)
        if document is not None:
            yield from self.to_records([document])

    def is_document(self, file: InputFile, options: HifOptions) -> bool:
        """Return True: a file is one document."""
        return True

    def read_document(self, piece: InputSlice, options: HifOptions, reject: Reject) -> ParsedDocument | None:
        """Return the document with its facts; None, and it is rejected, where it breaks the format's schema."""
        data = read_document(piece, options.max_document_bytes, reject)
        if data is None:
            return None
        try:
            facts = _facts_of(data, piece.file, options)
        except UnicodeDecodeError as error:
            found = f"byte 0x{data[error.start]:02x} ({error.reason})"
            reject(_rejected(piece, data, error.start, "UTF-8", found))
        except JsonTextError as error:
            offset = len(data.decode()[: error.offset].encode())
            reject(_rejected(piece, data, offset, error.expected, error.found))
        except RecursionError:
            reject(_rejected(piece, data, 0, "JSON of fewer levels", "values too deep in each other to be kept"))
        else:
            return ParsedDocument(file=piece.file, size=len(data), data=None, parsed=facts)
        return None

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[FactRecords]:
        """Yield the facts of documents together."""
        facts = documents[0].parsed if len(documents) == 1 else FactColumns()
        for document in documents if len(documents) > 1 else ():
            facts.extend(document.parsed)
        files = [(document.file,) * document.parsed.num_structures for document in documents]
        together = tuple(chain.from_iterable(files))
        yield facts.to_records(documents[0].file, num_records=len(documents), files=together)


def facts_from_hif(data: bytes, file: InputFile, options: HifOptions) -> FactRecords:
    """Return the facts of the document that the bytes of `file` are.

    UnicodeDecodeError or JsonTextError (with the place and JSON path) where they are none.
    """
    return _facts_of(data, file, options).to_records(file, num_records=1)


def _facts_of(data: bytes, file: InputFile, options: HifOptions) -> FactColumns:
    with no_cycle_collection():
        return _Hypergraph(parse_hif(data), file, options).read(len(data))


def _rejected(piece: InputSlice, data: bytes, offset: int, expected: str, found: str) -> BadRecordError:
    return BadRecordError(piece.place(offset), expected=expected, found=found, begin=0, end=len(data), data=data)


class _Hypergraph:
    """Turns one document into facts; structures are in the order their first bytes have in the file."""

    def __init__(self, document: HifDocument, file: InputFile, options: HifOptions) -> None:
        self.document, self.file, self.options = document, file, options
        self.prefixes = IdPrefixes.parse(options.id_prefix)
        self.scope = file.scope if options.scope == "file" else None
        self.facts = FactColumns()
        self.roles: dict[tuple[str, str], int] = {}
        self.edges, self.nodes, self.incidences = map(document.entries, ("edges", "nodes", "incidences"))
        self.entries_of: dict[str, list[int]] = {}  # by edge id as JSON, where 2 is not "2"
        for number, edge in enumerate(self.edges):
            self.entries_of.setdefault(write_json(edge["edge"]), []).append(number)
        self.incidences_of: dict[str, list[int]] = {}
        for number, incidence in enumerate(self.incidences):
            self.incidences_of.setdefault(write_json(incidence["edge"]), []).append(number)
        unlisted = [edge for edge in self.incidences_of if edge not in self.entries_of]
        self.number_of = {edge: entries[0] for edge, entries in self.entries_of.items()}
        self.number_of |= {edge: len(self.edges) + i for i, edge in enumerate(unlisted)}
        self.layout = self._find_layout(len(unlisted))

    def _find_layout(self, num_unlisted: int) -> HifLayout:
        arrays = {"edges": self.edges, "nodes": self.nodes, "incidences": self.incidences}
        order = tuple(self.number_of[write_json(incidence["edge"])] for incidence in self.incidences)
        return HifLayout(
            edge_entries=len(self.edges) if num_unlisted else None,
            empty=tuple(name for name in ("edges", "nodes") if self.document.members.get(name) == []),
            attrs=tuple(name for name, entries in arrays.items() if _all_have_attrs(entries)),
            order=() if all(a <= b for a, b in pairwise(order)) else order,
        )

    def read(self, size: int) -> FactColumns:
        """Return the facts of the document, which has `size` bytes."""
        self._add_network(size)
        for array, places in self.document.entry_bytes.items():
            if array == "nodes":
                for number, (begin, end) in enumerate(places):
                    self._add_node(number)
                    self.facts.end_structure(begin, end)
                continue
            first_of = {entries[0]: edge for edge, entries in self.entries_of.items()}
            if array == "incidences":
                first_of = {i[0]: edge for edge, i in self.incidences_of.items() if edge not in self.entries_of}
            for number, (begin, end) in enumerate(places):
                if number in first_of:
                    self._add_edge(first_of[number])
                    self.facts.end_structure(begin, end)
        return self.facts

    def _add_network(self, size: int) -> None:
        members, layout = self.document.members, layout_to_text(self.layout)
        if layout is None and "network-type" not in members and "metadata" not in members:
            return
        self.facts.add_fact(NETWORK, NO_ROW, 0)
        if "network-type" in members:
            self._add_value(NETWORK, NETWORK_TYPE, members["network-type"], 0)
        self._add_attrs(NETWORK, "", members.get("metadata"), 0, is_usual=False)
        if layout is not None:
            content = self.facts.contents.add(ContentKind.JSON, layout.encode())
            self.facts.add_participant(self._role(NETWORK, LAYOUT), content, 0)
        self.facts.end_structure(self.document.begin, size)

    def _add_node(self, number: int) -> None:
        entry = self.nodes[number]
        self.facts.add_fact(NODE, NO_ROW, number)
        self._add_id(NODE, NODE, "", entry["node"], 0)
        self._add_details(NODE, "", entry, entry.get("attrs"), 0, is_usual="nodes" in self.layout.attrs)

    def _add_edge(self, edge: str) -> None:
        """Add an edge: its entries in array edges (none perhaps), its incidences with the first of them."""
        handle = self.facts.contents.add(ContentKind.INSTANCE, edge.encode(), scope=self.file.scope)
        entries = self.entries_of.get(edge, [])
        label, attrs = self._label_and_attrs(self.edges[entries[0]] if entries else {})
        self.facts.add_fact(label, handle, self.number_of[edge])
        for position, number in enumerate(self.incidences_of.get(edge, ())):
            self._add_incidence(label, self.incidences[number], position)
        is_usual = "edges" in self.layout.attrs
        if entries:
            self._add_details(label, "", self.edges[entries[0]], attrs, 0, is_usual=is_usual)
        for number in entries[1:]:
            label, attrs = self._label_and_attrs(self.edges[number])
            self.facts.add_fact(label, handle, number)
            self._add_details(label, "", self.edges[number], attrs, 0, is_usual=is_usual)

    def _label_and_attrs(self, entry: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
        attrs: dict[str, Any] | None = entry.get("attrs")
        label, attrs = _take(attrs, self.options.label_attr)
        if label is None or not is_label(label):
            return HYPEREDGE, entry.get("attrs")
        return label, attrs

    def _add_incidence(self, relation: str, entry: dict[str, Any], position: int) -> None:
        role, attrs = _take(entry.get("attrs"), self.options.role_attr)
        direction = entry.get("direction")
        side = direction or MEMBER
        if role is not None and is_role(role):
            side = role
        else:
            attrs = entry.get("attrs")
        self._add_id(relation, side, f"{side}.", entry["node"], position)
        if direction is not None and side != direction:
            self._add_value(relation, f"{side}.{DIRECTION}", direction, position)
        self._add_details(relation, f"{side}.", entry, attrs, position, is_usual="incidences" in self.layout.attrs)

    def _add_id(self, relation: str, side: str, prefix: str, node: str, position: int) -> None:
        """Add a node; where its name would come back shorter than written, as written too."""
        if isinstance(node, NumberText):
            content = self.facts.contents.add(ContentKind.JSON_INT, node.encode(), scope=self.scope)
        else:
            name = self.prefixes.expand(node)
            content = self.facts.contents.add(ContentKind.ENTITY, encode_text(name), scope=self.scope)
        self.facts.add_participant(self._role(relation, side), content, position)
        if not isinstance(node, NumberText) and self.prefixes.restore(name) != node:
            self._add_value(relation, prefix + ID, node, position)

    def _add_details(
        self,
        relation: str,
        prefix: str,
        entry: dict[str, Any],
        attrs: dict[str, Any] | None,
        position: int,
        *,
        is_usual: bool,
    ) -> None:
        if "weight" in entry:
            self._add_value(relation, prefix + WEIGHT, entry["weight"], position)
        self._add_attrs(relation, prefix, attrs, position, is_usual=is_usual)

    def _add_attrs(
        self, relation: str, prefix: str, attrs: dict[str, Any] | None, position: int, *, is_usual: bool
    ) -> None:
        """Add attributes, as one JSON object where a name cannot stand in a role; an empty one unless that is usual."""
        if attrs is None or (is_usual and not attrs):
            return
        if attrs and all(map(is_side, attrs)):
            for name, value in attrs.items():
                self._add_value(relation, f"{prefix}{ATTR}{name}", value, position)
        else:
            self._add_value(relation, prefix + ATTRS, attrs, position)

    def _add_value(self, relation: str, side: str, value: Any, position: int) -> None:
        content = self.facts.contents.add(*json_to_content(value))
        self.facts.add_participant(self._role(relation, side), content, position)

    def _role(self, relation: str, side: str) -> int:
        """Return the code of a role, of which there are few."""
        code = self.roles.get((relation, side))
        if code is None:
            code = self.roles[relation, side] = self.facts.labels.role(Role(relation, side))
        return code


def _take(attrs: dict[str, Any] | None, name: str) -> tuple[str | None, dict[str, Any] | None]:
    """Return the string that attribute `name` has, and the other attributes (None when there are no others)."""
    value = None if attrs is None else attrs.get(name)
    if attrs is None or not isinstance(value, str) or isinstance(value, NumberText):
        return None, attrs
    return value, {k: v for k, v in attrs.items() if k != name} or None


def _all_have_attrs(entries: list[dict[str, Any]]) -> bool:
    """Tell whether the entries without attributes all have an empty object for them."""
    bare = [entry for entry in entries if not entry.get("attrs")]
    return bool(bare) and all("attrs" in entry for entry in bare)


HIF = HifSource()
