"""A validating scanner of N-Triples and N-Quads: the statements and the distinct terms of a block.

It accepts exactly the lines it understands in full; any other line is marked, for a parser to judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.characters import check_string, encode, is_plain_iri, read_escape
from lisdata.kernels.compiled import BYTES, OUT_BYTES, OUT_INT64S, OUT_UINT64S, inner, kernel
from lisdata.kernels.ntriples_tokens import (
    CARET,
    COLON,
    CR,
    DOT,
    HASH,
    LESS,
    LF,
    QUOTE,
    UNDERSCORE,
    after_line,
    iri_end,
    is_plain_tag,
    label_end,
    line_end,
    may_be_lang_string,
    skip_blanks,
    string_end,
    suffix_end,
)
from lisdata.kernels.spans import fill_slots, hash_of, is_equal, new_slots, number_in, slot_of, take_slot
from lisdata.schema import NO_ROW, ContentKind

PADDING = b"\n" + bytes(31)
"""What must follow a block in its buffer: scanning stops at the newline and reads whole words past it."""

ROW = np.dtype(
    [("begin", "i8"), ("end", "i8"), ("subject", "u4"), ("predicate", "u4"), ("object", "u4"), ("graph", "u4")],
    align=True,
)
SPAN = np.dtype(
    [
        ("begin", "i8"),
        ("end", "i8"),
        ("lexical_begin", "i8"),
        ("lexical_end", "i8"),
        ("symbol", "u4"),
        ("kind", "u1"),
        ("is_escaped", "u1"),
    ],
    align=True,
)

_ENTITY, _BNODE, _LITERAL = int(ContentKind.ENTITY), int(ContentKind.BNODE), int(ContentKind.LITERAL)
_ROWS, _TERMS, _SYMBOLS, _SUBJECT, _GRAPH, _HAS_GRAPHS = 0, 1, 2, 3, 4, 5


@inner
def _add_symbol(data: Any, begin: Any, end: Any, symbols: Any, slots: Any, counts: Any) -> Any:
    """Return the number of a language tag (with its '@') or datatype (with '<' and '>'), -1 if it is not plain."""
    hashed = hash_of(data, begin, end)
    slot = slot_of(slots, data, symbols, begin, end, hashed)
    number = number_in(slots, slot)
    if number >= 0:
        return number
    if data[begin] == LESS:
        if may_be_lang_string(data, end - 1) or not is_plain_iri(data, begin + 1, end - 1):
            return -1
    elif not is_plain_tag(data, begin + 1, end):
        return -1
    number = counts[_SYMBOLS]
    symbols[number].begin, symbols[number].end = begin, end
    take_slot(slots, slot, hashed, number)
    counts[_SYMBOLS] = number + 1
    return number


@inner
def _add_term(
    data: Any, begin: Any, end: Any, quote: Any, terms: Any, slots: Any, symbols: Any, symbol_slots: Any, counts: Any
) -> Any:
    """Return the number of the term data[begin:end], -1 if it is not plain; `quote` closes a literal's string."""
    hashed = hash_of(data, begin, end)
    slot = slot_of(slots, data, terms, begin, end, hashed)
    number = number_in(slots, slot)
    if number >= 0:
        return number
    number = counts[_TERMS]
    term = terms[number]
    term.begin, term.end, term.lexical_begin, term.lexical_end = begin, end, begin + 1, end - 1
    term.symbol, term.is_escaped = NO_ROW, 0
    if data[begin] == LESS:
        term.kind = _ENTITY
        if not is_plain_iri(data, begin + 1, end - 1):
            return -1
    elif data[begin] == UNDERSCORE:
        term.kind, term.lexical_begin, term.lexical_end = _BNODE, begin + 2, end
    else:
        term.kind, term.lexical_end = _LITERAL, quote
        status = check_string(data, begin + 1, quote)
        if status < 0:
            return -1
        term.is_escaped = status
        if quote + 1 < end:
            suffix = quote + 1 if data[quote + 1] != CARET else quote + 3
            symbol = _add_symbol(data, suffix, end, symbols, symbol_slots, counts)
            if symbol < 0:
                return -1
            term.symbol = symbol
    take_slot(slots, slot, hashed, number)
    counts[_TERMS] = number + 1
    return number


@inner
def _token_end(data: Any, at: Any) -> Any:
    """Return (index after the token at `at`, index of its closing quote if a literal); the first is -1 if not plain."""
    if data[at] == LESS:
        return iri_end(data, at + 1), np.int64(0)
    if data[at] == UNDERSCORE:
        return (label_end(data, at + 2) if data[at + 1] == COLON else np.int64(-1)), np.int64(0)
    if data[at] != QUOTE:
        return np.int64(-1), np.int64(0)
    quote = string_end(data, at + 1)
    return (np.int64(-1) if quote < 0 else suffix_end(data, quote + 1)), quote


@inner
def _is_token_at(data: Any, at: Any, size: Any, term: Any) -> Any:
    """Tell whether the token at `at` is the IRI `term`: runs of one subject need no look-up."""
    length = term.end - term.begin
    return data[at] == LESS and at + length < size and is_equal(data, term.begin, at, length)


@inner
def _scan_graph(
    data: Any, at: Any, size: Any, row: Any, terms: Any, slots: Any, symbols: Any, symbol_slots: Any, counts: Any
) -> Any:
    """Fill in the graph at `at`; return the index of the first byte after it and blanks, -1 if it is not plain."""
    if counts[_HAS_GRAPHS] == 0 or (data[at] != LESS and data[at] != UNDERSCORE):
        return -1
    graph = counts[_GRAPH]
    if graph >= 0 and _is_token_at(data, at, size, terms[graph]):
        row.graph = graph
        return skip_blanks(data, at + terms[graph].end - terms[graph].begin)
    end, quote = _token_end(data, at)
    if end < 0:
        return -1
    number = _add_term(data, at, end, quote, terms, slots, symbols, symbol_slots, counts)
    if number < 0:
        return -1
    row.graph = counts[_GRAPH] = number
    return skip_blanks(data, end)


@inner
def _scan_triple(
    data: Any, at: Any, size: Any, row: Any, terms: Any, slots: Any, symbols: Any, symbol_slots: Any, counts: Any
) -> Any:
    """Fill `row` from the statement at `at`; return the index of the line's end, -1 if the line is not plain."""
    first_part = 0
    subject = counts[_SUBJECT]
    if subject >= 0 and _is_token_at(data, at, size, terms[subject]):
        row.subject = subject
        at = skip_blanks(data, at + terms[subject].end - terms[subject].begin)
        first_part = 1
    for part in range(first_part, 3):
        if (part < 2 and data[at] == QUOTE) or (part == 1 and data[at] != LESS):
            return -1
        end, quote = _token_end(data, at)
        if end < 0:
            return -1
        number = _add_term(data, at, end, quote, terms, slots, symbols, symbol_slots, counts)
        if number < 0:
            return -1
        if part == 0:
            row.subject = counts[_SUBJECT] = number
        elif part == 1:
            row.predicate = number
        else:
            row.object = number
        at = skip_blanks(data, end)
    row.graph = NO_ROW
    if data[at] != DOT:
        at = _scan_graph(data, at, size, row, terms, slots, symbols, symbol_slots, counts)
        if at < 0 or data[at] != DOT:
            return -1
    at = skip_blanks(data, at + 1)
    if data[at] == HASH:
        at = line_end(data, at)
    return at if data[at] == LF or data[at] == CR else -1


_ROW_ARRAY, _SPAN_ARRAY = numba.from_dtype(ROW)[::1], numba.from_dtype(SPAN)[::1]


@kernel(types.int64(BYTES, types.int64))
def _count_lines(data: Any, size: Any) -> Any:
    """Return a number no smaller than that of the lines in data[:size]."""
    count = 1
    for index in range(size):
        count += (data[index] == LF) | (data[index] == CR)
    return count


@kernel(
    types.int64(
        BYTES, types.int64, types.int64, _ROW_ARRAY, _SPAN_ARRAY, OUT_UINT64S, _SPAN_ARRAY, OUT_UINT64S, OUT_INT64S
    )
)  # fmt: skip
def _scan(
    data: Any, at: Any, size: Any, rows: Any, terms: Any, slots: Any, symbols: Any, symbol_slots: Any, counts: Any
) -> Any:
    """Scan lines from `at` until slots grow scarce; return where it stopped."""
    while at < size and 2 * counts[_TERMS] + 8 < len(slots) and 2 * counts[_SYMBOLS] + 2 < len(symbol_slots):
        begin = at
        at = skip_blanks(data, at)
        if data[at] == LF or data[at] == CR:
            at += 1
            continue
        if data[at] == HASH:
            at = line_end(data, at)
            continue
        row = rows[counts[_ROWS]]
        end = _scan_triple(data, at, size, row, terms, slots, symbols, symbol_slots, counts)
        if end < 0:
            row.subject = NO_ROW
            end = line_end(data, at)
        at = after_line(data, end)
        row.begin, row.end = begin, min(at, size)
        counts[_ROWS] += 1
    return at


@kernel(types.void(BYTES, _SPAN_ARRAY, types.int64, OUT_UINT64S))
def _fill_slots(data: Any, items: Any, count: Any, slots: Any) -> None:
    fill_slots(slots, data, items, count)


@kernel(types.int64(BYTES, _SPAN_ARRAY, OUT_INT64S, OUT_BYTES))
def _copy_lexicals(data: Any, terms: Any, offsets: Any, out: Any) -> Any:
    """Write the lexical forms, escapes resolved, to `out`; return the bytes written."""
    to = 0
    for number in range(len(terms)):
        term = terms[number]
        at, end = term.lexical_begin, term.lexical_end
        offsets[number] = to
        if not term.is_escaped:
            for index in range(end - at):
                out[to + index] = data[at + index]
            to += end - at
            continue
        while at < end:
            if data[at] == 92:
                code, length = read_escape(data, at)
                to = encode(out, to, code)
                at += length
            else:
                out[to] = data[at]
                to += 1
                at += 1
    offsets[len(terms)] = to
    return to


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedBlock:
    """What `scan` found: `rows` (ROW) in order, distinct `terms` (SPAN) and `symbols`; offsets are into `data`.

    A row whose `subject` is NO_ROW holds a line that was not understood; `graph` is NO_ROW in the default graph. Two
    terms may spell one RDF term in two ways, and terms of lines not understood may be among them.
    """

    data: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.void]
    terms: npt.NDArray[np.void]
    symbols: tuple[bytes, ...]

    def lexical_forms(self) -> pa.LargeBinaryArray:
        """Return the lexical form of each term: an IRI, a label or a string, without its marks and escapes."""
        offsets = np.empty(len(self.terms) + 1, np.int64)
        longest = int((self.terms["lexical_end"] - self.terms["lexical_begin"]).sum())
        out = np.empty(longest, np.uint8)
        size = _copy_lexicals(self.data, self.terms, offsets, out)
        return binary_array(offsets, out[:size], pa.large_binary())


def scan(block: bytes, *, has_graphs: bool = False) -> ScannedBlock:
    """Scan a block of whole lines that PADDING ends; with `has_graphs` a graph may follow an object (N-Quads)."""
    if not block.endswith(PADDING):
        raise ValueError("a block must end in PADDING")
    data = np.frombuffer(block, np.uint8)
    size = len(block) - len(PADDING)
    num_lines = _count_lines(data, size)
    terms_a_line = 4 if has_graphs else 3
    rows, symbols = np.empty(num_lines, ROW), np.empty(num_lines, SPAN)
    terms = np.empty(terms_a_line * num_lines, SPAN)
    slots, symbol_slots = new_slots(1 << (4 * num_lines).bit_length()), new_slots(1 << 8)
    counts = np.array((0, 0, 0, -1, -1, has_graphs), np.int64)
    at = 0
    while (at := _scan(data, at, size, rows, terms, slots, symbols, symbol_slots, counts)) < size:
        slots, symbol_slots = new_slots(4 * len(slots)), new_slots(4 * len(symbol_slots))
        _fill_slots(data, terms, counts[_TERMS], slots)
        _fill_slots(data, symbols, counts[_SYMBOLS], symbol_slots)
    spelled = tuple(block[begin:end] for begin, end, *_ in symbols[: counts[_SYMBOLS]].tolist())
    return ScannedBlock(data=data, rows=rows[: counts[_ROWS]], terms=terms[: counts[_TERMS]], symbols=spelled)
