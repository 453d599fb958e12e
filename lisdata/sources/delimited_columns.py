"""Columns of a block of delimited rows: exact texts, NULLs, and what their bytes say beyond the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.kernels.csv_scan import QUOTED, SPECIAL, Cells, gather_columns
from lisdata.sources.delimited_layout import Layout, decode_texts

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The cells of a column: texts (large_string, also where NULL), and which are NULL, quoted, or must be quoted.

    A cell must be quoted when it holds a delimiter, a quote or a line ending, and when it would be NULL otherwise.
    """

    texts: pa.Array
    is_null: Bools
    is_quoted: Bools
    needs_quotes: Bools

    @property
    def cells(self) -> pa.Array:
        """The texts, null where NULL."""
        if not self.is_null.any():
            return self.texts
        return pc.if_else(pa.array(self.is_null), pa.scalar(None, pa.large_string()), self.texts)

    def quoting(self) -> tuple[bool, int]:
        """Return (whether all cells but NULLs are quoted, not only those that must be; number of exceptions)."""
        against_needed = int(np.count_nonzero(~self.is_null & (self.is_quoted != self.needs_quotes)))
        against_always = int(np.count_nonzero(~self.is_null & ~self.is_quoted))
        return against_always < against_needed, min(against_always, against_needed)

    def null_token(self, null_tokens: tuple[str, ...]) -> tuple[str, int]:
        """Return (the usual spelling of NULL, number of NULLs spelled otherwise)."""
        if len(null_tokens) < 2 or not self.is_null.any():
            return (null_tokens[0] if null_tokens else ""), 0
        counts = pc.value_counts(self.texts.filter(pa.array(self.is_null)))
        usual = pc.index(counts.field("counts"), pc.max(counts.field("counts"))).as_py()
        others = int(np.count_nonzero(self.is_null)) - counts.field("counts")[usual].as_py()
        return counts.field("values")[usual].as_py(), others


def read_columns(data: npt.NDArray[np.uint8], cells: Cells, layout: Layout) -> list[Column]:
    """Return the columns of rows scanned in `data`; all bytes of their cells must be decodable."""
    texts = gather_columns(data, cells, range(cells.begin.shape[1]), layout.quote_byte)
    return [_read_column(decode_texts(of, layout.encoding), cells, n, layout) for n, of in enumerate(texts)]


def _read_column(texts: pa.Array, cells: Cells, number: int, layout: Layout) -> Column:
    flags = cells.flags[:, number]
    is_quoted = (flags & QUOTED) != 0
    if layout.null_tokens == ("",):
        is_token = cells.size[:, number] == 0
    else:
        is_token = np.asarray(pc.is_in(texts, pa.array(layout.null_tokens, pa.large_string())))
    needs_quotes = ((flags & SPECIAL) != 0) | (is_token & is_quoted)
    return Column(texts=texts, is_null=is_token & ~is_quoted, is_quoted=is_quoted, needs_quotes=needs_quotes)


def describe_bytes(header: Cells | None, cells: Cells, columns: Sequence[Column], layout: Layout) -> dict[str, Any]:
    """Return what an export needs to write the same bytes, and counts of what it will write otherwise.

    `header` is the header row where it comes right before these rows. "null_token" is told for each column unless all
    spell NULL as the first of "null_tokens"; "quoted" are the columns whose cells are all quoted.
    """
    quoting = [column.quoting() for column in columns]
    nulls = [column.null_token(layout.null_tokens) for column in columns]
    is_usual = all(token == layout.null_tokens[0] for token, _ in nulls if layout.null_tokens)
    endings = np.concatenate(([] if header is None else header.ending, cells.ending))
    num_crlf, num_lf = int(np.count_nonzero(endings == 2)), int(np.count_nonzero(endings == 1))
    header_quoted = False
    other_quotes = sum(count for _, count in quoting)
    if header is not None:
        is_quoted, is_special = (header.flags & QUOTED) != 0, (header.flags & SPECIAL) != 0
        header_quoted = bool(is_quoted.all())
        other_quotes += 0 if header_quoted else int(np.count_nonzero(is_quoted != is_special))
    return {
        "delimiter": chr(layout.delimiter_byte),
        "quote": layout.quote or None,
        "encoding": layout.encoding,
        "has_header": layout.header,
        "null_tokens": layout.null_tokens,
        "line_ending": "\r\n" if num_crlf > num_lf else "\n",
        "final_newline": len(endings) == 0 or bool(endings[-1]),
        "quoted": tuple(number for number, (always, _) in enumerate(quoting) if always),
        "header_quoted": header_quoted,
        "null_token": () if is_usual else tuple(token for token, _ in nulls),
        "other_quotes": other_quotes,
        "other_nulls": sum(count for _, count in nulls),
        "other_line_endings": min(num_crlf, num_lf),
    }
