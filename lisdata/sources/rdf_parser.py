"""RDF in any format that pyoxigraph reads: a stream of its statements, written as N-Quads, goes to the scanner.

The scanner is many times as fast as reading the parser's objects one at a time, and keys and groups the terms.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from lisdata.decompression import SMALL_EXPANSION_BYTES
from lisdata.errors import BadRecordError, Place
from lisdata.inputs import MEBIBYTE, InputSlice
from lisdata.kernels.ntriples_scan import PADDING
from lisdata.records import TripleRecords
from lisdata.registry import Reject
from lisdata.sources.ntriples_parser import LineError, LineParser
from lisdata.sources.ntriples_records import BlockReader
from lisdata.sources.rdf_converted_end import end_of_converted
from lisdata.sources.rdf_grouping import Grouping
from lisdata.sources.rdf_input import NamePatterns, ParserInput
from lisdata.sources.rdf_names import UNCERTAIN, RestoredNames
from lisdata.sources.rdf_namespaces import kept_prefixes

_QUADS_A_BLOCK = 1 << 15
_BLOCK_BYTES = 8 * MEBIBYTE  # a block ends with the statement that goes beyond: one prefix can make each very long
_SHOWN_CHARACTERS = 80
_POSITION = re.compile(r"Parser error at line \d+ (?:between columns \d+ and (?:line \d+ column )?\d+|column \d+): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserSettings:
    """How one input is parsed. `format` is the name of a format of pyoxigraph, `title` that of the format for people.

    `names` are what the parser changes. With `goes_on`, what follows a statement that is not valid can be trusted; else
    all of it is rejected with it. With `by_line`, it reads a line at a time, as it must where its errors name none.
    `no_base` is a base IRI that stands for none: an IRI below it was relative, and is refused. `prefixes` are those
    that the parser does not tell.
    """

    format: str
    title: str
    base_iri: str | None
    lenient: bool
    names: NamePatterns
    goes_on: bool
    by_line: bool = False
    no_base: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)


def read_rdf(
    piece: InputSlice,
    open_stream: Callable[[], BinaryIO],
    settings: ParserSettings,
    grouping: Grouping,
    reject: Reject,
    check: Callable[[bytes], None] | None = None,
) -> Iterator[TripleRecords]:
    """Yield the statements in the bytes that `open_stream` gives, in batches that cut no run.

    `check` is given the bytes block by block, and raises BadRecordError where the parser must not have them.
    """
    with ParserInput(open_stream(), settings.names, by_line=settings.by_line, check=check) as source:
        names = RestoredNames(source, piece.file.digest)
        parser = LineParser(scope=piece.file.scope, lenient=True, has_graphs=True, names=names)
        reader = BlockReader(file=piece.file, parser=parser, grouping=grouping)
        statements = _Statements(piece, source, settings, reject, open_stream)
        ordinal = num_uncertain = 0
        for offset, chunks in grouping.iter_batches(statements.iter_blocks()):
            found = reader.read(b"".join([*chunks, PADDING]), offset, _refuse_own_line)
            begin, end = statements.bounds(offset)
            size, uncertain = found.num_records, names.num_uncertain - num_uncertain
            yield replace(
                found,
                begin=np.full(size, begin, np.uint64),
                end=np.full(size, end, np.uint64),
                ordinal=np.arange(ordinal, ordinal + size, dtype=np.uint64),
                counts={UNCERTAIN: uncertain} if uncertain else {},
                prefixes=statements.prefixes,
            )
            ordinal, num_uncertain = ordinal + size, names.num_uncertain


def _start(stream: Any, settings: ParserSettings) -> Any:
    """Return pyoxigraph's iterator over the quads of what has a `read`; it tells the prefixes too."""
    import pyoxigraph

    format_ = getattr(pyoxigraph.RdfFormat, settings.format)
    return pyoxigraph.parse(stream, format=format_, base_iri=settings.base_iri, lenient=settings.lenient)


def _find_line(stream: BinaryIO, settings: ParserSettings) -> int:
    """Return the line of the first error, for which the parser reads the input again, a line at a time."""
    with ParserInput(stream, NamePatterns(always=()), by_line=True) as source:
        try:
            for _ in _start(source, settings):
                pass
        except SyntaxError:
            pass
        return source.line


def _of_one_block(quads: Iterator[Any], written: io.BytesIO) -> Iterator[Any]:
    """Yield the next quads, until there are enough or what is made of them is long."""
    for quad in islice(quads, _QUADS_A_BLOCK):
        yield quad
        if written.tell() > _BLOCK_BYTES:
            return


def _refuse_own_line(begin: int, end: int, error: LineError) -> None:
    raise AssertionError(f"N-Quads of pyoxigraph that it does not read: bytes {begin} to {end}: {error}")


class _Statements:
    """The statements of one input as N-Quads, and where in the input they come from."""

    def __init__(
        self,
        piece: InputSlice,
        source: ParserInput,
        settings: ParserSettings,
        reject: Reject,
        open_again: Callable[[], BinaryIO],
    ) -> None:
        self._piece, self._source, self._settings, self._reject = piece, source, settings, reject
        self._open_again = open_again
        self._offsets, self._positions = [0], [0]  # of each block: where it begins as N-Quads and as input
        self._last_bad_line = self._last_bad_end = 0
        self._quads: Any = None

    @property
    def prefixes(self) -> dict[str, str]:
        """What the parser has seen declared up to now, those alone that can be kept."""
        return {**self._settings.prefixes, **kept_prefixes({} if self._quads is None else self._quads.prefixes)}

    def bounds(self, offset: int) -> tuple[int, int]:
        """Return bytes of the input between which the statements from `offset` up to now stand."""
        row = bisect_right(self._offsets, offset) - 1
        begin = self._positions[row]
        del self._offsets[:row], self._positions[:row]
        return begin, self._source.position

    def iter_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, N-Quads)."""
        import pyoxigraph

        quads = self._iter_quads()
        offset, is_over = 0, False
        while not is_over:
            buffer, failure = io.BytesIO(), None
            try:
                pyoxigraph.serialize(_of_one_block(quads, buffer), buffer, format=pyoxigraph.RdfFormat.N_QUADS)
            except BadRecordError as error:  # a damaged stream: what came before the damage is good
                failure = error
            data = buffer.getvalue()
            if self._reject_relative(data):
                return
            if self._is_expanded(offset + len(data)):
                return
            is_over = not data
            self._offsets.append(offset)
            self._positions.append(self._source.position)
            if data:
                yield offset, data
                offset += len(data)
                self._offsets[-1] = offset
            if failure is not None:
                raise failure

    def _iter_quads(self) -> Iterator[Any]:
        """Yield the parser's quads; a statement that is not valid is rejected."""
        quads = self._quads = _start(self._source, self._settings)
        while True:
            try:
                yield from quads
                return
            except SyntaxError as error:
                self._reject_lines(error)
                if not self._settings.goes_on:
                    return
            except MemoryError as error:
                self._reject_rest(self._end_of_good(), None, f"a token too long to be judged ({error})")
                return

    def _end_of_good(self) -> int:
        """Return where what was converted ends, or what was rejected behind it, before a token that is too long."""
        end = end_of_converted(
            self._open_again, partial(_start, settings=self._settings), position=self._source.position
        )
        return max(end, self._last_bad_end)

    def _reject_lines(self, error: SyntaxError) -> None:
        """Reject the lines of an error; without `goes_on`, all from there."""
        message = _POSITION.sub("", error.msg)
        first = error.lineno or self._line_of_error()
        last = max(first, error.end_lineno or first)
        lines = self._source.bytes_of_lines(first, last)
        offset, data = (self._source.position, b"") if lines is None else lines
        text = data[: 4 * _SHOWN_CHARACTERS + 3].rstrip(b"\r\n").decode(errors="backslashreplace")
        shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
        place = Place(self._piece.file.name, offset=offset, line=first, column=error.offset or None)
        if not self._settings.goes_on:
            self._reject_rest(offset, place, f"{shown!r} ({message})")
        elif first > self._last_bad_line:  # a line is rejected once, whatever else is wrong with it
            self._last_bad_line, self._last_bad_end = last, offset + len(data)
            self._reject(
                BadRecordError(
                    place,
                    expected=self._settings.title,
                    found=f"{shown!r} ({message})",
                    begin=offset,
                    end=offset + len(data),
                    data=data or None,
                )
            )

    def _line_of_error(self) -> int:
        """Return the line of an error that names none."""
        return self._source.line if self._source.by_line else _find_line(self._open_again(), self._settings)

    def _reject_relative(self, data: bytes) -> bool:
        """Reject the whole input if an IRI in `data` was a relative one; tell whether it is so."""
        no_base = self._settings.no_base
        at = -1 if no_base is None else data.find(f"<{no_base}".encode())
        if no_base is None or at < 0:
            return False
        iri = data[at + 1 + len(no_base) : data.index(b">", at)].decode()
        self._reject_rest(0, None, f"the relative IRI {iri!r} without a base (--base-iri gives one)")
        return True

    def _is_expanded(self, size: int) -> bool:
        """Reject the rest of an input of which so much was made that a prefix must be there to multiply; tell so."""
        position = self._source.position
        limit = max(SMALL_EXPANSION_BYTES, self._piece.file.max_expansion * position)
        if size > limit:
            self._reject_rest(position, None, f"more than {limit} bytes as N-Quads (--max-expansion)")
        return size > limit

    def _reject_rest(self, begin: int, place: Place | None, found: str) -> None:
        """Reject what begins at `begin`, to the end of the input."""
        for _ in self._source.rest():
            pass
        self._reject(
            BadRecordError(
                place or Place(self._piece.file.name, offset=begin),
                expected=self._settings.title,
                found=found,
                begin=begin,
                end=self._source.position,
            )
        )
