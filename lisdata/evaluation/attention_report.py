"""The report of an attention analysis: in how many pairs the first model's verb and object attend more, and a plot."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

from lisdata.atomic import write_atomically
from lisdata.evaluation.attention_analysis import AttentionComparison, Judged, PairAttention
from lisdata.evaluation.benchmark_plot import plot_paired_attention
from lisdata.training.report import describe_versions

FORMAT = "lisdata attention 1"
PUBLISHED = (("RoBERTa-base", 18, 20), ("ModernBERT-base", 17, 20), ("Transformer-XL", 11, 20))
"""SiPE appendix C: in how many of 20 pairs that SiPE alone has right its attention is the greater."""
_NAMES: dict[Judged, str] = {
    "first": "the first alone is right",
    "second": "the second alone is right",
    "both": "both are right",
    "neither": "both are wrong",
}
_Z = 1.959964  # of 95 %


def write_attention_report(comparison: AttentionComparison, directory: Path) -> str:
    """Write attention.txt, attention.json and attention.png to `directory`; return the table."""
    directory.mkdir(parents=True, exist_ok=True)
    groups = group_pairs(comparison.pairs)
    text = _format(comparison, groups)
    write_atomically(directory / "attention.txt", text.encode())
    content = json.dumps(_to_json(comparison, groups), indent=1) + "\n"
    write_atomically(directory / "attention.json", content.encode())
    points = {_NAMES[name]: [(pair.second, pair.first) for pair in groups[name]] for name in _NAMES if name in groups}
    plot_paired_attention(points, directory / "attention.png", row=comparison.row)
    return text


def group_pairs(pairs: Sequence[PairAttention]) -> dict[Judged, list[PairAttention]]:
    """Return the pairs by which model has them right."""
    groups = {name: [pair for pair in pairs if pair.judged == name] for name in get_args(Judged)}
    return {name: group for name, group in groups.items() if group}


def wilson_interval(num_hits: int, number: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of hits (Wilson 1927)."""
    share, spread = num_hits / number, _Z**2 / number
    centre = share + spread / 2
    half = _Z * math.sqrt(share * (1 - share) / number + spread / (4 * number))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))


def _format(comparison: AttentionComparison, groups: dict[Judged, list[PairAttention]]) -> str:
    row, layers = comparison.row, comparison.layers
    key = {"verb": "object", "object": "verb"}[row]
    lines = [
        f"Attention between verb and object, read in the {row}'s row: how much it attends to the {key}.",
        *(f"{which}: {model}, layers {band[0]}-{band[1]}" for which, model, band in _models(comparison, layers)),
        f"{len(comparison.pairs)} of {comparison.num_pairs} pairs have an object by {comparison.parser}.",
        "Share: pairs in which the first attends more than the second, with its 95 % interval.",
        "",
        f"{'pairs of which':<26}{'number':>8}{'first':>9}{'second':>9}{'share':>8}{'interval':>16}{'not adjacent':>14}",
    ]
    for name, pairs in groups.items():
        found = _figures(pairs)
        interval = f"[{100 * found['low']:.1f}, {100 * found['high']:.1f}]"
        lines.append(
            f"{_NAMES[name]:<26}{len(pairs):>8}{found['first']:>9.4f}{found['second']:>9.4f}"
            f"{100 * found['share']:>7.1f}%{interval:>16}{100 * found['not_adjacent']:>13.1f}%"
        )
    paper = ", ".join(f"{name} {hits}/{number}" for name, hits, number in PUBLISHED)
    return "\n".join([*lines, "", f"Paper, pairs that SiPE alone has right: {paper}."]) + "\n"


def _models(
    comparison: AttentionComparison, layers: tuple[tuple[int, int], tuple[int, int]]
) -> list[tuple[str, str, tuple[int, int]]]:
    return list(zip(("first", "second"), comparison.models, layers, strict=True))


def _figures(pairs: Sequence[PairAttention]) -> dict[str, float]:
    num_hits = sum(pair.first > pair.second for pair in pairs)
    low, high = wilson_interval(num_hits, len(pairs))
    return {
        "first": fmean(pair.first for pair in pairs),
        "second": fmean(pair.second for pair in pairs),
        "share": num_hits / len(pairs),
        "low": low,
        "high": high,
        "not_adjacent": fmean(pair.item.distance > 1 for pair in pairs),
    }


def _to_json(comparison: AttentionComparison, groups: dict[Judged, list[PairAttention]]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "models": list(comparison.models),
        "row": comparison.row,
        "layers": [list(band) for band in comparison.layers],
        "parser": comparison.parser,
        "num_pairs": comparison.num_pairs,
        "groups": {name: {"number": len(pairs), **_figures(pairs)} for name, pairs in groups.items()},
        "pairs": [
            {
                "pair": pair.item.pair.number,
                "text": pair.item.pair.good,
                "verb": pair.item.pair.good[slice(*pair.item.verb)],
                "object": pair.item.pair.good[slice(*pair.item.object)],
                "distance": pair.item.distance,
                "right": pair.judged,
                "first": pair.first,
                "second": pair.second,
            }
            for pair in comparison.pairs
        ],
        "versions": describe_versions(),
    }
