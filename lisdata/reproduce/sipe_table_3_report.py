"""The table of SiPE's backbones on BLiMP, after the first books and after going on, the paper's figures beside."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from lisdata.atomic import write_atomically
from lisdata.evaluation.benchmark_plot import Bar, plot_scores
from lisdata.evaluation.bootstrap import BootstrapDifference
from lisdata.evaluation.item_results import ItemResults, compare_results
from lisdata.reproduce.context_growth import Spread, align_columns, describe_scale
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_backbones import VARIANTS
from lisdata.reproduce.sipe_evaluation import read_items
from lisdata.reproduce.sipe_pretraining import CONTINUED, FIRST, STAGES
from lisdata.reproduce.sipe_report import describe_parts, items_path

FORMAT = "lisdata SiPE table 3 1"
NO_TAGS = "none"
# variant and reading -> BLiMP after WikiText, and after BLLIP-LG, which the decoder did not see
PUBLISHED: dict[tuple[str, str], tuple[float, float | None]] = {
    ("roberta", "none"): (70.68, 71.29),
    ("roberta-input", "full"): (71.68, 72.62),
    ("deberta", "none"): (67.40, 69.01),
    ("deberta-input", "full"): (68.93, 71.12),
    ("modernbert", "none"): (49.94, 51.25),
    ("modernbert-input", "full"): (51.10, 53.41),
    ("transformer-xl", "none"): (53.56, None),
    ("transformer-xl-position", "full"): (53.44, None),
}


class Row(NamedTuple):
    """The runs of a variant, one a seed, under one reading; `verdicts` by stage and seed."""

    variant: str
    reading: str
    runs: list[JsonDict]
    verdicts: dict[str, dict[int, ItemResults]]

    @property
    def key(self) -> tuple[str, str]:
        """Variant and reading."""
        return self.variant, self.reading

    @property
    def base(self) -> tuple[str, str]:
        """Variant and reading of the same backbone without tags."""
        return VARIANTS[self.variant].backbone, NO_TAGS

    def scores(self, stage: str) -> list[float]:
        """Return the scores, 0 to 1, by seed; nothing where a stage was not measured under the reading."""
        readings = [run["stages"][stage]["readings"] for run in self.runs]
        return [found[self.reading]["blimp"] for found in readings if self.reading in found]


def write_table(runs: list[JsonDict], scale: Any, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    rows = list_rows(runs, directory)
    differences = {row.key: {stage: _beyond_base(row, rows, stage) for stage in STAGES} for row in rows}
    text = "\n".join(
        [
            "BLiMP of SiPE's backbones by the tags they learned with (variant) and those they are given when measured.",
            "Right pairs in %, mean ± standard deviation over seeds; encoders by pseudo-log-likelihood. In parentheses",
            "what that is beyond the same backbone without tags, in points: 95 % intervals over pairs and seeds. Given",
            "tags: full, of whole sentences; hidden, of a parse that cannot read the masked token; prefix, of what was",
            "read. nats: of a predicted token of the validation book, under the tags of training.",
            describe_scale(scale),
            *describe_parts({"blimp": _paradigms(rows[0])} if rows else {}),
            "",
            *_format_rows(rows, differences),
        ]
    )
    content = {
        "format": FORMAT,
        "scale": asdict(scale),
        "rows": [_row_json(row, differences[row.key]) for row in rows],
    }
    write_atomically(directory / "table.txt", f"{text}\n".encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    plot_scores(list(_bars(rows)), directory / "table.png", label="BLiMP after going on: right pairs in %", chance=0.5)
    return f"{text}\n"


def _paradigms(row: Row) -> Collection[str]:
    """Return the names of the paradigms that were measured."""
    return next(iter(next(iter(row.verdicts.values())).values())).verdicts


def list_rows(runs: Sequence[JsonDict], directory: Path) -> list[Row]:
    """Return a row for each reading of each variant, with the verdicts of each run from `directory`."""
    rows: dict[tuple[str, str], Row] = {}
    for run in runs:
        path = items_path(directory, f"{run['variant']}-seed-{run['seed']}")
        items = json.loads(path.read_text(encoding="utf-8"))
        readings = dict.fromkeys(name for stage in STAGES for name in run["stages"][stage]["readings"])
        for reading in readings:
            row = rows.setdefault((run["variant"], reading), Row(run["variant"], reading, [], {}))
            row.runs.append(run)
            for stage in STAGES:
                if reading in items[stage]:
                    found = read_items(items[stage][reading], str(run["seed"]))
                    row.verdicts.setdefault(stage, {})[run["seed"]] = found
    return list(rows.values())


def _beyond_base(row: Row, rows: Sequence[Row], stage: str) -> BootstrapDifference | None:
    """Return what a row has beyond its base, under the seeds that both were run under."""
    base = next((other for other in rows if other.key == row.base), None)
    if base is None or row is base or stage not in row.verdicts:
        return None
    seeds = sorted(row.verdicts[stage].keys() & base.verdicts[stage].keys())
    if not seeds:
        return None
    return compare_results(*([of.verdicts[stage][seed] for seed in seeds] for of in (row, base)))


def _format_rows(
    rows: Sequence[Row], differences: Mapping[tuple[str, str], Mapping[str, BootstrapDifference | None]]
) -> list[str]:
    head = ["variant", "given", "seeds", "weights"]
    table = [[*head, "first books", "", "nats", "after going on", "", "nats"]]
    for row in rows:
        weights = f"{row.runs[0]['num_parameters']:,}"
        cells = [row.variant, row.reading, str(len(row.runs)), weights]
        for stage in STAGES:
            scores = [100 * score for score in row.scores(stage)]
            cells += [f"{Spread.of(scores):.2f}" if scores else "", _shown(differences[row.key][stage])]
            cells += [f"{Spread.of(_validation(row, stage)):.3f}"]
        table.append(cells)
        if row.key in PUBLISHED:
            first, continued = ("" if value is None else f"{value:.2f}" for value in PUBLISHED[row.key])
            table.append(["  paper", "", "1", "", first, "", "", continued, "", ""])
    return align_columns([[cells[0], cells[1].ljust(8), *cells[2:]] for cells in table])


def _shown(found: BootstrapDifference | None) -> str:
    if found is None:
        return ""
    return f"({100 * found.difference:+.2f} [{100 * found.low:+.2f}, {100 * found.high:+.2f}])"


def _validation(row: Row, stage: str) -> list[float]:
    return [run["stages"][stage]["evaluations"][-1]["nll"] for run in row.runs]


def _row_json(row: Row, differences: Mapping[str, BootstrapDifference | None]) -> JsonDict:
    return {
        "variant": row.variant,
        "reading": row.reading,
        "seeds": [run["seed"] for run in row.runs],
        "num_parameters": row.runs[0]["num_parameters"],
        "blimp": {stage: row.scores(stage) for stage in STAGES},
        "validation_nats": {stage: _validation(row, stage) for stage in STAGES},
        "beyond_base": {stage: None if found is None else asdict(found) for stage, found in differences.items()},
        "paper": dict(zip((FIRST, CONTINUED), PUBLISHED.get(row.key, (None, None)), strict=True)),
    }


def _bars(rows: Sequence[Row]) -> Iterator[Bar]:
    for row in rows:
        spread = Spread.of(row.scores(CONTINUED))
        yield Bar(f"{row.variant}, given {row.reading}", spread.mean, spread.deviation)
