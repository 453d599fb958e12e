"""Source code: the concrete syntax tree of each file (tree-sitter), errors and all, and the file's own bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import ParsedDocument, TreeRecords
from lisdata.registry import Reject
from lisdata.sources.code_languages import SUFFIXES, Language, language_of, load_grammar
from lisdata.sources.code_records import parse_document, trees_to_records
from lisdata.sources.whole_documents import read_document

_MAX_BYTES = (1 << 32) - 1  # what tree-sitter counts


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOptions:
    """Options of source code."""

    language: Language | None = field(
        default=None, metadata={"help": "Language of all files; by default what each one's suffix says."}
    )
    max_document_bytes: int = field(
        default=64 << 20, metadata={"help": "Refuse a longer file: its tree takes many times its bytes."}
    )

    def __post_init__(self) -> None:
        if not 1 <= self.max_document_bytes <= _MAX_BYTES:
            raise ValueError(f"expected a limit of 1 to {_MAX_BYTES} bytes, got {self.max_document_bytes=}")


@dataclass(frozen=True, slots=True)
class CodeSource:
    """Reads a file as one tree: whatever its bytes are has one, with ERROR and missing nodes, which are counted."""

    name: str = "code"
    summary: str = "Source code: the concrete syntax tree with fields, tokens and comments, by tree-sitter"
    suffixes: tuple[str, ...] = tuple(SUFFIXES)
    converter: str = "trees"
    exporter: str = "code"
    splits: bool = False
    options_type: type[CodeOptions] = CodeOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: CodeOptions) -> int:
        """Raise ValueError: a file is never cut."""
        raise ValueError(f"a source file is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: CodeOptions, reject: Reject) -> Iterator[TreeRecords]:
        """Yield the tree of `piece`; a file whose language is not known or that is too long is rejected."""
        document = self.read_document(piece, options, reject)
        if document is not None:
            yield from self.to_records([document])

    def is_document(self, file: InputFile, options: CodeOptions) -> bool:
        """Return True: a file is one document."""
        return True

    def read_document(self, piece: InputSlice, options: CodeOptions, reject: Reject) -> ParsedDocument | None:
        """Return the file with its tree; None, and it is rejected, as `read` says."""
        data = read_document(piece, options.max_document_bytes, reject)
        if data is None:
            return None
        language = options.language or language_of(piece.file.name)
        if language is None:
            expected = f"a language, or a name that ends in {', '.join(SUFFIXES)}"
            place = Place(piece.file.name, offset=piece.begin)
            reject(BadRecordError(place, expected=expected, found="another name", begin=0, end=len(data)))
            return None
        return parse_document(data, load_grammar(language), piece.file)

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[TreeRecords]:
        """Yield the trees of files, those in one language together while they follow one another."""
        for grammar, found in groupby(documents, key=lambda document: document.parsed.grammar):
            yield trees_to_records(list(found), grammar)


CODE = CodeSource()
