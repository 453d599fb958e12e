"""Writes an XML tree as text that parses to an equal tree."""

from __future__ import annotations

from lisdata.sources.xml_tree import XmlKind, XmlTree

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)
_SPECIAL: dict[int, str] = {
    XmlKind.CDATA: "<![CDATA[{}]]>",
    XmlKind.COMMENT: "<!--{}-->",
    XmlKind.INSTRUCTION: "<?{}?>",
    XmlKind.DOCTYPE: "<!DOCTYPE {}>",
    XmlKind.DECLARATION: "<?xml {}?>",
    XmlKind.MARKUP: "{}",
}


def tree_to_text(tree: XmlTree) -> str:
    """Return the markup of a tree; nodes at the top stand on lines of their own."""
    parts: list[str] = []
    open_elements: list[tuple[int, str]] = []
    for number, (kind, name, parent) in enumerate(zip(tree.kinds, tree.names, tree.parents, strict=True)):
        while open_elements and open_elements[-1][0] != parent:
            parts.append(f"</{open_elements.pop()[1]}>")
        if number and parent < 0:
            parts.append("\n")
        if kind == XmlKind.ELEMENT:
            prefix = tree.prefixes.get(number)
            tag = name if prefix is None else f"{prefix}:{name}"
            found = tree.attributes.get(number, ())
            pairs = zip(found[::2], found[1::2], strict=True)
            attributes = "".join(f' {n}="{v.translate(_ATTRIBUTE)}"' for n, v in pairs)
            parts.append(f"<{tag}{attributes}>")
            open_elements.append((number, tag))
        elif kind == XmlKind.TEXT:
            parts.append(name.translate(_TEXT))
        else:
            parts.append(_SPECIAL[kind].format(name))
    while open_elements:
        parts.append(f"</{open_elements.pop()[1]}>")
    return "".join(parts)
