"""N-Triples: a compiled scanner for plain lines, pyoxigraph for all others, so that what is accepted equals it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.kernels.ntriples_scan import PADDING
from lisdata.records import TripleRecords
from lisdata.registry import Reject
from lisdata.sources.ntriples_parser import LineError, LineParser
from lisdata.sources.ntriples_records import BlockReader
from lisdata.sources.ntriples_runs import find_run, iter_runs

_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class NTriplesOptions:
    """Options of source ntriples."""

    lenient: bool = field(
        default=False, metadata={"help": "Accept IRIs and language tags that are not valid, as found in old dumps."}
    )


@dataclass(frozen=True, slots=True)
class NTriplesSource:
    """Reads N-Triples (RDF 1.1, and of RDF 1.2 triple terms and directions of language tags).

    IRIs are entities, blank nodes are scoped to their file, literals keep their exact string and their language tag as
    written ("en--ltr" with a direction); xsd:string is the datatype of a literal that names none. A triple term is a
    content of kind INSTANCE whose lexical form is its canonical text.
    """

    name: str = "ntriples"
    summary: str = "RDF graphs in N-Triples, checked as strictly as a parser does"
    suffixes: tuple[str, ...] = (".nt", ".ntriples")
    converter: str = "triples"
    exporter: str = "ntriples"
    splits: bool = True
    options_type: type[NTriplesOptions] = NTriplesOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: NTriplesOptions) -> int:
        """Return the next begin of a line whose subject is not that of the line before."""
        return find_run(piece, wanted)

    def read(self, piece: InputSlice, options: NTriplesOptions, reject: Reject) -> Iterator[TripleRecords]:
        """Yield the triples in batches that cut no run of one subject; a line that is not valid is rejected."""
        reader = BlockReader(file=piece.file, parser=LineParser(scope=piece.file.scope, lenient=options.lenient))
        lines = _LineNumbers(piece)
        for offset, chunks in iter_runs(piece):
            block = b"".join([*chunks, PADDING])
            yield reader.read(block, offset, partial(_reject_line, reject, lines, offset, block))
            lines.leave(offset, block)


class _LineNumbers:
    """Counts lines from the first bad one on, so that the file is read again once at most."""

    def __init__(self, piece: InputSlice) -> None:
        self._piece = piece
        self._at, self._line = 0, 0  # a line of the file and its number; 0: none is known yet

    def place(self, offset: int, block: bytes, begin: int, column: int) -> Place:
        """Return the place of a line that begins at `begin` of the block at `offset`; lines are asked for in order."""
        if self._line:
            self._line += block.count(b"\n", self._at - offset, begin)
        else:
            self._line = self._piece.place(offset + begin).line or 1
        self._at = offset + begin
        return Place(self._piece.file.name, offset=offset + begin, line=self._line, column=column)

    def leave(self, offset: int, block: bytes) -> None:
        """Go on to the block that follows."""
        if self._line:
            end = len(block) - len(PADDING)
            self._line += block.count(b"\n", self._at - offset, end)
            self._at = offset + end


def _reject_line(
    reject: Reject, lines: _LineNumbers, offset: int, block: bytes, begin: int, end: int, error: LineError
) -> None:
    data = block[begin:end]
    shown = data[: 4 * _SHOWN_CHARACTERS + 3].rstrip(b"\r\n").decode(errors="backslashreplace")  # all bytes of these
    shown = shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + "..."
    place = lines.place(offset, block, begin, error.column)
    found = f"{shown!r} ({error})"
    reject(
        BadRecordError(
            place, expected="a triple in N-Triples", found=found, begin=offset + begin, end=offset + end, data=data
        )
    )


NTRIPLES = NTriplesSource()
