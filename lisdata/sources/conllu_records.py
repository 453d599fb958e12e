"""A block of CoNLL-U to sentence records: trees are checked and tagged, distinct texts become contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role
from lisdata.hexatag import TaggedTrees, TreeFault, tag_trees
from lisdata.inputs import InputFile
from lisdata.kernels.arrays import binary_array
from lisdata.kernels.conllu_notes import Note, Notes
from lisdata.kernels.conllu_scan import PADDING, ScannedBlock, SentenceFault, scan
from lisdata.kernels.conllu_words import GatheredWords, gather_words
from lisdata.kernels.keys import keys_of_contents
from lisdata.records import SentenceRecords
from lisdata.schema import CONTENTS, NO_LABELS, NO_ROW, ContentKind, LabelKind
from lisdata.sources import conllu_blocks
from lisdata.sources.conllu_faults import Finding, find_excess, find_scan_fault, find_tree_fault, find_wrong_bytes

UInt32 = npt.NDArray[np.uint32]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SENTENCE = "sentence"  # the relation of a note's role; its side is the note's name in lower case

BadSentence = Callable[[Finding, int, int], None]
"""Takes what is wrong with a sentence, and its begin and end in the block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConlluOptions:
    """Options of source conllu."""

    columns: Literal["all", "heads"] = field(
        default="all",
        metadata={"help": "Keep all ten columns and comments, or only what trees need: FORM, HEAD, DEPREL and spaces."},
    )
    non_projective: Literal["raise", "drop", "projectivize"] = field(
        default="projectivize",
        metadata={
            "help": "What to do where arcs cross: reject the sentence, leave it out, or tag the tree with arcs lifted."
        },
    )
    multi_root: Literal["refuse", "attach"] = field(
        default="refuse",
        metadata={"help": "Reject a sentence of several roots, or tag the tree with the later ones below the first."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trees:
    """The trees of a block: `offsets` (one more than sentences) into the heads and the tags.

    `heads` are those of the file, `tree_heads` those that were checked and tagged.
    """

    offsets: Int64
    heads: Int32
    tree_heads: Int32
    tagged: TaggedTrees
    num_attached: Int64

    @property
    def row_of(self) -> Int64:
        """The sentence of each word."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockReader:
    """Turns blocks of `file` into records."""

    file: InputFile
    options: ConlluOptions

    def read(self, block: bytes, offset: int, on_bad_sentence: BadSentence) -> SentenceRecords:
        """Return the sentences of a block of whole ones that begins at `offset` of the file."""
        mark = conllu_blocks.BYTE_ORDER_MARK if offset == 0 else b""
        scanned = scan(block + PADDING, begin=len(mark) if block.startswith(mark) else 0)
        trees = self._tag(scanned)
        is_good = np.ones(len(scanned.sentences), np.bool_)
        num_dropped = 0
        for sentence, finding in self._iter_faults(block, scanned, trees):
            is_good[sentence] = False
            if finding is None:
                num_dropped += 1
            else:
                row = scanned.sentences[sentence]
                on_bad_sentence(finding, int(row["begin"]), int(row["end"]))
        counts = _count(scanned, trees, is_good) | {"dropped sentences": num_dropped}
        words = gather_words(scanned, scanned.sentences[is_good], keeps_notes=self.options.columns == "all")
        return self._records(scanned, trees, words, is_good, offset, {k: v for k, v in counts.items() if v})

    def _tag(self, scanned: ScannedBlock) -> _Trees:
        offsets = _offsets(scanned.sentences["num_words"])
        heads, num_attached = scanned.heads, np.zeros(len(offsets) - 1, np.int64)
        if self.options.multi_root == "attach":
            heads, num_attached = _attach_roots(heads, offsets)
        tagged = tag_trees(heads, offsets, lift=self.options.non_projective == "projectivize")
        return _Trees(offsets=offsets, heads=scanned.heads, tree_heads=heads, tagged=tagged, num_attached=num_attached)

    def _iter_faults(self, block: bytes, scanned: ScannedBlock, trees: _Trees) -> Iterator[tuple[int, Finding | None]]:
        """Yield each sentence that is left out, in order, and what is wrong with it; None for one that is dropped."""
        sentences = scanned.sentences
        begin, size = sentences["begin"], sentences["end"] - sentences["begin"]
        is_wrong = sentences["fault"] != SentenceFault.NONE
        is_wrong_tree = ~is_wrong & (sentences["has_tree"] == 1) & (trees.tagged.fault != TreeFault.NONE)
        limit = conllu_blocks.MAX_SENTENCE_BYTES
        suspects = is_wrong | is_wrong_tree | (size >= limit)
        if not _is_utf8(block):
            suspects[:] = True
        for sentence in np.flatnonzero(suspects).tolist():
            at, end = int(begin[sentence]), int(sentences["end"][sentence])
            if size[sentence] >= limit:
                yield sentence, find_excess(at, int(size[sentence]), limit)
            elif is_wrong[sentence]:
                yield sentence, find_scan_fault(scanned, sentence)
            elif wrong := find_wrong_bytes(block, at, end):
                yield sentence, wrong
            elif is_wrong_tree[sentence]:
                fault = TreeFault(trees.tagged.fault[sentence])
                heads = trees.tree_heads[trees.offsets[sentence] : trees.offsets[sentence + 1]]
                is_dropped = fault == TreeFault.NON_PROJECTIVE and self.options.non_projective == "drop"
                yield sentence, None if is_dropped else find_tree_fault(scanned, sentence, heads, fault)

    def _records(
        self,
        scanned: ScannedBlock,
        trees: _Trees,
        words: GatheredWords,
        is_good: Bools,
        offset: int,
        counts: dict[str, int],
    ) -> SentenceRecords:
        sentences, heads = scanned.sentences, trees.heads
        terminal, nonterminal = trees.tagged.terminal, trees.tagged.nonterminal
        if not is_good.all():
            is_good_word = is_good[trees.row_of]
            sentences = sentences[is_good]
            heads, terminal, nonterminal = heads[is_good_word], terminal[is_good_word], nonterminal[is_good_word]
        labels = LabelBuilder()
        notes, roles = words.notes, _role_codes(words.notes, labels)
        deprels = [labels.code(LabelKind.DEPREL, name.decode()) for name in words.deprels.to_pylist()]
        return SentenceRecords(
            file=self.file,
            documents=words.surfaces,
            begin=(sentences["begin"] + offset).astype(np.uint64),
            end=(sentences["end"] + offset).astype(np.uint64),
            contents=_contents(words),
            labels=labels.to_arrow(),
            word_offsets=_offsets(sentences["num_words"]),
            word_content=words.word_form,
            word_begin=words.word_begin,
            word_end=words.word_end,
            head=heads,
            deprel_label=np.array([*deprels, NO_ROW], np.uint32)[np.minimum(words.word_deprel, len(deprels))],
            terminal=terminal,
            nonterminal=nonterminal,
            note_offsets=notes.offsets,
            note_role=roles[notes.kind],
            note_position=notes.position,
            note_content=notes.text + np.uint32(len(words.forms)),
            counts=counts,
        )


def _attach_roots(heads: Int32, offsets: Int64) -> tuple[Int32, Int64]:
    """Return heads in which every root of a sentence but the first depends on that, and how many that changed."""
    roots = np.flatnonzero(heads == 0)
    sentence = np.searchsorted(offsets, roots, side="right") - 1
    is_later = np.concatenate(([False], sentence[1:] == sentence[:-1])) if len(roots) else np.zeros(0, np.bool_)
    first = roots[np.maximum.accumulate(np.where(is_later, 0, np.arange(len(roots))))]
    attached = heads.copy()
    attached[roots[is_later]] = (first - offsets[sentence] + 1)[is_later]
    return attached, np.bincount(sentence[is_later], minlength=len(offsets) - 1)


def _count(scanned: ScannedBlock, trees: _Trees, is_good: Bools) -> dict[str, int]:
    lifted = trees.tagged.lifted[is_good]
    return {
        "words": int(scanned.sentences["num_words"][is_good].sum()),
        "non-projective sentences": int(np.count_nonzero(lifted)),
        "lifted arcs": int(lifted.sum()),
        "attached roots": int(trees.num_attached[is_good].sum()),
        "sentences without a tree": int(np.count_nonzero(scanned.sentences["has_tree"][is_good] == 0)),
    }


def _role_codes(notes: Notes, labels: LabelBuilder) -> UInt32:
    """Return the label of each kind of note, made for those that there are."""
    codes = np.full(len(Note), NO_ROW, np.uint32)
    for number in np.flatnonzero(notes.num_of_kind).tolist():
        codes[number] = labels.role(Role(SENTENCE, Note(number).name.lower()))
    return codes


def _contents(words: GatheredWords) -> pa.RecordBatch:
    """Return the forms as words, then the noted texts."""
    sizes = [len(words.forms), len(words.noted)]
    kinds = np.repeat(np.array([ContentKind.WORD, ContentKind.TEXT], np.uint8), sizes)
    lexical = pa.concat_arrays([words.forms, words.noted])
    absent = pa.nulls(len(lexical), pa.uint32())
    keyless = pa.RecordBatch.from_arrays([pa.array(kinds), lexical, absent, absent, absent], names=CONTENTS.names[1:])
    keys = keys_of_contents(keyless, NO_LABELS)
    return pa.RecordBatch.from_arrays([keys, *keyless.columns], schema=CONTENTS)


def _offsets(sizes: Int64) -> Int64:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def _is_utf8(data: bytes) -> bool:
    """Tell without making a string of it."""
    try:
        binary_array(np.array([0, len(data)]), np.frombuffer(data, np.uint8), pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True
