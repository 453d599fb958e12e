"""The table of names spelled from facts: by prefix setting, arity and name set, the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from lisdata.diagnostics.binding import SETTINGS, copy_score
from lisdata.diagnostics.chains import NAME_SETS
from lisdata.reproduce.context_growth import align_columns
from lisdata.reproduce.spelling_report import Key, Published, SpellingTable, write_spelling_table

JsonDict = dict[str, Any]
FORMAT = "lisdata binding table 1"
READINGS = {"all": "all names of the text", "predicted": "all names but the first"}

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
PUBLISHED: dict[Key, dict[str, Published]] = {
    key: {"B": b, "J": j, **({"B_l": (None, *_B_L[key])} if key in _B_L else {})} for key, (b, j) in _B_AND_J.items()
}
ROWS: list[Key] = [(setting, arity, names) for setting in SETTINGS for arity in (2, 3) for names in NAME_SETS]


def name_task(key: Key) -> str:
    """Return the name of the file of a row's examples."""
    setting, arity, names = key
    return f"{names}-chain{arity}-{setting}"


TABLE = SpellingTable(
    format=FORMAT,
    title="Names in a text spelled from the facts before it",
    columns=("prefix", "chain", "names"),
    rows=ROWS,
    readings=READINGS,
    published=PUBLISHED,
    published_reading="all",
    plotted={key: f"{key[0]}\n{key[1]} names" for key in ROWS if key[2] == "test"},
    plotted_what="unseen names, char_top_5_exact",
    name_task=name_task,
)


def write_table(runs: list[JsonDict], scale: Any, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    title = "Copying without reading a relation (all names but the first, by chance; compare with top 1)"
    return write_spelling_table(TABLE, runs, scale, directory, remarks=["", title, "", *_format_copying(directory)])


def _format_copying(directory: Path) -> list[str]:
    table = [["prefix", "chain", "names", "copying"]]
    for key in ROWS:
        path = directory / "data" / "evaluation" / f"{name_task(key)}.jsonl"
        score = fmean(map(copy_score, path.read_bytes().splitlines()))
        table.append([*map(str, key), f"{score:.3f}"])
    return align_columns(table)
