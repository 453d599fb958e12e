"""Weighs the tags of an HTML document in one pass over its bytes: whether it takes a closer look at them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.characters import has_byte
from lisdata.kernels.compiled import BYTES, OUT_INT64S, UINT64S, count_trailing_zeros, inner, kernel, load_u64

UInt8 = npt.NDArray[np.uint8]

_FORMATTING = ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
_JOINED, _LISTED = ("html", "body"), ("option", "optgroup")
_NAMES = np.array([int.from_bytes(n.encode(), "little") for n in (*_FORMATTING, *_JOINED, *_LISTED)], np.uint64)
_FIRST_JOINED = len(_FORMATTING)
_FIRST_LISTED = _FIRST_JOINED + len(_JOINED)
_LINK, _NO_NAME = 0, -1
_MAX_NAME = 8
_CHARACTERS = 64
_MAX_ALIKE = 3
_LESSES = np.uint64(0x0101_0101_0101_0101 * 60)

_ENDS_NAME, _SPACE, _QUOTE, _EQUALS = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)
_CLASSES = np.zeros(256, np.uint8)
_CLASSES[list(b"\t\n\x0b\f\r ")] = _SPACE | _ENDS_NAME
_CLASSES[list(b"\"'")] = _QUOTE
_CLASSES[list(b"/<>")] = _ENDS_NAME
_CLASSES[61] = _EQUALS


class TagWeights(NamedTuple):
    """What a document's tags can cost a parser at most, from what is written in them.

    `longest` is the most bytes between "<" and the next "<" or ">". `joined` counts the bytes of attributes of <html>
    and <body>, `options` the <option> and <optgroup>. `formatting` are the formatting elements that may be open at
    once, 64 bytes of attributes counted as a further one, where at most three of a name without attributes are; of
    links only the longest counts. `are_plain` tells whether all of them end where their tags seem to: a "<" ends none.
    """

    longest: int
    joined: int
    options: int
    formatting: int
    are_plain: bool


@inner
def _next_tag(data: Any, at: Any) -> Any:
    """Return where the next "<" is, or the end."""
    while at + 8 <= len(data):
        found = has_byte(load_u64(data, at), _LESSES)
        if found != 0:
            return at + np.int64(count_trailing_zeros(found) >> np.uint64(3))
        at += 8
    while at < len(data) and data[at] != 60:
        at += 1
    return at


@inner
def _name_at(data: Any, at: Any, names: Any) -> Any:
    """Return the number of the name that begins at `at`, or _NO_NAME, and where it ends; upper case is as lower."""
    word, first = np.uint64(0), at
    while at < len(data) and at - first < _MAX_NAME and 97 <= (data[at] | 32) <= 122:
        word |= np.uint64(data[at] | 32) << np.uint64(8 * (at - first))
        at += 1
    if at < len(data) and not _CLASSES[data[at]] & _ENDS_NAME:
        return _NO_NAME, at
    for number in range(len(names)):
        if names[number] == word:
            return number, at
    return _NO_NAME, at


@inner
def _are_plain_attributes(data: Any, at: Any, end: Any) -> Any:
    """Tell whether data[at:end] are attributes as usual: none may hold a quote by which the tag goes on."""
    while True:
        first = at
        while at < end and _CLASSES[data[at]] & _SPACE:
            at += 1
        if at == end:
            return True
        if at == first:
            return False
        first = at
        while at < end and not _CLASSES[data[at]]:
            at += 1
        if at == first:
            return False
        if at == end or data[at] != 61:
            continue
        at += 1
        first, quote = at + 1, data[at] if at < end else 0
        if at < end and _CLASSES[quote] & _QUOTE:
            at += 1
            while at < end and data[at] != quote:
                at += 1
            if at == end:
                return False
            at += 1
            continue
        while at < end and data[at] != 96 and (not _CLASSES[data[at]] or data[at] == 47):
            at += 1
        if at < first:
            return False


@kernel(types.void(BYTES, UINT64S, OUT_INT64S, OUT_INT64S))
def _weigh(data: Any, names: Any, bare: Any, out: Any) -> None:
    """Write (longest, joined, options, formatting, links, tags that are not plain); `bare` is scratch, one a name."""
    at = 0
    while True:
        at = _next_tag(data, at)
        if at >= len(data):
            break
        first = at = at + 1
        while at < len(data) and data[at] != 60 and data[at] != 62:
            at += 1
        out[0] = max(out[0], at - first)
        name, behind = _name_at(data, first, names)
        size = at - behind
        if name == _NO_NAME:
            continue
        if name >= _FIRST_LISTED:
            out[2] += 1
        elif name >= _FIRST_JOINED:
            out[1] += size
        elif (at < len(data) and data[at] == 60) or not _are_plain_attributes(data, behind, at):
            out[5] += 1
        elif name == _LINK:
            out[4] = max(out[4], 1 + size // _CHARACTERS)
        elif size or bare[name] < _MAX_ALIKE:
            out[3] += 1 + size // _CHARACTERS
            bare[name] += size == 0


def weigh_tags(text: bytes) -> TagWeights:
    """Return the weights of the tags in a document, which is UTF-8 (lone surrogates may be bytes, too)."""
    out = np.zeros(6, np.int64)
    _weigh(np.frombuffer(text, np.uint8), _NAMES, np.zeros(len(_NAMES), np.int64), out)
    longest, joined, options, formatting, links, not_plain = out.tolist()
    return TagWeights(longest, joined, options, formatting + links, not_plain == 0)
