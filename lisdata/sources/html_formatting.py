"""How many elements a parser of HTML would make that nobody wrote, told by a document's tags before it is parsed.

A formatting element (<b>, <font> ...) that no end tag closes is made again in each block that follows: 5000 of them and
as many blocks are 100 KB, and 25 million elements.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lisdata.kernels.html_tags import TagWeights

# All but <a>, of which only one is open at once.
_REOPENED = frozenset(("b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"))
# Elements inside of which an end tag may not reach what was opened outside, or is none.
_BARRIERS = frozenset(
    """
    applet caption marquee object select table td template th svg math annotation-xml desc foreignobject mi mn mo ms
    mtext iframe noembed noframes plaintext script style textarea title xmp
    """.split()  # noqa: SIM905
)
_NAMES = "|".join(sorted((*_REOPENED, "a")))
_START = re.compile(rf"<({_NAMES})(?=[\s/<>])([^<>]*)(?=(<?))", re.IGNORECASE)
_PLAIN = re.compile(r"(?:\s+[^\s\"'<>=/]+(?:=(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=`]+))?)*+\s*")
_MAX_ALIKE = 3  # elements of one name and the same attributes that are made again
_CHARACTERS = 64  # of attributes, which are as much to keep as an element
_MAX_REOPENED = 1_000_000
_CHARACTERS_A_REOPENED = 4


def max_reopened(text: str) -> int:
    """Return how many elements may be made again: a million, or about as many as so long a text has."""
    return max(_MAX_REOPENED, len(text) // _CHARACTERS_A_REOPENED)


def is_small(num_tags: int, size: int) -> bool:
    """Tell whether a document of so many tags and bytes is too small to have too many elements made again."""
    return num_tags * (num_tags + size // _CHARACTERS) <= _MAX_REOPENED


def is_light(weights: TagWeights, num_tags: int) -> bool:
    """Tell whether `weighs_too_much` needs not be asked, however long the text."""
    return weights.are_plain and weights.formatting * num_tags <= _MAX_REOPENED


def weighs_too_much(weights: TagWeights, num_tags: int, text: str) -> bool:
    """Tell, at next to no cost, whether `may_reopen_too_many` has to be asked."""
    return not weights.are_plain or weights.formatting * num_tags > max_reopened(text)


def may_reopen_too_many(text: str) -> bool:
    """Tell, at little cost, whether it takes a look at all tags to know that not too many elements are made again."""
    num_tags = text.count("<")
    weight = longest_link = 0
    for (name, attributes, behind), count in Counter(_START.findall(text)).items():
        is_plain = not behind and _PLAIN.fullmatch(attributes) is not None  # else it may go on: behind a quoted '>'
        one = _weight(attributes) if is_plain else 1 + len(text) // _CHARACTERS
        if name in "aA":
            longest_link = max(longest_link, one)
        else:
            weight += one * min(count, _MAX_ALIKE) if is_plain else one + count
    return (weight + longest_link) * num_tags > max_reopened(text)


class Reopened:
    """Adds up, tag by tag, how many elements may be made again (`total`): rather too many than too few.

    Long attributes, which are made again with their element, count as elements.
    """

    def __init__(self) -> None:
        self.total = 0
        self._open: list[tuple[str, str]] = []  # formatting elements, with their attributes, and barriers
        self._alike: Counter[tuple[str, str]] = Counter()
        self._weight = 0  # of what would be made again now
        self._link_weight = self._num_links = 0

    def start(self, name: str, attributes: str) -> None:
        """Take the start tag of an element that needs an end."""
        tag = (name, attributes)
        if name in _REOPENED:
            self._open.append(tag)
            self._alike[tag] += 1
            self._weight += _weight(attributes) if self._alike[tag] <= _MAX_ALIKE else 0
            return
        if name == "a":
            if self._open and self._open[-1][0] == "a":
                self._open[-1] = tag
            else:
                self._open.append(tag)
                self._close(is_blind=self._num_links > 0)
                self._num_links += 1
            self._link_weight = max(self._link_weight, _weight(attributes))
            return
        if name in _BARRIERS:
            self._open.append((name, ""))
        self._close()

    def end(self, name: str, *, is_sure: bool) -> None:
        """Take an end tag, of which it `is_sure` or not that it is one."""
        if not (is_sure and self._open and self._open[-1][0] == name):
            self._close()
            return
        tag = self._open.pop()
        if name in _REOPENED:
            self._weight -= _weight(tag[1]) if self._alike[tag] <= _MAX_ALIKE else 0
            self._alike[tag] -= 1
        elif name == "a":
            self._num_links -= 1
        else:
            self._close()

    def _close(self, *, is_blind: bool = True) -> None:
        """Count what is open: it may be closed with an element here, and made again behind it."""
        if is_blind:
            self.total += self._weight + (self._link_weight if self._num_links else 0)


def _weight(attributes: str) -> int:
    return 1 + len(attributes) // _CHARACTERS
