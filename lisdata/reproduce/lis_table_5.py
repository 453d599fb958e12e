"""LIS Table 5: facts seen in one form, as facts or as sentences, asked in the other (appendix F.3).

Every name stands in training; which facts are shown in which form, `lisdata.diagnostics.separate_forms` says, and
`lisdata.reproduce.fact_rows` which models are trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from lisdata.diagnostics.chains import draw_names
from lisdata.diagnostics.line_files import write_lines
from lisdata.diagnostics.separate_forms import (
    FORMS,
    GROUPS,
    TIERS,
    SplitFact,
    facts_asked,
    iter_separate_evaluation,
    iter_separate_training,
    split_facts,
)
from lisdata.diagnostics.windows import WindowWorld
from lisdata.evaluation.entity_spelling import READINGS
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
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest
from lisdata.reproduce.spelling_report import Key, Published, SpellingTable, join_key, write_spelling_table
from lisdata.token_shards import TokenDataset

DATA_SEED = 0
SETS = ("dev", "test")
VIEW_NAME = "alone"
SEEN_FORM = "memorization_seen_form"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparateFormsScale(RowScale):
    """Size of the models, of their training and of the data; `held_out` is the share of each tier of windows."""

    num_names: int = 3000
    num_exclusive_names: int = 200
    held_out: float = 0.05
    vocabulary_size: int = 85


SCALES: dict[str, SeparateFormsScale] = {
    "reduced": SeparateFormsScale(
        num_steps=12_000,
        num_training_rows=200_000,
        width=128,
        num_names=300,
        num_exclusive_names=50,
        held_out=0.2,
    ),
    "paper": SeparateFormsScale(num_steps=100_000, num_training_rows=800_000, width=500),
}

# tier -> serialized and LIS: (h@5, perplexity), asked in text
_IN_TEXT: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "memorization": ((0.259, 3.59), (0.445, 3.10)),
    "transfer": ((0.269, 3.47), (0.440, 3.08)),
    "generalization": ((0.248, 3.83), (0.401, 3.48)),
    "kg_excl_mem": ((0.184, 4.68), (0.329, 3.97)),
    "kg_excl_gen": ((0.189, 4.92), (0.323, 4.18)),
    "txt_excl_mem": ((0.119, 5.10), (0.202, 4.62)),
}
PUBLISHED: dict[Key, dict[str, Published]] = {
    ("test", "text", tier): {"serialized": (None, *serialized), "LIS": (None, *lis)}
    for tier, (serialized, lis) in _IN_TEXT.items()
}
_ASKED = (*TIERS, SEEN_FORM)
ROWS: list[Key] = [(names, form, tier) for form in FORMS for tier in _ASKED for names in SETS]
TABLE = SpellingTable(
    format="lisdata table 5 1",
    title="Names of facts (kg) and sentences (text) that training had in the other form or not at all",
    columns=("set", "asked in", "tier"),
    rows=ROWS,
    readings=READINGS,
    published=PUBLISHED,
    published_reading="last",
    plotted={key: f"{key[1]}: {str(key[2]).replace('_', ' ')}" for key in ROWS if key[0] == "test"},
    plotted_what="char_top_5_exact",
)


def prepare(data: Path | None, directory: Path, scale: SeparateFormsScale, on_step: OnStep) -> JsonDict:
    """Generate the lines and bring them the normal road to tokens, unless that is done."""
    facts = split_facts(_make_worlds(scale), scale.held_out, DATA_SEED)
    write_lines(training_file(directory), iter_separate_training(facts, scale.num_training_rows, DATA_SEED))
    asked = {join_key(key): (str(key[1]), found) for key, found in _asked_facts(facts).items()}
    for name, (form, found) in asked.items():
        lines = iter_separate_evaluation(found, form, scale.num_evaluated, DATA_SEED)
        write_lines(evaluation_file(directory, name), lines)
    return {
        "num_facts": len(facts),
        "num_facts_seen": sum(found.seen is not None for found in facts),
        "num_facts_asked": {name: len(found) for name, (_, found) in asked.items()},
    } | make_tokens(directory, asked, scale.vocabulary_size, {VIEW_NAME: "mixed"}, on_step)


def _make_worlds(scale: SeparateFormsScale) -> dict[str, WindowWorld]:
    names = draw_names(scale.num_names, DATA_SEED)
    each = scale.num_exclusive_names
    cuts = (0, len(names) - 2 * each, len(names) - each, len(names))
    return {
        group: WindowWorld(names[begin:end], DATA_SEED + number)
        for number, (group, begin, end) in enumerate(zip(GROUPS, cuts[:-1], cuts[1:], strict=True))
    }


def _asked_facts(facts: list[SplitFact]) -> dict[Key, list[SplitFact]]:
    """Return the facts of each row of the table, of each tier one half for development."""
    is_dev = np.random.default_rng(DATA_SEED).random(len(facts)) < 0.5
    halves = {
        "dev": [found for found, half in zip(facts, is_dev, strict=True) if half],
        "test": [found for found, half in zip(facts, is_dev, strict=True) if not half],
    }
    asked: dict[Key, list[SplitFact]] = {}
    for names, form, tier in ROWS:
        is_seen_form = tier == SEEN_FORM or tier == f"{'kg' if form == 'kg' else 'txt'}_excl_mem"
        of_tier = "memorization" if tier == SEEN_FORM else str(tier)
        asked[names, form, tier] = facts_asked(halves[str(names)], of_tier, str(form), is_seen_form=is_seen_form)
    return asked


def run(request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and score the names that are asked."""
    variant = VARIANTS[request.variant]
    dataset = TokenDataset(token_folder(request.directory, TRAINING, VIEW_NAME, variant.facts))
    return train_and_score(
        request,
        build_untrained(request, variant, dataset),
        dataset,
        columns=find_model(variant.model).columns,
        labels=dataset.manifest["roles"],
        score=lambda model: score_rows(model, request.directory, VIEW_NAME, variant.facts, request.scale.batch_size),
    )


EXPERIMENT = Experiment(
    name="lis-table-5",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=partial(write_spelling_table, TABLE),
)
