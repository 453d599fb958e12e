"""CoNLL-U treebanks: sentences with their dependency trees and hexatags, and every column kept exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice
from lisdata.records import SentenceRecords
from lisdata.registry import Reject
from lisdata.sources import conllu_blocks
from lisdata.sources.conllu_blocks import Block, SentenceBlocks, find_sentence
from lisdata.sources.conllu_faults import Finding, find_excess
from lisdata.sources.conllu_records import BlockReader, ConlluOptions

_BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ConlluSource:
    """Reads CoNLL-U: ten columns with tabs between them, a blank line after each sentence.

    A sentence's document is its surface: the FORM of each word, or of the multiword token that holds it, and a space
    between two unless MISC says SpaceAfter=No. Words of a multiword token share its span, unless they spell it ("do",
    "n't"): then each has its part. Words have their heads as the file has them, and the hexatags of the
    tree that the options make of those. All else is notes: a column that is not _ under its word's position; comments,
    multiword tokens and empty nodes as whole lines under the number of words before them; and, where the lines do not
    say how they were written (line ends, blank lines, zeros before a number), the sentence's bytes.
    """

    name: str = "conllu"
    summary: str = "Treebanks in CoNLL-U, with hexatags"
    suffixes: tuple[str, ...] = (".conllu", ".conll")
    converter: str = "sentences"
    exporter: str = "conllu-plain"
    splits: bool = True
    options_type: type[ConlluOptions] = ConlluOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: ConlluOptions) -> int:
        """Return where a line follows a blank one."""
        return find_sentence(piece, wanted)

    def read(self, piece: InputSlice, options: ConlluOptions, reject: Reject) -> Iterator[SentenceRecords]:
        """Yield the sentences of `piece`; one that is no sentence with a tree (or with none) is rejected."""
        blocks = SentenceBlocks(piece, _BLOCK_BYTES)
        reader = BlockReader(file=piece.file, options=options)
        for block in blocks:
            on_bad_sentence = partial(_reject_sentence, reject, blocks, block)
            if block.data is None:
                size = block.end - block.begin
                on_bad_sentence(find_excess(0, size, conllu_blocks.MAX_SENTENCE_BYTES), 0, size)
                continue
            records = reader.read(block.data, block.begin, on_bad_sentence)
            if records.num_records or records.counts:
                yield records


def _reject_sentence(
    reject: Reject, blocks: SentenceBlocks, block: Block, finding: Finding, begin: int, end: int
) -> None:
    reject(
        BadRecordError(
            blocks.place(block.begin + finding.at),
            expected=finding.expected,
            found=finding.found,
            begin=block.begin + begin,
            end=block.begin + end,
            data=None if block.data is None else block.data[begin:end],
        )
    )


CONLLU = ConlluSource()
