"""N-Triples spellings of RDF terms: the canonical form of RDF 1.2."""

from __future__ import annotations

import re

from lisdata.contents import Content
from lisdata.schema import ContentKind

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

# The characters that stand for themselves neither in a string (U+FFFE and U+FFFF among them) nor in an IRI.
_STRING = re.compile(rb'[\x00-\x1f"\\\x7f]|\xef\xbf[\xbe\xbf]')
_IRI = re.compile(rb'[\x00-\x20<>"{}|^`\\]')
_SHORT = {b"\b": rb"\b", b"\t": rb"\t", b"\n": rb"\n", b"\f": rb"\f", b"\r": rb"\r", b'"': rb"\"", b"\\": rb"\\"}

_LONG = {escape: character for character, escape in _SHORT.items()}
_ESCAPE = re.compile(rb'\\(?:u[0-9A-F]{4}|[btnfr"\\])')


def escape_string(lexical: bytes) -> bytes:
    """Return a literal's string as it stands between quotes."""
    return _STRING.sub(lambda match: _SHORT.get(match[0]) or _numeric(match[0]), lexical)


def escape_iri(iri: bytes) -> bytes:
    """Return an IRI as it stands between '<' and '>'."""
    return _IRI.sub(lambda match: _numeric(match[0]), iri)


def _numeric(character: bytes) -> bytes:
    return b"\\u%04X" % ord(character.decode())


def term_suffix(datatype: str | None, language: str | None) -> bytes:
    """Return what follows the closing quote of a literal."""
    if language is not None:
        return b"@" + language.encode()
    return b"" if datatype is None else b"^^<" + escape_iri(datatype.encode()) + b">"


def term_from_content(content: Content) -> bytes:
    """Return the N-Triples term that `content` stands for; ValueError if it is none of RDF."""
    match content.kind:
        case ContentKind.ENTITY:
            return b"<" + escape_iri(content.lexical) + b">"
        case ContentKind.BNODE:
            return b"_:" + content.lexical
        case ContentKind.LITERAL:
            suffix = term_suffix(content.datatype, content.language)
            return b'"' + escape_string(content.lexical) + b'"' + suffix
        case ContentKind.INSTANCE:
            return content.lexical
    raise ValueError(f"a content of kind {content.kind.name} is no RDF term")


def content_from_term(term: bytes) -> Content:
    """Return the content that an N-Triples term, spelled as by `term_from_content`, stands for, without scope."""
    if term.startswith(b"<<("):
        return Content(ContentKind.INSTANCE, term)
    if term.startswith(b"<"):
        return Content(ContentKind.ENTITY, _unescape(term[1:-1]))
    if term.startswith(b"_:"):
        return Content(ContentKind.BNODE, term[2:])
    end = term.rindex(b'"')
    lexical, suffix = _unescape(term[1:end]), term[end + 1 :]
    if suffix.startswith(b"@"):
        return Content(ContentKind.LITERAL, lexical, language=suffix[1:].decode())
    return Content(ContentKind.LITERAL, lexical, _unescape(suffix[3:-1]).decode() if suffix else None)


def _unescape(text: bytes) -> bytes:
    return _ESCAPE.sub(_unescaped, text) if b"\\" in text else text


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    return chr(int(escape[2:], 16)).encode() if escape[1:2] in b"uU" else _LONG[escape]


def triple_term(parts: tuple[Content, Content, Content]) -> Content:
    """Return the content of an RDF 1.2 triple term: its canonical text, of the scope of its blank nodes."""
    scope = next((part.scope for part in parts if part.scope is not None), None)
    text = b"<<( " + b" ".join(map(term_from_content, parts)) + b" )>>"
    return Content(ContentKind.INSTANCE, text, scope=scope)
