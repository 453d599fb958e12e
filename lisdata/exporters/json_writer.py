"""Writes a stored tree as the text of a JSON document, without recursion."""

from __future__ import annotations

from lisdata.errors import ExportError
from lisdata.exporters.tree_columns import ShownContent, StoredTree
from lisdata.schema import ContentKind
from lisdata.sources.json_text import STYLES

_STYLE = STYLES["compact"]
_SPELLED = (ContentKind.JSON_INT, ContentKind.NUMBER, ContentKind.BOOL, ContentKind.NULL)
_BRACKETS = {b"object": ("{", "}"), b"array": ("[", "]")}
_DATATYPE = "json"


def tree_to_json(tree: StoredTree) -> bytes:
    """Return the document without white space, in UTF-8: numbers as they were spelled, escapes only where needed.

    An empty tree is an empty text. ExportError for a tree that is none of JSON.
    """
    parts: list[str] = []
    closers: list[str] = []
    open_nodes: list[int] = []
    texts: dict[ShownContent, str] = {}
    for number, (node, parent) in enumerate(zip(tree.nodes, tree.parents, strict=True)):
        while open_nodes and open_nodes[-1] != parent:
            parts.append(closers.pop())
            open_nodes.pop()
        if number:
            if not open_nodes:
                raise ExportError("expected one value a JSON document, found another")
            if number - 1 != parent:
                parts.append(",")
        key = tree.keys.get(number)
        if (key is not None) != (bool(closers) and closers[-1] == "}"):
            raise ExportError("expected a key for each member of a JSON object and for no other value")
        if key is not None:
            parts += (_text(key, texts), ":")
        if node.kind == ContentKind.NAME:
            opener, closer = _brackets(node)
            parts.append(opener)
            closers.append(closer)
            open_nodes.append(number)
        else:
            parts.append(_text(node, texts))
    parts.extend(reversed(closers))
    return "".join(parts).encode()


def _brackets(node: ShownContent) -> tuple[str, str]:
    brackets = _BRACKETS.get(node.lexical) if node.datatype == _DATATYPE else None
    if brackets is None:
        raise ExportError(f"expected an object or array of a JSON document, found {node.lexical!r} {node.datatype}")
    return brackets


def _text(node: ShownContent, texts: dict[ShownContent, str]) -> str:
    text = texts.get(node)
    if text is None:
        if node.kind == ContentKind.JSON_STR:
            text = _STYLE.quote(node.text)
        elif node.kind in _SPELLED:
            text = node.text
        else:
            raise ExportError(f"expected a value of a JSON document, found {ContentKind(node.kind).name}")
        texts[node] = text
    return text
