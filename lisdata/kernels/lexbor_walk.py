"""Walks the tree that lexbor made of an HTML document by lexbor's own functions, into flat arrays.

Functions are called by their addresses, which `lexbor_functions` gives.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from lisdata.kernels.compiled import OUT_BYTES, OUT_INT64S, OUT_UINT64S, UINT64S, inner, kernel
from lisdata.kernels.lexbor_functions import Function

UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]

_Tuple: Any = types.Tuple
_ELEMENT, _TEXT, _COMMENT, _DOCTYPE = 1, 3, 8, 10  # node types of the DOM standard
_KINDS = np.zeros(16, np.uint8)
_KINDS[[_ELEMENT, _TEXT, _COMMENT, _DOCTYPE]] = (0, 1, 2, 3)  # as in NodeKind
(
    _NODE_TYPE, _FIRST_CHILD, _NEXT, _PARENT, _FIRST_ATTRIBUTE, _NEXT_ATTRIBUTE, _TEXT_CONTENT, _ELEMENT_NAME,
    _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _DOCTYPE_NAME, _PUBLIC_ID, _SYSTEM_ID, _FREE,
) = map(int, Function)  # fmt: skip
_QUOTE = 34
_PUBLIC, _SYSTEM = (np.frombuffer(text, np.uint8) for text in (b' PUBLIC "', b' SYSTEM "'))


class Outcome(IntEnum):
    """How a walk ended."""

    DONE = 0
    NO_ROOM = 1
    UNUSUAL = 2


_DONE, _NO_ROOM, _UNUSUAL = (int(outcome) for outcome in Outcome)
# State of a walk: the node to go on with and the number of its parent, nodes and attributes so far, and whether an
# element is called svg or math.
NODE, PARENT, NUM_NODES, NUM_ATTRIBUTES, HAS_FOREIGN = range(5)


def _copy_from(typing_context: Any, out: Any, at: Any, address: Any, length: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        source = builder.inttoptr(arguments[2], ir.IntType(8).as_pointer())
        cgutils.raw_memcpy(builder, builder.gep(array.data, [arguments[1]]), source, arguments[3], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.none(out, types.intp, types.uintp, types.intp), generate


_copy: Any = intrinsic(_copy_from)  # (out: uint8[], at, address, length): copies bytes, unchecked


def _generate_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    word = ir.IntType(64)
    address, *given = arguments
    function = builder.inttoptr(address, ir.FunctionType(word, [word] * len(given)).as_pointer())
    return builder.call(function, given)


def _call_of_node(typing_context: Any, address: Any, node: Any) -> Any:
    return types.uintp(types.uintp, types.uintp), _generate_call


def _call_with_length(typing_context: Any, address: Any, node: Any, length_at: Any) -> Any:
    return types.uintp(types.uintp, types.uintp, types.uintp), _generate_call


_of_node: Any = intrinsic(_call_of_node)  # (address of a function, node) -> what it returns
_text_of: Any = intrinsic(
    _call_with_length
)  # (address of a function, node, where its length goes) -> address of a text


@inner
def _put(column: Any, number: Any, address: Any, length: Any) -> Any:
    """Write text `number` of a column; return whether there was room."""
    offsets, out = column
    at = offsets[number]
    if at + length > len(out):
        return False
    _copy(out, at, address, length)
    offsets[number + 1] = at + length
    return True


@inner
def _put_more(column: Any, number: Any, address: Any, length: Any, before: Any) -> Any:
    """Add `before`, an identifier and a quote to text `number`; return the outcome."""
    offsets, out = column
    at = offsets[number + 1]
    if at + len(before) + length + 1 > len(out):
        return _NO_ROOM
    for index in range(len(before)):
        out[at + index] = before[index]
    at += len(before)
    _copy(out, at, address, length)
    for index in range(at, at + length):
        if out[index] == _QUOTE:
            return _UNUSUAL
    out[at + length] = _QUOTE
    offsets[number + 1] = at + length + 1
    return _DONE


@inner
def _put_doctype(functions: Any, column: Any, number: Any, node: Any, length: Any, length_at: Any) -> Any:
    """Write what stands between "<!DOCTYPE " and ">"; return the outcome."""
    name = _text_of(functions[_DOCTYPE_NAME], node, length_at)
    if not _put(column, number, name, np.int64(length[0])):
        return _NO_ROOM
    public = _text_of(functions[_PUBLIC_ID], node, length_at)
    public_length = np.int64(length[0])
    system = _text_of(functions[_SYSTEM_ID], node, length_at)
    system_length = np.int64(length[0])
    outcome = _DONE
    if public_length:
        outcome = _put_more(column, number, public, public_length, _PUBLIC)
    if outcome == _DONE and system_length:
        before = _SYSTEM[-2:] if public_length else _SYSTEM
        outcome = _put_more(column, number, system, system_length, before)
    return outcome


@inner
def _put_attributes(functions: Any, names: Any, values: Any, first: Any, node: Any, length: Any, length_at: Any) -> Any:
    """Write the attributes of an element from row `first` on; return how many there are, -1 where there is no room."""
    row, attribute = first, _of_node(functions[_FIRST_ATTRIBUTE], node)
    while attribute:
        if row + 1 >= len(names[0]):
            return -1
        name = _text_of(functions[_ATTRIBUTE_NAME], attribute, length_at)
        if not _put(names, row, name, np.int64(length[0])):
            return -1
        length[0] = 0
        value = _text_of(functions[_ATTRIBUTE_VALUE], attribute, length_at)
        if not _put(values, row, value, np.int64(length[0]) if value else 0):
            return -1
        row += 1
        attribute = _of_node(functions[_NEXT_ATTRIBUTE], attribute)
    return row - first


@inner
def _element_kind(texts: Any, number: Any) -> Any:
    """Return (whether the element that was written is a template, whether it is called svg or math)."""
    offsets, out = texts
    at = offsets[number]
    name, size = np.uint64(0), offsets[number + 1] - at
    if size > 8:
        return False, False
    for index in range(size):
        name |= np.uint64(out[at + index]) << np.uint64(8 * index)
    return name == _TEMPLATE, name in (_SVG, _MATH)


_TEMPLATE, _SVG, _MATH = (np.uint64(int.from_bytes(name, "little")) for name in (b"template", b"svg", b"math"))


@inner
def _put_node(functions: Any, document: Any, node: Any, state: Any, columns: Any, length: Any, length_at: Any) -> Any:
    """Write a node; return the outcome."""
    kinds, _, texts, attribute_offsets, names, values = columns
    number = state[NUM_NODES]
    type_, num_attributes = _of_node(functions[_NODE_TYPE], node) & 0xFF, 0
    if number >= len(kinds):
        return _NO_ROOM
    length[0] = 0
    if type_ == _ELEMENT:
        text = _text_of(functions[_ELEMENT_NAME], node, length_at)
        if not _put(texts, number, text, np.int64(length[0])):
            return _NO_ROOM
        is_template, is_foreign = _element_kind(texts, number)
        if is_template:  # its content is a tree apart, which no function tells
            return _UNUSUAL
        num_attributes = _put_attributes(functions, names, values, state[NUM_ATTRIBUTES], node, length, length_at)
        if num_attributes < 0:
            return _NO_ROOM
        state[HAS_FOREIGN] |= is_foreign
    elif type_ in (_TEXT, _COMMENT):
        text = _text_of(functions[_TEXT_CONTENT], node, length_at)
        has_room = _put(texts, number, text, np.int64(length[0]) if text else 0)
        if text:
            _text_of(functions[_FREE], document, text)
        if not has_room:
            return _NO_ROOM
    elif type_ == _DOCTYPE:
        outcome = _put_doctype(functions, texts, number, node, length, length_at)
        if outcome != _DONE:
            return outcome
    else:
        return _UNUSUAL
    kinds[number] = _KINDS[type_]
    state[NUM_ATTRIBUTES] += num_attributes
    attribute_offsets[number + 1] = state[NUM_ATTRIBUTES]
    state[NUM_NODES] = number + 1
    return _DONE


_TEXTS = _Tuple((OUT_INT64S, OUT_BYTES))


@kernel(
    types.int64(
        UINT64S, types.uintp, OUT_INT64S, _Tuple((OUT_BYTES, OUT_INT64S, _TEXTS, OUT_INT64S, _TEXTS, _TEXTS)),
        OUT_UINT64S, types.uintp,
    )
)  # fmt: skip
def walk(functions: Any, document: Any, state: Any, columns: Any, length: Any, length_at: Any) -> Any:
    """Write the nodes of a document from state[NODE] on, in document order; return an Outcome.

    `functions` are the addresses of `Function`s. Columns are kind (a NodeKind), parent, (offsets, bytes) of names and
    texts, offsets of attributes, (offsets, bytes) of their names, and of their values. `length` is scratch, of one
    word, at address `length_at`.
    """
    parents = columns[1]
    node, parent = np.uintp(state[NODE]), state[PARENT]
    while node:
        number = state[NUM_NODES]
        outcome = _put_node(functions, document, node, state, columns, length, length_at)
        if outcome != _DONE:
            state[NODE], state[PARENT] = node, parent
            return outcome
        parents[number] = parent
        following = _of_node(functions[_FIRST_CHILD], node)
        if following:
            parent = number
        else:
            following = _of_node(functions[_NEXT], node)
        while not following:
            node = _of_node(functions[_PARENT], node)
            if node == document or not node:
                return _DONE
            parent = parents[parent]
            following = _of_node(functions[_NEXT], node)
        node = following
    return _DONE
