"""How much hexatags tell of the next word: perplexity of held-out count models with a tag, by that without.

    python benchmarks/sipe_leak.py --treebanks ud/en_*.conllu --texts books/*.txt --parser tagger --to results/sipe_leak

Treebanks have the tags of their own trees, texts those of the parser. "frozen" tags are of the parser's parse of the
words up to the tagged one (see `lisdata.encoding.frozen_tags`): they tell of no word to come, and their factor is what
a summary of the words before is worth to a model that sees two of them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.encoding.frozen_tags import newest_tags
from lisdata.evaluation.tag_leak import LeakReport, measure_leak, number_of
from lisdata.training.tagger_corpus import TreeCorpus, parse_texts, read_treebanks

Int64 = npt.NDArray[np.int64]
NUM_WORDS = 1000
NUM_NONTERMINALS = 5
END, RARE = "</s>", "UNK"


def main() -> None:
    """Print a table and write table.txt and leak.json."""
    arguments = parse_arguments()
    reports: dict[str, LeakReport] = {}
    if arguments.treebanks:
        corpus = read_treebanks(arguments.treebanks)
        tags = tags_of(corpus, arguments)
        reports["treebanks, words"] = measure(corpus, None, tags)
        upos = [line[3] for path in arguments.treebanks for line in iter_words(Path(path))]
        if len(upos) == corpus.num_words:
            reports["treebanks, parts of speech and words"] = measure(corpus, upos, tags)
    if arguments.texts:
        corpus = parse_sample(arguments.texts, arguments.parser, arguments.max_words)
        reports["texts, words"] = measure(corpus, None, tags_of(corpus, arguments))
    table = "\n".join(format_report(reports)) + "\n"
    print(table, end="")
    if arguments.to is not None:
        arguments.to.mkdir(parents=True, exist_ok=True)
        (arguments.to / "table.txt").write_text(table)
        content = {name: asdict(report) for name, report in reports.items()}
        (arguments.to / "leak.json").write_text(json.dumps(content, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebanks", nargs="*", default=[], help="CoNLL-U files")
    parser.add_argument("--texts", nargs="*", default=[], help="text files, or folders of .txt, a paragraph a line")
    parser.add_argument("--parser", default="tagger", help="of texts, and of frozen tags")
    parser.add_argument("--max-words", type=int, default=200_000, help="of the texts, about, spread over them")
    parser.add_argument("--frozen", action="store_true", help="also frozen tags, which takes a parse a word")
    parser.add_argument("--to", type=Path, help="folder of the results")
    return parser.parse_args()


def measure(corpus: TreeCorpus, parts_of_speech: Sequence[str] | None, tags: dict[str, Int64]) -> LeakReport:
    """Return the leak into words behind the last two words, or the last two parts of speech and the last word."""
    (words, is_common), offsets = words_of(corpus), corpus.offsets
    classes = words if parts_of_speech is None else parts_of_speech
    is_first, is_last = (np.zeros(corpus.num_words, bool) for _ in range(2))
    is_first[offsets[:-1]], is_last[offsets[1:] - 1] = True, True
    before = ["" if first else classes[n - 1] for n, first in enumerate(is_first.tolist())]
    shown = [word if frequent else RARE for word, frequent in zip(words, is_common, strict=True)]
    following = [END if last else shown[n + 1] for n, last in enumerate(is_last.tolist())]
    contexts: list[Sequence[Any]] = [classes, list(zip(before, classes, strict=True))]
    if parts_of_speech is not None:
        contexts.append(words)
    return measure_leak([number_of(context) for context in contexts], number_of(following), offsets, tags)


def tags_of(corpus: TreeCorpus, arguments: argparse.Namespace) -> dict[str, Int64]:
    """Return all kinds of tags of the corpus's trees, and the frozen ones where they are asked for."""
    tags = tag_kinds(corpus.terminal.astype(np.int64), corpus.nonterminal.astype(np.int64))
    if arguments.frozen:
        tags |= {f"frozen {name}": tag for name, tag in tag_kinds(*frozen_tags(corpus, arguments.parser)).items()}
    return tags


def tag_kinds(terminal: Int64, nonterminal: Int64) -> dict[str, Int64]:
    """Return what may be known of the tags, by name."""
    return {
        "EOS bit": (nonterminal > 0).astype(np.int64),
        "T": terminal,
        "NT": nonterminal,
        "T and NT": terminal * NUM_NONTERMINALS + nonterminal,
    }


def frozen_tags(corpus: TreeCorpus, parser: str) -> tuple[Int64, Int64]:
    """Return the tags of each word in a parse of its sentence up to it, the nonterminal of the word before."""
    terminal, nonterminal = newest_tags(list(iter_prefixes(corpus)), parser)
    return np.maximum(terminal, 0).astype(np.int64), np.maximum(nonterminal, 0).astype(np.int64)


def iter_prefixes(corpus: TreeCorpus) -> Iterator[str]:
    """Yield the words of each sentence up to each of its words, spaces between them."""
    forms = [corpus.forms[form] for form in corpus.form.tolist()]
    for begin, end in zip(corpus.offsets[:-1].tolist(), corpus.offsets[1:].tolist(), strict=True):
        for last in range(begin + 1, end + 1):
            yield " ".join(forms[begin:last])


def words_of(corpus: TreeCorpus) -> tuple[list[str], list[bool]]:
    """Return the words in lower case, rare ones as their last two letters, and which are common."""
    forms = [corpus.forms[form].lower() for form in corpus.form.tolist()]
    common = {word for word, _ in Counter(forms).most_common(NUM_WORDS)}
    is_common = [word in common for word in forms]
    return [word if own else f"-{word[-2:]}" for word, own in zip(forms, is_common, strict=True)], is_common


def parse_sample(texts: Sequence[str], parser: str, num_words: int) -> TreeCorpus:
    """Return the trees of about `num_words` words of text files: of every nth paragraph."""
    paths = [path for text in map(Path, texts) for path in ([text] if text.is_file() else sorted(text.glob("*.txt")))]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines(keepends=True)]
    step = max(1, round(sum(len(line.split()) for line in lines) / num_words))
    with TemporaryDirectory() as folder:
        sample = Path(folder) / "sample.txt"
        sample.write_text("".join(lines[::step]), encoding="utf-8")
        return parse_texts([str(sample)], parser, unit="line")


def iter_words(path: Path) -> Iterator[list[str]]:
    """Yield the columns of each word of a CoNLL-U file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        columns = line.split("\t")
        if columns[0].isdecimal():
            yield columns


def format_report(reports: dict[str, LeakReport]) -> list[str]:
    """Return the factors as a table, a column a corpus."""
    kinds = list(dict.fromkeys(kind for report in reports.values() for kind in report.factors))
    lines = [
        "| known of word p beside the words up to it | " + " | ".join(reports) + " |",
        "|---|" + "---|" * len(reports),
    ]
    lines.append("| nothing: perplexity | " + " | ".join(f"{r.perplexity:.1f}" for r in reports.values()) + " |")
    for kind in kinds:
        cells = []
        for report in reports.values():
            found = report.factors.get(kind)
            cells.append("" if found is None else f"x {found.factor:.3f} [{found.low:.3f}, {found.high:.3f}]")
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    held_out = ", ".join(f"{name} {report.num_words:,}" for name, report in reports.items())
    return [*lines, "", f"Held-out words: {held_out}."]


if __name__ == "__main__":
    main()
