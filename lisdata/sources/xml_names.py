"""Names in XML documents: prefixes bound to namespaces where they stand (Namespaces in XML 1.0)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lisdata.sources.xml_text import XmlError

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"
# What may stand in a name and not begin one; the parser has checked names, but for the part behind a colon.
_NO_START = re.compile("[-.0-9\u00b7\u0300-\u036f\u203f\u2040]")
_XMLNS = "xmlns"


@dataclass(frozen=True, slots=True)
class XmlName:
    """A name as it is in its place: `space` is the IRI of its namespace, None in none; `prefix` "" where unwritten."""

    local: str
    space: str | None
    prefix: str


@dataclass(slots=True)
class NamespaceScopes:
    """What prefixes mean at the place that a parser has come to; `depth` counts open elements."""

    _bound: dict[str, str] = field(default_factory=lambda: {"xml": XML_NAMESPACE})
    _undo: list[tuple[int, list[tuple[str, str | None]]]] = field(default_factory=list)
    elements: dict[str, XmlName] = field(default_factory=dict)  # as they are named here, once asked for
    _plain: set[str] = field(default_factory=set)  # names of attributes that have to do with no namespace

    def enter(self, depth: int, attributes: list[str], at: int) -> None:
        """Take the declarations among the attributes (names and values in turn) of the element that opens.

        XmlError for an unbound prefix, and for two attributes of one local name and namespace.
        """
        names = attributes[::2]
        if self._plain.issuperset(names):
            return
        self._plain.update(name for name in names if ":" not in name and name != _XMLNS)
        self._declare(depth, attributes, at)
        self._check(names, at)

    def _declare(self, depth: int, attributes: list[str], at: int) -> None:
        before: list[tuple[str, str | None]] = []
        for index in range(0, len(attributes), 2):
            name, space = attributes[index], attributes[index + 1]
            if name == _XMLNS:
                prefix = ""
            elif name.startswith("xmlns:"):
                prefix = _split(name, at)[1]
            else:
                continue
            _check_binding(prefix, space, at)
            before.append((prefix, self._bound.get(prefix)))
            self._bound[prefix] = space
        if before:
            self._undo.append((depth, before))
            self.elements.clear()

    def leave(self, depth: int) -> None:
        """Forget what the element at `depth`, which closes, declared."""
        if self._undo and self._undo[-1][0] == depth:
            for prefix, space in reversed(self._undo.pop()[1]):
                if space is None:
                    del self._bound[prefix]
                else:
                    self._bound[prefix] = space
            self.elements.clear()

    def element(self, name: str, at: int) -> XmlName:
        """Return the name of an element; XmlError for an unbound prefix."""
        found = self.elements.get(name)
        if found is None:
            prefix, local = _split(name, at) if ":" in name else ("", name)
            found = XmlName(local, self._space(prefix, name, at) or None, prefix)
            self.elements[name] = found
        return found

    def _check(self, names: list[str], at: int) -> None:
        seen: set[tuple[str, str]] = set()
        for name in names:
            if ":" not in name or name.startswith("xmlns:"):
                continue
            prefix, local = _split(name, at)
            expanded = (self._space(prefix, name, at), local)
            if expanded in seen:
                raise XmlError(at, "each attribute of an element once", f"{local} of {expanded[0]} again")
            seen.add(expanded)

    def _space(self, prefix: str, name: str, at: int) -> str:
        space = self._bound.get(prefix)
        if space is None and prefix:
            raise XmlError(at, f"a declaration of the prefix {prefix}", f"none for {name}")
        return space or ""


def _split(name: str, at: int) -> tuple[str, str]:
    prefix, _, local = name.partition(":")
    if not prefix or not local or ":" in local or _NO_START.match(local):
        raise XmlError(at, "a name with at most one colon, between a prefix and a name", name)
    return prefix, local


def _check_binding(prefix: str, space: str, at: int) -> None:
    if (prefix == "xml") != (space == XML_NAMESPACE) or prefix == _XMLNS or space == XMLNS_NAMESPACE:
        raise XmlError(at, "prefixes xml and xmlns with their own namespaces", f"{prefix or _XMLNS} as {space}")
    if prefix and not space:
        raise XmlError(at, f"a namespace for the prefix {prefix}", "an empty one")
