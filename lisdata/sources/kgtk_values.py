"""The values in KGTK cells as contents and back: symbols, strings, numbers, dates and the like, told by how they begin.

A symbol is an entity. A string or language-qualified string is the literal that RDF has for it, without its quotes and
escapes. Other values are literals spelled as they stand, of datatype kgtk:number, kgtk:quantity,
kgtk:location_coordinates, kgtk:date_and_times, kgtk:boolean, kgtk:extension or kgtk:empty (an item of a list). What
begins like a string and is none is kgtk:malformed; what begins like a number, place or date and is none is a symbol.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import LabelBuilder
from lisdata.kernels.arrays import binary_buffers
from lisdata.schema import NO_ROW, ContentKind, LabelKind
from lisdata.sources.fact_columns import ContentColumn, gather_spans
from lisdata.sources.id_prefixes import IdPrefixes

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

KGTK = "kgtk:"
MALFORMED = f"{KGTK}malformed"
_BINARY = pa.large_binary()
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_UNIT = r"[A-Za-zµμΩ°%$€]{1,4}(?:\^?-?[0-9])?"
_GRAMMARS = (  # (first bytes, datatype, what the cell matches)
    (b"+-.0123456789", "number", rf"^(?:{_NUMBER}|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$"),
    (b"+-.0123456789", "quantity", rf"^{_NUMBER}(?:\[{_NUMBER},{_NUMBER}\])?(?:Q[0-9]+|{_UNIT}(?:[*/.]{_UNIT})*)?$"),
    (b"@", "location_coordinates", rf"^@{_NUMBER}/{_NUMBER}$"),
    (b"^", "date_and_times", r"^\^[+-]?[0-9][0-9TZ:.+/-]*$"),
    (b"!", "extension", r"^!(?:[^\n]|\n)*$"),
    (b"TF", "boolean", r"^(?:True|False)$"),
)
_STRING = re.compile(rb'"((?:[^"\\]|\\[^\n])*)"', re.DOTALL)
_LANGUAGE_STRING = re.compile(rb"'((?:[^'\\]|\\[^\n])*)'@([A-Za-z][A-Za-z0-9-]*)", re.DOTALL)
_TAG = re.compile(rb"[A-Za-z][A-Za-z0-9-]*")
_IS_SPECIAL = np.isin(np.arange(256), list(b"\\|\t\n\r"))
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"t": b"\t", b"n": b"\n", b"r": b"\r"}
_LETTERS = {value: letter for letter, value in _ESCAPED.items()}
_SPECIAL = {quote: re.compile(rb"[\\|\t\n\r" + quote + rb"]") for quote in (b'"', b"'")}
_BAR = re.compile(rb"\\.|\|", re.DOTALL)


def unescape(body: bytes) -> bytes:
    """Return what stands between the quotes of a string, without its escapes."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), body)


def escape(lexical: bytes, quote: bytes) -> bytes:
    """Return `lexical` as it stands between quotes."""
    return _SPECIAL[quote].sub(lambda match: b"\\" + _LETTERS.get(match[0], match[0]), lexical)


def split_list(cell: bytes) -> list[bytes]:
    """Return the items of a cell: what its bars part, but for escaped ones and those in a string that is the cell."""
    if _STRING.fullmatch(cell) or _LANGUAGE_STRING.fullmatch(cell):
        return [cell]
    bars = [match.start() for match in _BAR.finditer(cell) if match[0] == b"|"]
    return [cell[begin + 1 : end] for begin, end in pairwise([-1, *bars, len(cell)])]


class ItemReader:
    """Tells what items are, each distinct one once; `labels` gets their datatypes and languages."""

    def __init__(self, labels: LabelBuilder, prefixes: IdPrefixes) -> None:
        self._labels, self._prefixes = labels, prefixes

    def read(self, items: pa.LargeBinaryArray) -> tuple[ContentColumn, Bools]:
        """Return the contents of items, and which of these would not come back as they are written."""
        offsets, data = binary_buffers(items)
        sizes = np.diff(offsets)
        first = np.zeros(len(items), np.uint8)
        first[sizes > 0] = data[offsets[:-1][sizes > 0]]
        datatype, language = (np.full(len(items), NO_ROW, np.uint32) for _ in range(2))
        kind = np.full(len(items), ContentKind.ENTITY, np.uint8)
        for begins, name, pattern in _GRAMMARS:
            rows = np.flatnonzero(np.isin(first, np.frombuffer(begins, np.uint8)) & (datatype == NO_ROW))
            if len(rows):
                is_such = np.asarray(pc.match_substring_regex(items.take(pa.array(rows)), pattern))
                if is_such.any():
                    datatype[rows[is_such]] = self._datatype(name)
        if (sizes == 0).any():
            datatype[sizes == 0] = self._datatype("empty")
        kind[datatype != NO_ROW] = ContentKind.LITERAL
        lexical, is_odd = self._read_symbols(items, kind)
        for quote in (b'"', b"'"):
            rows = np.flatnonzero(first == quote[0])
            if len(rows):
                kind[rows] = ContentKind.LITERAL
                bodies, is_odd[rows] = self._read_strings(items, rows, quote, datatype, language)
                mask = np.zeros(len(items), np.bool_)
                mask[rows] = True
                lexical = pc.replace_with_mask(lexical, pa.array(mask), bodies)
        column = ContentColumn(kind=kind, lexical=lexical, datatype=datatype, language=language)
        return column, is_odd

    def _datatype(self, name: str) -> int:
        return self._labels.code(LabelKind.DATATYPE, KGTK + name)

    def _read_symbols(self, items: pa.LargeBinaryArray, kind: UInt8) -> tuple[pa.LargeBinaryArray, Bools]:
        if not self._prefixes.iris:
            return items, np.zeros(len(items), np.bool_)
        is_symbol = kind == ContentKind.ENTITY
        expanded, is_odd = self._prefixes.expand_all(items)
        return pc.if_else(pa.array(is_symbol), expanded, items), is_odd & is_symbol

    def _read_strings(
        self, items: pa.LargeBinaryArray, rows: Int64, quote: bytes, datatype: UInt32, language: UInt32
    ) -> tuple[pa.LargeBinaryArray, Bools]:
        """Return the lexical forms of the items `rows`, which begin with `quote`, and which come back otherwise."""
        begin, close, end, is_plain = _find_plain(*binary_buffers(items), rows, quote)
        if quote == b"'":
            tags = _cut(items, close + 2, np.where(is_plain, end, close + 2)).dictionary_encode()
            names: list[bytes] = tags.dictionary.to_pylist()
            codes = np.array([self._language(name) for name in names], np.uint32)[np.asarray(tags.indices)]
            is_plain &= codes != NO_ROW
            language[rows[is_plain]] = codes[is_plain]
        bodies = _cut(items, begin + 1, np.where(is_plain, close, begin + 1))
        odd = np.zeros(len(rows), np.bool_)
        others = np.flatnonzero(~is_plain)
        read: list[bytes] = []
        for row, cell in zip(others.tolist(), items.take(pa.array(rows[others])).to_pylist(), strict=True):
            match = (_STRING if quote == b'"' else _LANGUAGE_STRING).fullmatch(cell)
            if match is None:
                datatype[rows[row]] = self._labels.code(LabelKind.DATATYPE, MALFORMED)
                read.append(cell)
                continue
            read.append(unescape(match[1]))
            odd[row] = escape(read[-1], quote) != match[1]
            if quote == b"'":
                language[rows[row]] = self._language(match[2])
        return pc.replace_with_mask(bodies, pa.array(~is_plain), pa.array(read, _BINARY)), odd

    def _language(self, tag: bytes) -> int:
        """Return the code of a language tag, NO_ROW for what is none."""
        return self._labels.code(LabelKind.LANGUAGE, tag.decode()) if _TAG.fullmatch(tag) else NO_ROW


def _find_plain(offsets: Int64, data: UInt8, rows: Int64, quote: bytes) -> tuple[Int64, Int64, Int64, Bools]:
    """Return of strings (begin, closing quote, end, whether plain): plain ones are quoted and hold nothing special."""
    begin, end = offsets[rows], offsets[rows + 1]
    counted = np.zeros(len(data) + 1, np.int32)
    np.cumsum(_IS_SPECIAL[data], out=counted[1:])
    places = np.append(np.flatnonzero(data == quote[0]), len(data))
    first = np.searchsorted(places, begin)
    close = places[np.minimum(first + 1, len(places) - 1)]
    behind = places[np.minimum(first + 2, len(places) - 1)]
    is_plain = (counted[end] == counted[begin]) & (close < end) & (behind >= end)
    if quote == b'"':
        is_plain &= close == end - 1
    else:
        has_tag = close + 2 < end
        is_plain &= has_tag & (data[np.where(has_tag, close + 1, begin)] == ord("@"))
    return begin, close, end, is_plain


def _cut(items: pa.LargeBinaryArray, begin: Int64, end: Int64) -> pa.LargeBinaryArray:
    """Return bytes [begin, end) of the items' buffer; begin lies before end or an empty text is meant."""
    _, data = binary_buffers(items)
    return gather_spans(data, begin, np.maximum(begin, end))


def spell_contents(contents: pa.Table, labels: pa.Table, prefixes: IdPrefixes) -> pa.LargeBinaryArray:
    """Return how each content is written in a cell, null for what KGTK has no form for."""
    kinds = np.asarray(contents["kind"])
    lexical = contents["lexical"].combine_chunks()
    datatype = [None if d is None else labels["label"][d].as_py() for d in range(labels.num_rows)]
    is_own = np.array([name is not None and name.startswith(KGTK) for name in datatype] + [False])
    codes, languages = (np.asarray(contents[name].fill_null(NO_ROW)) for name in ("datatype", "language"))
    is_verbatim = np.isin(kinds, (ContentKind.INSTANCE, ContentKind.TEXT))
    is_literal = kinds == ContentKind.LITERAL
    is_verbatim |= is_literal & is_own[np.minimum(codes, labels.num_rows)]
    is_string = is_literal & (codes == NO_ROW) & (languages == NO_ROW)
    is_tagged = is_literal & (codes == NO_ROW) & (languages != NO_ROW)
    is_symbol = kinds == ContentKind.ENTITY
    spelled = pc.if_else(pa.array(is_verbatim | is_symbol), lexical, pa.scalar(None, _BINARY))
    if is_symbol.any() and prefixes.iris:
        spelled = _replaced(spelled, is_symbol, prefixes.restore_all(lexical.filter(pa.array(is_symbol))))
    for mask, quote in ((is_string, b'"'), (is_tagged, b"'")):
        if mask.any():
            mark = pa.scalar(quote, _BINARY)
            bodies = _escaped(lexical.filter(pa.array(mask)), quote)
            tags = pa.array([b""] * int(mask.sum()), _BINARY)
            if quote == b"'":
                names = pc.binary_join_element_wise(
                    pa.scalar("@", pa.large_string()),
                    labels["label"].combine_chunks(),
                    pa.scalar("", pa.large_string()),
                )
                tags = names.cast(_BINARY).take(pa.array(languages[mask]))
            quoted = pc.binary_join_element_wise(mark, bodies, mark, tags, pa.scalar(b"", _BINARY))
            spelled = _replaced(spelled, mask, quoted)
    return spelled


def _escaped(bodies: pa.LargeBinaryArray, quote: bytes) -> pa.LargeBinaryArray:
    is_special = np.asarray(pc.match_substring_regex(bodies, r"[\\|\t\n\r" + quote.decode() + "]"))
    if not is_special.any():
        return bodies
    written = [escape(body, quote) for body in bodies.filter(pa.array(is_special)).to_pylist()]
    return _replaced(bodies, is_special, pa.array(written, _BINARY))


def _replaced(values: pa.LargeBinaryArray, mask: Bools, others: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    return pc.replace_with_mask(values, pa.array(mask), others)
