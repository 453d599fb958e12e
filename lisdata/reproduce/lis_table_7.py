"""LIS Table 7: from a fact to its sentence and back in one model, names unseen in training."""

from __future__ import annotations

from functools import partial

from lisdata.reproduce.fact_rows import VARIANTS
from lisdata.reproduce.runner import Experiment
from lisdata.reproduce.spelling_report import write_spelling_table
from lisdata.reproduce.zero_shot import SCALES, prepare, run
from lisdata.reproduce.zero_shot_report import zero_shot_table

DIRECTIONS = ("kg-text", "text-kg")
TABLE = zero_shot_table(7, DIRECTIONS)
EXPERIMENT = Experiment(
    name="lis-table-7",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=partial(prepare, DIRECTIONS),
    run=partial(run, DIRECTIONS),
    report=partial(write_spelling_table, TABLE),
)
