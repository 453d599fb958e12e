"""Runs: a frozen plan, idempotent units, a commit record for each, and a manifest folded from the commits, last.

A run that was killed at any moment and started again gives the same bytes as one never killed; `run.json` (times,
paths, workers) stands outside that promise.
"""

from lisdata.runs.job import COMMITS, PLAN, RUN, Job, JsonDict, OnProgress, Progress
from lisdata.runs.ranks import RankState, Share, finish_shares, run_share
from lisdata.runs.running import run_job

__all__ = [
    "COMMITS",
    "PLAN",
    "RUN",
    "Job",
    "JsonDict",
    "OnProgress",
    "Progress",
    "RankState",
    "Share",
    "finish_shares",
    "run_job",
    "run_share",
]
