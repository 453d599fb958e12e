"""Short ids and the IRIs they stand for: with "Q=http://www.wikidata.org/entity/", Q42 is one entity everywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import decode_text, encode_text

Bools = npt.NDArray[np.bool_]
_BINARY = pa.large_binary()


@dataclass(frozen=True, slots=True)
class IdPrefixes:
    """IRIs by the prefix of the ids they are put before; an id is the prefix and digits."""

    iris: dict[str, str]

    @classmethod
    def parse(cls, declared: Sequence[str]) -> IdPrefixes:
        """Read declarations of the form PREFIX=IRI; ValueError for another form, or a prefix declared twice."""
        iris: dict[str, str] = {}
        for text in declared:
            prefix, equals, iri = text.partition("=")
            if not (prefix and equals and iri) or prefix in iris or prefix[-1].isdigit():
                raise ValueError(f"expected PREFIX=IRI, each prefix once and not ending in a digit, got {text!r}")
            iris[prefix] = iri
        return cls(iris)

    def expand(self, name: str) -> str:
        """Return the IRI that `name` is short for, else `name`."""
        stem = name.rstrip("0123456789")
        return self.iris[stem] + name if stem != name and stem in self.iris else name

    def restore(self, name: str) -> str:
        """Return the short id of an IRI that `expand` gives, else `name`."""
        for prefix, iri in self.iris.items():
            short = name[len(iri) :]
            if name.startswith(iri) and short.startswith(prefix) and self.expand(short) == name:
                return short
        return name

    def expand_all(self, names: pa.LargeBinaryArray) -> tuple[pa.LargeBinaryArray, Bools]:
        """Return `expand` of many names in UTF-8, and which of them `restore` would not give back."""
        expanded = names
        may_differ = np.zeros(len(names), np.bool_)
        for prefix, iri in self.iris.items():
            is_short = pc.match_substring_regex(names, f"^(?:{re.escape(prefix)})[0-9]+$")
            iris = pc.binary_join_element_wise(_scalar(iri), names, _scalar(""))
            expanded = pc.if_else(is_short, iris, expanded)
            may_differ |= np.asarray(pc.starts_with(names, iri)) & ~np.asarray(is_short)
        for row in np.flatnonzero(may_differ).tolist():
            name = decode_text(names[row].as_py())
            may_differ[row] = self.restore(self.expand(name)) != name
        return expanded, may_differ

    def restore_all(self, names: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
        """Return `restore` of many names in UTF-8."""
        is_long = np.zeros(len(names), np.bool_)
        for prefix, iri in self.iris.items():
            is_long |= np.asarray(pc.starts_with(names, iri + prefix))
        if not is_long.any():
            return names
        short = [encode_text(self.restore(decode_text(name))) for name in names.filter(pa.array(is_long)).to_pylist()]
        return pc.replace_with_mask(names, pa.array(is_long), pa.array(short, _BINARY))


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text.encode(), _BINARY)
