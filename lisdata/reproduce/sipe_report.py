"""The table of SiPE decoders by the tags that they learned with and are measured under, the paper's figures beside."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lisdata.atomic import write_atomically
from lisdata.evaluation.benchmark_plot import Bar, plot_scores
from lisdata.evaluation.bootstrap import BootstrapDifference, Float64, paired_bootstrap
from lisdata.evaluation.item_results import ItemResults, compare_results
from lisdata.evaluation.syntaxgym import counted_suites
from lisdata.reproduce.context_growth import Spread, align_columns, describe_scale
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_evaluation import read_items

FORMAT = "lisdata SiPE table 1"
REFERENCE = ("none", "none")
Published = Mapping[tuple[str, str], tuple[float | None, float | None, float | None]]
"""Word perplexity, BLiMP and SyntaxGym in the paper, None where it says nothing, by variant and reading."""
PUBLISHED: Published = {
    ("none", "none"): (18.63, 75.30, 73.09),
    ("input", "full"): (16.16, 73.82, 76.97),
    ("position", "full"): (16.95, 74.01, 80.60),
}
"""SiPE Table 2: 16 layers on BLLIP-LG."""
BENCHMARKS = ("blimp", "syntaxgym")
_WHOLE = {"blimp": (67, "paradigms of BLiMP"), "syntaxgym": (34, "suites of SyntaxGym")}
_PARTS = ("token", "terminal", "nonterminal")
_MOST_NATS = 700.0  # of which exp is a float
KNOWN_IN_TIME = ("none", "prefix", "prefix-moved", "frozen")
"""Readings whose tags are a function of the words read, so that they give a probability of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a study's table has beside its runs: a `title`, and the paper's figures."""

    title: str = "SiPE decoders by the tags they learned with (variant) and those they are given when measured."
    published: Published


TABLE_2 = Layout(published=PUBLISHED)


class Row(NamedTuple):
    """The runs of one variant, one a seed, with their items by seed, under one reading."""

    variant: str
    reading: str
    runs: list[JsonDict]
    items: dict[int, JsonDict]

    @property
    def key(self) -> tuple[str, str]:
        """Variant and reading."""
        return self.variant, self.reading

    @property
    def seeds(self) -> list[int]:
        """The seeds that were run."""
        return sorted(self.items)

    def spread(self, figure: Callable[[JsonDict], float]) -> Spread:
        """Return mean and deviation over seeds of a figure of the reading."""
        return Spread.of([figure(run["readings"][self.reading]) for run in self.runs])

    def nats_a_word(self, seeds: Sequence[int]) -> Float64:
        """Return (seeds, sentences) whose mean over sentences is -log p a word."""
        return self.sentence_nats(seeds, self.runs[0]["readings"][self.reading]["num_words"])

    def sentence_nats(self, seeds: Sequence[int], num_parts: int) -> Float64:
        """Return (seeds, sentences) whose mean over sentences is -log p a part, where there are so many in all."""
        nll: Float64 = np.array([self.items[seed]["nll"] for seed in seeds])
        scaled: Float64 = nll * (nll.shape[1] / num_parts)
        return scaled

    def results(self, benchmark: str, seeds: Sequence[int]) -> list[ItemResults]:
        """Return the verdicts on a benchmark's items."""
        return [read_items(self.items[seed][benchmark], str(seed)) for seed in seeds]


def items_path(directory: Path, name: str) -> Path:
    """Return the file of a run's results by item."""
    return directory / "items" / f"{name}.json"


def write_table(runs: list[JsonDict], scale: Any, directory: Path, *, layout: Layout = TABLE_2) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    rows = list_rows(runs, directory)
    differences = {row.key: found for row in rows if (found := _differences(row, rows))}
    text = "\n".join(
        [
            layout.title,
            "Mean ± standard deviation over seeds. PPL is a word's. Where the tags given are a function of the words",
            "read, it is a perplexity of the text; tags of whole sentences tell of words to come, and their PPL is in",
            "a column of its own, which compares with nothing outside of it.",
            describe_scale(scale),
            *describe_parts({name: rows[0].items[rows[0].seeds[0]][name] for name in BENCHMARKS} if rows else {}),
            "",
            *_format_rows(rows, layout.published),
            "",
            "Joint bound: nats a word of tokens, terminals and nonterminals, each predicted from what is before it,",
            "and the word perplexity that their sum stands for: no less than that of the text.",
            "",
            *_format_joint(rows),
            "",
            f"Beyond {' under '.join(REFERENCE)}: 95 % intervals over items and seeds (paired bootstrap).",
            "",
            *_format_differences(differences),
        ]
    )
    content = {
        "format": FORMAT,
        "scale": asdict(scale),
        "rows": [
            _row_json(row, differences.get(row.key, {})) | {"paper": layout.published.get(row.key)} for row in rows
        ],
    }
    write_atomically(directory / "table.txt", f"{text}\n".encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    plot_scores(list(_bars(rows)), directory / "table.png", label="SyntaxGym: right items in %")
    return f"{text}\n"


def describe_parts(groups: Mapping[str, Collection[str]]) -> list[str]:
    """Return a line for each benchmark, by name, of whose groups not all were measured."""
    return [
        f"Measured on {len(groups[name])} of the {number} {what}: compares with no score on all of them."
        for name, (number, what) in _WHOLE.items()
        if name in groups and len(groups[name]) < number
    ]


def list_rows(runs: Sequence[JsonDict], directory: Path) -> list[Row]:
    """Return the rows of finished runs, with the items of each from `directory`."""
    rows: dict[tuple[str, str], Row] = {}
    for run in runs:
        path = items_path(directory, f"{run['variant']}-seed-{run['seed']}")
        items = json.loads(path.read_text(encoding="utf-8"))
        for reading in run["readings"]:
            row = rows.setdefault((run["variant"], reading), Row(run["variant"], reading, [], {}))
            row.runs.append(run)
            row.items[run["seed"]] = items[reading]
    return list(rows.values())


def find_reference(row: Row, rows: Sequence[Row]) -> tuple[Row, list[int]] | None:
    """Return the row of REFERENCE and the seeds that it shares with `row`; None without any, or for itself."""
    reference = next((other for other in rows if other.key == REFERENCE), None)
    if reference is None or row is reference:
        return None
    seeds = [seed for seed in row.seeds if seed in reference.seeds]
    return (reference, seeds) if seeds else None


def word_perplexity(figures: Mapping[str, Any]) -> float:
    """Return exp of the nats of all tokens (ends of sentences too) by the number of words."""
    return _exp(figures["nll"] / figures["num_words"])


def _exp(nats: float) -> float:
    return math.exp(min(nats, _MOST_NATS))


def _format_rows(rows: Sequence[Row], published: Published) -> list[str]:
    table = [["variant", "given", "seeds", "weights", "PPL", "PPL, whole parse", "BLiMP", "SyntaxGym"]]
    for row in rows:
        perplexity = f"{row.spread(word_perplexity):.1f}"
        is_true = row.reading in KNOWN_IN_TIME
        scores = [f"{row.spread(lambda found, name=name: 100 * found[name]):.2f}" for name in BENCHMARKS]  # type: ignore[misc]
        size = f"{row.runs[0]['num_parameters']:,}"
        columns = (perplexity, "") if is_true else ("", perplexity)
        table.append([row.variant, row.reading, str(len(row.runs)), size, *columns, *scores])
        if row.key in published:
            beside, *others = ("" if value is None else f"{value:.2f}" for value in published[row.key])
            table.append(["  paper", "", "1", "", *((beside, "") if is_true else ("", beside)), *others])
    return align_columns([[*row[:1], row[1].ljust(16), *row[2:]] for row in table])


def _format_joint(rows: Sequence[Row]) -> list[str]:
    table = [["variant", "seeds", "tokens", "terminals", "nonterminals", "sum", "PPL of the sum"]]
    for row in rows:
        joint = _joint(row)
        if joint:
            parts = [f"{Spread.of([found[part] for found in joint]):.3f}" for part in (*_PARTS, "sum")]
            perplexity = f"{Spread.of([_exp(found['sum']) for found in joint]):.1f}"
            table.append([row.variant, str(len(joint)), *parts, perplexity])
    return align_columns(table)


def _joint(row: Row) -> list[dict[str, float]]:
    """Return the nats a word of each part, by seed; nothing but for a variant's first reading."""
    found = []
    for run in row.runs:
        if run["joint"] is None or next(iter(run["readings"])) != row.reading:
            return []
        num_words = run["readings"][row.reading]["num_words"]
        parts = {part: run["joint"][part] / num_words for part in _PARTS}
        found.append(parts | {"sum": sum(parts.values())})
    return found


def _differences(row: Row, rows: Sequence[Row]) -> dict[str, BootstrapDifference]:
    """Return what a row has beyond the reference."""
    compared = find_reference(row, rows)
    if compared is None:
        return {}
    reference, seeds = compared
    found = {"nats a word": paired_bootstrap([row.nats_a_word(seeds)], [reference.nats_a_word(seeds)])}
    for benchmark in BENCHMARKS:
        first, second = row.results(benchmark, seeds), reference.results(benchmark, seeds)
        groups = counted_suites(first[0].verdicts) if benchmark == "syntaxgym" else None
        found[benchmark] = compare_results(first, second, groups=groups)
    return found


def _format_differences(differences: Mapping[tuple[str, str], Mapping[str, BootstrapDifference]]) -> list[str]:
    table = [["variant", "given", "nats a word", "BLiMP, points", "SyntaxGym, points"]]
    for (variant, reading), found in differences.items():
        nats = found["nats a word"]
        scores = [
            f"{100 * one.difference:+.2f} [{100 * one.low:+.2f}, {100 * one.high:+.2f}]"
            for one in (found[benchmark] for benchmark in BENCHMARKS)
        ]
        table.append([variant, reading, f"{nats.difference:+.3f} [{nats.low:+.3f}, {nats.high:+.3f}]", *scores])
    return align_columns([[*row[:1], row[1].ljust(16), *row[2:]] for row in table])


def _row_json(row: Row, differences: Mapping[str, BootstrapDifference]) -> JsonDict:
    figures = [run["readings"][row.reading] for run in row.runs]
    return {
        "variant": row.variant,
        "reading": row.reading,
        "seeds": row.seeds,
        "num_parameters": row.runs[0]["num_parameters"],
        "is_probability_of_text": row.reading in KNOWN_IN_TIME,
        "word_perplexity": [word_perplexity(found) for found in figures],
        "token_perplexity": [_exp(found["nll"] / found["num_tokens"]) for found in figures],
        **{benchmark: [found[benchmark] for found in figures] for benchmark in BENCHMARKS},
        "joint_nats_a_word": _joint(row),
        "beyond_none": {name: asdict(found) for name, found in differences.items()},
    }


def _bars(rows: Sequence[Row]) -> Iterator[Bar]:
    for row in rows:
        spread = row.spread(lambda found: float(found["syntaxgym"]))
        yield Bar(f"{row.variant}, given {row.reading}", spread.mean, spread.deviation)
