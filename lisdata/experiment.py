"""Trains and evaluates the models of a recipe on its token shards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from lisdata.checkpoints import latest, load_model, tokenizer_facts
from lisdata.encoding import EncodeConfig
from lisdata.errors import LisDataError, RecipeError
from lisdata.evaluation import LIS_TABLE_3, evaluate_by_kind, window_perplexity, write_context_report
from lisdata.loader import BatchCollator, Loader
from lisdata.metrics import NllSum
from lisdata.models import build_model, describe_model, find_model
from lisdata.models.sipe_config import TAG_TABLES
from lisdata.pipeline import DataFolders, open_tokens
from lisdata.plots import plot_by_kind
from lisdata.recipe import JsonDict, ModelStep, Recipe, recipe_settings
from lisdata.recipe_tables import BY_KIND, DATA_KEYS, PERPLEXITY, data_settings, evaluate_settings
from lisdata.schema import DEPREL_COLUMN, StructureKind
from lisdata.special_tokens import mask_recipe, mask_settings, newline_id
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.segments import DOCUMENT
from lisdata.training import (
    Batch,
    BatchSource,
    LoaderBatches,
    MaskedBatches,
    MaskedSipeObjective,
    MaskRecipe,
    Objective,
    Progress,
    RegimeBatches,
    SipeObjective,
    TokenWindows,
    TrainConfig,
    TrainingRows,
    TrainResult,
    apply_tag_regime,
    is_held_out,
    mask_tokens,
    masked_token_loss,
    masked_token_nll,
    next_token_loss,
    next_token_nll,
    train,
)
from lisdata.training.starting import find_trained, hash_weights, start_model

OnTrain = Callable[[str], Callable[[Progress], None]]
CHECKPOINT_EVERY = 100
_OF_DATASET = {
    "vocabulary_size": 1,
    "num_roles": 1,
    "newline_id": 0,
    "mask_id": 0,
}  # settings of models that a dataset gives


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSplit:
    """One long text cut in two: the first `split` of it for training, the rest for evaluation."""

    training: npt.NDArray[Any]
    held_out: npt.NDArray[Any]


def train_models(recipe: Recipe, root: Path, *, on_progress: OnTrain) -> list[TrainResult]:
    """Train each model of the recipe, going on from its newest checkpoint; stop after one that was interrupted."""
    dataset = open_tokens(recipe, root)
    results = []
    for step in recipe.models:
        config = train_config(recipe)
        batches = batches_of(recipe, step, dataset, config)
        model = untrained(recipe, step, dataset)
        begins = {} if step.start is None else {"from_sha256": hash_weights(model)}
        result = train(
            model,
            batches,
            config,
            directory=DataFolders(root=root).model(step.label),
            objective=objective_of(model),
            facts={"labels": dataset.manifest["roles"]} | tokenizer_facts(dataset.manifest) | begins,
            on_progress=on_progress(step.label),
        )
        results.append(result)
        if not result.is_finished:
            break
    return results


def objective_of(model: nn.Module) -> Objective:
    """Return the loss of next or of masked tokens, with that of tags where the model predicts them."""
    description = describe_model(model)
    predicts_tags = description["config"].get("predicts_tags")
    if find_model(description["name"]).is_masked:
        return MaskedSipeObjective() if predicts_tags else masked_token_loss
    return SipeObjective() if predicts_tags else next_token_loss


def train_config(recipe: Recipe) -> TrainConfig:
    """Return the settings of `[train]`; a checkpoint every 100 steps unless the recipe says otherwise."""
    settings = {k: v for k, v in recipe.train.items() if k not in DATA_KEYS}
    return recipe_settings(TrainConfig, {"checkpoint_every": CHECKPOINT_EVERY} | settings, "train", recipe.path)


def check_models(recipe: Recipe) -> None:
    """Raise RecipeError for anything in the recipe's models, training or evaluation that could only fail later."""
    protocol = evaluate_settings(recipe).protocol if recipe.evaluate else None
    if not recipe.models:
        if protocol is not None:
            raise RecipeError(f"{recipe.path}: expected at least one [[model]] to evaluate, found none")
        return
    if recipe.encode is None:
        raise RecipeError(f"{recipe.path}: models read tokens: expected a table [encode], found none")
    train_config(recipe)
    encode = recipe_settings(EncodeConfig, recipe.encode, "encode", recipe.path)
    data = data_settings(recipe).data
    for step in recipe.models:
        _check_model(recipe, step, is_text_alone=data == "windows" or protocol == PERPLEXITY)
        if data == "loader":
            _check_columns(recipe, step, encode.columns, is_packed=encode.context is not None)


def _check_model(recipe: Recipe, step: ModelStep, *, is_text_alone: bool) -> None:
    try:
        entry = find_model(step.model)
    except ValueError as error:
        raise RecipeError(f"{recipe.path}: {error}") from error
    of_dataset = {k: v for k, v in _OF_DATASET.items() if k in _known(step)}
    settings = of_dataset | step.settings if step.start is None else _started_settings(recipe, step)
    recipe_settings(entry.load_config_class(), settings, f"model {step.label}", recipe.path)
    more = [name for name in entry.columns if name not in ("input_ids", DOCUMENT)]
    if is_text_alone and more:
        raise RecipeError(
            f"{recipe.path}: model {step.label} reads {', '.join(more)} too: expected train.data = loader and "
            f"evaluate.protocol = {BY_KIND}"
        )


def _known(step: ModelStep) -> set[str]:
    return {f.name for f in fields(find_model(step.model).load_config_class())}


def untrained(recipe: Recipe, step: ModelStep, dataset: TokenDataset) -> nn.Module:
    """Build a model with the vocabulary and roles of the dataset, its weights drawn under the recipe's seed.

    One with a `start` is the trained model there, whose tokens those of the dataset have to be.
    """
    known = _known(step)
    settings: JsonDict = {"vocabulary_size": dataset.schema.column("input_ids").maximum + 1}
    if "num_roles" in known:
        settings["num_roles"] = dataset.schema.column("role").maximum + 1
    if "mask_id" in known:
        settings |= mask_settings(dataset)
    if "newline_id" in known:
        settings["newline_id"] = newline_id(dataset)
    own = step.settings
    if _reads_deprels(step):
        own = {"num_deprels": dataset.schema.column(DEPREL_COLUMN).maximum + 1} | own
    seed = int(recipe.train.get("seed", 0))
    if step.start is None:
        return build_model(step.model, seed=seed, **(settings | own))
    trained = _started_settings(recipe, step, mask_id=settings.get("mask_id"))
    for name, value in settings.items():
        if trained[name] < value or (trained[name] != value and name in ("mask_id", "newline_id")):
            raise RecipeError(
                f"{recipe.path}: model {step.label}: expected the tokens of the trained model at {step.start}, of "
                f"{name} {trained[name]}, found those of {name} {value}"
            )
    return start_model(Path(step.start), seed=seed, mask_id=settings.get("mask_id"), **own)


def _started_settings(recipe: Recipe, step: ModelStep, *, mask_id: int | None = 0) -> JsonDict:
    """Return the settings of the trained model that a step begins with, changed by its own."""
    try:
        trained = find_trained(Path(step.start or ""), mask_id=mask_id)
        settings = trained.changed(step.settings)
    except (LisDataError, ValueError) as error:
        raise RecipeError(f"{recipe.path}: model {step.label}: from: {error}") from error
    if trained.name != step.model:
        raise RecipeError(f"{recipe.path}: model {step.label}: {step.start} is a {trained.name}, not a {step.model}")
    return settings


def batches_of(recipe: Recipe, step: ModelStep, dataset: TokenDataset, config: TrainConfig) -> BatchSource:
    """Return what `[train] data` asks for: random "windows" of one long text, or the rows of a "loader".

    A loader's batches always have `document`, which keeps packed structures and padding apart in attention and loss.
    """
    settings = data_settings(recipe)
    if settings.data == "windows" and settings.window is not None:
        ids = split_text(recipe, dataset).training
        try:
            return TokenWindows(ids, window=settings.window, batch_size=config.batch_size, seed=config.seed)
        except ValueError as error:
            raise RecipeError(f"{recipe.path}: train: {error}") from error
    check_columns(recipe, step, dataset)
    wanted = (*_columns(step), "target")
    chosen = (*(c for c in wanted if c in dataset.columns and c != DOCUMENT), DOCUMENT)
    loader = Loader(dataset, config.batch_size, seed=config.seed, tail="drop", columns=chosen)
    facts = {"dataset": dataset.fingerprint, "batch_size": config.batch_size, "seed": config.seed}
    facts |= {"columns": list(chosen), "attend": settings.attend}
    batches: BatchSource = _AttendedBatches(LoaderBatches(loader, description=facts), settings.attend)
    if settings.held_out:
        batches = TrainingRows(batches, settings.held_out)
    if settings.tag_regime is not None:
        batches = RegimeBatches(batches, settings.tag_regime, withhold=settings.withhold, seed=config.seed)
    return MaskedBatches(batches, _masks(recipe, dataset)) if find_model(step.model).is_masked else batches


def _masks(recipe: Recipe, dataset: TokenDataset) -> MaskRecipe:
    return mask_recipe(dataset, rate=data_settings(recipe).mask_rate, seed=int(recipe.train.get("seed", 0)))


def _reads_deprels(step: ModelStep) -> bool:
    """Tell whether a model adds dependency relations to its tag vectors."""
    return DEPREL_COLUMN in TAG_TABLES.get(step.settings.get("tag_tables", ""), ())


def _columns(step: ModelStep) -> tuple[str, ...]:
    """Return the columns that a model reads."""
    entry = find_model(step.model)
    return (*entry.columns, *entry.optional_columns) if _reads_deprels(step) else entry.columns


def check_columns(recipe: Recipe, step: ModelStep, dataset: TokenDataset) -> None:
    """Raise RecipeError when the dataset lacks a column of the model, or packs structures that it cannot keep apart."""
    _check_columns(recipe, step, dataset.columns, is_packed=DOCUMENT in dataset.schema.names)


def _check_columns(recipe: Recipe, step: ModelStep, stored: Sequence[str], *, is_packed: bool) -> None:
    columns = _columns(step)
    missing = [name for name in columns if name != DOCUMENT and name not in stored]
    if missing:
        raise RecipeError(
            f"{recipe.path}: model {step.label} reads {', '.join(missing)}, which the tokens do not have: add it to "
            "encode.columns"
        )
    if data_settings(recipe).tag_regime is not None and "terminal" not in columns:
        raise RecipeError(f"{recipe.path}: train.tag_regime: model {step.label} reads no hexatags")
    if is_packed and DOCUMENT not in columns and data_settings(recipe).attend == "structure":
        raise RecipeError(
            f"{recipe.path}: model {step.label} cannot keep the structures that are packed in a row apart: say that "
            'they see each other (train.attend = "row"), or encode without a context'
        )


class _AttendedBatches:
    """Batches whose packed structures see each other ("row": facts before text, LIS F.4) or not ("structure")."""

    def __init__(self, batches: LoaderBatches, attend: str) -> None:
        self._batches, self._attend = batches, attend
        self.state_dict, self.load_state_dict = batches.state_dict, batches.load_state_dict
        self.description = batches.description

    def next_batch(self) -> Batch:
        """Return the next batch."""
        return attended(self._batches.next_batch(), self._attend)


def attended(batch: Batch, attend: str) -> Batch:
    """Return the batch, under "row" with all structures of a row numbered as one document (padding stays apart)."""
    return batch if attend == "structure" else batch | {DOCUMENT: batch[DOCUMENT].clamp(max=0)}


def split_text(recipe: Recipe, dataset: TokenDataset) -> TextSplit:
    """Return all rows one after another as one text, cut at `train.split`."""
    flat = dataset.gather(np.arange(len(dataset)), ["input_ids"]).columns["input_ids"]
    cut = int(len(flat) * data_settings(recipe).split)
    return TextSplit(training=flat[:cut], held_out=flat[cut:])


# -- evaluation ------------------------------------------------------------------------------------------------------


def evaluate_models(recipe: Recipe, root: Path) -> str:
    """Evaluate the newest checkpoint of each model by the recipe's protocol; return the table as text.

    JSON and a plot are written to `root`.
    """
    dataset = open_tokens(recipe, root)
    if evaluate_settings(recipe).protocol == PERPLEXITY:
        return _evaluate_perplexity(recipe, root, dataset)
    return _evaluate_by_kind(recipe, root, dataset)


def _trained(recipe: Recipe, root: Path, step: ModelStep, dataset: TokenDataset) -> tuple[nn.Module, Path]:
    checkpoint = latest(DataFolders(root=root).model(step.label) / "checkpoints")
    if checkpoint is None:
        raise RecipeError(f"{root}: {step.label} is not trained yet; run: lisdata train {recipe.path}")
    return load_model(checkpoint, labels=dataset.manifest["roles"]), checkpoint


def _evaluate_perplexity(recipe: Recipe, root: Path, dataset: TokenDataset) -> str:
    settings = evaluate_settings(recipe)
    held_out = split_text(recipe, dataset).held_out
    torch.manual_seed(int(recipe.train.get("seed", 0)))  # random line addresses are drawn in evaluation too
    measured: dict[str, dict[int, NllSum]] = {}
    facts = {}
    for step in recipe.models:
        model, checkpoint = _trained(recipe, root, step, dataset)
        try:
            measured[step.label] = window_perplexity(
                model,
                held_out,
                settings.context_lengths,
                batch_size=settings.batch_size,
                max_windows=settings.max_windows,
            )
        except ValueError as error:
            raise RecipeError(f"{recipe.path}: evaluate: {error}") from error
        facts[step.label] = {"checkpoint": checkpoint.name, "model": step.model}
    published = LIS_TABLE_3 if settings.beside == "LIS Table 3" else {}
    training_length = data_settings(recipe).window
    return write_context_report(measured, root, published=published, training_length=training_length, facts=facts)


def _evaluate_by_kind(recipe: Recipe, root: Path, dataset: TokenDataset) -> str:
    """Compare each model before and after training, kind by kind, on the first rows of the dataset in order.

    Unless the recipe holds rows out, these were trained on: it shows that each kind is learned, not how well that
    carries over.
    """
    table: dict[str, dict[str, dict[str, float]]] = {}
    for step in recipe.models:
        check_columns(recipe, step, dataset)
        models = {"before": untrained(recipe, step, dataset), "after": _trained(recipe, root, step, dataset)[0]}
        is_masked = find_model(step.model).is_masked
        nll = masked_token_nll if is_masked else next_token_nll
        masks = _masks(recipe, dataset) if is_masked else None
        sums = {
            when: evaluate_by_kind(model, _kind_batches(recipe, dataset, masks), _KINDS, nll=nll)
            for when, model in models.items()
        }
        table[step.label] = {
            kind: {"tokens": after.num_tokens, "before": sums["before"][kind].mean, "after": after.mean}
            for kind, after in sums["after"].items()
        }
    (root / "loss_by_kind.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    text = _format_by_kind(table, "held out" if data_settings(recipe).held_out else "of the training data")
    (root / "loss_by_kind.txt").write_text(text, encoding="utf-8")
    plot_by_kind(table, root / "loss_by_kind.png")
    return text


_KINDS = {int(kind): kind.label for kind in StructureKind}


def _kind_batches(recipe: Recipe, dataset: TokenDataset, masks: MaskRecipe | None) -> Iterator[Batch]:
    """Yield batches in order, with `kind` spread over the tokens of rows that hold one structure, masked by `masks`."""
    attend, regime = data_settings(recipe).attend, data_settings(recipe).tag_regime
    batches = _evaluated_batches(recipe, dataset)
    for number, batch in enumerate(islice(batches, evaluate_settings(recipe).max_batches)):
        kind = batch["kind"][:, None].expand_as(batch["input_ids"])
        batch = attended(batch | {"kind": batch.get("token_kind", kind)}, attend)
        batch = batch if regime is None else apply_tag_regime(batch, regime, seed=train_config(recipe).seed)
        yield batch if masks is None else mask_tokens(batch, masks, step=number)


def _evaluated_batches(recipe: Recipe, dataset: TokenDataset) -> Iterator[Batch]:
    """Yield the rows that are held out, or all where none are, in order."""
    batch_size, share = train_config(recipe).batch_size, data_settings(recipe).held_out
    if not share:
        yield from Loader(dataset, batch_size, shuffle=False, tail="ragged")
        return
    rows = torch.arange(len(dataset))
    collate = BatchCollator()
    for chosen in rows[is_held_out(rows, share)].split(batch_size):
        yield collate(dataset.gather(chosen.tolist()))


def _format_by_kind(table: dict[str, dict[str, dict[str, float]]], rows: str) -> str:
    lines = [f"mean loss in nats per token, before and after training, on rows {rows}"]
    lines += [f"{'model':<12}  {'kind':<12}{'tokens':>10}{'before':>10}{'after':>10}"]
    for label, kinds in table.items():
        for kind, row in kinds.items():
            figures = f"{int(row['tokens']):>10,}{row['before']:>10.3f}{row['after']:>10.3f}"
            lines.append(f"{label:<12}  {kind:<12}{figures}")
    return "\n".join(lines) + "\n"
