"""Hextuples (.hext): a JSON array of six strings a line, as rdflib writes them; each is read as the line of N-Quads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice
from lisdata.kernels.ntriples_scan import PADDING
from lisdata.records import TripleRecords
from lisdata.registry import Reject
from lisdata.sources.hext_layout import GLOBAL, LANG_STRING, LOCAL
from lisdata.sources.lines import line_bounds
from lisdata.sources.ntriples import NTriplesOptions
from lisdata.sources.ntriples_lines import LineNumbers, iter_blocks
from lisdata.sources.ntriples_parser import LineError, LineParser
from lisdata.sources.ntriples_records import BlockReader
from lisdata.sources.ntriples_runs import KeyOf, find_run
from lisdata.sources.ntriples_terms import escape_iri, escape_string
from lisdata.sources.rdf_grouping import Grouping

Int64 = npt.NDArray[np.int64]

_STRING = rb'"((?:[^"\\]|\\.)*+)"'
_FIRST, _LAST = re.compile(rb"\s*\[\s*" + _STRING), re.compile(_STRING + rb"\s*\]\s*\Z")
_LABEL = re.compile(r'[^\s<>"\\]+')
_TAG = re.compile("[A-Za-z0-9-]+")
_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class _HextGrouping(Grouping):
    """Which lines make one structure, told by their first or last string as it is spelled."""

    @property
    def key_of(self) -> KeyOf:
        return partial(_string_of, pattern=_LAST if self.group_by == "graph" else _FIRST)


def _string_of(line: bytes, pattern: re.Pattern[bytes]) -> bytes | None:
    found = pattern.search(line) if pattern is _LAST else pattern.match(line)
    return found[1] if found is not None else line.strip() or None


@dataclass(frozen=True, slots=True)
class HextSource:
    """Reads subject, predicate, value, datatype, language and graph of a statement a line, as source nquads does.

    The datatype of an IRI is globalId, of a blank node localId; a graph of no characters is the default one.
    """

    name: str = "hext"
    summary: str = "RDF datasets in Hextuples: a JSON array of six strings a line"
    suffixes: tuple[str, ...] = (".hext",)
    converter: str = "triples"
    exporter: str = "hext"
    splits: bool = True
    options_type: type[NTriplesOptions] = NTriplesOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: NTriplesOptions) -> int:
        """Return the next begin of a line whose subject (or graph) is not that of the line before."""
        return find_run(piece, wanted, _HextGrouping(options.group_by).key_of)

    def read(self, piece: InputSlice, options: NTriplesOptions, reject: Reject) -> Iterator[TripleRecords]:
        """Yield the statements in batches that cut no run; a line that is not valid is rejected."""
        grouping = _HextGrouping(options.group_by)
        parser = LineParser(scope=piece.file.scope, lenient=options.lenient, has_graphs=True)
        reader = BlockReader(file=piece.file, parser=parser, grouping=grouping)
        lines = LineNumbers(piece)
        for offset, chunks in grouping.iter_batches(iter_blocks(piece, reject), begin=piece.begin):
            block = _Block(b"".join(chunks), offset)
            records = reader.read(block.quads, 0, block.note_bad_quad)
            for begin, end, fault in sorted(block.faults, key=lambda fault: fault[0]):
                reject(_rejected(lines, block, begin, end, fault))
            lines.leave(offset, block.data + PADDING)
            yield block.placed(records)


class _Block:
    """Lines of a file, which begin at byte `offset` of it, and as N-Quads those that are six strings; the bad ones."""

    def __init__(self, data: bytes, offset: int) -> None:
        self.data, self.offset = data, offset
        self._bounds = line_bounds(data)
        self.faults: list[tuple[int, int, LineError]] = []
        found: list[bytes] = []
        kept: list[int] = []
        bounds = self._bounds.tolist()
        for number, (begin, end) in enumerate(pairwise(bounds)):
            line = data[begin:end]
            if line.isspace():
                continue
            try:
                found.append(_quad_of(line))
                kept.append(number)
            except LineError as error:
                self.faults.append((begin, end, error))
        self.quads = b"".join([*found, PADDING])
        self._kept = np.array(kept, np.int64)
        self._quad_begin = np.cumsum([0, *map(len, found)])

    def note_bad_quad(self, begin: int, end: int, error: LineError) -> None:
        """Add the line of N-Quads that begins at `begin` to the faults."""
        line = self._kept[np.searchsorted(self._quad_begin, begin, side="right") - 1]
        first, last = self._bounds[line : line + 2].tolist()
        self.faults.append((first, last, LineError(str(error), 1)))

    def placed(self, records: TripleRecords) -> TripleRecords:
        """Return the records with the places that their lines have in the file."""
        at = np.searchsorted(self._quad_begin, records.begin.astype(np.int64), side="right") - 1
        lines = self._kept[at]
        begin, end = (self._bounds[lines + side] + self.offset for side in (0, 1))
        return replace(records, begin=begin.astype(np.uint64), end=end.astype(np.uint64))


def _rejected(lines: LineNumbers, block: _Block, begin: int, end: int, fault: LineError) -> BadRecordError:
    data = block.data[begin:end]
    text = data[: 4 * _SHOWN_CHARACTERS].rstrip(b"\r\n").decode(errors="backslashreplace")
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return BadRecordError(
        lines.place(block.offset, block.data, begin, fault.column),
        expected="six strings of a statement in JSON",
        found=f"{shown!r} ({fault})",
        begin=block.offset + begin,
        end=block.offset + end,
        data=data,
    )


def _quad_of(line: bytes) -> bytes:
    """Return the line of N-Quads that says the same; LineError where none can."""
    try:
        values: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise LineError(error.msg, error.colno) from error
    if not isinstance(values, list) or len(values) != 6 or not all(isinstance(value, str) for value in values):
        raise LineError("no array of six strings", 1)
    subject, predicate, value, datatype, language, graph = values
    terms = [_resource(subject), _iri(predicate), _object(value, datatype, language)]
    if graph:
        terms.append(_resource(graph))
    return b" ".join(terms) + b" .\n"


def _resource(name: str) -> bytes:
    return _blank_node(name.removeprefix("_:")) if name.startswith("_:") else _iri(name)


def _iri(name: str) -> bytes:
    return b"<" + escape_iri(name.encode()) + b">"


def _blank_node(label: str) -> bytes:
    if not _LABEL.fullmatch(label):
        raise LineError(f"no label of a blank node: {label[:_SHOWN_CHARACTERS]!r}", 1)
    return b"_:" + label.encode()


def _object(value: str, datatype: str, language: str) -> bytes:
    if datatype in (GLOBAL, LOCAL):
        if language:
            raise LineError(f"a language, of a value that is a {datatype}", 1)
        return _iri(value) if datatype == GLOBAL else _blank_node(value.removeprefix("_:"))
    string = b'"' + escape_string(value.encode()) + b'"'
    if not language:
        return string + b"^^" + _iri(datatype)
    if datatype != LANG_STRING or not _TAG.fullmatch(language):
        raise LineError(f"no language of a value with datatype rdf:langString: {language[:_SHOWN_CHARACTERS]!r}", 1)
    return string + b"@" + language.encode()


HEXT = HextSource()
