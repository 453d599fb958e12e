"""Runs the compiled scan over the lines of a block, a window of them at a time, and gives what it made as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels import entity_words as words
from lisdata.kernels.arrays import binary_array
from lisdata.kernels.compiled import BYTES, INT64S, OUT_BYTES, kernel
from lisdata.kernels.entity_scan import scan_lines
from lisdata.kernels.entity_tables import CONTENT, LINE, TABLES, WINDOW_BYTES, begin_window, rows_of

Rows = npt.NDArray[Any]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedWindow:
    """What was made of a window's lines.

    `lines` (LINE) says what there is of each table at the end of each line. `labels` are (what the symbol spells, None
    for the general ones; number) by first use. `participants`, `facts` and `structures` are PARTICIPANT, FACT and
    STRUCTURE. Contents have `content_group` (of `entity_words.GROUPS`; for a text in a language FIRST_LANGUAGE and the
    row of its label GROUP_OF) and `lexicals`; all are different.
    """

    lines: Rows
    labels: list[tuple[str | None, int]]
    participants: Rows
    facts: Rows
    structures: Rows
    content_group: Int64
    lexicals: pa.LargeBinaryArray


@kernel(types.void(rows_of(CONTENT), BYTES, BYTES, INT64S, INT64S, OUT_BYTES))
def _spell(contents: Any, data: Any, prefixes: Any, prefix_offsets: Any, offsets: Any, out: Any) -> None:
    for row in range(len(contents)):
        content = contents[row]
        at = offsets[row]
        if content.group < len(prefix_offsets) - 1:
            for index in range(prefix_offsets[content.group], prefix_offsets[content.group + 1]):
                out[at] = prefixes[index]
                at += 1
        source, target = data[content.begin : content.end], out[at : offsets[row + 1]]
        for index in range(len(target)):
            target[index] = source[index]


class EntityScanner:
    """Scans lines of entities.

    `entity_iri` and `reference_iri` stand before the ids of entities and hashes of references. Lines of more than
    `max_bytes` are not taken. `ends_structures`: each statement is a structure, not each entity.
    """

    def __init__(self, *, entity_iri: str, reference_iri: str, max_bytes: int, ends_structures: bool) -> None:
        self._max_bytes, self._ends_structures = max_bytes, ends_structures
        known = [word.encode() for word in (*words.WORDS, entity_iri)]
        self._words, self._words_at = b"".join(known), np.cumsum([0, *map(len, known)], dtype=np.int64)
        prefixes = [b""] * words.FIRST_LANGUAGE
        prefixes[words.ENTITIES], prefixes[words.OWN_REFERENCES] = entity_iri.encode(), reference_iri.encode()
        self._prefixes = np.frombuffer(b"".join(prefixes), np.uint8)
        self._prefix_offsets = np.cumsum([0, *map(len, prefixes)], dtype=np.int64)
        self._tables = np.zeros(1, TABLES)

    def windows(self, data: bytes, offset: int, bounds: Int64) -> Iterator[ScannedWindow]:
        """Yield the lines of a block at `offset` of the input, window by window.

        The bytes have to be UTF-8. `bounds` are the places in them where lines begin, and the end.
        """
        lines = np.zeros(len(bounds), LINE)
        lines["begin"][1:], lines["end"][1:] = bounds[:-1] + offset, bounds[1:] + offset
        number = 0  # of the last line that was scanned, 0 for none
        while number + 1 < len(lines):
            end = max(int(np.searchsorted(bounds, bounds[number] + WINDOW_BYTES, side="right")), number + 2)
            window = lines[number:end]
            for name in ("contents", "labels", "participants", "facts", "structures"):
                window[name][0] = 0
            num_lines = self._scan(data[bounds[number] : bounds[end - 1]], offset + int(bounds[number]), window)
            yield self._scanned(window[1:num_lines])
            number += num_lines - 1

    def _scan(self, data: bytes, offset: int, lines: Rows) -> int:
        """Scan the lines behind the first of `lines`; return the line for which there was no room, or the end."""
        size = len(self._words)
        buffer = self._tables["data"][0]
        if len(data) > WINDOW_BYTES:  # a line
            lines["is_behind"][1:] = lines["is_behind"][0] | lines["ends_array"][0]
            lines["ends_array"][1:] = data.rstrip().endswith(b"]")
            begin_window(self._tables, self._words_at, size)
            return len(lines)
        buffer[:size] = np.frombuffer(self._words, np.uint8)
        buffer[size : size + len(data)] = np.frombuffer(data, np.uint8)
        begin_window(self._tables, self._words_at, size + len(data))
        lines["spare"][0] = size + len(data)
        return int(scan_lines(self._tables, lines, offset - size, self._max_bytes, self._ends_structures))

    def _scanned(self, lines: Rows) -> ScannedWindow:
        tables = self._tables[0]
        labels, participants, facts, structures, contents = (
            tables[name][: tables[f"num_{name}"]]
            for name in ("labels", "participants", "facts", "structures", "contents")
        )
        symbols = tables["symbols"][labels["symbol"]]
        spelled = [
            tables["data"][begin:end].tobytes().decode() if number else None
            for number, begin, end in zip(
                labels["symbol"].tolist(), symbols["begin"].tolist(), symbols["end"].tolist(), strict=True
            )
        ]
        return ScannedWindow(
            lines=lines,
            labels=list(zip(spelled, labels["number"].tolist(), strict=True)),
            participants=participants.copy(),
            facts=facts.copy(),
            structures=structures.copy(),
            content_group=contents["group"].astype(np.int64),
            lexicals=self._spelled(contents),
        )

    def _spelled(self, contents: Rows) -> pa.LargeBinaryArray:
        sizes = (contents["end"] - contents["begin"]).astype(np.int64)
        prefix_sizes = np.append(np.diff(self._prefix_offsets), 0)
        sizes += prefix_sizes[np.minimum(contents["group"], words.FIRST_LANGUAGE)]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        out = np.empty(offsets[-1], np.uint8)
        _spell(contents, self._tables["data"][0], self._prefixes, self._prefix_offsets, offsets, out)
        return binary_array(offsets, out, pa.large_binary())
