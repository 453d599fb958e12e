"""Tree structures of a part as flat arrays, for exporters that write documents."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Role, decode_text
from lisdata.converters.trees import ATTRIBUTE_VALUE, CHILD, KEY, NODE, ROOT
from lisdata.errors import ExportError
from lisdata.schema import NO_ROW, ContentKind
from lisdata.shards.dataset import Part
from lisdata.sources.dom import Dom, NodeKind

Int64 = npt.NDArray[np.int64]

_ROOT, _PARENT, _CHILD, _OWNER = (
    role.label for role in (Role(ROOT, "node"), Role(CHILD, "PARENT"), Role(CHILD, "CHILD"), Role(NODE, "node"))
)
_NAME = Role(NODE, "attr.name").label
_ATTRIBUTE = Role(NODE, "attr:").label
_TREE_ROLES = (_ROOT, _PARENT, _CHILD, _OWNER, KEY.label)
_MOST_KNOWN = 1 << 20  # contents that are kept at hand from one structure to the next
_KINDS = {
    (ContentKind.TEXT, None): NodeKind.TEXT,
    (ContentKind.TEXT, "comment"): NodeKind.COMMENT,
    (ContentKind.TEXT, "doctype"): NodeKind.DOCTYPE,
    (ContentKind.TEXT, "instruction"): NodeKind.INSTRUCTION,
}


@dataclass(frozen=True, slots=True)
class ShownContent:
    """What a node, a key or an attribute's value shows: kind, exact bytes and datatype of a content."""

    kind: int
    lexical: bytes
    datatype: str | None

    @property
    def text(self) -> str:
        """The characters, lone surrogates included."""
        return decode_text(self.lexical)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTree:
    """Nodes in document order; `parents` holds numbers of nodes, -1 at the top.

    `keys` has the nodes with a key, `attributes` those with attributes: each a role's label and a value, in order.
    """

    nodes: list[ShownContent]
    parents: list[int]
    keys: dict[int, ShownContent]
    attributes: dict[int, list[tuple[str, ShownContent]]]


class TreeColumns:
    """The columns of one part's tree structures."""

    def __init__(self, part: Part) -> None:
        self._rows, self._contents = part.structures, part.contents
        self._labels: list[str] = part.labels["label"].to_pylist()
        self._codes = {label: code for code, label in enumerate(self._labels)}
        self._known: dict[int, ShownContent] = {}

    def document(self, row: int) -> bytes | None:
        """Return the document's own bytes, where they were kept."""
        document: bytes | None = self._rows["document"][row].as_py()
        return document

    def tree(self, row: int) -> StoredTree:
        """Return the tree of a structure; occurrences are in document order."""
        shown = self._shown(self._list(row, "tau"))
        pairs = self._rows["incidence"][row].values
        occurrence, instance = (np.asarray(pairs.field(name)).astype(np.int64) for name in ("occurrence", "instance"))
        sigma = self._list(row, "sigma")
        is_role = {label: sigma == self._codes.get(label, NO_ROW) for label in _TREE_ROLES}
        num_instances = len(self._rows["instance_label"][row])

        def occurrences_in(label: str) -> Int64:
            found = np.full(num_instances, -1, np.int64)
            found[instance[is_role[label]]] = occurrence[is_role[label]]
            return found

        is_place = is_role[_ROOT] | is_role[_CHILD]
        order = np.argsort(occurrence[is_place], kind="stable")
        nodes, places = occurrence[is_place][order], instance[is_place][order]
        number = np.full(len(shown) + 1, -1, np.int64)  # that of occurrence -1, none, too
        number[nodes] = np.arange(len(nodes))
        keys, owners = occurrences_in(KEY.label)[places], occurrences_in(_OWNER)
        keyed = np.flatnonzero(keys >= 0)
        is_attribute = ~(is_place | is_role[_PARENT] | is_role[_OWNER] | is_role[KEY.label])
        attributes: dict[int, list[tuple[str, ShownContent]]] = defaultdict(list)
        columns = (number[owners[instance[is_attribute]]], sigma[is_attribute], occurrence[is_attribute])
        for owner, role, value in zip(*(column.tolist() for column in columns), strict=True):
            attributes[owner].append((self._labels[role], shown[value]))
        return StoredTree(
            nodes=[shown[n] for n in nodes.tolist()],
            parents=number[occurrences_in(_PARENT)[places]].tolist(),
            keys={n: shown[key] for n, key in zip(keyed.tolist(), keys[keyed].tolist(), strict=True)},
            attributes=dict(attributes),
        )

    def first_in(self, row: int, role: str) -> ShownContent | None:
        """Return what is first shown in a role, by its label, of a structure."""
        (where,) = np.nonzero(self._list(row, "sigma") == self._codes.get(role, NO_ROW))
        if not len(where):
            return None
        occurrence = self._rows["incidence"][row].values.field("occurrence")[int(where[0])].as_py()
        return self._shown(self._list(row, "tau")[occurrence : occurrence + 1])[0]

    def dom(self, row: int) -> Dom:
        """Return the tree of a structure as an HTML document."""
        tree, dom = self.tree(row), Dom()
        dom.parents.extend(tree.parents)
        for number, node in enumerate(tree.nodes):
            is_element = node.kind == ContentKind.NAME
            dom.kinds.append(NodeKind.ELEMENT if is_element else _kind_of(node))
            dom.names.append(node.text)
            if is_element and node.datatype is not None:
                dom.foreign[number] = node.datatype
        dom.attributes.update((number, plain_attributes(rows)) for number, rows in tree.attributes.items())
        return dom

    def _list(self, row: int, name: str) -> npt.NDArray[np.uint32]:
        values = self._rows[name][row].values
        if values is None:
            raise ExportError(f"{self._rows['record_id'][row]}: expected a tree, found a grid")
        return np.asarray(values)

    def _shown(self, tau: npt.NDArray[np.uint32]) -> list[ShownContent]:
        """Return what each occurrence shows; equal ones are one object."""
        rows = tau.tolist()
        known = self._known
        missing = list({row for row in rows if row not in known})
        if missing:
            if len(known) > _MOST_KNOWN:
                known.clear()
                missing = list(set(rows))
            shown = self._contents.select(["kind", "lexical", "datatype"]).take(pa.array(missing, pa.int64()))
            datatypes = (None if code is None else self._labels[code] for code in shown["datatype"].to_pylist())
            columns = zip(missing, shown["kind"].to_pylist(), shown["lexical"].to_pylist(), datatypes, strict=True)
            known.update((row, ShownContent(kind, lexical, datatype)) for row, kind, lexical, datatype in columns)
        return [known[row] for row in rows]


def plain_attributes(rows: list[tuple[str, ShownContent]]) -> list[tuple[str, str]]:
    """Return names and values of attributes; a name that is no side of a role stands in a row before its value's."""
    found: list[tuple[str, str]] = []
    for role, shown in rows:
        if role == _NAME:
            found.append((shown.text, ""))
        elif role == ATTRIBUTE_VALUE.label:
            found[-1] = (found[-1][0], shown.text)
        elif role.startswith(_ATTRIBUTE):
            found.append((role.removeprefix(_ATTRIBUTE), shown.text))
    return found


def _kind_of(node: ShownContent) -> NodeKind:
    kind = _KINDS.get((ContentKind(node.kind), node.datatype))
    if kind is None:
        raise ExportError(f"expected a node of an HTML document, found {ContentKind(node.kind).name} {node.datatype}")
    return kind
