"""Columns of a block of delimited rows: exact texts, NULLs, and what their bytes say beyond the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.kernels.csv_nulls import find_nulls
from lisdata.kernels.csv_scan import QUOTED, SPECIAL, Cells, gather_columns
from lisdata.sources.delimited_layout import Layout, decode_texts

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The cells of a column: texts (large_string, also where NULL) and which are NULL.

    Of its `num_filled` other cells, `num_unquoted` are not quoted, and `num_otherwise` are not quoted just where they
    must be.
    """

    texts: pa.Array
    is_null: Bools
    num_filled: int
    num_unquoted: int
    num_otherwise: int

    @property
    def cells(self) -> pa.Array:
        """The texts, null where NULL."""
        num_nulls = len(self.texts) - self.num_filled
        if num_nulls == 0:
            return self.texts
        _, offsets, data = self.texts.buffers()
        filled = pa.py_buffer(np.packbits(~self.is_null, bitorder="little"))
        return pa.Array.from_buffers(self.texts.type, len(self.texts), [filled, offsets, data], num_nulls)

    def quoting(self) -> tuple[bool, int]:
        """Return (whether all cells but NULLs are quoted, not only those that must be; number of exceptions)."""
        return self.num_unquoted < self.num_otherwise, min(self.num_unquoted, self.num_otherwise)

    def null_token(self, null_tokens: tuple[str, ...]) -> tuple[str, int]:
        """Return (the usual spelling of NULL, number of NULLs spelled otherwise)."""
        num_nulls = len(self.texts) - self.num_filled
        if len(null_tokens) < 2 or num_nulls == 0:
            return (null_tokens[0] if null_tokens else ""), 0
        counts = pc.value_counts(self.texts.filter(pa.array(self.is_null)))
        usual = pc.index(counts.field("counts"), pc.max(counts.field("counts"))).as_py()
        return counts.field("values")[usual].as_py(), num_nulls - counts.field("counts")[usual].as_py()


def read_columns(data: npt.NDArray[np.uint8], cells: Cells, layout: Layout) -> list[Column]:
    """Return the columns of rows scanned in `data`; all bytes of their cells must be decodable."""
    gathered = gather_columns(data, cells, range(cells.begin.shape[1]), layout.quote_byte)
    texts = [decode_texts(of, layout.encoding) for of in gathered]
    nulls = find_nulls(cells, _find_tokens(texts, layout.null_tokens))
    return [
        Column(
            texts=of,
            is_null=nulls.is_null[number],
            num_filled=cells.num_rows - int(nulls.num_nulls[number]),
            num_unquoted=int(nulls.num_unquoted[number]),
            num_otherwise=int(nulls.num_otherwise[number]),
        )
        for number, of in enumerate(texts)
    ]


def _find_tokens(texts: list[pa.Array], null_tokens: tuple[str, ...]) -> Bools | None:
    """Return which cells are spelled as NULL, (columns, rows); None where just the empty ones are."""
    if null_tokens == ("",):
        return None
    tokens = pa.array(null_tokens, pa.large_string())
    return np.stack([np.asarray(pc.is_in(of, tokens)) for of in texts])


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
