"""LIS Table 6: from a fact to the sentence that says it, names unseen in training."""

from __future__ import annotations

from functools import partial

from lisdata.reproduce.fact_rows import VARIANTS
from lisdata.reproduce.runner import Experiment
from lisdata.reproduce.spelling_report import write_spelling_table
from lisdata.reproduce.zero_shot import SCALES, prepare, run
from lisdata.reproduce.zero_shot_report import zero_shot_table

DIRECTIONS = ("kg-text",)
TABLE = zero_shot_table(6, DIRECTIONS)
EXPERIMENT = Experiment(
    name="lis-table-6",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=partial(prepare, DIRECTIONS),
    run=partial(run, DIRECTIONS),
    report=partial(write_spelling_table, TABLE),
)
