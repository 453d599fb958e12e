"""How deep the elements of an RDF/XML file stand in each other, told while it is read: the parser stops at no depth.

Each element costs the parser time in proportion to its depth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice
from lisdata.sources.rdf_input import whole_blocks

Int64 = npt.NDArray[np.int64]

MAX_ELEMENTS = 1000
"""An element deeper in others than this is refused."""

_MAX_TAG_BYTES = 16 << 20  # a '<' that nothing closes for so long begins no tag
_LESS, _GREATER, _SLASH, _MARK, _QUESTION = b"<>/!?"
_HIDING = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>", re.DOTALL)  # what may hide the bytes of a tag
_OPENING = re.compile(rb"<!--|<!\[CDATA\[|<\?")
_CLOSING = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_TAG = re.compile(rb"<(/)?(?![!?/])(?:[^<>\"'/]++|\"[^\"]*+\"|'[^']*+'|/(?!>))*+(/)?>")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tags:
    """Tags: where they begin and end, and by how much each changes the number of open elements."""

    begin: Int64
    end: Int64
    change: Int64


class ElementDepth:
    """Counts the open elements of `piece` over blocks of bytes, given from its begin on."""

    def __init__(self, piece: InputSlice) -> None:
        self._piece = piece
        self._depth = 0
        self._rest = b""  # of the bytes seen, what may begin markup that goes on
        self._offset = 0  # where the rest begins
        self._closing = b""  # what ends the comment (or the like) that the rest is in

    def check(self, block: bytes) -> None:
        """Go on over a block; raise BadRecordError at the tag of an element that is too deep."""
        data = self._rest + block
        start = 0
        if self._closing:
            end = data.find(self._closing)
            if end < 0:
                self._leave(data, len(data) - len(self._closing) + 1)
                return
            start, self._closing = end + len(self._closing), b""
        shown = _HIDING.sub(lambda match: b" " * len(match[0]), data[start:])
        opening = _OPENING.search(shown)  # of what goes on behind the data
        if opening is None:
            at = self._count(shown, self._offset + start)
            begin = shown.find(b"<", at)
            goes_on = begin >= 0 and len(shown) - begin <= _MAX_TAG_BYTES
            self._leave(data, start + begin if goes_on else len(data))
        else:
            self._count(shown[: opening.start()], self._offset + start)
            self._closing = _CLOSING[opening[0]]
            self._leave(data, start + max(opening.end(), len(shown) - len(self._closing) + 1))

    def _count(self, data: bytes, offset: int) -> int:
        """Count the tags in `data`, which begins at `offset` of the file; return where the last one ends."""
        tags = _plain_tags(data)
        if tags is None:
            tags = _tags(data)
        if not len(tags.begin):
            return 0
        depth = self._depth + np.cumsum(tags.change)
        if (too_deep := np.flatnonzero(depth > MAX_ELEMENTS)).size:
            raise self._too_deep(offset + int(tags.begin[too_deep[0]]))
        self._depth = int(depth[-1])
        return int(tags.end[-1])

    def _leave(self, data: bytes, begin: int) -> None:
        """Keep of `data` what has to be seen again together with what follows: the bytes from `begin` on."""
        begin = max(0, begin)
        self._rest = data[begin:]
        self._offset += begin

    def _too_deep(self, offset: int) -> BadRecordError:
        return BadRecordError(
            self._piece.place(offset),
            expected=f"elements at most {MAX_ELEMENTS} deep in each other",
            found="a deeper one",
            begin=offset,
            end=sum(map(len, whole_blocks(self._piece.file))),
        )


def _plain_tags(data: bytes) -> _Tags | None:
    """Return the tags in `data`, found many at once; None where a '>' may stand in a quoted value."""
    view = np.frombuffer(data, np.uint8)
    begin, closing = np.flatnonzero(view == _LESS), np.flatnonzero(view == _GREATER)
    place = np.searchsorted(closing, begin)
    begin, place = begin[place < len(closing)], place[place < len(closing)]
    end = closing[place]
    if np.any(begin[1:] < end[:-1]):
        return None
    for quote in b"\"'":
        places = np.flatnonzero(view == quote)
        if np.any((np.searchsorted(places, end) - np.searchsorted(places, begin)) & 1):
            return None
    follows = view[begin + 1]
    change = np.where(view[end - 1] == _SLASH, 0, 1)
    change = np.where(follows == _SLASH, -1, np.where((follows == _MARK) | (follows == _QUESTION), 0, change))
    return _Tags(begin=begin, end=end + 1, change=change)


def _tags(data: bytes) -> _Tags:
    """Return the tags in `data`, found one by one."""
    found = [(tag.start(), tag.end(), -1 if tag[1] else 0 if tag[2] else 1) for tag in _TAG.finditer(data)]
    begin, end, change = np.array(found, np.int64).reshape(-1, 3).T
    return _Tags(begin=begin, end=end, change=change)
