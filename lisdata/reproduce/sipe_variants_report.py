"""The table of SiPE encoders by the way that tags are fused with their input, the paper's GLUE averages beside."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.evaluation.benchmark_plot import Bar, plot_scores
from lisdata.evaluation.bootstrap import BootstrapDifference, Float64, paired_bootstrap
from lisdata.evaluation.item_results import compare_results
from lisdata.reproduce.context_growth import align_columns, describe_scale
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_encoders import HIDDEN
from lisdata.reproduce.sipe_report import REFERENCE, Row, describe_parts, find_reference, list_rows

FORMAT = "lisdata SiPE variants table 1"
# average over GLUE after 1M steps (Tables 9, 10) and after 500k steps (Fig. 7, read off); RoBERTa-base
PUBLISHED: dict[str, tuple[float | None, float | None]] = {
    "none": (72.30, 68.64),
    "add": (72.84, 70.19),
    "concat": (70.91, 69.32),
    "residual": (72.40, None),
    "alpha-0.1": (72.05, None),
    "alpha-0.5": (71.60, None),
    "alpha-0.9": (72.05, None),
    "add-deprel": (None, 69.28),
    "concat-deprel": (None, 69.63),
    "add-deprel-for-terminal": (None, 69.48),
    "alpha-deprel-for-terminal": (None, 69.60),
    "concat-deprel-for-terminal": (None, 69.61),
}
_HEAD = (
    "RoBERTa by the way that tags are fused with its input (variant) and the tags it is given when measured.",
    "Mean ± standard deviation over seeds. PPL is of masked tokens of a book held out, 15 % masked, no tag at a",
    "masked word; the tags of the others are of the parse of the whole sentence, which saw that word. BLiMP by",
    "pseudo-log-likelihood under the same tags, and under those of a parse that could not read the masked word",
    "(hidden). The paper's figures are averages over GLUE (1M steps; 500k steps).",
)


def write_table(runs: list[JsonDict], scale: Any, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    rows = list_rows(runs, directory)
    differences = {row.key: found for row in rows if (found := _differences(row, rows))}
    parts = describe_parts({"blimp": rows[0].items[rows[0].seeds[0]]["blimp"]} if rows else {})
    lines = [*_HEAD, describe_scale(scale), *parts, "", *_format_rows(rows), ""]
    lines += [f"Beyond {' under '.join(REFERENCE)}: 95 % intervals over items and seeds (paired bootstrap).", ""]
    text = "\n".join([*lines, *_format_differences(differences)]) + "\n"
    content = {
        "format": FORMAT,
        "scale": asdict(scale),
        "rows": [_row_json(row, differences.get(row.key, {})) for row in rows],
    }
    write_atomically(directory / "table.txt", text.encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    spreads = {row.key: row.spread(lambda found: float(found["blimp"])) for row in rows}
    bars = [Bar(f"{variant}, given {given}", s.mean, s.deviation) for (variant, given), s in spreads.items()]
    plot_scores(bars, directory / "table.png", label="BLiMP: right pairs in %", chance=0.5)
    return text


def masked_perplexity(figures: JsonDict) -> float:
    """Return exp of the mean nats of a masked token."""
    return math.exp(figures["nll"] / figures["num_masked"])


def _format_rows(rows: Sequence[Row]) -> list[str]:
    table = [["variant", "given", "seeds", "weights", "PPL, masked", "BLiMP", "hidden", "paper 1M", "paper 500k"]]
    for row in rows:
        is_first = row.reading == next(iter(row.runs[0]["readings"]))
        paper = PUBLISHED.get(row.variant, (None, None)) if is_first else (None, None)
        perplexity, pairs = row.spread(masked_perplexity), row.spread(lambda found: 100 * float(found["blimp"]))
        hidden = f"{row.spread(lambda found: 100 * float(found[HIDDEN])):.2f}" if _has_hidden(row) else ""
        figures = [f"{row.runs[0]['num_parameters']:,}", f"{perplexity:.2f}", f"{pairs:.2f}", hidden]
        beside = ["" if value is None else f"{value:.2f}" for value in paper]
        table.append([row.variant, row.reading.ljust(5), str(len(row.runs)), *figures, *beside])
    return align_columns(table)


def _nats(row: Row, seeds: Sequence[int]) -> Float64:
    """Return (seeds, sentences) whose mean over sentences is the nats of a masked token."""
    num_masked = row.runs[0]["readings"][row.reading]["num_masked"]
    return row.sentence_nats(seeds, num_masked)


def _differences(row: Row, rows: Sequence[Row]) -> dict[str, BootstrapDifference]:
    """Return what a row has beyond the reference."""
    compared = find_reference(row, rows)
    if compared is None:
        return {}
    reference, seeds = compared
    base = reference.results("blimp", seeds)
    found = {
        "nats a masked token": paired_bootstrap([_nats(row, seeds)], [_nats(reference, seeds)]),
        "blimp": compare_results(row.results("blimp", seeds), base),
    }
    return found | ({HIDDEN: compare_results(row.results(HIDDEN, seeds), base)} if _has_hidden(row) else {})


def _has_hidden(row: Row) -> bool:
    return HIDDEN in row.runs[0]["readings"][row.reading]


def _format_differences(differences: Mapping[tuple[str, str], Mapping[str, BootstrapDifference]]) -> list[str]:
    table = [["variant", "given", "nats a masked token", "BLiMP, points", "hidden, points"]]
    for (variant, given), found in differences.items():
        nats = found["nats a masked token"]
        points = [
            f"{100 * pairs.difference:+.2f} [{100 * pairs.low:+.2f}, {100 * pairs.high:+.2f}]"
            for pairs in (found[name] for name in ("blimp", HIDDEN) if name in found)
        ]
        points += [""] * (2 - len(points))
        table.append([variant, given.ljust(5), f"{nats.difference:+.3f} [{nats.low:+.3f}, {nats.high:+.3f}]", *points])
    return align_columns(table)


def _row_json(row: Row, differences: Mapping[str, BootstrapDifference]) -> JsonDict:
    figures = [run["readings"][row.reading] for run in row.runs]
    return {
        "variant": row.variant,
        "reading": row.reading,
        "seeds": row.seeds,
        "num_parameters": row.runs[0]["num_parameters"],
        "masked_perplexity": [masked_perplexity(found) for found in figures],
        "blimp": [found["blimp"] for found in figures],
        HIDDEN: [found.get(HIDDEN) for found in figures],
        "beyond_none": {name: asdict(found) for name, found in differences.items()},
        "paper_glue": PUBLISHED.get(row.variant),
    }
