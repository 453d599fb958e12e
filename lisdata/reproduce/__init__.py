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
    """Where an experiment is: the module whose `EXPERIMENT` it is; whether it needs an input that is given.

    The input is a file, or with `is_folder` a folder.
    """

    module: str
    summary: str
    needs_data: bool = False
    is_folder: bool = False


EXPERIMENTS: dict[str, ExperimentEntry] = {
    "lis-table-1": ExperimentEntry(
        module="lisdata.reproduce.lis_table_1",
        summary="Representative rows of the others, from their finished runs: beside --to, or --set lis_table_5=FOLDER",
    ),
    "lis-table-3": ExperimentEntry(
        module="lisdata.reproduce.lis_table_3",
        summary="Perplexity of character models against context length, with controls; --data: Tiny Shakespeare",
        needs_data=True,
    ),
    "lis-table-4": ExperimentEntry(
        module="lisdata.reproduce.lis_table_4",
        summary="Time of a training step with line addresses, causal and leaking; --scale first to fourth",
    ),
    "lis-table-5": ExperimentEntry(
        module="lisdata.reproduce.lis_table_5",
        summary="Facts that were seen as facts asked in sentences and the other way round, by slots or by role markers",
    ),
    "lis-table-6": ExperimentEntry(
        module="lisdata.reproduce.lis_table_6",
        summary="Unseen names spelled in a sentence from the fact before it, by slots or by role markers",
    ),
    "lis-table-7": ExperimentEntry(
        module="lisdata.reproduce.lis_table_7",
        summary="The same in both directions, from a fact to its sentence and back",
    ),
    "lis-tables-8-11": ExperimentEntry(
        module="lisdata.reproduce.lis_binding",
        summary="Names spelled in a sentence from facts in the prefix, with controls",
    ),
    "lis-link-prediction": ExperimentEntry(
        module="lisdata.reproduce.lis_link_prediction",
        summary="The participant of a role in a fact, filtered ranks, beside a serialized model and DistMult; --data: "
        "a folder with train.txt, valid.txt and test.txt",
        needs_data=True,
        is_folder=True,
    ),
    "sipe-table-2": ExperimentEntry(
        module="lisdata.reproduce.sipe_table_2",
        summary="Decoders given hexatags in several ways, with controls; --data: a folder with books/*.txt, blimp/ and "
        "syntaxgym/suites/",
        needs_data=True,
        is_folder=True,
    ),
    "sipe-axes": ExperimentEntry(
        module="lisdata.reproduce.sipe_axes",
        summary="Decoders given hexatags through shared or own projections, of an attention head or of the model "
        "(Tables 7 and 8), by attention biases, or in two ways at once; --data as for sipe-table-2",
        needs_data=True,
        is_folder=True,
    ),
    "sipe-layers": ExperimentEntry(
        module="lisdata.reproduce.sipe_layers",
        summary="Decoders whose layers from the kth on are given hexatags (Fig. 3); --data as for sipe-table-2",
        needs_data=True,
        is_folder=True,
    ),
    "sipe-variants": ExperimentEntry(
        module="lisdata.reproduce.sipe_variants",
        summary="RoBERTa with hexatags added, concatenated, mixed or on its skip branch, and with dependency relations "
        "(Tables 9 and 10, Figs 7 and 8); --data: a folder with books/*.txt and blimp/",
        needs_data=True,
        is_folder=True,
    ),
    "sipe-table-3": ExperimentEntry(
        module="lisdata.reproduce.sipe_table_3",
        summary="Encoders and a decoder given hexatags on BLiMP, also after going on training on other books, with "
        "controls; --data: a folder with books/*.txt and blimp/",
        needs_data=True,
        is_folder=True,
    ),
    "sipe-glue": ExperimentEntry(
        module="lisdata.reproduce.sipe_glue",
        summary="The models of sipe-table-3 (beside --to, or --set pretrained=FOLDER) fine-tuned on tasks of GLUE; "
        "--data: a folder with CoLA/train.tsv, CoLA/dev.tsv and so on",
        needs_data=True,
        is_folder=True,
    ),
}


def load_experiment(name: str) -> Experiment:
    """Return an experiment; raise ValueError, listing those there are, for an unknown name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}: the experiments are {', '.join(EXPERIMENTS)}")
    experiment: Experiment = import_module(EXPERIMENTS[name].module).EXPERIMENT
    return experiment
