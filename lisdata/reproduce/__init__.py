"""Published experiments done again: every run resumable and recorded, the paper's numbers beside ours.

An experiment's module, and with it torch, is imported when the experiment is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lisdata.reproduce.runner import Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentEntry:
    """Where an experiment is: the module whose `EXPERIMENT` it is; whether it needs an input that is given."""

    module: str
    summary: str
    needs_data: bool = False


EXPERIMENTS: dict[str, ExperimentEntry] = {
    "lis-table-3": ExperimentEntry(
        module="lisdata.reproduce.lis_table_3",
        summary="Perplexity of character models against context length, with controls; --data: Tiny Shakespeare",
        needs_data=True,
    ),
    "lis-tables-8-11": ExperimentEntry(
        module="lisdata.reproduce.lis_binding",
        summary="Names spelled in a sentence from facts in the prefix, with controls ",
    ),
}


def load_experiment(name: str) -> Experiment:
    """Return an experiment; raise ValueError, listing those there are, for an unknown name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}: the experiments are {', '.join(EXPERIMENTS)}")
    experiment: Experiment = import_module(EXPERIMENTS[name].module).EXPERIMENT
    return experiment
