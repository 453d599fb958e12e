"""The HTML5 tree of a document as flat lists in document order, read from selectolax's lexbor parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from lisdata.sources.html_encoding import decode_html

SVG, MATHML = "svg", "math"
_FOREIGN = (SVG, MATHML)
_SVG_POINTS = ("foreignObject", "desc", "title")
_MATHML_POINTS = ("mi", "mo", "mn", "ms", "mtext")
_HTML_ENCODINGS = ("text/html", "application/xhtml+xml")
_IDENTIFIERS = re.compile(r'(PUBLIC|SYSTEM) "(.*?)"(?: "(.*)")?', re.DOTALL)


class NodeKind(IntEnum):
    """What a node is."""

    ELEMENT = 0
    TEXT = 1
    COMMENT = 2
    DOCTYPE = 3
    INSTRUCTION = 4


# Plain numbers: NumPy takes a list of enum members ten times slower.
_ELEMENT, _TEXT = int(NodeKind.ELEMENT), int(NodeKind.TEXT)


@dataclass(slots=True)
class Dom:
    """Nodes in document order: node n is of `kinds[n]` (a NodeKind), a child of node `parents[n]`, -1 at the top.

    `names` holds tag names, texts, comments, what stands between "<!DOCTYPE " and ">" of a doctype and between "<?" and
    "?>" of a processing instruction. `foreign` says which elements are SVG's or MATHML's. The content of a <template>
    are its children. `attributes` holds names and values of the elements that have some, in order; an attribute without
    a value has an empty one. Two trees are equal when their DOMs are.
    """

    kinds: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    foreign: dict[int, str] = field(default_factory=dict)
    attributes: dict[int, list[tuple[str, str]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kinds)


def parse_html(data: bytes, encoding: str | None = None) -> Dom:
    """Return the tree of a document in `encoding`, or in the one that it tells."""
    return parse_text(decode_html(data, encoding))


def parse_text(text: str) -> Dom:
    """Return the tree of a document."""
    from selectolax.lexbor import LexborHTMLParser

    return read_dom(LexborHTMLParser(text))


def read_dom(parser: Any) -> Dom:
    """Return the tree that a LexborHTMLParser made of a document, or of a fragment."""
    dom = Dom()
    kinds, names, parents, foreign = dom.kinds, dom.names, dom.parents, dom.foreign
    attributes_of = dom.attributes
    node, parent = _first_node(parser), -1
    waiting: list[tuple[Any, int]] = []
    while True:
        while node is None:
            if not waiting:
                return dom
            node, parent = waiting.pop()
        parents.append(parent)
        text = node.text_content
        if text is not None:
            kinds.append(_TEXT)
            names.append(text)
            node = node.next
            continue
        tag = node.tag
        if tag is None or tag[0] == "-":
            kind, name = _special_node(node, tag)
            kinds.append(kind)
            names.append(name)
            node = node.next
            continue
        number = len(names)
        kinds.append(_ELEMENT)
        names.append(tag)
        attributes = node.attributes
        if attributes:
            if None in attributes.values():
                attributes = {name: value or "" for name, value in attributes.items()}
            attributes_of[number] = list(attributes.items())
        if foreign or tag in _FOREIGN:
            note_namespace(dom, number)
        following = node.next
        if following is not None:
            waiting.append((following, parent))
        node, parent = (_content_of(node) if tag == "template" else node.first_child), number


def _special_node(node: Any, tag: str | None) -> tuple[NodeKind, str]:
    """Return kind and name of a node that is neither element nor text."""
    if tag == "-comment":
        return NodeKind.COMMENT, node.html[4:-3]  # comment_content would strip it
    if tag == "-doctype":
        return NodeKind.DOCTYPE, _doctype_text(node)
    return NodeKind.INSTRUCTION, node.html[2:-2]


def _first_node(parser: Any) -> Any:
    root = parser.root
    document = None if root is None else root.parent
    return root if document is None else document.first_child


def _content_of(template: Any) -> Any:
    """Return the first child of a <template>, which of an HTML one is in its content: a tree apart."""
    fragments = template.template_fragments()
    return fragments[0].first_child if fragments else template.first_child


def note_namespace(dom: Dom, number: int) -> None:
    """Note the namespace of an element, which selectolax does not tell: it follows from its name and its parent.

    An SVG or MathML element's children are of its namespace, but for integration points, whose children are HTML again.
    """
    tag, parent = dom.names[number], dom.parents[number]
    outer = dom.foreign.get(parent)
    if outer is not None and not _takes_html(dom, parent, outer, tag):
        dom.foreign[number] = outer
    elif tag in (SVG, MATHML):
        dom.foreign[number] = tag


def _takes_html(dom: Dom, parent: int, outer: str, tag: str) -> bool:
    name = dom.names[parent]
    if outer == SVG:
        return name in _SVG_POINTS
    if name in _MATHML_POINTS:
        return tag not in ("mglyph", "malignmark")
    if name != "annotation-xml":
        return False
    encoding = dict(dom.attributes.get(parent, ())).get("encoding", "")
    return tag == SVG or encoding.lower() in _HTML_ENCODINGS


def _doctype_text(node: Any) -> str:
    """Return the name and the identifiers of a doctype, each in quotes that it does not hold."""
    text: str = node.html_pretty(full_doctype=True).removeprefix("<!DOCTYPE ").rstrip("\n").removesuffix(">")
    name, _, rest = text.partition(" ")
    found = _IDENTIFIERS.fullmatch(rest)
    if found is None:
        return text
    keyword, first, second = found.groups()
    quoted = [f"'{i}'" if '"' in i else f'"{i}"' for i in (first, second) if i is not None]
    return " ".join((name, keyword, *quoted))
