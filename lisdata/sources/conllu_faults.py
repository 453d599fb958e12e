"""What is wrong with a sentence of CoNLL-U, in words: where, what was expected and what was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.hexatag import TreeFault, describe_fault
from lisdata.hexatag.faults import count_of_words, describe_far_head
from lisdata.kernels.conllu_scan import NUM_COLUMNS, Column, Line, ScannedBlock, SentenceFault
from lisdata.sources.conllu_blocks import BYTE_ORDER_MARK

_SHOWN_CHARACTERS = 60
_EXPECTED = {
    SentenceFault.NUM_COLUMNS: f"{NUM_COLUMNS} columns with tabs between them",
    SentenceFault.BAD_ID: "an ID of the form N, N-M or N.M",
    SentenceFault.BAD_HEAD: "a number or _ in column HEAD",
    SentenceFault.SOME_HEADS: "a HEAD for each word, or for none",
    SentenceFault.NO_WORDS: "a sentence with words",
    SentenceFault.NO_FORM: "a FORM",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault of a sentence; `at` is a byte of the block."""

    at: int
    expected: str
    found: str


def find_scan_fault(scanned: ScannedBlock, sentence: int) -> Finding:
    """Return what the scanner found wrong with a sentence."""
    row = scanned.sentences[sentence]
    fault, at = SentenceFault(row["fault"]), int(row["fault_at"])
    line = _line_at(scanned, at, int(row["end"]))
    columns = line.split(b"\t")
    identity = _cut(columns[0])
    found = f"ID {_shown(columns[0])}"
    if fault == SentenceFault.ID_ORDER:
        return Finding(at=at, expected=f"ID {row['wanted_id']}", found=found)
    if fault == SentenceFault.RANGE:
        expected = "a multiword token over words of the sentence that no other one holds"
        num_words = _count_words(scanned, int(row["begin"]), int(row["end"]))
        return Finding(at=at, expected=expected, found=f"{identity} in a sentence of {count_of_words(num_words)}")
    if fault == SentenceFault.NUM_COLUMNS:
        found = f"{len(columns)} in {_shown(line)}"
    elif fault in (SentenceFault.BAD_HEAD, SentenceFault.SOME_HEADS):
        found = f"{_shown(columns[Column.HEAD])} for word {identity}"
    elif fault == SentenceFault.NO_WORDS:
        found = "none"
    elif fault == SentenceFault.NO_FORM:
        found = f"an empty one for ID {identity}"
    return Finding(at=at, expected=_EXPECTED[fault], found=found)


def find_tree_fault(scanned: ScannedBlock, sentence: int, heads: npt.NDArray[np.int32], fault: TreeFault) -> Finding:
    """Return what is wrong with the tree of a sentence, whose heads are `heads`."""
    row = scanned.sentences[sentence]
    lines = scanned.lines[row["first_line"] : row["end_line"]]
    words = lines[lines["kind"] == Line.WORD]
    word = _word_at_fault(heads, fault)
    at = int(scanned.separators[words["first"][word]]) + 1
    expected = "a projective tree" if fault == TreeFault.NON_PROJECTIVE else "a tree with one root"
    if fault == TreeFault.OUT_OF_RANGE:  # as it is written: the number may be larger than those of the scanner
        written = _line_at(scanned, at, int(row["end"])).split(b"\t")[Column.HEAD]
        return Finding(at=at, expected=expected, found=describe_far_head(word + 1, _cut(written), len(heads)))
    return Finding(at=at, expected=expected, found=describe_fault(fault, heads.tolist()))


def find_wrong_bytes(data: bytes, begin: int, end: int) -> Finding | None:
    """Return where a sentence is not UTF-8, if it is not."""
    try:
        data[begin:end].decode()
    except UnicodeDecodeError as error:
        at = begin + error.start
        return Finding(at=at, expected="UTF-8", found=f"byte 0x{data[at]:02x} ({error.reason})")
    return None


def find_excess(begin: int, size: int, limit: int) -> Finding:
    """Return that a sentence is too long."""
    expected = f"a blank line after less than {limit} bytes"
    return Finding(at=begin, expected=expected, found=f"a sentence of {size} bytes")


def _word_at_fault(heads: npt.NDArray[np.int32], fault: TreeFault) -> int:
    """Return a word that has to do with the fault, from 0; the first where the whole sentence has."""
    if fault == TreeFault.OUT_OF_RANGE:
        return int(np.argmax((heads < 0) | (heads > len(heads))))
    if fault == TreeFault.SELF_LOOP:
        return int(np.argmax(heads == np.arange(1, len(heads) + 1)))
    if fault == TreeFault.SEVERAL_ROOTS:
        return int(np.flatnonzero(heads == 0)[1])
    return 0


def _line_at(scanned: ScannedBlock, at: int, end: int) -> bytes:
    text = scanned.data[at:end].tobytes()
    return text.partition(b"\n")[0].removesuffix(b"\r")


def _count_words(scanned: ScannedBlock, begin: int, end: int) -> int:
    """Return how many words a sentence has, also behind a line that stopped the scanner."""
    lines = scanned.data[begin:end].tobytes().removeprefix(BYTE_ORDER_MARK).split(b"\n")
    return sum(line.partition(b"\t")[0].isdigit() for line in lines)


def _shown(text: bytes) -> str:
    return repr(_cut(text))


def _cut(text: bytes) -> str:
    shown = text.decode(errors="backslashreplace")
    return shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + "..."
