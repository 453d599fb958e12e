"""LIS Tables 6 and 7: a fact and the sentence that says it in one row, names unseen in training (appendix F.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from lisdata.diagnostics.chains import NAME_SETS, draw_name_sets
from lisdata.diagnostics.line_files import write_lines
from lisdata.diagnostics.paired_forms import iter_paired_evaluation, iter_paired_training
from lisdata.diagnostics.windows import KINDS, WindowWorld
from lisdata.loader import Mixture
from lisdata.models import find_model
from lisdata.reproduce.fact_rows import (
    TRAINING,
    VARIANTS,
    evaluation_file,
    make_tokens,
    score_rows,
    token_folder,
    training_file,
)
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.row_training import RowScale, build_untrained, train_and_score
from lisdata.reproduce.runner import JsonDict, RunRequest
from lisdata.token_shards import TokenDataset

DATA_SEED = 0
DIRECTIONS = {"kg-text": "mixed", "text-kg": "text-first"}
"""From what to what, and the encoder's view in which the second stands last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroShotScale(RowScale):
    """Size of the models, of their training and of the data."""

    num_names: int = 1000
    num_unseen_names: int = 100
    vocabulary_size: int = 175


SCALES: dict[str, ZeroShotScale] = {
    "reduced": ZeroShotScale(num_steps=20_000, num_training_rows=227_316),
    "paper": ZeroShotScale(num_steps=100_000, num_training_rows=454_632),
}
"""Training rows are each of 56,829 facts 4 and 8 times, its participants in random order; they come again and again."""


def prepare(
    directions: Sequence[str], data: Path | None, directory: Path, scale: ZeroShotScale, on_step: OnStep
) -> JsonDict:
    """Generate the lines and bring them the normal road to tokens, unless that is done."""
    names = draw_name_sets(scale.num_names, scale.num_unseen_names, DATA_SEED)
    worlds = {name: WindowWorld(found, DATA_SEED + number) for number, (name, found) in enumerate(names.items())}
    write_lines(training_file(directory), iter_paired_training(worlds["train"], scale.num_training_rows, DATA_SEED))
    for name, world in worlds.items():
        for kind in KINDS:
            lines = iter_paired_evaluation(world, kind, scale.num_evaluated, DATA_SEED)
            write_lines(evaluation_file(directory, f"{name}-{kind}"), lines)
    rows = [f"{name}-{kind}" for name in NAME_SETS for kind in KINDS]
    views = {direction: DIRECTIONS[direction] for direction in directions}
    hashes = make_tokens(directory, rows, scale.vocabulary_size, views, on_step)
    return {"num_facts": worlds["train"].num_facts} | hashes


def run(directions: Sequence[str], request: RunRequest) -> JsonDict:
    """Train one variant in all directions, in equal parts, or go on training it, and score each direction."""
    variant = VARIANTS[request.variant]
    datasets = [
        TokenDataset(token_folder(request.directory, TRAINING, direction, variant.facts)) for direction in directions
    ]

    def score(model: nn.Module) -> JsonDict:
        return {
            f"{direction}-{name}": figures
            for direction in directions
            for name, figures in score_rows(
                model, request.directory, direction, variant.facts, request.scale.batch_size
            ).items()
        }

    return train_and_score(
        request,
        build_untrained(request, variant, datasets[0]),
        datasets[0] if len(datasets) == 1 else Mixture(datasets),
        columns=find_model(variant.model).columns,
        labels=datasets[0].manifest["roles"],
        score=score,
    )
