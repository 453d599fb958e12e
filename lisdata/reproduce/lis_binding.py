"""LIS Tables 8 to 11: from facts to a sentence that says one of them, names unseen in training (appendix F.4).

The paper trains three models once each. Their names are the paper's; the others are controls that it lacks:

* B: serialized facts, continuous RoPE. B-wide: the same with more parameters than J has.
* B_l: serialized facts, positions restart in each and a finished one has an address from its content.
* J: slots (a role of a relation) turn the facts' characters, and so does a fact's content once it is complete.
* J-position-pooled: J whose facts are pooled from characters turned by position and slot, not by the slot alone.
* J_add: J's vectors added to what they turn in J. role-biases: slots as scalar biases. identifiers: facts told apart
  by learned angles of their number.
* B-several, B_l-several, J-several: trained with up to four distractors in the prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torch import nn

from lisdata.conversion import convert
from lisdata.diagnostics.binding import SETTINGS, Example, iter_evaluation, iter_training
from lisdata.diagnostics.chains import ChainWorld, draw_name_sets, list_relations
from lisdata.diagnostics.line_files import write_lines
from lisdata.encoding import load_tokenizer
from lisdata.evaluation.exact_match import score_names
from lisdata.models import find_model
from lisdata.reproduce.binding_report import write_table
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.row_training import (
    BETWEEN_FACTS_AND_TEXT,
    COLUMNS,
    EVALUATED_COLUMNS,
    TEXT_ROLE,
    RowScale,
    RowVariant,
    build_untrained,
    encode_rows,
    iter_evaluated,
    train_and_score,
)
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest
from lisdata.shards.manifest import file_entry
from lisdata.token_shards import TokenDataset
from lisdata.vocabulary import RoleVocabulary

DATA_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingScale(RowScale):
    """Size of the models, of their training and of the data."""

    num_names: int = 3000
    num_unseen_names: int = 100
    most_distractors: int = 4


SCALES: dict[str, BindingScale] = {
    "reduced": BindingScale(num_steps=25_000, num_training_rows=404_805),
    "paper": BindingScale(num_steps=100_000, num_training_rows=809_610),
}
"""Training rows are each fact 3 and 6 times, each time with another sentence at random; they come again and again."""


_POOLED: Callable[[BindingScale], JsonDict] = lambda scale: {"pooled": "role"}  # noqa: E731
VARIANTS: dict[str, RowVariant] = {
    "B": RowVariant(model="rope", facts="serialized"),
    "B_l": RowVariant(model="lisformer-lines", facts="serialized"),
    "J": RowVariant(model="lisformer", settings=_POOLED),
    "J_add": RowVariant(model="added-addresses", settings=_POOLED),
    "B-wide": RowVariant(model="rope", facts="serialized", settings=lambda scale: {"width": scale.width + 2}),
    "role-biases": RowVariant(model="role-biases"),
    "identifiers": RowVariant(
        model="lisformer",
        settings=lambda scale: {"instance_addresses": False, "num_identifiers": 1 + scale.most_distractors},
    ),
    "J-position-pooled": RowVariant(model="lisformer"),
    "B-several": RowVariant(model="rope", facts="serialized", training="several"),
    "B_l-several": RowVariant(model="lisformer-lines", facts="serialized", training="several"),
    "J-several": RowVariant(model="lisformer", training="several", settings=_POOLED),
}


# -- data ------------------------------------------------------------------------------------------------------------


def prepare(data: Path | None, directory: Path, scale: BindingScale, on_step: OnStep) -> JsonDict:
    """Generate the facts and sentences and bring them the normal road to tokens, unless that is done."""
    worlds = _make_worlds(scale)
    facts: JsonDict = {"num_facts": worlds["train"].num_facts}
    for training, most in (("single", 0), ("several", scale.most_distractors)):
        path = directory / "data" / f"{training}.jsonl"
        examples = iter_training(worlds["train"], scale.num_training_rows, DATA_SEED, most_distractors=most)
        write_lines(path, (example.to_line() for example in examples))
        facts[training] = file_entry(path)["sha256"]
    for name, examples in _evaluations(worlds, scale):
        path = directory / "data" / "evaluation" / f"{name}.jsonl"
        write_lines(path, (example.to_line() for example in examples))
        facts[name] = file_entry(path)["sha256"]
    labels = [f"{relation}#{role}" for relation, roles in list_relations() for role in roles]
    RoleVocabulary.of_labels([*labels, TEXT_ROLE]).write(directory / "data" / "roles.json")
    for training in ("single", "several"):
        _make_tokens(directory, training, [directory / "data" / f"{training}.jsonl"], COLUMNS, on_step)
    _make_tokens(directory, "evaluation", evaluation_files(directory), EVALUATED_COLUMNS, on_step)
    return facts


def _make_worlds(scale: BindingScale) -> dict[str, ChainWorld]:
    names = draw_name_sets(scale.num_names, scale.num_unseen_names, DATA_SEED)
    return {name: ChainWorld(found, DATA_SEED + number) for number, (name, found) in enumerate(names.items())}


def _evaluations(worlds: dict[str, ChainWorld], scale: BindingScale) -> Iterator[tuple[str, Iterator[Example]]]:
    """Yield the name of each row of the table and its examples."""
    for name, world in worlds.items():
        for arity in (2, 3):
            for setting in SETTINGS:
                yield (
                    f"{name}-chain{arity}-{setting}",
                    iter_evaluation(world, arity, setting, scale.num_evaluated, DATA_SEED),
                )


def evaluation_files(directory: Path) -> list[Path]:
    """Return the files of evaluated examples, in the order in which their rows stand in the tokens."""
    return sorted((directory / "data" / "evaluation").glob("*.jsonl"))


def _make_tokens(directory: Path, name: str, paths: list[Path], columns: tuple[str, ...], on_step: OnStep) -> None:
    """Convert files and encode them both ways; vocabularies are those of the training without distractors."""
    shown = on_step(f"convert {name}")
    convert("fact-text", [str(path) for path in paths], directory / "incidence" / name, on_progress=shown)
    for facts in ("endpoints", "serialized"):
        first = _tokens(directory, "single", facts) / "characters.json"
        encode_rows(
            directory / "incidence" / name,
            _tokens(directory, name, facts),
            facts=facts,
            columns=columns,
            labels=directory / "data" / "roles.json",
            vocabulary=None if name == "single" else first,
            on_progress=on_step(f"encode {name}-{facts}"),
        )


def _tokens(directory: Path, name: str, facts: str) -> Path:
    return directory / "tokens" / f"{name}-{facts}"


# -- runs ------------------------------------------------------------------------------------------------------------


def run(request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and score the names of all evaluated examples."""
    variant = VARIANTS[request.variant]
    dataset = TokenDataset(_tokens(request.directory, variant.training, variant.facts))
    settings: JsonDict = {}
    if variant.model == "lisformer-lines":
        tokenizer = load_tokenizer(dataset.path / dataset.manifest["tokenizer"]["file"])
        settings["newline_id"] = int(tokenizer.encode_batch([BETWEEN_FACTS_AND_TEXT]).ids[0])
    return train_and_score(
        request,
        build_untrained(request, variant, dataset, **settings),
        dataset,
        columns=find_model(variant.model).columns,
        labels=dataset.manifest["roles"],
        score=partial(_evaluate, request, variant),
    )


def _evaluate(request: RunRequest, variant: RowVariant, model: nn.Module) -> JsonDict:
    """Return the figures by name set, arity, setting and reading."""
    tokens = TokenDataset(_tokens(request.directory, "evaluation", variant.facts))
    rows = iter_evaluated(request.directory / "incidence" / "evaluation", tokens, request.scale.batch_size)
    return {
        name: {reading: sums.figures() for reading, sums in score_names(model, batches).items()}
        for name, batches in rows
    }


EXPERIMENT = Experiment(
    name="lis-tables-8-11",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
