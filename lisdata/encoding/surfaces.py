"""How contents are spelled: their lexical form, or a label; and the text of a grid's cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.encoding.pieces import Bools, Int64
from lisdata.kernels.arrays import fixed_rows
from lisdata.schema import ContentKind

if TYPE_CHECKING:
    from lisdata.encoding.label_join import LabelTable

CHUNK = 1 << 16
VALUELESS = {
    ContentKind.NULL: "<null>",
    ContentKind.SOMEVALUE: "<somevalue>",
    ContentKind.NOVALUE: "<novalue>",
}
_MAX_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceCounts:
    """How many contents were spelled by a label, and what entities without one were spelled by."""

    labels: int = 0
    local_names: int = 0
    misses: int = 0


class Speller(Protocol):
    """Gives the surfaces of some rows of a contents table."""

    def spell(self, contents: pa.Table) -> tuple[list[str], SurfaceCounts]:
        """Return the surface of each content."""


class LexicalSpeller:
    """Spells a content as it was written; one without a value by its kind ("<null>", "<somevalue>", "<novalue>").

    Bytes that are not UTF-8 show as backslash escapes.
    """

    def spell(self, contents: pa.Table) -> tuple[list[str], SurfaceCounts]:
        """Return the lexical form of each content."""
        texts = [decode_surface(lexical) for lexical in contents.column("lexical").to_pylist()]
        kinds = np.asarray(contents.column("kind"))
        for kind, surface in VALUELESS.items():
            for row in np.flatnonzero(kinds == kind):
                texts[row] = surface
        return texts, SurfaceCounts()


class LabelSpeller:
    """Spells a content by its label; an entity without one by its local name, and all others as `LexicalSpeller` does.

    The local name is what follows the last '#', '/' or ':'; where that is empty, the lexical form stands.
    """

    def __init__(self, table: LabelTable) -> None:
        self._table = table
        self._lexical = LexicalSpeller()

    def spell(self, contents: pa.Table) -> tuple[list[str], SurfaceCounts]:
        """Return the label, local name or lexical form of each content."""
        texts, _ = self._lexical.spell(contents)
        found = self._table.find(fixed_rows(contents.column("key").combine_chunks()))
        is_entity = np.asarray(contents.column("kind")) == ContentKind.ENTITY
        local_names = misses = 0
        for row in np.flatnonzero(is_entity).tolist():
            if row not in found:
                name = local_name(texts[row])
                local_names += int(name != texts[row])
                misses += 1
                texts[row] = name
        for row, label in found.items():
            texts[row] = label
        return texts, SurfaceCounts(labels=len(found), local_names=local_names, misses=misses)


def decode_surface(data: bytes) -> str:
    """Return the text of a lexical form: UTF-8 with lone surrogates kept, other bytes as backslash escapes."""
    try:
        return data.decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", errors="backslashreplace")


def local_name(name: str) -> str:
    """Return what follows the last '#', '/' or ':' of an IRI, or all of it when nothing does."""
    cut = max(name.rfind(separator) for separator in "#/:") + 1
    return name[cut:] or name


def find_iris(contents: pa.Table) -> Bools:
    """Return which contents are entities whose lexical form is an IRI with a scheme and "//"."""
    is_entity: Bools = np.asarray(contents.column("kind")) == ContentKind.ENTITY
    has_scheme: Bools = np.asarray(pc.match_substring(contents.column("lexical"), "://"))
    return is_entity & has_scheme


def iter_surfaces(contents: pa.Table, rows: Int64, speller: Speller) -> Iterator[tuple[list[str], SurfaceCounts]]:
    """Yield the surfaces of `rows` of a contents table, a chunk at a time."""
    for begin in range(0, len(rows), CHUNK):
        yield speller.spell(contents.take(pa.array(rows[begin : begin + CHUNK])))


def cell_texts(values: npt.NDArray[Any]) -> list[str]:
    """Return the text of each value of a flat array.

    The shortest text that gives the number of that dtype back, without ".0" where it is whole (as %g writes it);
    true and false; strings and dates as they are; bytes of no known type in hex.
    """
    kind = values.dtype.kind
    if kind == "b":
        return ["true" if value else "false" for value in values.tolist()]
    if kind == "U":
        return _unicode_texts(values)
    if kind == "S":
        return [decode_surface(value) for value in values.tolist()]
    if kind == "V":
        return [value.tobytes().hex() for value in values]
    texts: list[str] = values.astype(str).tolist()
    return [text.removesuffix(".0") for text in texts] if kind == "f" else texts


def _unicode_texts(values: npt.NDArray[Any]) -> list[str]:
    native = values.astype(values.dtype.newbyteorder("="))
    codes = np.ascontiguousarray(native).view(np.uint32).reshape(len(values), values.dtype.itemsize // 4)
    codes = np.where(codes > _MAX_CODE_POINT, 0xFFFD, codes)
    return ["".join(map(chr, row)).rstrip("\0") for row in codes.tolist()]
