"""Plain UTF-8 text: lines, paragraphs or whole documents, streamed in blocks; only "\\n" ends a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import BadRecordError
from lisdata.inputs import InputFile, InputSlice
from lisdata.kernels.arrays import binary_array
from lisdata.records import DocumentRecords, TextRecords
from lisdata.registry import Reject
from lisdata.schema import NO_CONTENTS, NO_LABELS
from lisdata.sources.lines import PROBE_BYTES, LineBlocks, LineLimit, find_line, line_bounds, too_long
from lisdata.sources.text_hierarchy import units_to_documents

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_IS_INK = np.ones(256, bool)
_IS_INK[list(b" \t\n\r\v\f")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """Options of source text."""

    unit: Literal["line", "paragraph", "document"] = field(
        default="line",
        metadata={"help": "What one structure holds; a paragraph ends after its run of blank lines."},
    )
    hierarchy: bool = field(
        default=False,
        metadata={"help": "Make instances of the paragraphs of documents and of sentences, not only of units."},
    )
    max_document_bytes: int = field(
        default=256 << 20, metadata={"help": "Refuse a longer unit, which would have to be held in memory whole."}
    )

    def __post_init__(self) -> None:
        if self.max_document_bytes < 1:
            raise ValueError(f"expected a limit of at least 1 byte, got {self.max_document_bytes=}")


@dataclass(frozen=True, slots=True)
class TextSource:
    """Reads text files; together the units are the file's bytes, line ends and blank lines included.

    Blank lines that a file begins with are a paragraph of their own. An empty file is no line, no paragraph and one
    empty document.
    """

    name: str = "text"
    summary: str = "Plain UTF-8 text by line, paragraph or document"
    suffixes: tuple[str, ...] = (".txt", ".text")
    converter: str = "text"
    exporter: str = "text"
    splits: bool = True
    options_type: type[TextOptions] = TextOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: TextOptions) -> int:
        """Return where a line or paragraph begins; a document is never cut."""
        if options.unit == "line":
            return find_line(piece, wanted)
        if options.unit == "paragraph":
            return _find_paragraph(piece, wanted)
        return _end_of(piece)

    def read(self, piece: InputSlice, options: TextOptions, reject: Reject) -> Iterator[TextRecords | DocumentRecords]:
        """Yield the units of `piece`, as trees where options say so."""
        for records in read_units(piece, options, reject):
            yield units_to_documents(records, _IS_INK) if options.hierarchy else records


def read_units(piece: InputSlice, options: TextOptions, reject: Reject) -> Iterator[TextRecords]:
    """Yield the units of `piece`; one that is not UTF-8 or is too long is rejected."""
    limit = LineLimit(unit="line", max_bytes=options.max_document_bytes, reject=reject)
    blocks = LineBlocks(piece, limit=limit if options.unit == "line" else None)
    for offset, data, bounds in _iter_units(piece, blocks, options):
        if data is None:
            reject(too_long(blocks, offset, int(bounds[-1]), options.unit, options.max_document_bytes))
            continue
        is_good = np.ones(len(bounds) - 1, bool)
        for error in _find_errors(blocks, offset, data, bounds, options):
            is_good[np.searchsorted(bounds, error.begin - offset, side="right") - 1] = False
            reject(error)
        if is_good.any():
            yield _records(piece.file, options.unit, offset, data, bounds, is_good)


_Units = tuple[int, bytes | None, Int64]


def _iter_units(piece: InputSlice, blocks: LineBlocks, options: TextOptions) -> Iterator[_Units]:
    """Yield (offset, bytes, bounds of the units in them); bytes are None for a document that is too long."""
    if options.unit == "line":
        for offset, data in blocks:
            yield offset, data, line_bounds(data)
    elif options.unit == "paragraph":
        yield from _iter_paragraphs(piece.begin, blocks)
    else:
        yield _read_document(piece, options.max_document_bytes)


def _iter_paragraphs(begin: int, blocks: LineBlocks) -> Iterator[_Units]:
    carried: list[bytes] = []  # the paragraph that goes on in the next block
    after_blank = False
    for offset, data in blocks:
        begins, after_blank = _paragraph_begins(data, after_blank)
        if not len(begins):
            carried.append(data)
            continue
        size, last = sum(map(len, carried)), int(begins[-1])
        whole, carried = b"".join([*carried, data[:last]]), [data[last:]]
        yield begin, whole, np.concatenate(([0], begins + size))
        begin = offset + last
    if carried:
        rest = b"".join(carried)
        yield begin, rest, np.array([0, len(rest)])


def _paragraph_begins(data: bytes, after_blank: bool) -> tuple[Int64, bool]:
    """Return where a line with ink follows a blank one, and whether the last line is blank."""
    bounds = line_bounds(data)
    is_blank = ~np.logical_or.reduceat(_IS_INK[np.frombuffer(data, np.uint8)], bounds[:-1])
    is_after_blank = np.concatenate(([after_blank], is_blank[:-1]))
    return bounds[:-1][~is_blank & is_after_blank], bool(is_blank[-1])


def _find_paragraph(piece: InputSlice, wanted: int) -> int:
    begin = find_line(piece, wanted)
    if begin == piece.begin:
        return begin
    after_blank = False  # perhaps not, but then a later paragraph is as good a cut

    def pass_over(_: int, end: int) -> None:
        nonlocal begin, after_blank
        begin, after_blank = end, False

    for offset, data in replace(piece, begin=begin).blocks(PROBE_BYTES, on_long_line=pass_over):
        begins, after_blank = _paragraph_begins(data, after_blank)
        if len(begins):
            return offset + int(begins[0])
        begin = offset + len(data)
    return begin


def _read_document(piece: InputSlice, limit: int) -> _Units:
    size = 0
    parts: list[bytes] = []
    if piece.file.compression is None and (known := _end_of(piece) - piece.begin) > limit:
        return piece.begin, None, np.array([0, known])
    for _, data in piece.chunks():
        size += len(data)
        if size > limit:
            parts.clear()
        else:
            parts.append(data)
    return piece.begin, None if size > limit else b"".join(parts), np.array([0, size])


def _end_of(piece: InputSlice) -> int:
    if piece.end is not None:
        return piece.end
    if piece.file.compression is None:
        return piece.file.size
    return piece.begin + sum(len(data) for _, data in piece.chunks())


def _find_errors(
    blocks: LineBlocks, offset: int, data: bytes, bounds: Int64, options: TextOptions
) -> Iterator[BadRecordError]:
    """Yield an error for each unit that is not UTF-8 or longer than allowed."""
    is_good = _is_utf8(data)
    sizes = np.diff(bounds)
    for unit in np.flatnonzero((sizes > options.max_document_bytes) | (not is_good)).tolist():
        first, last = int(bounds[unit]), int(bounds[unit + 1])
        if last - first > options.max_document_bytes:
            yield too_long(blocks, offset + first, last - first, options.unit, options.max_document_bytes)
            continue
        unit_data = data[first:last]
        try:
            unit_data.decode()
        except UnicodeDecodeError as error:
            yield BadRecordError(
                blocks.place(offset + first + error.start),
                expected="UTF-8",
                found=f"byte 0x{unit_data[error.start]:02x} ({error.reason})",
                begin=offset + first,
                end=offset + last,
                data=unit_data,
            )


def _is_utf8(data: bytes) -> bool:
    """Tell without making a string of it."""
    try:
        binary_array(np.array([0, len(data)]), np.frombuffer(data, np.uint8), pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def _records(file: InputFile, unit: str, offset: int, data: bytes, bounds: Int64, is_good: Bools) -> TextRecords:
    documents = binary_array(bounds.astype(np.int64), np.frombuffer(data, np.uint8), pa.large_binary())
    begin, end = bounds[:-1], bounds[1:]
    if not is_good.all():
        documents, begin, end = documents.filter(pa.array(is_good)), begin[is_good], end[is_good]
    return TextRecords(
        file=file,
        unit=unit,
        documents=documents,
        begin=(begin + offset).astype(np.uint64),
        end=(end + offset).astype(np.uint64),
        contents=NO_CONTENTS,
        labels=NO_LABELS,
        mention_offsets=np.zeros(len(begin) + 1, np.int64),
        mention_begin=np.empty(0, np.uint64),
        mention_end=np.empty(0, np.uint64),
        mention_content=np.empty(0, np.uint32),
        field_offsets=np.zeros(len(begin) + 1, np.int64),
        field_role=np.empty(0, np.uint32),
        field_content=np.empty(0, np.uint32),
        field_mention=np.empty(0, np.int64),
    )


TEXT = TextSource()
