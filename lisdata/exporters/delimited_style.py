"""How rows are spelled in a delimited file: separators, quotes, NULL and line endings, as a dialect structure tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import ExportError

_LOSSES = {
    "other_quotes": "quotes around cells",
    "other_nulls": "spellings of NULL",
    "other_line_endings": "line endings of rows",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """The style of a block of rows; texts are as in the file but for `columns`, which are names."""

    columns: tuple[str, ...]
    delimiter: bytes
    quote: bytes | None
    encoding: str
    has_header: bool
    has_bom: bool
    header_quoted: bool
    line_ending: bytes
    final_newline: bool
    quoted: frozenset[int]
    null_token: tuple[bytes, ...]
    null_tokens: frozenset[bytes]
    losses: Mapping[str, int]

    @classmethod
    def from_facts(cls, facts: Mapping[str, Sequence[str]]) -> Style:
        """Return the style that a dialect structure tells by its facts (side -> texts in order); no fact means no."""
        one = {side: texts[0] for side, texts in facts.items()}
        columns = facts["column"]
        null_tokens = [token.encode() for token in facts.get("null_tokens", ())]
        usual = null_tokens[:1] * len(columns) or [b""] * len(columns)
        return cls(
            columns=tuple(columns),
            delimiter=one["delimiter"].encode(),
            quote=one["quote"].encode() if "quote" in one else None,
            encoding="utf-8" if one["encoding"] == "utf-8-sig" else one["encoding"],
            has_header="has_header" in one,
            has_bom="has_bom" in one,
            header_quoted="header_quoted" in one,
            line_ending=one["line_ending"].encode(),
            final_newline="final_newline" in one,
            quoted=frozenset(map(int, facts.get("quoted", ()))),
            null_token=tuple([token.encode() for token in facts.get("null_token", ())] or usual),
            null_tokens=frozenset(null_tokens),
            losses={name: int(one.get(side, "0")) for side, name in _LOSSES.items()},
        )

    def opening(self) -> bytes:
        """Return what comes before the first row: a byte order mark and the header, where there are any."""
        header = b""
        if self.has_header:
            always = range(len(self.columns)) if self.header_quoted else ()
            names = [pa.array([name], pa.large_string()).cast(pa.large_binary()) for name in self.columns]
            header = self._join([self._spell(c, i in always, frozenset(), b"") for i, c in enumerate(names)])
        return b"\xef\xbb\xbf" + header if self.has_bom else header

    def lines(self, cells: Sequence[pa.Array]) -> bytes:
        """Return rows with their line endings; `cells` has a large_binary array of UTF-8 a column, null for NULL."""
        return self._join(
            [
                self._spell(column, number in self.quoted, self.null_tokens, self.null_token[number])
                for number, column in enumerate(cells)
            ]
        )

    def _spell(self, cells: pa.Array, always: bool, null_tokens: frozenset[bytes], null_token: bytes) -> pa.Array:
        must = pc.match_substring_regex(cells, self._special).fill_null(False)
        if null_tokens:
            must = pc.or_(must, pc.is_in(cells, pa.array(sorted(null_tokens), pa.large_binary())))
        filled = cells.fill_null(null_token)
        if self.quote is None:
            if pc.any(must).as_py():
                found = filled[pc.index(must, True).as_py()].as_py()
                raise ExportError(f"expected cells that need no quotes, which the file does not use, found {found!r}")
            return filled
        if always:
            must = cells.is_valid()
        if not pc.any(must).as_py():
            return filled
        doubled = pc.replace_substring(filled, self.quote, 2 * self.quote)
        quote = _scalar(self.quote)
        return pc.if_else(must, pc.binary_join_element_wise(quote, doubled, quote, _scalar(b"")), filled)

    def _join(self, columns: Sequence[pa.Array]) -> bytes:
        rows = pc.binary_join_element_wise(*columns, _scalar(self.delimiter)) if len(columns) > 1 else columns[0]
        rows = pc.binary_join_element_wise(rows, _scalar(self.line_ending), _scalar(b""))
        text = b"".join(rows.to_pylist())
        return text if self.encoding == "utf-8" else text.decode().encode(self.encoding)

    @property
    def _special(self) -> str:
        return "[\r\n" + re.escape((self.delimiter + (self.quote or b"")).decode()) + "]"


def _scalar(text: bytes) -> pa.Scalar:
    return pa.scalar(text, pa.large_binary())
