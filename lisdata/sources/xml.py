"""XML: the tree of each document, or of each record of a long one, without entities, DTDs or network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lisdata.errors import BadRecordError
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import ParsedDocument, TreeRecords
from lisdata.registry import Reject
from lisdata.sources.whole_documents import read_document
from lisdata.sources.xml_records import XmlPiece, pieces_to_records
from lisdata.sources.xml_stream import read_stream
from lisdata.sources.xml_text import XmlError, decode_xml
from lisdata.sources.xml_tree import parse_xml

_MAX_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlOptions:
    """Options of source xml."""

    record_tag: str | None = field(
        default=None,
        metadata={"help": "Read a document piece by piece: a structure for each element of this name, as written."},
    )
    keep_document: bool = field(default=True, metadata={"help": "Keep the bytes of each structure beside its tree."})
    max_document_bytes: int = field(
        default=256 << 20,
        metadata={"help": "Refuse a longer document, or record with what stands before it: it is held in memory."},
    )

    def __post_init__(self) -> None:
        if not 1 <= self.max_document_bytes <= _MAX_BYTES:
            raise ValueError(f"expected a limit of 1 to {_MAX_BYTES} bytes, got {self.max_document_bytes=}")
        if self.record_tag == "":
            raise ValueError("expected the name of an element, got an empty record_tag")


@dataclass(frozen=True, slots=True)
class XmlSource:
    """Reads well-formed XML 1.0 with namespaces, in any encoding that Python knows.

    Entities are refused where they are declared, and so is a reference to any but the five of XML; a document type is
    kept and what it points to is not read. With `record_tag` the markup around the records stays beside them, so
    nothing of the document is left out.
    """

    name: str = "xml"
    summary: str = "XML documents: elements with namespaces, attributes, texts, CDATA, comments, instructions"
    suffixes: tuple[str, ...] = (".xml",)
    converter: str = "trees"
    exporter: str = "xml"
    splits: bool = False
    options_type: type[XmlOptions] = XmlOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: XmlOptions) -> int:
        """Raise ValueError: what encloses a byte is not known from the bytes near it."""
        raise ValueError(f"a document is read from its begin, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: XmlOptions, reject: Reject) -> Iterator[TreeRecords]:
        """Yield the trees of `piece`; a document that is not well-formed is a bad record.

        With `record_tag` that is what begins behind the last whole record.
        """
        if options.record_tag is not None:
            limit = options.max_document_bytes
            yield from read_stream(piece, options.record_tag, reject, limit, keep_document=options.keep_document)
            return
        document = self.read_document(piece, options, reject)
        if document is not None:
            yield from self.to_records([document])

    def is_document(self, file: InputFile, options: XmlOptions) -> bool:
        """Tell whether files are read whole."""
        return options.record_tag is None

    def read_document(self, piece: InputSlice, options: XmlOptions, reject: Reject) -> ParsedDocument | None:
        """Return the document with its tree; None, and it is rejected, when it is too long or not well-formed."""
        data = read_document(piece, options.max_document_bytes, reject)
        if data is None:
            return None
        text = None
        try:
            text = decode_xml(data)
            tree = parse_xml(text.data)
        except XmlError as fault:
            place = piece.place(fault.at if text is None else text.offset(fault.at))
            reject(BadRecordError(place, expected=fault.expected, found=fault.found, begin=0, end=len(data)))
            return None
        return ParsedDocument(
            file=piece.file, size=len(data), data=data if options.keep_document else None, parsed=tree
        )

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[TreeRecords]:
        """Yield the trees of documents together."""
        pieces = [
            XmlPiece(tree=document.parsed, begin=0, end=document.size, document=document.data) for document in documents
        ]
        files = tuple(document.file for document in documents)
        yield replace(pieces_to_records(pieces, files[0]), files=files)


XML = XmlSource()
