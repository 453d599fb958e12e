"""XML documents as flat lists in document order, read by expat: no entities but the five of XML, no network, no DTD."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from xml.parsers import expat

from lisdata.sources.xml_names import NamespaceScopes
from lisdata.sources.xml_text import XmlError

_SHOWN_BYTES = 30
_MAX_DEFAULTS = 16 << 20  # bytes of default attributes that a document may have put into its elements, or its size
_PREDEFINED = (b"amp", b"lt", b"gt", b"apos", b"quot")
_MISC = re.compile(rb"(?:<\?.*?\?>|<!--.*?-->|\s+)*+", re.DOTALL)
_START_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*""")
_REFERENCE = re.compile(rb"&([^#;&<][^;&<]*);")
_ODD_REFERENCE = re.compile(rb"&(?!#|amp;|lt;|gt;|apos;|quot;)")
# In an internal subset what is no declaration: comments, instructions and quoted values.
_QUOTED = re.compile(rb"""<!--.*?-->|<\?.*?\?>|"[^"]*"|'[^']*'""", re.DOTALL)
_PARAMETER = re.compile(rb"%[^\s;]+;")
_EXPECTED = {
    "mismatched tag": "the end tag of the open element",
    "duplicate attribute": "each attribute of an element once",
    "undefined entity": "one of &amp; &lt; &gt; &apos; &quot;",
    "junk after document element": "nothing but comments and instructions after the root element",
}


class XmlKind(IntEnum):
    """What a node is."""

    ELEMENT = 0
    TEXT = 1
    CDATA = 2
    COMMENT = 3
    INSTRUCTION = 4
    DOCTYPE = 5
    DECLARATION = 6
    MARKUP = 7  # what stands around the records of a document that was read piece by piece


# Plain numbers: NumPy takes a list of enum members ten times slower.
_ELEMENT, _TEXT, _CDATA, _COMMENT, _INSTRUCTION, _DOCTYPE, _DECLARATION, _ = map(int, XmlKind)


@dataclass(slots=True)
class XmlTree:
    """Nodes in document order: node n is of `kinds[n]` (an XmlKind), a child of node `parents[n]`, -1 at the top.

    `names` holds local names of elements, texts, comments, and what stands between "<!DOCTYPE " or "<?" and the end of
    doctypes, instructions and the declaration. `spaces` has the namespaces of elements that are in one, `prefixes` the
    prefixes of those that have one, and `attributes` the names and values, in turn, of elements that have some: as
    written and in order, declarations of namespaces among them.
    """

    kinds: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    spaces: dict[int, str] = field(default_factory=dict)
    prefixes: dict[int, str] = field(default_factory=dict)
    attributes: dict[int, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kinds)


def parse_xml(data: bytes) -> XmlTree:
    """Return the tree of a document in UTF-8; XmlError says where it is none."""
    reader = XmlReader()
    reader.feed(data, final=True)
    return reader.tree


class XmlReader:
    """Reads a document piece by piece into `tree`.

    A child class may take elements out of the tree as they come (`opened`, `closed`). `buffer` holds the bytes of the
    document from `buffer_at` on, as far as they were fed.
    """

    def __init__(self) -> None:
        self.tree = XmlTree()
        self.buffer, self.buffer_at = b"", 0
        self._open: list[int] = []  # the elements that the parser is in, by number
        self._text: list[str] = []
        self._in_cdata = self._in_doctype = self._has_outer_subset = self._has_odd_references = False
        self._scopes = NamespaceScopes()
        self._defaults: Counter[str] = Counter()  # bytes that declared attributes add to an element, by its name
        self._num_default_bytes = 0
        self._is_watched = type(self) is not XmlReader
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text.append
        parser.CommentHandler, parser.ProcessingInstructionHandler = self._comment, self._instruction
        parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = self._start_cdata, self._end_cdata
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler, parser.EndDoctypeDeclHandler = self._start_doctype, self._end_doctype
        parser.AttlistDeclHandler = self._attribute_declaration
        parser.EntityDeclHandler, parser.SkippedEntityHandler = self._entity, self._skipped

    def feed(self, data: bytes, *, final: bool) -> None:
        """Read the next bytes; XmlError says where the document is none."""
        self.buffer += data
        self._has_odd_references |= _ODD_REFERENCE.search(data) is not None
        try:
            self._parser.Parse(data, final)
        except expat.ExpatError as error:
            at = max(self._parser.ErrorByteIndex, 0)
            shown = self._bytes(at, at + _SHOWN_BYTES).decode(errors="ignore").split("\n")[0]
            message = expat.errors.messages[error.code]
            expected = _EXPECTED.get(message, "well-formed XML")
            if message == "no element found":  # what expat says of every early end
                expected = "an end tag for each open element" if self._open else "a root element"
            is_end = at >= self.buffer_at + len(self.buffer)
            found = f"the end of the document ({message})" if is_end else f"{shown!r} ({message})"
            raise XmlError(at, expected, found) from error

    def _bytes(self, begin: int, end: int) -> bytes:
        return self.buffer[begin - self.buffer_at : end - self.buffer_at]

    @property
    def at(self) -> int:
        """The byte where what is read now begins."""
        return self._parser.CurrentByteIndex

    def tag_end(self) -> int:
        """Return where the start tag that is read now ends."""
        tag = _START_TAG.match(self.buffer, self.at - self.buffer_at)
        assert tag is not None
        return tag.end() + 1 + self.buffer_at

    def opened(self, number: int, name: str) -> None:
        """Do nothing; called when element `number`, as named, has been added."""

    def closed(self, number: int) -> None:
        """Do nothing; called when element `number` is complete."""

    def _add(self, kind: int, name: str) -> int:
        tree = self.tree
        tree.kinds.append(kind)
        tree.names.append(name)
        tree.parents.append(self._open[-1] if self._open else -1)
        return len(tree.kinds) - 1

    def _flush(self) -> None:
        text = self._text
        if text or self._in_cdata:
            self._add(_CDATA if self._in_cdata else _TEXT, text[0] if len(text) == 1 else "".join(text))
            text.clear()

    def _start(self, name: str, attributes: list[str]) -> None:
        if self._text:
            self._flush()
        tree, is_open = self.tree, self._open
        number = len(tree.kinds)
        if attributes:
            self._scopes.enter(len(is_open), attributes, self._parser.CurrentByteIndex)
            if self._has_outer_subset and self._has_odd_references:
                self._check_references(self.at)
            tree.attributes[number] = attributes
        full = self._scopes.elements.get(name) or self._scopes.element(name, self.at)
        tree.kinds.append(_ELEMENT)
        tree.names.append(full.local)
        tree.parents.append(is_open[-1] if is_open else -1)
        if full.space is not None:
            tree.spaces[number] = full.space
        if full.prefix:
            tree.prefixes[number] = full.prefix
        is_open.append(number)
        if self._is_watched:
            self.opened(number, name)

    def _end(self, name: str) -> None:
        if self._text:
            self._flush()
        number = self._open.pop()
        self._scopes.leave(len(self._open))
        if self._is_watched:
            self.closed(number)

    def _start_cdata(self) -> None:
        self._flush()
        self._in_cdata = True

    def _end_cdata(self) -> None:
        self._flush()
        self._in_cdata = False

    def _comment(self, text: str) -> None:
        self._flush()
        if not self._in_doctype:
            self._add(_COMMENT, text)

    def _instruction(self, target: str, text: str) -> None:
        self._flush()
        if ":" in target:
            raise XmlError(self.at, "the target of an instruction without a colon", target)
        if not self._in_doctype:
            self._add(_INSTRUCTION, f"{target} {text}" if text else target)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        self._add(_DECLARATION, self.buffer[len(b"<?xml ") : self.buffer.index(b"?>")].decode())

    _in_doctype = False

    def _start_doctype(self, name: str, system: str | None, public: str | None, has_subset: int) -> None:
        self._in_doctype = True
        self._has_outer_subset = system is not None

    def _end_doctype(self) -> None:
        self._in_doctype = False
        found, at = _MISC.match(self.buffer), self.at
        begin = 0 if found is None else found.end()
        text = self._bytes(begin + len(b"<!DOCTYPE "), at)
        parameter = _PARAMETER.search(_QUOTED.sub(b"", text))
        if parameter is not None:  # expat would leave out the declarations behind it, without a word
            raise XmlError(begin, "a document type without parameter entities", parameter[0].decode())
        self._add(_DOCTYPE, text.decode())

    def _attribute_declaration(self, element: str, name: str, kind: str, default: str | None, is_required: int) -> None:
        if default is not None:
            self._defaults[element] += len(name) + len(default.encode())
            self._parser.StartElementHandler = self._start_with_defaults

    def _start_with_defaults(self, name: str, attributes: list[str]) -> None:
        """Refuse a document that grows by attributes that it writes once, in its document type."""
        self._num_default_bytes += self._defaults[name]
        if self._num_default_bytes > max(_MAX_DEFAULTS, self.buffer_at + len(self.buffer)):
            expected = f"at most {_MAX_DEFAULTS} bytes of default attributes, or as many as the document has"
            raise XmlError(self.at, expected, f"those of one more element {name}")
        self._start(name, attributes)

    def _entity(self, name: str, is_parameter: int, value: str | None, *identifiers: str | None) -> None:
        what = "parameter entity" if is_parameter else "entity"
        where = "" if value is not None else ", an external one"
        raise XmlError(self.at, "a document without declarations of entities", f"one of the {what} {name}{where}")

    def _skipped(self, name: str, is_parameter: int) -> None:
        mark = "%" if is_parameter else "&"
        raise XmlError(self.at, _EXPECTED["undefined entity"], f"{mark}{name};, which the document does not declare")

    def _check_references(self, at: int) -> None:
        """Refuse entities in attributes, which expat leaves out where they may be declared in what it does not read."""
        tag = _START_TAG.match(self.buffer, at - self.buffer_at)
        for found in _REFERENCE.finditer(b"" if tag is None else tag[0]):
            if found[1] not in _PREDEFINED:
                self._skipped(found[1].decode(errors="replace"), 0)
