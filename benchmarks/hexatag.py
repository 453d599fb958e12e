"""Hexatags: words a second of CPU time on one core, beside plain Python, bare spaCy and the reference implementation.

    python benchmarks/hexatag.py --treebank en_ewt-ud-dev.conllu en_ewt-ud-test.conllu
    python benchmarks/hexatag.py --rows spacy --text emma.txt --unit line

Rows "codec" are arrays in memory to arrays in memory: the sentences of the treebanks are repeated up to --words. Rows
"road" convert the treebanks, repeated up to --treebank-mb, to shards. Rows "spacy" parse and convert a text, by spaCy
and by the English hexatagger, where spaCy and its English pipeline are installed. The reference
(rycolab/parsing-as-tagging) is not run here: its speed was measured once, on the test file of English-EWT, and is a
constant.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from hexatag_roads import iter_sentences, road_rows, spacy_rows
from hexatag_rows import REFERENCE_DECODE, REFERENCE_ENCODE, REFERENCE_SEARCH, Row, print_rows

from lisdata.hexatag import TreeFault, decode_batch, encode_batch, tag_trees, viterbi
from lisdata.kernels import plain_hexatags as plain
from lisdata.parsers import ParserError

GROUPS = ("codec", "road", "spacy")
SAMPLE_TEXT = sorted((Path(__file__).resolve().parents[1] / "sample_data" / "text").glob("*.txt"))
NUM_DRAWN = 1_000_000


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


def read_treebanks(paths: Sequence[Path]) -> Corpus:
    """Return the basic trees of CoNLL-U files."""
    sentences = [[head for _, head, _ in words] for path in paths for words in iter_sentences(path)]
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


def iter_groups(arguments: argparse.Namespace, folder: Path) -> Iterator[list[Row]]:
    """Yield rows that are to be measured in turns, the wanted groups one after the other."""
    if "codec" in arguments.rows:
        treebank = read_treebanks(arguments.treebank)
        print(f"{len(treebank.heads):,} words in {len(treebank.offsets) - 1:,} sentences, repeated, in memory")
        for row in codec_rows(treebank, arguments.words, arguments.plain_words):
            yield [row]  # by itself, for one row changes the arrays of the one before
    if "road" in arguments.rows:
        yield road_rows(arguments.treebank, folder, int(arguments.treebank_mb * 1e6))
    if "spacy" in arguments.rows:
        try:
            rows = spacy_rows(arguments.text, folder, int(arguments.text_mb * 1e6), arguments.unit)
        except ParserError as error:
            print(f"rows spacy are left out: {error}")
        else:
            yield rows


def parse_arguments() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=parse_groups, default=GROUPS, help="of codec,road,spacy; all by default")
    parser.add_argument("--treebank", type=Path, nargs="+", default=(), help="CoNLL-U files, for codec and road")
    parser.add_argument("--words", type=int, default=10_000_000, help="codec: words of the batch, about")
    parser.add_argument("--plain-words", type=int, default=200_000, help="codec: words that plain Python is given")
    parser.add_argument("--treebank-mb", type=float, default=50, help="road: the treebanks are repeated up to this")
    parser.add_argument("--text", type=Path, nargs="+", default=SAMPLE_TEXT, help="spacy: files, by default a sample")
    parser.add_argument("--text-mb", type=float, default=0.2, help="spacy: shorter texts are repeated up to this")
    parser.add_argument(
        "--unit", choices=("line", "paragraph", "document"), default="paragraph", help="spacy: parsed at once"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    arguments = parser.parse_args()
    if not arguments.treebank and {"codec", "road"} & set(arguments.rows):
        parser.error("rows codec and road need --treebank")
    return arguments


def parse_groups(names: str) -> tuple[str, ...]:
    """Return the groups of rows that an option names."""
    groups = tuple(names.split(","))
    if unknown := set(groups) - set(GROUPS):
        raise argparse.ArgumentTypeError(f"expected some of {','.join(GROUPS)}, found {','.join(sorted(unknown))}")
    return groups


def main() -> None:
    """Measure, and print what was measured."""
    arguments = parse_arguments()
    print("CPU time of one process. * The reference was measured once, elsewhere: on roads, its tree to tags alone.")
    with TemporaryDirectory() as folder:
        for rows in iter_groups(arguments, Path(folder)):
            print_rows(rows, arguments.repeats)


if __name__ == "__main__":
    main()
