"""Writes a DOM as HTML text that parses to an equal DOM, where there is such a text."""

from __future__ import annotations

from lisdata.sources.dom import Dom, NodeKind

_VOID = frozenset(
    (
        "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link",
        "meta", "param", "source", "track", "wbr",
    )
)  # fmt: skip
_RAW_TEXT = frozenset(("style", "script", "xmp", "iframe", "noembed", "noframes", "plaintext"))
_NEWLINE_EATERS = frozenset(("pre", "textarea", "listing"))
_SPECIAL: dict[int, str] = {
    NodeKind.COMMENT: "<!--{}-->",
    NodeKind.DOCTYPE: "<!DOCTYPE {}>",
    NodeKind.INSTRUCTION: "<?{}?>",
}
# A carriage return is escaped too, unlike the standard says: written plainly it would come back as a newline.
_TEXT = str.maketrans({"&": "&amp;", "\u00a0": "&nbsp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = str.maketrans({"&": "&amp;", "\u00a0": "&nbsp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


def dom_to_html(dom: Dom) -> str:
    """Return the document by the HTML standard's rules for serialising, with three changes that keep its tree.

    Doctypes keep their identifiers, carriage returns are escaped, and a newline that begins a <pre> is doubled. A
    parser can make trees that no text stands for (an <a> in an <a>, say), so parse the text to know.
    """
    parts: list[str] = []
    open_elements: list[int] = []
    for number, (kind, name, parent) in enumerate(zip(dom.kinds, dom.names, dom.parents, strict=True)):
        while open_elements and open_elements[-1] != parent:
            if _is_plaintext(dom, open_elements[-1]):
                return "".join(parts)
            parts.append(f"</{dom.names[open_elements.pop()]}>")
        is_html = number not in dom.foreign
        if kind == NodeKind.ELEMENT:
            attributes = "".join(f' {n}="{v.translate(_ATTRIBUTE)}"' for n, v in dom.attributes.get(number, ()))
            parts.append(f"<{name}{attributes}>")
            if not (is_html and name in _VOID):
                open_elements.append(number)
        elif kind == NodeKind.TEXT:
            parts.append(_text(dom, name, parent, is_first=parent == number - 1))
        else:
            parts.append(_SPECIAL[kind].format(name))
    while open_elements and not _is_plaintext(dom, open_elements[-1]):
        parts.append(f"</{dom.names[open_elements.pop()]}>")
    return "".join(parts)


def _is_plaintext(dom: Dom, number: int) -> bool:
    """Say whether an element is one that nothing can close, so that the document ends inside it."""
    return dom.names[number] == "plaintext" and number not in dom.foreign


def _text(dom: Dom, text: str, parent: int, *, is_first: bool) -> str:
    if parent >= 0 and parent not in dom.foreign:
        name = dom.names[parent]
        if name in _RAW_TEXT:
            return text
        if is_first and name in _NEWLINE_EATERS and text.startswith("\n"):
            text = "\n" + text
    return text.translate(_TEXT)
