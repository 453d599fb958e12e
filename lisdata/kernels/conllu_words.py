"""Gathers the words of scanned CoNLL-U: their surface, and numbers for all that they and the other lines spell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.compiled import BYTES, OUT_BYTES, OUT_INT64S, OUT_UINT32S, OUT_UINT64S, inner, kernel, load_u64
from lisdata.kernels.conllu_notes import NUM_COLUMN_NOTES, Note, Notes, lay_out_notes, no_notes
from lisdata.kernels.conllu_scan import (
    LINE_ARRAY,
    SENTENCE_ARRAY,
    SEPARATORS,
    Column,
    Line,
    ScannedBlock,
    is_underscore,
    read_number,
    text_end,
)
from lisdata.kernels.text_table import TABLE, TextTable, has_room, number_of
from lisdata.schema import NO_ROW

UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]

_Tuple: Any = types.Tuple
_OUT_CELLS = types.Array(types.uint32, 2, "C")
_WORDS_OUT = _Tuple((OUT_UINT64S, OUT_UINT64S, OUT_UINT32S, OUT_UINT32S))  # begin, end, form, deprel
_TEXTS_OUT = _Tuple((_OUT_CELLS, OUT_UINT32S, OUT_UINT32S))  # of columns, lines and sentences
_TABLES = _Tuple((TABLE, TABLE, TABLE))  # forms, deprels, noted texts
_FORM, _DEPREL, _MISC = int(Column.FORM), int(Column.DEPREL), int(Column.MISC)
_NOTE_COLUMNS = tuple(int(Column[note.name]) for note in tuple(Note)[:NUM_COLUMN_NOTES])
_WORD, _MULTIWORD = int(Line.WORD), int(Line.MULTIWORD)
_WORDS, _BYTES, _SENTENCES = range(3)  # numbers in `counts`
_SPACE, _BAR = b" |"
_NO_SPACE = b"SpaceAfter=No"
_NO_SPACE_BEGIN, _NO_SPACE_END = (np.uint64(int.from_bytes(p, "little")) for p in (_NO_SPACE[:8], _NO_SPACE[-8:]))


@inner
def _has_space_after(data: Any, begin: Any, end: Any) -> Any:
    """Tell whether SpaceAfter=No is missing among the items of MISC, data[begin:end]."""
    length = len(_NO_SPACE)
    at = begin
    while at + length <= end:
        is_found = load_u64(data, at) == _NO_SPACE_BEGIN and load_u64(data, at + length - 8) == _NO_SPACE_END
        if is_found and (at + length == end or data[at + length] == _BAR):
            return False
        while at < end and data[at] != _BAR:
            at += 1
        at += 1
    return True


@inner
def _column(data: Any, separators: Any, line: Any, column: Any) -> Any:
    """Return begin and end of a column."""
    begin, end = np.int64(separators[line.first + column]) + 1, np.int64(separators[line.first + column + 1])
    return begin, text_end(data, begin, end) if column == _MISC else end


@inner
def _number_of_column(data: Any, separators: Any, line: Any, column: Any, table: Any) -> Any:
    """Return the number of what stands in a column, NO_ROW for _."""
    begin, end = _column(data, separators, line, column)
    return np.int64(NO_ROW) if is_underscore(data, begin, end) else number_of(table, data, begin, end)


@inner
def _append_surface(data: Any, begin: Any, end: Any, after_space: Any, surface: Any, counts: Any) -> Any:
    """Write data[begin:end], after a space if wanted; return the byte where it begins."""
    at = counts[_BYTES]
    if after_space:
        surface[at] = _SPACE
        at += 1
    target, source = surface[at : at + end - begin], data[begin:end]
    for index in range(len(target)):
        target[index] = source[index]
    counts[_BYTES] = at + end - begin
    return at


@inner
def _is_spelled_by_words(data: Any, separators: Any, lines: Any, index: Any) -> Any:
    """Tell whether the FORMs of a multiword token's words, one after the other, are the FORM of its line `index`."""
    begin, end = _column(data, separators, lines[index], _FORM)
    number, after = read_number(data, np.int64(separators[lines[index].first]) + 1)
    last, _ = read_number(data, after + 1)
    at = begin
    while number <= last:
        index += 1
        if lines[index].kind != _WORD:
            continue
        form_begin, form_end = _column(data, separators, lines[index], _FORM)
        if form_end - form_begin > end - at:
            return False
        for offset in range(form_end - form_begin):
            if data[form_begin + offset] != data[at + offset]:
                return False
        at += form_end - form_begin
        number += 1
    return at == end


@inner
def _gather_lines(
    data: Any, separators: Any, lines: Any, first_line: Any, keeps_notes: Any, surface: Any, words: Any, texts: Any,
    tables: Any, counts: Any,
) -> None:  # fmt: skip
    """Gather the surface of a sentence, whose lines are `lines`, and number what they spell."""
    word_begin, word_end, word_form, word_deprel = words
    cells, line_texts, _ = texts
    forms, deprels, noted = tables
    word, reach, after_space, is_cut = np.int64(0), np.int64(0), False, False
    first_byte = shown_begin = shown_end = counts[_BYTES]
    for index in range(len(lines)):
        line = lines[index]
        begin = np.int64(separators[line.first]) + 1
        if line.kind == _MULTIWORD or (line.kind == _WORD and word >= reach):
            form_begin, form_end = _column(data, separators, line, _FORM)
            shown_begin = _append_surface(data, form_begin, form_end, after_space, surface, counts) - first_byte
            shown_end = shown_begin + form_end - form_begin
            misc_begin, misc_end = _column(data, separators, line, _MISC)
            after_space = _has_space_after(data, misc_begin, misc_end)
        if line.kind == _MULTIWORD:
            _, after = read_number(data, begin)
            reach, _ = read_number(data, after + 1)
            is_cut = _is_spelled_by_words(data, separators, lines, index)
        if line.kind == _WORD:
            at = counts[_WORDS]
            begin, end = _column(data, separators, line, _FORM)
            if is_cut and word < reach:
                shown_end = shown_begin + end - begin
            word_begin[at], word_end[at] = shown_begin, shown_end
            if is_cut and word < reach:
                shown_begin = shown_end
            word_form[at] = number_of(forms, data, begin, end)
            word_deprel[at] = _number_of_column(data, separators, line, _DEPREL, deprels)
            if keeps_notes:
                for kind in range(NUM_COLUMN_NOTES):
                    cells[kind, at] = _number_of_column(data, separators, line, _NOTE_COLUMNS[kind], noted)
            counts[_WORDS] = at + 1
            word += 1
        elif keeps_notes:
            end = text_end(data, begin, np.int64(separators[line.last]))
            line_texts[first_line + index] = number_of(noted, data, begin, end)


@kernel(
    types.int64(
        BYTES, SEPARATORS, LINE_ARRAY, SENTENCE_ARRAY, types.boolean, OUT_BYTES, OUT_INT64S,
        _WORDS_OUT, _TEXTS_OUT, _TABLES, OUT_INT64S,
    )
)  # fmt: skip
def _gather(
    data: Any, separators: Any, lines: Any, sentences: Any, keeps_notes: Any, surface: Any, surface_offsets: Any,
    words: Any, texts: Any, tables: Any, counts: Any,
) -> Any:  # fmt: skip
    """Gather sentences until all are done or a table has no room; return how many are done."""
    while counts[_SENTENCES] < len(sentences):
        number = counts[_SENTENCES]
        sentence = sentences[number]
        own = lines[sentence.first_line : sentence.end_line]
        more = NUM_COLUMN_NOTES * len(own) + 1
        if not (has_room(tables[0], more) and has_room(tables[1], more) and has_room(tables[2], more)):
            break
        _gather_lines(data, separators, own, sentence.first_line, keeps_notes, surface, words, texts, tables, counts)
        texts[2][number] = NO_ROW
        if keeps_notes and not sentence.is_plain:
            texts[2][number] = number_of(tables[2], data, sentence.begin, sentence.end)
        surface_offsets[number + 1] = counts[_BYTES]
        counts[_SENTENCES] = number + 1
    return counts[_SENTENCES]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredWords:
    """The words and notes of sentences, in their order; `forms`, `deprels` and `noted` are what they spell, distinct.

    The surface of sentence n is row n of `surfaces`; word spans are bytes of it. `word_deprel` has NO_ROW for _.
    """

    surfaces: pa.LargeBinaryArray
    word_begin: UInt64
    word_end: UInt64
    word_form: UInt32
    word_deprel: UInt32
    notes: Notes
    forms: pa.LargeBinaryArray
    deprels: pa.LargeBinaryArray
    noted: pa.LargeBinaryArray


def gather_words(scanned: ScannedBlock, sentences: npt.NDArray[np.void], *, keeps_notes: bool) -> GatheredWords:
    """Gather the words of some of the scanned sentences, without a fault, and their notes if it `keeps_notes`."""
    data, num_words, num_lines = scanned.data, int(sentences["num_words"].sum()), len(scanned.lines)
    surface, surface_offsets = np.empty(len(data), np.uint8), np.zeros(len(sentences) + 1, np.int64)
    words: tuple[Any, ...] = tuple(np.empty(num_words, t) for t in (np.uint64, np.uint64, np.uint32, np.uint32))
    sizes = (NUM_COLUMN_NOTES, num_words if keeps_notes else 0), num_lines, len(sentences)
    texts: tuple[Any, ...] = tuple(np.empty(size, np.uint32) for size in sizes)
    # A byte may be noted twice: in a line or column, and in the whole sentence.
    noted = TextTable(NUM_COLUMN_NOTES * num_lines + len(sentences), 2 * len(data))
    forms, deprels = TextTable(num_words, len(data)), TextTable(num_words, len(data))
    tables = (forms, deprels, noted)
    counts = np.zeros(3, np.int64)
    while True:
        done = _gather(
            data, scanned.separators, scanned.lines, sentences, keeps_notes, surface, surface_offsets,
            words, texts, tuple(table.arrays for table in tables), counts,
        )  # fmt: skip
        if done == len(sentences):
            break
        more = NUM_COLUMN_NOTES * int(sentences["end_line"][done] - sentences["first_line"][done]) + 1
        for table in tables:
            table.make_room(more)
    return GatheredWords(
        surfaces=binary_array(surface_offsets, surface[: counts[_BYTES]], pa.large_binary()),
        word_begin=words[0],
        word_end=words[1],
        word_form=words[2],
        word_deprel=words[3],
        notes=lay_out_notes(scanned.lines, sentences, *texts) if keeps_notes else no_notes(len(sentences)),
        forms=forms.to_arrow(),
        deprels=deprels.to_arrow(),
        noted=noted.to_arrow(),
    )
