"""Hexatags: words a second of CPU time on one core, beside plain Python, a bare copy and the reference implementation.

    python benchmarks/hexatag.py --treebank en_ewt-ud-dev.conllu en_ewt-ud-test.conllu

The sentences of the treebanks are repeated up to --words. The reference (rycolab/parsing-as-tagging) is not run here:
its speed was measured once, on the test file of English-EWT, and is a constant below.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.hexatag import TreeFault, decode_batch, encode_batch, tag_trees, viterbi
from lisdata.kernels import plain_hexatags as plain

# Words a second of the reference: tree to tags, tags to tree, logits to tags.
REFERENCE_ENCODE, REFERENCE_DECODE, REFERENCE_SEARCH = 25_500, 21_900, 7_600
NUM_DRAWN = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table: what runs, over how many words, and the reference's words a second (0: it has none)."""

    label: str
    run: Callable[[], object]
    num_words: int
    reference: int = 0


@dataclass(frozen=True, slots=True)
class Corpus:
    """Heads of all words, end to end, and where each sentence begins."""

    heads: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    def take(self, is_taken: npt.NDArray[np.bool_]) -> Corpus:
        """Return some of the sentences."""
        lengths = np.diff(self.offsets)
        return Corpus(self.heads[np.repeat(is_taken, lengths)], np.append(0, np.cumsum(lengths[is_taken])))

    def repeat(self, num_words: int) -> Corpus:
        """Return the sentences over and over, about `num_words` words."""
        times = max(1, num_words // len(self.heads))
        lengths = np.tile(np.diff(self.offsets), times)
        return Corpus(np.tile(self.heads, times), np.append(0, np.cumsum(lengths)))


def read_treebanks(paths: list[Path]) -> Corpus:
    """Return the basic trees of CoNLL-U files."""
    sentences: list[list[int]] = []
    for path in paths:
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split("\t") for line in block.split("\n") if "\t" in line]
            sentences.append([int(row[6]) for row in rows if row[0].isdecimal()])
    heads = np.array([head for sentence in sentences for head in sentence], np.int32)
    return Corpus(heads, np.cumsum([0, *map(len, sentences)]))


def codec_rows(treebank: Corpus, num_words: int, num_plain_words: int) -> Iterator[Row]:
    """Yield the codec alone: arrays in memory to arrays in memory."""
    is_good = tag_trees(treebank.heads, treebank.offsets, lift=False).fault == TreeFault.NONE
    mixed, good = treebank.repeat(num_words), treebank.take(is_good).repeat(num_words)
    size = len(good.heads)
    yield Row(label="copy of the heads", run=good.heads.copy, num_words=size)
    encode = partial(encode_batch, good.heads, good.offsets)
    yield Row(label="heads to tags, checked", run=encode, num_words=size, reference=REFERENCE_ENCODE)
    for label, lift in (("the same, crossing trees reported", False), ("the same, crossing trees lifted", True)):
        run = partial(tag_trees, mixed.heads, mixed.offsets, lift=lift)
        yield Row(label=label, run=run, num_words=len(mixed.heads), reference=REFERENCE_ENCODE)
    terminal, nonterminal = encode()
    decode = partial(decode_batch, terminal, nonterminal, good.offsets)
    yield Row(label="tags to heads, checked", run=decode, num_words=size, reference=REFERENCE_DECODE)
    yield from _search_rows(good, terminal, nonterminal)
    yield from _plain_rows(good, num_plain_words)


def _search_rows(corpus: Corpus, terminal: npt.NDArray[np.int8], nonterminal: npt.NDArray[np.int8]) -> Iterator[Row]:
    generator = np.random.default_rng(0)
    size = len(corpus.heads)
    terminals, nonterminals = (
        np.resize(generator.standard_normal((min(size, NUM_DRAWN), width), np.float32), (size, width))
        for width in (2, 5)
    )
    search = partial(viterbi, terminals, nonterminals, corpus.offsets)
    yield Row(label="logits to tags, noise", run=search, num_words=size, reference=REFERENCE_SEARCH)
    terminals[np.arange(size), terminal] += 6
    nonterminals[np.arange(size), nonterminal] += 6
    yield Row(label="logits to tags, mostly right", run=search, num_words=size, reference=REFERENCE_SEARCH)


def _plain_rows(corpus: Corpus, num_words: int) -> Iterator[Row]:
    bounds = corpus.offsets[: np.searchsorted(corpus.offsets, num_words) + 1].tolist()
    sentences = [corpus.heads[begin:end].tolist() for begin, end in pairwise(bounds)]
    tags = [plain.encode(heads) for heads in sentences]

    def encode() -> None:
        for heads in sentences:
            assert plain.decode(*plain.encode(heads)) == heads

    def decode() -> list[Any]:
        return [plain.decode(*pair) for pair in tags]

    for label, run, reference in (
        ("plain Python: heads to tags, checked", encode, REFERENCE_ENCODE),
        ("plain Python: tags to heads", decode, REFERENCE_DECODE),
    ):
        yield Row(label=label, run=run, num_words=bounds[-1], reference=reference)


def measure(run: Callable[[], object], repeats: int) -> float:
    """Return the CPU seconds, all threads together, of the best of `repeats`."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    """Measure, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebank", type=Path, nargs="+", required=True, help="CoNLL-U files")
    parser.add_argument("--words", type=int, default=10_000_000, help="words of the batch, about")
    parser.add_argument("--plain-words", type=int, default=200_000, help="words that plain Python is measured on")
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    arguments = parser.parse_args()
    treebank = read_treebanks(arguments.treebank)
    num_sentences = len(treebank.offsets) - 1
    print(f"{len(treebank.heads):,} words in {num_sentences:,} sentences, repeated; CPU time of one process")
    for row in codec_rows(treebank, arguments.words, arguments.plain_words):
        seconds = measure(row.run, arguments.repeats)
        speed = row.num_words / seconds
        ratio = f"{speed / row.reference:8,.0f} x the reference's {row.reference:,}" if row.reference else ""
        print(f"{row.label:38} {1e9 / speed:8.1f} ns/word {speed / 1e6:9.1f} M words/s {ratio}", flush=True)


if __name__ == "__main__":
    main()
