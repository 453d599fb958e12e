"""The HTML5 trees of documents as columns: what `Dom` holds, without a Python object a node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.sources.dom import MATHML, SVG, Dom, NodeKind, note_namespace

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomColumns:
    """Nodes as in `Dom`: kinds, names and parents (numbers inside their own tree), and which elements are foreign.

    Node n has attributes attribute_offsets[n] : attribute_offsets[n + 1]; names and values are UTF-8.
    """

    kinds: npt.NDArray[np.uint8]
    parents: Int64
    names: pa.LargeBinaryArray
    foreign: dict[int, str]
    attribute_offsets: Int64
    attribute_names: pa.LargeBinaryArray
    attribute_values: pa.LargeBinaryArray

    def __len__(self) -> int:
        return len(self.kinds)

    @staticmethod
    def from_dom(dom: Dom) -> DomColumns:
        """Return the columns of a tree."""
        counts = np.zeros(len(dom) + 1, np.int64)
        for number, listed in dom.attributes.items():
            counts[number + 1] = len(listed)
        pairs = [pair for listed in dom.attributes.values() for pair in listed]
        return DomColumns(
            kinds=np.array(dom.kinds, np.uint8),
            parents=np.array(dom.parents, np.int64),
            names=_encoded(dom.names),
            foreign=dom.foreign,
            attribute_offsets=np.cumsum(counts),
            attribute_names=_encoded([name for name, _ in pairs]),
            attribute_values=_encoded([value for _, value in pairs]),
        )

    @staticmethod
    def joined(parts: list[DomColumns]) -> DomColumns:
        """Return the nodes of several trees, one tree after another."""
        if len(parts) == 1:
            return parts[0]
        starts = [0, *accumulate(map(len, parts))]
        rows = [0, *accumulate(len(part.attribute_names) for part in parts)]
        offsets = [part.attribute_offsets[1:] + row for part, row in zip(parts, rows, strict=False)]
        return DomColumns(
            kinds=np.concatenate([part.kinds for part in parts]),
            parents=np.concatenate([part.parents for part in parts]),
            names=pa.concat_arrays([part.names for part in parts]),
            foreign={s + n: space for s, part in zip(starts, parts, strict=False) for n, space in part.foreign.items()},
            attribute_offsets=np.concatenate([np.zeros(1, np.int64), *offsets]),
            attribute_names=pa.concat_arrays([part.attribute_names for part in parts]),
            attribute_values=pa.concat_arrays([part.attribute_values for part in parts]),
        )

    def to_dom(self, begin: int, end: int) -> Dom:
        """Return nodes `begin` to `end`, which are a tree, without telling what is foreign."""
        first, last = self.attribute_offsets[[begin, end]].tolist()
        names, values = (_decoded(c, first, last) for c in (self.attribute_names, self.attribute_values))
        bounds = (self.attribute_offsets[begin : end + 1] - first).tolist()
        attributes = {
            number: list(zip(names[low:high], values[low:high], strict=True))
            for number, (low, high) in enumerate(pairwise(bounds))
            if low < high
        }
        parents = np.maximum(self.parents[begin:end] - begin, -1).tolist()
        kinds = self.kinds[begin:end].tolist()
        return Dom(kinds=kinds, names=_decoded(self.names, begin, end), parents=parents, attributes=attributes)

    def with_namespaces(self) -> DomColumns:
        """Return the columns with `foreign` as it follows from names and parents."""
        roots = pc.is_in(self.names, pa.array([SVG.encode(), MATHML.encode()], pa.large_binary()))
        found: dict[int, str] = {}
        end = 0
        for root in np.flatnonzero(np.asarray(roots) & (self.kinds == NodeKind.ELEMENT)).tolist():
            if root < end:
                continue  # in a tree that was gone through
            end = root + 1
            while end < len(self) and self.parents[end] >= root:
                end += 1
            dom = self.to_dom(root, end)
            for number, kind in enumerate(dom.kinds):
                if kind == NodeKind.ELEMENT:
                    note_namespace(dom, number)
            found |= {root + number: space for number, space in dom.foreign.items()}
        return replace(self, foreign=found)


def _encoded(texts: list[str]) -> pa.LargeBinaryArray:
    return pa.array(texts, pa.large_string()).cast(pa.large_binary())


def _decoded(texts: pa.LargeBinaryArray, begin: int, end: int) -> list[str]:
    decoded: list[str] = texts.slice(begin, end - begin).cast(pa.large_string()).to_pylist()
    return decoded
