"""The table of perplexities as text, JSON and plot, with the paper's numbers told apart."""

import json
import math
from pathlib import Path

import pytest

from lisdata.evaluation import LIS_TABLE_3, format_context_table, write_context_report
from lisdata.metrics import NllSum

MEASURED = {
    "rope": {256: NllSum(100 * math.log(5), 100), 4096: NllSum(100 * math.log(10), 100)},
    "rope, last 256": {256: NllSum(100 * math.log(5), 100), 4096: NllSum(100 * math.log(4.5), 100)},
}


def test_the_table_has_a_row_a_model_and_marks_the_paper_s() -> None:
    assert format_context_table(MEASURED, LIS_TABLE_3) == (
        "model            256  4,096  4,096 / 256\n"
        "rope            5.00  10.00         2.00\n"
        "  paper         4.70  13.36         2.84\n"
        "rope, last 256  5.00   4.50         0.90\n"
    )


def test_a_length_that_the_paper_lacks_stays_empty() -> None:
    table = format_context_table({"rope": {64: NllSum(1.0, 1)}}, LIS_TABLE_3)

    assert table.splitlines()[2].split() == ["paper"]


def test_models_measured_at_different_lengths_are_not_put_in_one_table() -> None:
    with pytest.raises(ValueError, match="at the same context lengths"):
        format_context_table({**MEASURED, "alibi": {256: NllSum(1.0, 1)}}, {})


def test_the_report_holds_the_numbers_the_facts_and_the_paper_s_apart(tmp_path: Path) -> None:
    table = write_context_report(
        MEASURED, tmp_path, published=LIS_TABLE_3, training_length=256, facts={"num_steps": 600}
    )

    report = json.loads((tmp_path / "perplexity.json").read_text())
    assert report["perplexity"]["rope"]["4096"] == pytest.approx(10)
    assert report["published_perplexity"]["lisformer-lines"]["4096"] == 4.86
    assert report["num_scored_tokens"] == {"rope": 100, "rope, last 256": 100}
    assert report["facts"] == {"num_steps": 600}
    assert (tmp_path / "perplexity.txt").read_text() == table
    assert (tmp_path / "perplexity.png").read_bytes().startswith(b"\x89PNG")
