"""JSON-LD 1.1, read by pyoxigraph; contexts come from given files only."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice
from lisdata.records import TripleRecords
from lisdata.registry import Reject
from lisdata.sources.jsonld_contexts import ContextError, ContextFiles, has_remote_context, place_contexts
from lisdata.sources.rdf import RdfOptions
from lisdata.sources.rdf_depth import check_json_depth
from lisdata.sources.rdf_grouping import Grouping
from lisdata.sources.rdf_names import JSON_NAMES
from lisdata.sources.rdf_parser import ParserSettings, read_rdf

_NO_BASE = "http://no-base.invalid/"  # a relative IRI becomes one of these, and is refused


def _pinned(pairs: tuple[str, ...] | list[str]) -> list[str]:
    """Return the contexts as a plan holds them: what each file holds, not where it lies."""
    found = []
    for pair in pairs:
        url, _, path = pair.rpartition("=")
        found.append(f"{url}={Path(path).name} sha256 {sha256(Path(path).read_bytes()).hexdigest()}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonldOptions(RdfOptions):
    """Options of source jsonld."""

    context: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "URL=FILE: the context at a URL that documents name, as a file, for nothing is fetched.",
            "pin": _pinned,
            "is_spared": True,  # exports name no context by URL
        },
    )

    def __post_init__(self) -> None:
        super(JsonldOptions, self).__post_init__()
        ContextFiles(self.context)


@dataclass(frozen=True, slots=True)
class JsonldSource:
    """Reads JSON-LD 1.1 documents; terms become what the other RDF sources make (see `RdfSource`).

    A document without contexts named by URL is streamed, if its contexts come first; any other is held in memory. What
    JSON-LD leaves out of RDF by its rules (members without an IRI, for instance) is not read. A relative IRI is an
    error unless there is a base, or `lenient`: then it stays what it is.
    """

    name: str = "jsonld"
    summary: str = "RDF datasets in JSON-LD 1.1, contexts from given files"
    suffixes: tuple[str, ...] = (".jsonld",)
    converter: str = "triples"
    exporter: str = "jsonld"
    splits: bool = False
    options_type: type[JsonldOptions] = JsonldOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: JsonldOptions) -> int:
        """Return where `piece` begins: a document is one value."""
        return piece.begin

    def read(self, piece: InputSlice, options: JsonldOptions, reject: Reject) -> Iterator[TripleRecords]:
        """Yield the statements in batches that cut no run; from the first error on, the document is rejected."""
        check_json_depth(piece)
        has_base = options.base_iri is not None or options.lenient
        settings = ParserSettings(
            format="JSON_LD",
            title="JSON-LD",
            base_iri=options.base_iri if has_base else _NO_BASE,
            lenient=options.lenient,
            names=JSON_NAMES,
            goes_on=False,
            no_base=None if has_base else _NO_BASE,
        )
        open_stream: Callable[[], BinaryIO] = piece.file.open
        if has_remote_context(piece.file):
            data = piece.read()
            try:
                placed = place_contexts(data, ContextFiles(options.context), options.base_iri)
            except ContextError as error:
                reject(_missing_context(piece, data, error))
                return
            open_stream = partial(io.BytesIO, placed)
            if placed != data:
                reject = _rejecting_whole(reject, len(data))
        yield from read_rdf(piece, open_stream, settings, Grouping(options.group_by), reject)


def _missing_context(piece: InputSlice, data: bytes, error: ContextError) -> BadRecordError:
    place = piece.place(error.offset or 0)
    return BadRecordError(place, expected=error.expected, found=error.found, begin=0, end=len(data), data=data)


def _rejecting_whole(reject: Reject, size: int) -> Reject:
    """Return what rejects the whole document: offsets in one whose contexts are in place are not those of the file."""

    def reject_whole(error: BadRecordError) -> None:
        reject(BadRecordError(error.place, expected=error.expected, found=error.found, begin=0, end=size))

    return reject_whole


JSONLD = JsonldSource()
