"""Parsed sentences of units of text to records: offsets in bytes, trees checked and tagged, forms made contents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder
from lisdata.hexatag import TaggedTrees, TreeFault, describe_fault, tag_trees
from lisdata.inputs import InputFile
from lisdata.kernels.arrays import binary_array, binary_buffers
from lisdata.parsers.flat import FlatParses
from lisdata.records import SentenceRecords, TextRecords
from lisdata.schema import NO_ROW, ContentKind, LabelKind

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

BYTE_ORDER_MARK = "\ufeff"

OnBadSentence = Callable[[TreeFault, str, int, bytes], None]
"""Takes a fault, what was found, where in the file the sentence begins, and its bytes."""


def texts_to_parse(units: TextRecords) -> list[str]:
    """Return the text of each unit; a byte order mark is made a space, for else it would be part of a word."""
    texts: list[str] = units.documents.cast(pa.large_string()).to_pylist()
    if texts and units.begin[0] == 0 and texts[0].startswith(BYTE_ORDER_MARK):
        texts[0] = " " + texts[0][1:]
    return texts


def make_records(
    units: TextRecords, parses: FlatParses, *, non_projective: str, on_bad_sentence: OnBadSentence
) -> SentenceRecords:
    """Return the sentences of `units` that are trees (or have no words); the others go to `on_bad_sentence`."""
    places = _find_places(units, parses)
    tagged = tag_trees(parses.head, places.word_offsets, lift=non_projective == "projectivize")
    is_good = np.isin(tagged.fault, (TreeFault.NONE, TreeFault.EMPTY))
    num_dropped = 0
    for row in np.flatnonzero(~is_good).tolist():
        fault = TreeFault(tagged.fault[row])
        if fault == TreeFault.NON_PROJECTIVE and non_projective == "drop":
            num_dropped += 1
            continue
        found = describe_fault(fault, parses.heads_in(*places.word_offsets[row : row + 2].tolist()))
        on_bad_sentence(fault, found, int(places.begin[row]), places.documents[row].as_py())
    counts = _count(tagged, places, is_good) | {"dropped sentences": num_dropped}
    counts = {name: count for name, count in counts.items() if count}
    return _records(units.file, parses, places, tagged, is_good, counts)


def _count(tagged: TaggedTrees, places: _Places, is_good: Bools) -> dict[str, int]:
    lifted, num_words = tagged.lifted[is_good], np.diff(places.word_offsets)[is_good]
    return {
        "words": int(num_words.sum()),
        "non-projective sentences": int(np.count_nonzero(lifted)),
        "lifted arcs": int(lifted.sum()),
        "sentences without words": int(np.count_nonzero(num_words == 0)),
    }


def _records(
    file: InputFile, parses: FlatParses, places: _Places, tagged: TaggedTrees, is_good: Bools, counts: dict[str, int]
) -> SentenceRecords:
    is_good_word = is_good[places.sentence]
    forms = places.spell() if parses.forms is None else pa.array(parses.forms, pa.large_string())
    labels = LabelBuilder()
    deprel_label = _number_deprels(parses, is_good_word, labels)
    columns = ContentColumns(labels)
    columns.add(ContentKind.WORD, forms.filter(pa.array(is_good_word)))
    contents, (word_content,) = columns.finish()
    num_words = np.diff(places.word_offsets)[is_good]
    return SentenceRecords(
        file=file,
        documents=places.documents.filter(pa.array(is_good)),
        begin=places.begin[is_good].astype(np.uint64),
        end=places.end[is_good].astype(np.uint64),
        contents=contents,
        labels=labels.to_arrow(),
        word_offsets=_offsets(num_words),
        word_content=word_content,
        word_begin=places.word_begin[is_good_word].astype(np.uint64),
        word_end=places.word_end[is_good_word].astype(np.uint64),
        head=parses.head[is_good_word],
        deprel_label=deprel_label,
        terminal=tagged.terminal[is_good_word],
        nonterminal=tagged.nonterminal[is_good_word],
        note_offsets=np.zeros(len(num_words) + 1, np.int64),
        note_role=np.empty(0, np.uint32),
        note_position=np.empty(0, np.int64),
        note_content=np.empty(0, np.uint32),
        counts=counts,
    )


def _number_deprels(parses: FlatParses, is_good_word: Bools, labels: LabelBuilder) -> UInt32:
    """Return the label of each good word's relation, made for those that there are."""
    row = parses.deprel[is_good_word]
    codes = np.full(len(parses.deprels), NO_ROW, np.uint32)
    for used in np.unique(row).tolist():
        if parses.deprels[used]:
            codes[used] = labels.code(LabelKind.DEPREL, parses.deprels[used])
    return codes[row]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where sentences and words lie: `begin` and `end` are bytes of the file, `documents` the bytes between.

    `word_offsets` (one more than sentences) count words, `sentence` is that of each word; `word_begin` and `word_end`
    are bytes of its document, which begins at `document_begin` of all documents' bytes.
    """

    documents: pa.LargeBinaryArray
    begin: Int64
    end: Int64
    word_offsets: Int64
    sentence: Int64
    word_begin: Int64
    word_end: Int64
    document_begin: Int64

    def spell(self) -> pa.Array:
        """Return the bytes of each word as large_string."""
        _, data = binary_buffers(self.documents)
        offsets = _offsets(self.word_end - self.word_begin)
        first = self.word_begin + self.document_begin[self.sentence]
        at = np.repeat(first - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])
        return binary_array(offsets, data[at], pa.large_string())


def _find_places(units: TextRecords, parses: FlatParses) -> _Places:
    """Return where the sentences lie, with one without words for each unit of text that has none.

    A unit's first sentence begins with the unit, each ends where the next begins: every byte lies in one.
    """
    offsets, data = binary_buffers(units.documents)
    data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
    unit, begin, num_words = _with_wordless(parses, np.diff(offsets) > 0)
    byte_of = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))  # continuation bytes begin no character
    first_character = np.searchsorted(byte_of, offsets)[unit]
    is_first = np.diff(unit, prepend=-1) > 0
    document_begin = np.where(is_first, offsets[unit], byte_of[first_character + begin])
    bounds = np.append(document_begin, len(data))
    in_file = units.begin.astype(np.int64)[unit] - offsets[unit]
    sentence = np.repeat(np.arange(len(unit)), num_words)
    word_first, word_document = first_character[sentence], document_begin[sentence]
    return _Places(
        documents=binary_array(bounds, data, pa.large_binary()),
        begin=bounds[:-1] + in_file,
        end=bounds[1:] + in_file,
        word_offsets=_offsets(num_words),
        sentence=sentence,
        word_begin=byte_of[word_first + parses.begin] - word_document,
        word_end=byte_of[word_first + parses.end] - word_document,
        document_begin=document_begin,
    )


def _with_wordless(parses: FlatParses, has_text: Bools) -> tuple[Int64, Int64, Int64]:
    """Return each sentence's unit, the character of that where it begins, and its number of words."""
    has_sentence = np.bincount(parses.text, minlength=len(has_text)) > 0
    wordless = np.flatnonzero(has_text & ~has_sentence)
    at = np.searchsorted(parses.text, wordless)
    columns = (parses.text, wordless), (parses.sentence_begin, 0), (np.diff(parses.offsets), 0)
    unit, begin, num_words = (np.insert(column, at, values) for column, values in columns)
    return unit, begin, num_words


def _offsets(sizes: Int64) -> Int64:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
