"""LIS Table 1 from the records of other experiments."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lisdata.reproduce.lis_table_1 import EXPERIMENT, ROWS, run
from lisdata.reproduce.runner import RUN_FORMAT, RunRequest, choose_scale, reproduce


def record(directory: Path, variant: str, seed: int, **figures: Any) -> None:
    path = directory / "runs" / f"{variant}-seed-{seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"format": RUN_FORMAT, "variant": variant, "seed": seed, **figures}), encoding="utf-8")


def context(perplexities: dict[int, float]) -> dict[str, Any]:
    whole = {str(n): {"nll": 10 * math.log(value), "num_tokens": 10} for n, value in perplexities.items()}
    return {"readings": {"whole": whole}}


def tiers(values: dict[str, float]) -> dict[str, Any]:
    return {"scores": {name: {"last": {"char_top_5_exact": value}} for name, value in values.items()}}


def assemble(to: Path, *changes: str) -> tuple[str, list[dict[str, Any]]]:
    scale = choose_scale(EXPERIMENT, "recorded", changes)
    text = reproduce("lis-table-1", data=None, directory=to, scale=scale, num_seeds=1)
    rows: list[dict[str, Any]] = json.loads((to / "table.json").read_text(encoding="utf-8"))["rows"]
    return text, rows


def test_without_any_runs_all_rows_are_missing_and_named(tmp_path: Path) -> None:
    text, rows = assemble(tmp_path / "table_1")

    assert len(rows) == len(ROWS) == 6
    assert all(row["values"] == [None, None] for row in rows)
    assert "Missing, not yet run: lis-table-3 rope, lis-table-3 lisformer-lines, lis-table-5 serialized" in text
    assert "4.70 -> 13.36" in text
    assert "0.401-0.445" in text


def test_runs_beside_give_means_over_seeds_and_ranges_over_tiers(tmp_path: Path) -> None:
    for seed, last in enumerate((8.0, 12.0)):
        record(tmp_path / "lis_table_3", "rope", seed, **context({64: 4.0, 128: 5.0, 1024: last}))
    values = {"memorization": 0.2, "transfer": 0.4, "generalization": 0.3, "kg_excl_mem": 0.9}
    scores = {f"test-{form}-{tier}": value for form in ("kg", "text") for tier, value in values.items()}
    record(tmp_path / "lis_table_5", "LIS", 0, **tiers(scores))

    text, rows = assemble(tmp_path / "lis_table_1")

    assert rows[0]["values"] == [[pytest.approx(4.0), pytest.approx(10.0)], None]
    assert rows[0]["seeds"] == [2, 0]
    assert "4.00 -> 10.00" in text
    assert rows[1]["values"] == rows[2]["values"] == [None, [0.2, 0.4, 0.3]]
    assert text.count("0.200-0.400") == 2
    assert "lis-table-5 LIS" not in text


def test_folders_can_be_named(tmp_path: Path) -> None:
    scores = {
        f"test-chain{arity}-{setting}": {"all": {"char_top_5_exact": value}}
        for arity, value in ((2, 0.75), (3, 0.25))
        for setting in ("single", "same-entities", "same-relation")
    }
    record(tmp_path / "elsewhere", "J", 0, scores=scores)

    text, rows = assemble(tmp_path / "out" / "table_1", f"lis_tables_8_11={tmp_path / 'elsewhere'}")

    assert [row["values"][1] for row in rows[3:]] == [[0.75, 0.25]] * 3
    assert "0.250-0.750" in text


def test_there_is_nothing_to_run(tmp_path: Path) -> None:
    request = RunRequest(data=None, directory=tmp_path, scale=EXPERIMENT.scales["recorded"], variant="any", seed=0)

    with pytest.raises(ValueError, match="other experiments"):
        run(request)
