"""How rows are spelled in a delimited file: separators, quotes, NULL and line endings, as a dialect structure tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lisdata.errors import ExportError

_LOSSES = {
    "other_quotes": "quotes around cells",
    "other_nulls": "spellings of NULL",
    "other_line_endings": "line endings of rows",
}


@dataclass(frozen=True, kw_only=True)
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
        """Return the style that the facts of a dialect structure tell: side -> texts in order of position."""
        one = {side: texts[0] for side, texts in facts.items() if texts}
        return cls(
            columns=tuple(facts["column"]),
            delimiter=one["delimiter"].encode(),
            quote=one["quote"].encode() if "quote" in one else None,
            encoding="utf-8" if one["encoding"] == "utf-8-sig" else one["encoding"],
            has_header=one["has_header"] == "true",
            has_bom=one["has_bom"] == "true",
            header_quoted=one["header_quoted"] == "true",
            line_ending=one["line_ending"].encode(),
            final_newline=one["final_newline"] == "true",
            quoted=frozenset(map(int, facts.get("quoted", ()))),
            null_token=tuple(token.encode() for token in facts.get("null_token", ())),
            null_tokens=frozenset(token.encode() for token in facts.get("null_tokens", ())),
            losses={name: int(one[side]) for side, name in _LOSSES.items()},
        )

    def opening(self) -> list[bytes]:
        """Return what comes before the first row: a byte order mark and the header, where there are any."""
        lines = [b"\xef\xbb\xbf"] if self.has_bom else []
        if self.has_header:
            names = [self._spell(name.encode(), always=self.header_quoted, is_name=True) for name in self.columns]
            lines.append(self.delimiter.join(names) + self.line_ending)
        return lines

    def line(self, cells: Sequence[bytes | None]) -> bytes:
        """Return a row of UTF-8 cells, None for NULL, with its line ending."""
        spelled = [
            self._recode(self.null_token[number]) if cell is None else self._spell(cell, always=number in self.quoted)
            for number, cell in enumerate(cells)
        ]
        return self.delimiter.join(spelled) + self.line_ending

    def _spell(self, cell: bytes, *, always: bool, is_name: bool = False) -> bytes:
        must = self._special.search(cell) is not None or (not is_name and cell in self.null_tokens)
        text = self._recode(cell)
        if not must and not always:
            return text
        if self.quote is None:
            raise ExportError(f"expected cells that need no quotes, which this file does not use, found {cell[:80]!r}")
        return self.quote + text.replace(self.quote, 2 * self.quote) + self.quote

    def _recode(self, cell: bytes) -> bytes:
        return cell if self.encoding == "utf-8" else cell.decode().encode(self.encoding)

    @cached_property
    def _special(self) -> re.Pattern[bytes]:
        return re.compile(b"[\r\n" + re.escape(self.delimiter + (self.quote or b"")) + b"]")
