"""Labels of constituents: NP-SBJ-1 is the category NP with the function SBJ and the index 1."""

from __future__ import annotations

import re

CONSTITUENT, TRACE = "constituent", "trace"
FUNCTION, INDEX, GAP = "function", "index", "gap"
EMPTY = "-NONE-"
"""The label of what is not spoken: its word is a trace."""

ESCAPES = {b"-LRB-": b"(", b"-RRB-": b")"}
"""How treebanks write the two words that can't stand in brackets."""

_LABEL = re.compile(r"([^-=]+)((?:-[A-Za-z]+|[-=][0-9]+)+)")
_PART = re.compile(r"([-=])([A-Za-z]+|[0-9]+)")

Parts = list[tuple[str, str]]


def split_label(label: str) -> tuple[str, Parts]:
    """Return the category of a label, and the sort and value of what follows it, in order.

    "-" and letters is a function, "-" and digits an index, "=" and digits the index of a gap. A label of another form
    ("-LRB-", "ADVP-x1") is all category.
    """
    found = _LABEL.fullmatch(label)
    if found is None:
        return label, []
    return found[1], [(_sort_of(mark, value), value) for mark, value in _PART.findall(found[2])]


def join_label(category: str, parts: Parts) -> str:
    """Undo `split_label`."""
    return category + "".join(("=" if sort == GAP else "-") + value for sort, value in parts)


def _sort_of(mark: str, value: str) -> str:
    if mark == "=":
        return GAP
    return INDEX if value.isdecimal() else FUNCTION
