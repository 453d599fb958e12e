"""Tree structures of a part as flat arrays, for exporters that write documents."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa

from lisdata.contents import Role, decode_text
from lisdata.converters.trees import CHILD, NODE, ROOT
from lisdata.errors import ExportError
from lisdata.schema import ContentKind
from lisdata.shards.dataset import Part
from lisdata.sources.dom import Dom, NodeKind

_ROOT, _PARENT, _CHILD, _OWNER = (
    role.label for role in (Role(ROOT, "node"), Role(CHILD, "PARENT"), Role(CHILD, "CHILD"), Role(NODE, "node"))
)
_NAME, _VALUE = (Role(NODE, side).label for side in ("attr.name", "attr.value"))
_ATTRIBUTE = Role(NODE, "attr:").label
_KINDS = {
    (ContentKind.TEXT, None): NodeKind.TEXT,
    (ContentKind.TEXT, "comment"): NodeKind.COMMENT,
    (ContentKind.TEXT, "doctype"): NodeKind.DOCTYPE,
    (ContentKind.TEXT, "instruction"): NodeKind.INSTRUCTION,
}


class TreeColumns:
    """The columns of one part's tree structures."""

    def __init__(self, part: Part) -> None:
        self._rows, self._contents = part.structures, part.contents
        self._labels = part.labels["label"].to_pylist()

    def document(self, row: int) -> bytes | None:
        """Return the document's own bytes, where they were kept."""
        document: bytes | None = self._rows["document"][row].as_py()
        return document

    def dom(self, row: int) -> Dom:
        """Return the tree of a structure; occurrences are in document order."""
        tau = self._list(row, "tau")
        kinds, lexicals, datatypes = self._shown(tau)
        pairs = self._rows["incidence"][row].values
        incidences = zip(
            np.asarray(pairs.field("occurrence")).tolist(),
            np.asarray(pairs.field("instance")).tolist(),
            (self._labels[code] for code in self._list(row, "sigma").tolist()),
            strict=True,
        )
        parents: dict[int, int] = {}
        places: dict[int, int] = {}
        owners: dict[int, int] = {}
        attributes: dict[int, list[tuple[str, str]]] = defaultdict(list)
        for occurrence, instance, role in incidences:
            if role == _PARENT:
                parents[instance] = occurrence
            elif role in (_CHILD, _ROOT):
                places[occurrence] = instance
            elif role == _OWNER:
                owners[instance] = occurrence
            elif role == _NAME:
                attributes[instance].append((lexicals[occurrence], ""))
            elif role == _VALUE:
                attributes[instance][-1] = (attributes[instance][-1][0], lexicals[occurrence])
            elif role.startswith(_ATTRIBUTE):
                attributes[instance].append((role.removeprefix(_ATTRIBUTE), lexicals[occurrence]))
        numbers = {occurrence: number for number, occurrence in enumerate(sorted(places))}
        dom = Dom()
        for occurrence, number in numbers.items():
            identity = (kinds[occurrence], datatypes[occurrence])
            dom.kinds.append(NodeKind.ELEMENT if identity[0] == ContentKind.NAME else _kind_of(identity))
            dom.names.append(lexicals[occurrence])
            dom.parents.append(numbers[parents[places[occurrence]]] if places[occurrence] in parents else -1)
            if identity[0] == ContentKind.NAME and identity[1] is not None:
                dom.foreign[number] = identity[1]
        dom.attributes.update((numbers[owners[instance]], found) for instance, found in attributes.items())
        return dom

    def _list(self, row: int, name: str) -> np.ndarray:
        return np.asarray(self._rows[name][row].values)

    def _shown(self, tau: np.ndarray) -> tuple[list[int], list[str], list[str | None]]:
        """Return kind, text and datatype of each occurrence's content."""
        shown = self._contents.select(["kind", "lexical", "datatype"]).take(pa.array(tau))
        datatypes = [None if code is None else self._labels[code] for code in shown["datatype"].to_pylist()]
        return shown["kind"].to_pylist(), [decode_text(text) for text in shown["lexical"].to_pylist()], datatypes


def _kind_of(identity: tuple[int, str | None]) -> NodeKind:
    kind = _KINDS.get((ContentKind(identity[0]), identity[1]))
    if kind is None:
        raise ExportError(f"expected a node of an HTML document, found {ContentKind(identity[0]).name} {identity[1]}")
    return kind
