"""Functions of lexbor in a library that has them, for Python and, as addresses, for the kernel that walks its trees."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt


class Function(IntEnum):
    """Functions of a node, and then those of a node and the address where a length goes: lxb_dom_<name>."""

    node_type_noi = 0
    node_first_child_noi = 1
    node_next_noi = 2
    node_parent_noi = 3
    element_first_attribute_noi = 4
    element_next_attribute_noi = 5
    node_text_content = 6
    element_qualified_name = 7
    attr_qualified_name = 8
    attr_value_noi = 9
    document_type_name_noi = 10
    document_type_public_id_noi = 11
    document_type_system_id_noi = 12
    document_destroy_text_noi = 13  # of a document and the address of a text


_POINTER = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "lxb_html_document_create": (_POINTER, []),
    "lxb_html_document_parse": (ctypes.c_uint, [_POINTER, ctypes.c_char_p, ctypes.c_size_t]),
    "lxb_html_document_destroy": (_POINTER, [_POINTER]),
    "lxb_dom_node_first_child_noi": (_POINTER, [_POINTER]),
}


def load_lexbor(path: str) -> Any:
    """Return the library at `path`, None where it is none or does not show all functions that are needed."""
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    if not all(hasattr(library, name) for name in (*_SIGNATURES, *(f"lxb_dom_{f.name}" for f in Function))):
        return None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def addresses_of(library: Any) -> npt.NDArray[np.uint64]:
    """Return the address of each `Function`."""
    pointers = [ctypes.cast(getattr(library, f"lxb_dom_{function.name}"), _POINTER) for function in Function]
    return np.array([pointer.value for pointer in pointers], np.uint64)
