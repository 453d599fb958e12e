"""Parses HTML by the C functions of lexbor in selectolax's library, without a Python object a node.

Not every build of selectolax shows these functions; selectolax's own objects show the same tree anywhere.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.lexbor_functions import addresses_of, load_lexbor
from lisdata.sources.dom import parse_text
from lisdata.sources.dom_columns import DomColumns

_BYTES_A_NODE, _BYTES_AN_ATTRIBUTE = 16, 32  # of usual HTML; where there are more, room is made


def parse_columns(data: bytes) -> DomColumns:
    """Return the tree of a document, which is UTF-8."""
    library = _library()
    columns = None if library is None else _parse(library, data)
    return DomColumns.from_dom(parse_text(data.decode())) if columns is None else columns


@cache
def _library() -> Any:
    """Return the library that has the functions, None where it does not show them."""
    from selectolax import lexbor

    return load_lexbor(lexbor.__file__)


def _parse(library: Any, data: bytes) -> DomColumns | None:
    """Return the tree, None where the parser fails or a node is of a rare kind."""
    document = library.lxb_html_document_create()
    if document is None:
        return None
    try:
        if library.lxb_html_document_parse(document, data, len(data)) != 0:
            return None
        first = library.lxb_dom_node_first_child_noi(document) or 0
        return _read(addresses_of(library), document, first, len(data))
    finally:
        library.lxb_html_document_destroy(document)


def _read(functions: npt.NDArray[np.uint64], document: int, node: int, size: int) -> DomColumns | None:
    from lisdata.kernels import lexbor_walk  # compiled on import

    state, length = np.array([node, -1, 0, 0, 0], np.int64), np.zeros(1, np.uint64)
    room = _Room(size)
    while outcome := lexbor_walk.walk(functions, document, state, room.columns, length, length.ctypes.data):
        if outcome == lexbor_walk.Outcome.UNUSUAL:
            return None
        room.grow()
    columns = room.to_columns(int(state[lexbor_walk.NUM_NODES]), int(state[lexbor_walk.NUM_ATTRIBUTES]))
    return columns.with_namespaces() if state[lexbor_walk.HAS_FOREIGN] else columns


class _Room:
    """The columns that a walk writes; what is not written to takes no memory."""

    def __init__(self, size: int) -> None:
        nodes, attributes = 1 + size // _BYTES_A_NODE, 1 + size // _BYTES_AN_ATTRIBUTE
        lengths = ((nodes, 1 + size), (attributes, 1 + size), (attributes, 1 + size))
        texts, names, values = ((_offsets(rows), np.empty(chars, np.uint8)) for rows, chars in lengths)
        self.columns: Any = (
            np.empty(nodes, np.uint8), np.empty(nodes, np.int64), texts, _offsets(nodes), names, values
        )  # fmt: skip

    def grow(self) -> None:
        """Have twice the room."""
        self.columns = tuple(
            tuple(map(_doubled, column)) if isinstance(column, tuple) else _doubled(column) for column in self.columns
        )

    def to_columns(self, num_nodes: int, num_attributes: int) -> DomColumns:
        """Return what was written."""
        kinds, parents, texts, offsets, names, values = self.columns
        return DomColumns(
            kinds=kinds[:num_nodes],
            parents=parents[:num_nodes],
            names=_texts(texts, num_nodes),
            foreign={},
            attribute_offsets=offsets[: num_nodes + 1],
            attribute_names=_texts(names, num_attributes),
            attribute_values=_texts(values, num_attributes),
        )


def _offsets(num_rows: int) -> npt.NDArray[np.int64]:
    offsets = np.empty(num_rows + 1, np.int64)
    offsets[0] = 0
    return offsets


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


def _texts(column: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]], size: int) -> Any:
    offsets, data = column
    return binary_array(offsets[: size + 1], data[: offsets[size]], pa.large_binary())
