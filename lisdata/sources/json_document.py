"""JSON with values nested as they come: a tree a document, one a file or one a line, nothing in it changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lisdata.decompression import without_compression
from lisdata.inputs import InputFile, InputSlice
from lisdata.registry import Reject

if TYPE_CHECKING:
    from lisdata.records import ParsedDocument, TreeRecords

_MAX_BYTES = 1 << 30
_LINE_SUFFIXES = (".ndjson", ".jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """Options of source json."""

    lines: bool | None = field(
        default=None,
        metadata={"help": "Read each line as a document; by default of files whose name ends in .ndjson or .jsonl."},
    )
    keep_document: bool = field(default=True, metadata={"help": "Keep the bytes of each document beside its tree."})
    max_document_bytes: int = field(
        default=256 << 20, metadata={"help": "Refuse a longer document: its tree takes many times its bytes."}
    )

    def __post_init__(self) -> None:
        if not 1 <= self.max_document_bytes <= _MAX_BYTES:
            raise ValueError(f"expected a limit of 1 to {_MAX_BYTES} bytes, got {self.max_document_bytes=}")


@dataclass(frozen=True, slots=True)
class JsonSource:
    """Reads JSON (RFC 8259) exactly: numbers as they are spelled, members in order and as often as they come.

    A value is a node: an object or array (kind name, "object" or "array"), or the content of a scalar as in
    `json_contents`; a member's name is its value's key, a string. Nesting may be as deep as it likes.
    """

    name: str = "json"
    summary: str = "JSON documents, one a file or a line: objects and arrays as trees, numbers as spelled"
    suffixes: tuple[str, ...] = (".json", *_LINE_SUFFIXES)
    converter: str = "trees"
    exporter: str = "json"
    splits: bool = True
    options_type: type[JsonOptions] = JsonOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: JsonOptions) -> int:
        """Return where a line begins, of documents on lines; another document is never cut: then the slice's end."""
        from lisdata.sources.lines import find_line

        if has_lines(piece.file, options):
            return find_line(piece, wanted)
        return piece.file.size if piece.end is None else piece.end

    def read(self, piece: InputSlice, options: JsonOptions, reject: Reject) -> Iterator[TreeRecords]:
        """Yield the trees of `piece`; what is no JSON, or not in UTF-8, is a bad record: the line, or the file.

        A line of nothing but space is an empty tree.
        """
        from lisdata.sources.json_records import read_lines

        if has_lines(piece.file, options):
            yield from read_lines(piece, reject, options.max_document_bytes, keep_document=options.keep_document)
            return
        document = self.read_document(piece, options, reject)
        if document is not None:
            yield from self.to_records([document])

    def is_document(self, file: InputFile, options: JsonOptions) -> bool:
        """Tell whether a file is one document, and not one a line."""
        return not has_lines(file, options)

    def read_document(self, piece: InputSlice, options: JsonOptions, reject: Reject) -> ParsedDocument | None:
        """Return the document; None, and it is rejected, when it is too long or no JSON."""
        from lisdata.records import ParsedDocument
        from lisdata.sources.json_records import read_checked

        data = read_checked(piece, reject, options.max_document_bytes)
        if data is None:
            return None
        kept = data if options.keep_document else None
        return ParsedDocument(file=piece.file, size=len(data), data=kept, parsed=data)

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[TreeRecords]:
        """Yield the trees of documents together."""
        from lisdata.sources.json_records import documents_to_records

        yield documents_to_records(documents)


def has_lines(file: InputFile, options: JsonOptions) -> bool:
    """Tell whether each line of a file is a document."""
    if options.lines is not None:
        return options.lines
    return without_compression(file.name.lower()).endswith(_LINE_SUFFIXES)


JSON = JsonSource()
