"""Entities that an XML file declares, kept from growing: they may name a namespace, not multiply text."""

from __future__ import annotations

import re

from lisdata.errors import BadRecordError
from lisdata.inputs import MEBIBYTE, InputSlice
from lisdata.sources.rdf_input import error_of_whole, whole_blocks

MAX_ENTITY_BYTES = 1024
"""The longest text that a reference to an entity may stand for."""

_PROLOG_BYTES = MEBIBYTE
_ENTITY = re.compile(rb"""<!ENTITY\s+(%\s+)?([^\s"'<>]+)\s+(?:"([^"]*)"|'([^']*)'|([^>]*))""")
_REFERENCE = re.compile(rb"&([^\s;#&]+);")
_DECLARATIONS = re.compile(rb"<!DOCTYPE[^\[>]*\[", re.DOTALL)


def check_entities(piece: InputSlice) -> None:
    """Raise BadRecordError for an entity that is read from elsewhere, or is longer than MAX_ENTITY_BYTES in full.

    Declarations stand before the root element, here within the first MiB.
    """
    prolog = b""
    for block in whole_blocks(piece.file):
        prolog += block
        if len(prolog) >= _PROLOG_BYTES:
            break
    sizes: dict[bytes, int] = {}
    if _DECLARATIONS.search(prolog) is None:
        return
    for entity in _ENTITY.finditer(prolog):
        name = entity[2]
        shown = name.decode(errors="backslashreplace")
        value = entity[3] if entity[3] is not None else entity[4]
        if entity[1] or value is None:
            raise _refused(piece, entity, f"entity {shown}, which is a parameter or read from elsewhere")
        size = len(value) + sum(sizes.get(reference, 0) for reference in _REFERENCE.findall(value))
        if size > MAX_ENTITY_BYTES:
            raise _refused(piece, entity, f"entity {shown}, which stands for {size} bytes or more")
        sizes.setdefault(name, size)


def _refused(piece: InputSlice, entity: re.Match[bytes], found: str) -> BadRecordError:
    expected = f"entities of at most {MAX_ENTITY_BYTES} bytes of text that stands in the file"
    return error_of_whole(piece, entity.start(), expected, found)
