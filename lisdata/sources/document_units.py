"""Gathers the units of documents (sections, paragraphs, sentences ...) and the bytes of running text in them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.inputs import InputFile
from lisdata.records import DocumentRecords
from lisdata.sources.sentence_splitting import split_sentences

SENTENCE = "sentence"
Segment = tuple[int, int]
UInt64 = npt.NDArray[np.uint64]


@dataclass(slots=True)
class DocumentUnits:
    """Units and segments of documents that are added one after another; see `DocumentRecords`."""

    _labels: dict[str, int] = field(default_factory=dict)
    _label: list[int] = field(default_factory=list)
    _parent: list[int] = field(default_factory=list)
    _begin: list[int] = field(default_factory=list)
    _end: list[int] = field(default_factory=list)
    _segment_unit: list[int] = field(default_factory=list)
    _segments: list[Segment] = field(default_factory=list)
    _unit_offsets: list[int] = field(default_factory=lambda: [0])
    _segment_offsets: list[int] = field(default_factory=lambda: [0])

    def add(self, label: str, parent: int, begin: int, end: int) -> int:
        """Add a unit of the open document, bytes [begin, end) of it; return its number there."""
        self._label.append(self._labels.setdefault(label, len(self._labels)))
        self._parent.append(parent)
        self._begin.append(begin)
        self._end.append(end)
        return len(self._label) - 1 - self._unit_offsets[-1]

    def move_end(self, unit: int, end: int) -> None:
        """Let a unit of the open document end at byte `end`."""
        self._end[self._unit_offsets[-1] + unit] = end

    def add_text(self, unit: int, segments: list[Segment]) -> None:
        """Let the words in some bytes of the open document belong to a unit."""
        self._segments.extend(segments)
        self._segment_unit.extend([unit] * len(segments))

    def add_sentences(self, parent: int, data: bytes, segments: list[Segment]) -> None:
        """Add the sentences of a paragraph whose text is in some bytes of the document `data`, which are UTF-8."""
        joined = b"\n".join(data[begin:end] for begin, end in segments)
        starts = [0, *accumulate(end - begin + 1 for begin, end in segments)]
        text = joined.decode()
        is_ascii = len(text) == len(joined)
        character = at = 0
        for first, last in split_sentences(text):
            begin = first if is_ascii else at + len(text[character:first].encode())
            end = last if is_ascii else begin + len(text[first:last].encode())
            character, at = last, end
            pieces = []
            for number in range(bisect_right(starts, begin) - 1, bisect_right(starts, end - 1)):
                start, (segment_begin, segment_end) = starts[number], segments[number]
                piece = (
                    max(segment_begin, segment_begin + begin - start),
                    min(segment_end, segment_begin + end - start),
                )
                pieces.append(piece)
            unit = self.add(SENTENCE, parent, pieces[0][0], pieces[-1][1])
            self.add_text(unit, [piece for piece in pieces if piece[0] < piece[1]])

    def close_document(self) -> None:
        """End the open document; what is added next belongs to another."""
        self._unit_offsets.append(len(self._label))
        self._segment_offsets.append(len(self._segments))

    def to_records(
        self,
        file: InputFile,
        documents: pa.LargeBinaryArray,
        begin: UInt64,
        end: UInt64,
        *,
        files: tuple[InputFile, ...] | None = None,
    ) -> DocumentRecords:
        """Return the records of the documents, which are bytes [begin, end) of the file, or each of its own."""
        segments = np.array(self._segments, np.int64).reshape(-1, 2)
        return DocumentRecords(
            file=file,
            documents=documents,
            begin=begin,
            end=end,
            unit_labels=tuple(self._labels),
            unit_offsets=np.array(self._unit_offsets, np.int64),
            unit_label=np.array(self._label, np.int64),
            unit_parent=np.array(self._parent, np.int64),
            unit_begin=np.array(self._begin, np.int64),
            unit_end=np.array(self._end, np.int64),
            segment_offsets=np.array(self._segment_offsets, np.int64),
            segment_unit=np.array(self._segment_unit, np.int64),
            segment_begin=segments[:, 0].copy(),
            segment_end=segments[:, 1].copy(),
            files=files,
        )
