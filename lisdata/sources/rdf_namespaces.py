"""The prefixes that an RDF file declares: kept with the input, so that an export may use them again."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lisdata.inputs import InputSlice
from lisdata.sources.rdf_input import whole_blocks

_BEGIN_BYTES = 256 << 10
"""How far the first element of an XML file is looked for."""
_MOST_KEPT, _LONGEST = 1000, 1000
"""Prefixes of a file, and characters of one's name and IRI: a manifest is held in memory."""
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:\[.*?\]\s*+)?>)*+", re.DOTALL
)
_START_TAG = re.compile(rb"<[^\s<>/!?]++(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>")
_DECLARED = re.compile(rb"\sxmlns(?::([^\s=:]+))?\s*=\s*(?:\"([^\"&<]*)\"|'([^'&<]*)')")


def kept_prefixes(prefixes: Mapping[str, str]) -> dict[str, str]:
    """Return prefixes by name, in the order of names, without what is too long or too many to be kept."""
    short = {name: iri for name, iri in sorted(prefixes.items()) if len(name) + len(iri) <= _LONGEST}
    return {name: short[name] for name in [*short][:_MOST_KEPT]}


def root_namespaces(piece: InputSlice) -> dict[str, str]:
    """Return the namespaces that the first element of an XML file in UTF-8 declares, those alone that it spells out."""
    data = next(whole_blocks(piece.file), b"")[:_BEGIN_BYTES]
    before = _MARKUP.match(data)
    tag = None if before is None else _START_TAG.match(data, before.end())
    if tag is None:
        return {}
    try:
        found = {name.decode(): (double or single).decode() for name, double, single in _DECLARED.findall(tag[0])}
    except UnicodeDecodeError:
        return {}
    return kept_prefixes({name: iri for name, iri in found.items() if iri})
