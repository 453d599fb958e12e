"""Units of plain text as trees: a document of paragraphs, a paragraph or line of sentences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lisdata.records import DocumentRecords, TextRecords
from lisdata.sources.document_units import DocumentUnits, Segment
from lisdata.sources.lines import line_bounds

DOCUMENT, PARAGRAPH = "document", "paragraph"


def units_to_documents(records: TextRecords, is_ink: npt.NDArray[np.bool_]) -> DocumentRecords:
    """Return each unit as a tree; a document's paragraphs are what blank lines part, blank being bytes not `is_ink`."""
    units = DocumentUnits()
    for data in records.documents.to_pylist():
        root = units.add(records.unit, -1, 0, len(data))
        for begin, end in _find_paragraphs(data, is_ink) if records.unit == DOCUMENT else _trim(data, 0, len(data)):
            parent = units.add(PARAGRAPH, root, begin, end) if records.unit == DOCUMENT else root
            units.add_sentences(parent, data, [(begin, end)])
        units.close_document()
    return units.to_records(records.file, records.documents, records.begin, records.end)


def _find_paragraphs(data: bytes, is_ink: npt.NDArray[np.bool_]) -> list[Segment]:
    """Return where runs of lines with ink are, without the white space around them."""
    if not data:
        return []
    bounds = line_bounds(data)
    has_ink = np.logical_or.reduceat(is_ink[np.frombuffer(data, np.uint8)], bounds[:-1])
    edges = np.diff(has_ink.astype(np.int8), prepend=0, append=0)
    begins, ends = bounds[np.flatnonzero(edges > 0)], bounds[np.flatnonzero(edges < 0)]
    return [p for begin, end in zip(begins.tolist(), ends.tolist(), strict=True) for p in _trim(data, begin, end)]


def _trim(data: bytes, begin: int, end: int) -> list[Segment]:
    """Return the bytes without the white space around them, nothing where nothing is left."""
    piece = data[begin:end]
    begin, end = begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())
    return [(begin, end)] if begin < end else []
