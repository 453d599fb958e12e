"""Lists in HTML that a parser goes through again for each of their items: attributes of an element, options of a menu.

40,000 of them are 300 KB and half a minute.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lisdata.kernels.html_tags import TagWeights

MAX_ITEMS = 10_000
_LONG_TAG = re.compile(rf"<[a-zA-Z][^<>]{{{2 * MAX_ITEMS},}}")  # an attribute takes two characters at least
_JOINED = re.compile(r"<(?:html|body)(?=[\s/])([^<>]*)", re.IGNORECASE)  # which all give their attributes to the first
_OPTION = re.compile(r"<opt(?:ion|group)(?=[\s/>])", re.IGNORECASE)
_ITEM = re.compile(r"[^\s/]+")


def may_have_long_list(weights: TagWeights) -> bool:
    """Tell whether it takes a look at all tags to know that no list is too long."""
    return weights.longest > 2 * MAX_ITEMS or weights.joined > MAX_ITEMS or weights.options > MAX_ITEMS


def find_long_list(text: str) -> tuple[int, str] | None:
    """Return where the tag begins with which there are too many items, and of what; None where there is none.

    It looks at tags without "<" or ">" in their attributes alone: a text that mixes these in by the thousand passes.
    """
    for tag in _LONG_TAG.finditer(text):
        if _num_items(tag[0]) - 1 > MAX_ITEMS:
            return tag.start(), "attributes of an element"
    if len(text) <= 2 * MAX_ITEMS:
        return None
    num_joined = 0
    for tag in _JOINED.finditer(text):
        num_joined += _num_items(tag[1])
        if num_joined > MAX_ITEMS:
            return tag.start(), "attributes of <html> or <body>"
    for number, option in enumerate(_OPTION.finditer(text)):
        if number == MAX_ITEMS:
            return option.start(), "<option> elements"
    return None


def _num_items(attributes: str) -> int:
    return sum(1 for _ in _ITEM.finditer(attributes))
