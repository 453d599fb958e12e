"""The pieces of an SVG: elements as strings, and how wide a text will be, which no font is asked for."""

from __future__ import annotations

from math import ceil
from xml.sax.saxutils import escape, quoteattr

from lisdata.drawing.display_width import character_width, to_printable

Value = str | int | float
_NARROW, _BROAD = frozenset("iljtfrI.,;:!'|()[]{} "), frozenset("mwMW@%—…")


def text_width(text: str, size: int) -> int:
    """Return an estimate, in pixels, of a text in a sans-serif font of this size: rather too wide than too narrow."""
    return ceil(size * sum(map(_ems, text)))


def _ems(character: str) -> float:
    columns = character_width(character)
    if columns != 1:
        return columns / 2
    if character in _NARROW:
        return 0.4
    if character in _BROAD:
        return 1.0
    return 0.72 if character.isupper() or ord(character) > 0x7F else 0.62


def element(name: str, *children: str, **attributes: Value) -> str:
    """Return an element with its attributes (`font_size` is font-size) around children that are XML already."""
    pairs = (f" {key.rstrip('_').replace('_', '-')}={quoteattr(str(value))}" for key, value in attributes.items())
    head = name + "".join(pairs)
    return f"<{head}>{''.join(children)}</{name}>" if children else f"<{head}/>"


def text_element(text: str, x: int, y: int, **attributes: Value) -> str:
    """Return any text on the baseline y, at x."""
    return element("text", to_xml(text), x=x, y=y, **attributes)


def to_xml(text: str) -> str:
    """Return any text as character data; what XML cannot hold is replaced."""
    return escape(to_printable(text))
