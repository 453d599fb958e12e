"""The table of names spelled from facts: by prefix setting, arity and name set, the paper's figures beside ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.diagnostics.binding import SETTINGS, copy_score
from lisdata.plots import plot_binding
from lisdata.reproduce.context_growth import Spread, align_columns

JsonDict = dict[str, Any]
FORMAT = "lisdata binding table 1"
READINGS = {"all": "all names of the text", "predicted": "all names but the first"}
_HIT = "char_top_5_exact"

# (setting, chain, set) -> model -> (h@1, h@5, perplexity); None where the paper's table is cut off. LIS Tables 8 to 11.
_B_AND_J = {
    ("single", 2, "train"): ((0.224, 0.907, 2.28), (0.507, 1.000, 1.30)),
    ("single", 2, "test"): ((0.095, 0.359, 6.22), (0.463, 0.972, 1.37)),
    ("single", 3, "train"): ((0.011, 0.743, 2.75), (0.063, 0.995, 1.46)),
    ("single", 3, "test"): ((0.002, 0.126, 8.64), (0.050, 0.923, 1.57)),
    ("same-entities", 2, "train"): ((0.215, 0.853, 2.58), (0.483, 1.000, 1.39)),
    ("same-entities", 2, "test"): ((0.133, 0.411, 6.23), (0.388, 0.952, 1.57)),
    ("same-entities", 3, "train"): ((0.000, 0.126, 15.37), (0.044, 0.962, 1.64)),
    ("same-entities", 3, "test"): ((0.000, 0.030, 29.83), (0.016, 0.835, 1.98)),
    ("same-relation", 2, "train"): ((0.025, 0.368, 6.72), (0.050, 0.342, 8.29)),
    ("same-relation", 2, "test"): ((0.009, 0.109, 20.49), (0.023, 0.182, 17.19)),
    ("same-relation", 3, "train"): ((0.000, 0.005, 51.44), (0.001, 0.112, 8.58)),
    ("same-relation", 3, "test"): ((0.000, 0.000, 101.94), (0.001, 0.038, 18.24)),
}
_B_L = {
    ("single", 2, "train"): (0.970, 1.42),
    ("single", 2, "test"): (0.925, 1.58),
    ("single", 3, "train"): (0.994, 1.50),
    ("single", 3, "test"): (0.912, 1.66),
    ("same-entities", 2, "train"): (0.973, 1.91),
    ("same-entities", 2, "test"): (0.872, 2.35),
}
PUBLISHED: dict[tuple[str, int, str], dict[str, tuple[float | None, float, float]]] = {
    key: {"B": b, "J": j, **({"B_l": (None, *_B_L[key])} if key in _B_L else {})} for key, (b, j) in _B_AND_J.items()
}
ROWS = [(setting, arity, names) for setting in SETTINGS for arity in (2, 3) for names in ("train", "dev", "test")]


def write_table(runs: list[JsonDict], scale: Any, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    variants = list(dict.fromkeys(run["variant"] for run in runs))
    parts = [
        "Names in a text spelled from the facts before it; mean ± standard deviation over seeds.",
        "char_top_5_exact: every scored character among the five likeliest (the paper's hit@5).",
        f"Scale: {', '.join(f'{name} {value}' for name, value in asdict(scale).items())}.",
        f"Runs: {', '.join(f'{v} {_parameters(runs, v):,} parameters' for v in variants)}.",
    ]
    for reading, what in READINGS.items():
        for figure, title in (
            (_HIT, "char_top_5_exact"),
            ("char_top_1_exact", "char_top_1_exact"),
            ("perplexity", "perplexity a character"),
        ):
            parts += ["", f"{title}, {what}", "", *_format(runs, variants, reading, figure)]
    parts += ["", "Copying without reading a relation (all names but the first, by chance; compare with top 1)", ""]
    parts += _format_copying(directory)
    text = "\n".join(parts) + "\n"
    content = {"format": FORMAT, "scale": asdict(scale), "rows": _rows_json(runs, variants)}
    write_atomically(directory / "table.txt", text.encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    plot_binding(_bars(runs, variants), directory / "table.png", published=_published_bars(variants))
    return text


def _parameters(runs: Sequence[JsonDict], variant: str) -> int:
    return next(int(run["num_parameters"]) for run in runs if run["variant"] == variant)


def _name(key: tuple[str, int, str]) -> str:
    setting, arity, names = key
    return f"{names}-chain{arity}-{setting}"


def _spread(runs: Sequence[JsonDict], variant: str, key: tuple[str, int, str], reading: str, figure: str) -> Spread:
    """Return a figure over the seeds of a variant; a perplexity beyond a float counts as infinite."""
    found = [run["scores"][_name(key)][reading][figure] for run in runs if run["variant"] == variant]
    return Spread.of([float("inf") if value is None else value for value in found])


def _format(runs: Sequence[JsonDict], variants: Sequence[str], reading: str, figure: str) -> list[str]:
    place = {"char_top_1_exact": 0, _HIT: 1, "perplexity": 2}[figure]
    digits = ".2f" if figure == "perplexity" else ".3f"
    table = [["prefix", "chain", "names", *variants]]
    for key in ROWS:
        table.append(
            [key[0], str(key[1]), key[2], *(f"{_spread(runs, v, key, reading, figure):{digits}}" for v in variants)]
        )
        published = PUBLISHED.get(key, {})
        if reading == "all" and published:
            values = [published.get(v, (None, None, None))[place] for v in variants]
            if any(value is not None for value in values):
                table.append(["  paper", "", "", *("" if value is None else f"{value:{digits}}" for value in values)])
    return align_columns(table)


def _format_copying(directory: Path) -> list[str]:
    table = [["prefix", "chain", "names", "copying"]]
    for key in ROWS:
        path = directory / "data" / "evaluation" / f"{_name(key)}.jsonl"
        score = fmean(map(copy_score, path.read_bytes().splitlines()))
        table.append([key[0], str(key[1]), key[2], f"{score:.3f}"])
    return align_columns(table)


def _rows_json(runs: Sequence[JsonDict], variants: Sequence[str]) -> list[JsonDict]:
    return [
        {
            "variant": variant,
            "prefix": key[0],
            "arity": key[1],
            "names": key[2],
            "reading": reading,
            "seeds": [run["seed"] for run in runs if run["variant"] == variant],
            **{
                figure: asdict(_spread(runs, variant, key, reading, figure))
                for figure in (_HIT, "char_top_1_exact", "perplexity")
            },
            "paper": PUBLISHED.get(key, {}).get(variant),
        }
        for variant in variants
        for key in ROWS
        for reading in READINGS
    ]


def _bars(runs: Sequence[JsonDict], variants: Sequence[str]) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Return for each variant, by prefix and arity on test names, the share of examples spelled exactly."""
    bars: dict[str, dict[str, tuple[float, float | None]]] = {}
    for variant in variants:
        for setting, arity, names in ROWS:
            if names == "test":
                spread = _spread(runs, variant, (setting, arity, names), "all", _HIT)
                bars.setdefault(variant, {})[f"{setting}\n{arity} names"] = (spread.mean, spread.deviation)
    return bars


def _published_bars(variants: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for (setting, arity, names), by_variant in PUBLISHED.items():
        for variant, (_, hit, _) in by_variant.items():
            if names == "test" and variant in variants:
                found.setdefault(variant, {})[f"{setting}\n{arity} names"] = hit
    return found
