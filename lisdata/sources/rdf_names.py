"""Names that RDF parsers change: blank nodes without a name get a random one, language tags lose their case.

A parser's input is searched for all that may be such a name. So a random label is known as one that the input does not
have, and a tag that the input has in one spelling only is given back in it.
"""

from __future__ import annotations

import re

import numpy as np

from lisdata.kernels.key_table import KeyTable
from lisdata.sources.rdf_input import NamePatterns, ParserInput

# A parser's own label: 128 random bits of which the first digit is a letter. Shorter ones do not happen.
_LABEL = rb"[a-f][0-9a-f]{19,31}"
_RANDOM = re.compile(_LABEL)
_TAG = rb"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*"

TURTLE_NAMES = NamePatterns(always=(re.compile(rb"@(" + _TAG + rb")"), re.compile(rb"_:(" + _LABEL + rb")")))
XML_NAMES = NamePatterns(
    always=(
        re.compile(rb"xml:lang\s*=\s*[\"']([^\"']*)"),
        re.compile(rb"nodeID\s*=\s*[\"'](" + _LABEL + rb")"),
    )
)
# Of language maps, which a context announces, the names of all members; and escapes that may hide letters of a tag.
JSON_NAMES = NamePatterns(
    always=(
        re.compile(rb'"@language"\s*:\s*"([^"]*)'),
        re.compile(rb'"_:(' + _LABEL + rb')"'),
        re.compile(rb"(\\u00(?:2[dD]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9aA]))"),
    ),
    trigger=re.compile(rb'"@language"\s*[^:\s]'),
    triggered=re.compile(rb'"(' + _TAG + rb')"\s*:'),
)

UNCERTAIN = "literals whose language tag is in lower case"


class RestoredNames:
    """Gives back the names of one input: implements `ParsedNames`.

    A blank node without a name is called anon-DIGEST-N: the N-th of a file, and 8 digits of the file's digest, so that
    no name in the file is equal to it. `num_uncertain` counts tags (one a distinct term) that may have been written in
    another case.
    """

    def __init__(self, source: ParserInput, digest: str) -> None:
        self._source = source
        self._prefix = f"anon-{digest[:8]}-".encode()
        self._known = KeyTable()
        self._spellings: dict[bytes, list[bytes]] = {}
        self._num_noted = 0
        self._is_hidden = False
        self.num_uncertain = 0

    def blank_nodes(self, labels: list[bytes]) -> list[bytes]:
        """Return the labels; those that the parser has invented are numbered by first appearance."""
        found = self._source.found
        rows = [row for row, label in enumerate(labels) if _RANDOM.fullmatch(label) and label not in found]
        if not rows:
            return labels
        keys = np.frombuffer(bytes.fromhex("".join(labels[row].decode().zfill(32) for row in rows)), np.uint8)
        numbers, _ = self._known.find_or_add(keys.reshape(-1, 16))
        named = list(labels)
        for row, number in zip(rows, numbers.tolist(), strict=True):
            named[row] = b"%s%d" % (self._prefix, number + 1)
        return named

    def language(self, tag: str) -> str:
        """Return a tag as the input writes it, in lower case where it has several spellings (or hides them)."""
        tag, mark, direction = tag.partition("--")
        self._note_spellings()
        spellings = self._spellings.get(tag.encode(), [])
        if len(spellings) == 1 and not self._is_hidden:
            return spellings[0].decode() + mark + direction
        self.num_uncertain += 1
        return tag + mark + direction

    def _note_spellings(self) -> None:
        """Find the spellings of each tag, unless nothing was noted since."""
        found = self._source.found
        if len(found) == self._num_noted:
            return
        self._num_noted = len(found)
        self._spellings = {}
        for name in found:
            self._spellings.setdefault(name.lower(), []).append(name)
        self._is_hidden = any(name.startswith(b"\\u") or b"&" in name for name in found)
