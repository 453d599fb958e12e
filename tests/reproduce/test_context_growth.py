"""The table of context growth: what its figures are the mean of, and how it is laid out."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lisdata.reproduce.context_growth import Spread, write_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """As much of a scale as the table needs."""

    window: int = 128
    context_lengths: tuple[int, ...] = (128, 256, 2048)


def record(variant: str, seed: int, *perplexities: float, reading: str = "whole") -> dict[str, Any]:
    figures = {
        str(length): {"nll": 10 * math.log(value), "num_tokens": 10}
        for length, value in zip(Scale().context_lengths, perplexities, strict=True)
    }
    return {"variant": variant, "seed": seed, "readings": {reading: figures}}


RUNS = [
    record("rope", 0, 5.0, 7.0, 20.0),
    record("rope", 1, 5.2, 7.2, 26.0),
    record("lisformer-lines", 0, 5.0, 5.0, 5.5),
    record("zero-offset", 0, 5.0, 5.0, 5.5),
    record("zero-offset", 3, 6.0, 6.0, 6.0),
]


@pytest.fixture
def table(tmp_path: Path) -> str:
    return write_table(RUNS, Scale(), tmp_path)


def test_the_paper_s_row_follows_its_model_s_at_equal_multiples_of_the_window(table: str) -> None:
    header, rope, paper, lisformer, its_paper, zero = table.splitlines()[3:9]

    assert header.split() == ["model", "seeds", "x1", "(128)", "x2", "(256)", "x16", "(2,048)", "last", "/", "first"]
    assert rope.split() == ["rope", "2", "5.10", "±0.14", "7.10", "±0.14", "23.00", "±4.24", "4.50", "±0.71"]
    assert paper.split() == ["paper,", "window", "256", "1", "4.70", "5.99", "13.36", "2.84"]
    assert lisformer.split() == ["lisformer-lines", "1", "5.00", "5.00", "5.50", "1.10"]
    assert its_paper.split()[-4:] == ["4.81", "4.74", "4.86", "1.01"]
    assert zero.split()[0] == "zero-offset"


def test_columns_stand_under_their_headings(table: str) -> None:
    lines = table.splitlines()

    assert len({len(line) for line in lines[3:9]}) == 1
    assert len({len(line) for line in lines[12:]}) == 1


def test_differences_are_taken_seed_by_seed_and_only_where_both_ran(table: str) -> None:
    rope, zero = table.splitlines()[-2:]

    assert rope.split() == ["rope", "1", "+0.000", f"{math.log(7 / 5):+.3f}", f"{math.log(20 / 5.5):+.3f}"]
    assert zero.split() == ["zero-offset", "1", "+0.000", "+0.000", "+0.000"]


def test_without_the_reference_there_are_no_differences(tmp_path: Path) -> None:
    assert write_table(RUNS[:2], Scale(), tmp_path).splitlines()[-1].split() == [
        "model",
        "seeds",
        "128",
        "256",
        "2,048",
    ]


def test_another_reading_has_its_own_row_and_no_paper_s(tmp_path: Path) -> None:
    runs = [RUNS[0], record("rope", 0, 5.0, 5.0, 5.0, reading="window mask")]

    lines = write_table(runs, Scale(), tmp_path).splitlines()

    assert [line[:12].strip() for line in lines[4:7]] == ["rope", "paper, win", "rope, window"[:12]]
    assert lines[7] == ""


def test_the_json_holds_each_seed_s_perplexity_and_the_plot_is_drawn(table: str, tmp_path: Path) -> None:
    content = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))

    rope = content["rows"][0]
    assert rope["seeds"] == [0, 1]
    assert rope["perplexity"]["2048"]["by_seed"] == pytest.approx({"0": 20.0, "1": 26.0})
    assert rope["perplexity"]["2048"]["mean"] == pytest.approx(23.0)
    assert content["rows"][1]["perplexity"]["128"]["deviation"] is None
    assert content["published_perplexity"]["rope"] == {"128": 4.7, "256": 5.99, "2048": 13.36}
    assert (tmp_path / "table.txt").read_text(encoding="utf-8") == table
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")


def test_a_spread_is_the_sample_s() -> None:
    assert Spread.of([2.0]) == Spread(2.0, None)
    assert Spread.of([1.0, 3.0]) == Spread(2.0, math.sqrt(2))
    assert f"{Spread.of([1.0, 3.0]):+.1f}" == "+2.0 ±1.4"
