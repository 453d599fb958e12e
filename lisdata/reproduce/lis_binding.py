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

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from lisdata.checkpoints import load_model
from lisdata.conversion import convert
from lisdata.diagnostics.binding import SETTINGS, Example, iter_evaluation, iter_training, write_examples
from lisdata.diagnostics.chains import ChainWorld, draw_names, list_relations
from lisdata.encoding import encode, load_tokenizer
from lisdata.evaluation.exact_match import score_names
from lisdata.loader import BatchCollator, Loader
from lisdata.models import build_model, find_model
from lisdata.reproduce.binding_report import write_table
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest, training_figures
from lisdata.reproduce.threads import one_thread
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import file_entry
from lisdata.token_shards import TokenDataset
from lisdata.training import LoaderBatches, TrainConfig, train
from lisdata.vocabulary import RoleVocabulary

DATA_SEED = 0
NAME_SETS = ("train", "dev", "test")
SEPARATOR, END_OF_FACT = " ", "|"
_TEXT_ROLE = "record#token"
_COLUMNS = ("input_ids", "role", "instance", "position")
_EVALUATED_COLUMNS = (*_COLUMNS, "occurrence", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingScale:
    """Size of the models, of their training and of the data; `num_evaluated` examples a row of the table."""

    num_steps: int
    num_training_rows: int
    num_names: int = 3000
    num_unseen_names: int = 100
    num_evaluated: int = 1000
    width: int = 60
    num_layers: int = 3
    dropout: float = 0.2
    batch_size: int = 32
    learning_rate: float = 5e-4
    weight_decay: float = 0.01
    most_distractors: int = 4
    checkpoint_every: int = 500


SCALES: dict[str, BindingScale] = {
    "reduced": BindingScale(num_steps=25_000, num_training_rows=404_805),
    "paper": BindingScale(num_steps=100_000, num_training_rows=809_610),
}
"""Training rows are each fact 3 and 6 times, each time with another sentence at random; they come again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """A model of the registry, how it is given facts, which training it has, and settings beyond the size."""

    model: str
    facts: str = "endpoints"
    training: str = "single"
    settings: Callable[[BindingScale], JsonDict] = lambda scale: {}


_POOLED: Callable[[BindingScale], JsonDict] = lambda scale: {"pooled": "role"}  # noqa: E731
VARIANTS: dict[str, _Variant] = {
    "B": _Variant(model="rope", facts="serialized"),
    "B_l": _Variant(model="lisformer-lines", facts="serialized"),
    "J": _Variant(model="lisformer", settings=_POOLED),
    "J_add": _Variant(model="added-addresses", settings=_POOLED),
    "B-wide": _Variant(model="rope", facts="serialized", settings=lambda scale: {"width": scale.width + 2}),
    "role-biases": _Variant(model="role-biases"),
    "identifiers": _Variant(
        model="lisformer",
        settings=lambda scale: {"instance_addresses": False, "num_identifiers": 1 + scale.most_distractors},
    ),
    "J-position-pooled": _Variant(model="lisformer"),
    "B-several": _Variant(model="rope", facts="serialized", training="several"),
    "B_l-several": _Variant(model="lisformer-lines", facts="serialized", training="several"),
    "J-several": _Variant(model="lisformer", training="several", settings=_POOLED),
}


# -- data ------------------------------------------------------------------------------------------------------------


def prepare(data: Path | None, directory: Path, scale: BindingScale) -> JsonDict:
    """Generate the facts and sentences and bring them the normal road to tokens, unless that is done."""
    worlds = _make_worlds(scale)
    facts: JsonDict = {"num_facts": worlds["train"].num_facts}
    for training, most in (("single", 0), ("several", scale.most_distractors)):
        path = directory / "data" / f"{training}.jsonl"
        if not path.exists():
            examples = iter_training(worlds["train"], scale.num_training_rows, DATA_SEED, most_distractors=most)
            write_examples(path, examples)
        facts[training] = file_entry(path)["sha256"]
    for name, examples in _evaluations(worlds, scale):
        path = directory / "data" / "evaluation" / f"{name}.jsonl"
        if not path.exists():
            write_examples(path, examples)
        facts[name] = file_entry(path)["sha256"]
    labels = [f"{relation}#{role}" for relation, roles in list_relations() for role in roles]
    RoleVocabulary.of_labels([*labels, _TEXT_ROLE]).write(directory / "data" / "roles.json")
    for training in ("single", "several"):
        _make_tokens(directory, training, [directory / "data" / f"{training}.jsonl"], _COLUMNS)
    _make_tokens(directory, "evaluation", evaluation_files(directory), _EVALUATED_COLUMNS)
    return facts


def _make_worlds(scale: BindingScale) -> dict[str, ChainWorld]:
    names = draw_names(scale.num_names + 2 * scale.num_unseen_names, DATA_SEED)
    cuts = (0, scale.num_names, scale.num_names + scale.num_unseen_names, len(names))
    return {
        name: ChainWorld(names[begin:end], DATA_SEED + number)
        for number, (name, begin, end) in enumerate(zip(NAME_SETS, cuts[:-1], cuts[1:], strict=True))
    }


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


def _make_tokens(directory: Path, name: str, paths: list[Path], columns: tuple[str, ...]) -> None:
    """Convert files and encode them both ways; vocabularies are those of the training without distractors."""
    convert("fact-text", [str(path) for path in paths], directory / "incidence" / name)
    for facts in ("endpoints", "serialized"):
        first = _tokens(directory, "single", facts) / "characters.json"
        encode(
            directory / "incidence" / name,
            _tokens(directory, name, facts),
            separator=SEPARATOR,
            text_separator=END_OF_FACT,
            facts=facts,
            columns=columns,
            labels=str(directory / "data" / "roles.json"),
            vocabulary=None if name == "single" else str(first),
            record_ids=False,
        )


def _tokens(directory: Path, name: str, facts: str) -> Path:
    return directory / "tokens" / f"{name}-{facts}"


# -- runs ------------------------------------------------------------------------------------------------------------


def run(request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and score the names of all evaluated examples."""
    scale: BindingScale = request.scale
    variant = VARIANTS[request.variant]
    dataset = TokenDataset(_tokens(request.directory, variant.training, variant.facts))
    columns = tuple(name for name in find_model(variant.model).columns if name in _COLUMNS)
    config = TrainConfig(
        num_steps=scale.num_steps,
        batch_size=scale.batch_size,
        learning_rate=scale.learning_rate,
        weight_decay=scale.weight_decay,
        schedule="constant",
        seed=request.seed,
        checkpoint_every=scale.checkpoint_every,
        num_threads=1,
    )
    loader = Loader(
        dataset,
        scale.batch_size,
        bucket=scale.batch_size,
        seed=request.seed,
        tail="drop",
        columns=(*columns, "document"),
    )
    facts = {"dataset": dataset.fingerprint, "batch_size": scale.batch_size, "seed": request.seed}
    on_step = request.on_step
    result = train(
        _untrained(request, variant, dataset),
        LoaderBatches(loader, description=facts),
        config,
        directory=request.directory / "models" / request.name,
        facts={"labels": dataset.manifest["roles"]},
        on_progress=None if on_step is None else lambda p: on_step(p.step, p.num_steps, p.loss),
    )
    if not result.is_finished:
        raise KeyboardInterrupt
    began = time.perf_counter()
    with one_thread():
        scores = _evaluate(request, variant, load_model(result.checkpoint))
    return training_figures(result.report, evaluation_seconds=time.perf_counter() - began) | {"scores": scores}


def _untrained(request: RunRequest, variant: _Variant, dataset: TokenDataset) -> torch.nn.Module:
    scale: BindingScale = request.scale
    settings: JsonDict = {
        "vocabulary_size": dataset.schema.column("input_ids").maximum + 1,
        "width": scale.width,
        "num_layers": scale.num_layers,
        "num_attention_heads": 1,
        "activation": "relu",
        "dropout": scale.dropout,
    }
    if variant.model == "lisformer-lines":
        tokenizer = load_tokenizer(dataset.path / dataset.manifest["tokenizer"]["file"])
        settings["newline_id"] = int(tokenizer.encode_batch([END_OF_FACT]).ids[0])
    if "role" in find_model(variant.model).columns:
        settings["num_roles"] = dataset.schema.column("role").maximum + 1
    return build_model(variant.model, seed=request.seed, **(settings | variant.settings(scale)))


def _evaluate(request: RunRequest, variant: _Variant, model: torch.nn.Module) -> JsonDict:
    """Return the figures by name set, arity, setting and reading."""
    dataset = TokenDataset(_tokens(request.directory, "evaluation", variant.facts))
    scores: JsonDict = {}
    begin = 0
    for info in IncidenceDataset(request.directory / "incidence" / "evaluation").inputs:  # rows stand in their order
        end = begin + info.records["converted"]
        found = score_names(model, _row_batches(dataset, begin, end, request.scale.batch_size))
        scores[Path(info.name).stem] = {reading: sums.figures() for reading, sums in found.items()}
        begin = end
    return scores


def _row_batches(dataset: TokenDataset, begin: int, end: int, batch_size: int) -> Iterator[dict[str, torch.Tensor]]:
    collate = BatchCollator()
    for first in range(begin, end, batch_size):
        yield collate(dataset.gather(range(first, min(first + batch_size, end))))


EXPERIMENT = Experiment(
    name="lis-tables-8-11",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
