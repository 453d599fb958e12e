"""Markdown documents: document > section > paragraph > sentence > word, and the document's own bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lisdata.errors import BadRecordError
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import DocumentRecords, ParsedDocument
from lisdata.registry import Reject
from lisdata.sources.document_units import DocumentUnits
from lisdata.sources.markdown_blocks import add_markdown
from lisdata.sources.whole_documents import read_document


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownOptions:
    """Options of source markdown."""

    max_document_bytes: int = field(default=64 << 20, metadata={"help": "Refuse a longer document."})

    def __post_init__(self) -> None:
        if self.max_document_bytes < 1:
            raise ValueError(f"expected a limit of at least 1 byte, got {self.max_document_bytes=}")


@dataclass(frozen=True, slots=True)
class MarkdownSource:
    """Reads a file as one document; what is not UTF-8 is a bad record."""

    name: str = "markdown"
    summary: str = "Markdown: sections, paragraphs, lists, tables, code; sentences and words"
    suffixes: tuple[str, ...] = (".md", ".markdown")
    converter: str = "documents"
    exporter: str = "markdown"
    splits: bool = False
    options_type: type[MarkdownOptions] = MarkdownOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: MarkdownOptions) -> int:
        """Raise ValueError: a document is never cut."""
        raise ValueError(f"a document is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: MarkdownOptions, reject: Reject) -> Iterator[DocumentRecords]:
        """Yield the document of `piece`."""
        document = self.read_document(piece, options, reject)
        if document is not None:
            yield from self.to_records([document])

    def is_document(self, file: InputFile, options: MarkdownOptions) -> bool:
        """Return True: a file is one document."""
        return True

    def read_document(self, piece: InputSlice, options: MarkdownOptions, reject: Reject) -> ParsedDocument | None:
        """Return the document; None, and it is rejected, when it is too long or not in UTF-8."""
        data = read_document(piece, options.max_document_bytes, reject)
        if data is None:
            return None
        try:
            data.decode()
        except UnicodeDecodeError as error:
            found = f"byte 0x{data[error.start]:02x} ({error.reason})"
            place = piece.place(piece.begin + error.start)
            reject(BadRecordError(place, expected="UTF-8", found=found, begin=0, end=len(data)))
            return None
        return ParsedDocument(file=piece.file, size=len(data), data=data, parsed=data)

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[DocumentRecords]:
        """Yield the units of documents together."""
        units = DocumentUnits()
        for document in documents:
            add_markdown(units, document.parsed)
        texts = pa.array([document.data for document in documents], pa.large_binary())
        files = tuple(document.file for document in documents)
        end = np.array([document.size for document in documents], np.uint64)
        yield units.to_records(files[0], texts, np.zeros_like(end), end, files=files)


MARKDOWN = MarkdownSource()
