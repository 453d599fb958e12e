"""Trains and evaluates the models of a recipe on its token shards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from lisdata.checkpoints import latest, load_model
from lisdata.encoding.tokenizers import load_tokenizer
from lisdata.errors import RecipeError
from lisdata.evaluation import LIS_TABLE_3, evaluate_by_kind, window_perplexity, write_context_report
from lisdata.loader import Loader
from lisdata.metrics import NllSum
from lisdata.models import build_model, find_model
from lisdata.pipeline import DataFolders, open_tokens, settings_of
from lisdata.plots import plot_by_kind
from lisdata.recipe import JsonDict, ModelStep, Recipe
from lisdata.schema import StructureKind
from lisdata.settings import build_settings
from lisdata.token_shards import TokenDataset
from lisdata.training import (
    Batch,
    BatchSource,
    LoaderBatches,
    Progress,
    TokenWindows,
    TrainConfig,
    TrainResult,
    train,
)

OnTrain = Callable[[str], Callable[[Progress], None]]
CHECKPOINT_EVERY = 100
PROTOCOLS = ("perplexity", "loss-by-kind")
_DATA_KEYS = ("data", "window", "split", "attend")


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
        result = train(
            untrained(recipe, step, dataset),
            batches_of(recipe, step, dataset, config),
            config,
            directory=DataFolders(root=root).model(step.label),
            facts={"labels": dataset.manifest["roles"]},
            on_progress=on_progress(step.label),
        )
        results.append(result)
        if not result.is_finished:
            break
    return results


def train_config(recipe: Recipe) -> TrainConfig:
    """Return the settings of `[train]`; a checkpoint every 100 steps unless the recipe says otherwise."""
    settings = {k: v for k, v in recipe.train.items() if k not in _DATA_KEYS}
    try:
        return build_settings(TrainConfig, {"checkpoint_every": CHECKPOINT_EVERY} | settings, "train")
    except ValueError as error:
        raise RecipeError(f"{recipe.path}: {error}") from error


def check_models(recipe: Recipe) -> None:
    """Raise RecipeError for anything in the recipe's models, training or evaluation that could only fail later."""
    if not recipe.models:
        return
    train_config(recipe)
    _attend(recipe)
    if recipe.train.get("data") not in ("windows", "loader"):
        raise RecipeError(
            f"{recipe.path}: expected train.data of windows or loader, found {recipe.train.get('data')!r}"
        )
    for step in recipe.models:
        try:
            known = {f.name for f in fields(find_model(step.model).load_config_class())}
        except ValueError as error:
            raise RecipeError(f"{recipe.path}: {error}") from error
        unknown = sorted(set(step.settings) - known)
        if unknown:
            raise RecipeError(
                f"{recipe.path}: model {step.label} has no {', '.join(unknown)}; it has {', '.join(known)}"
            )
    if recipe.evaluate and recipe.evaluate.get("protocol") not in PROTOCOLS:
        found = recipe.evaluate.get("protocol")
        raise RecipeError(f"{recipe.path}: expected evaluate.protocol of {' or '.join(PROTOCOLS)}, found {found!r}")


def untrained(recipe: Recipe, step: ModelStep, dataset: TokenDataset) -> nn.Module:
    """Build a model with the vocabulary and roles of the dataset, its weights drawn under the recipe's seed."""
    settings: JsonDict = {"vocabulary_size": dataset.schema.column("input_ids").maximum + 1}
    known = {f.name for f in fields(find_model(step.model).load_config_class())}
    if "num_roles" in known:
        settings["num_roles"] = dataset.schema.column("role").maximum + 1
    if "newline_id" in known:
        settings["newline_id"] = newline_id(dataset)
    return build_model(step.model, seed=int(recipe.train.get("seed", 0)), **(settings | step.settings))


def newline_id(dataset: TokenDataset) -> int:
    """Return the token that ends a line; raise RecipeError where the tokenizer has no such one token."""
    ids = load_tokenizer(dataset.path / dataset.manifest["tokenizer"]["file"]).encode_batch(["\n"]).ids
    if len(ids) != 1:
        raise RecipeError(f"{dataset.path}: models of lines need a tokenizer with one token for a newline")
    return int(ids[0])


def batches_of(recipe: Recipe, step: ModelStep, dataset: TokenDataset, config: TrainConfig) -> BatchSource:
    """Return what `[train] data` asks for: random "windows" of one long text, or the rows of a "loader"."""
    data = recipe.train.get("data")
    if data == "windows":
        ids = split_text(recipe, dataset).training
        return TokenWindows(ids, window=_window(recipe), batch_size=config.batch_size, seed=config.seed)
    if data == "loader":
        wanted = (*find_model(step.model).columns, "target")
        chosen = tuple(c for c in wanted if c in dataset.columns)
        loader = Loader(dataset, config.batch_size, seed=config.seed, tail="drop", columns=chosen)
        facts = {"dataset": dataset.fingerprint, "batch_size": config.batch_size, "seed": config.seed}
        facts |= {"columns": list(chosen), "attend": _attend(recipe)}
        return _AttendedBatches(LoaderBatches(loader, description=facts), _attend(recipe))
    raise RecipeError(f"{recipe.path}: expected train.data of windows or loader, found {data!r}")


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
    if attend == "structure" or "document" not in batch:
        return batch
    return batch | {"document": batch["document"].clamp(max=0)}


def _attend(recipe: Recipe) -> str:
    attend = recipe.train.get("attend", "structure")
    if attend not in ("row", "structure"):
        raise RecipeError(f"{recipe.path}: expected train.attend of row or structure, found {attend!r}")
    return str(attend)


def _window(recipe: Recipe) -> int:
    if "window" not in recipe.train:
        raise RecipeError(f"{recipe.path}: train.data = windows needs train.window, a number of tokens")
    return int(recipe.train["window"])


def split_text(recipe: Recipe, dataset: TokenDataset) -> TextSplit:
    """Return all rows one after another as one text, cut at `train.split`."""
    flat = dataset.gather(np.arange(len(dataset)), ["input_ids"]).columns["input_ids"]
    cut = int(len(flat) * float(recipe.train.get("split", 0.9)))
    return TextSplit(training=flat[:cut], held_out=flat[cut:])


# -- evaluation ------------------------------------------------------------------------------------------------------


def evaluate_models(recipe: Recipe, root: Path) -> str:
    """Evaluate the newest checkpoint of each model by the recipe's protocol; return the table as text.

    JSON and a plot are written to `root`.
    """
    dataset = open_tokens(recipe, root)
    protocol = recipe.evaluate.get("protocol")
    if protocol == "perplexity":
        return _evaluate_perplexity(recipe, root, dataset)
    if protocol == "loss-by-kind":
        return _evaluate_by_kind(recipe, root, dataset)
    raise RecipeError(f"{recipe.path}: expected evaluate.protocol of perplexity or loss-by-kind, found {protocol!r}")


def _trained(recipe: Recipe, root: Path, step: ModelStep, dataset: TokenDataset) -> tuple[nn.Module, Path]:
    checkpoint = latest(DataFolders(root=root).model(step.label) / "checkpoints")
    if checkpoint is None:
        raise RecipeError(f"{root}: {step.label} is not trained yet; run: lisdata train {recipe.path}")
    return load_model(checkpoint, labels=dataset.manifest["roles"]), checkpoint


def _evaluate_perplexity(recipe: Recipe, root: Path, dataset: TokenDataset) -> str:
    settings = settings_of(recipe.evaluate, ("protocol", "context_lengths"), "evaluate", recipe.path)
    held_out = split_text(recipe, dataset).held_out
    torch.manual_seed(int(recipe.train.get("seed", 0)))  # random line addresses are drawn in evaluation too
    measured: dict[str, dict[int, NllSum]] = {}
    facts = {}
    for step in recipe.models:
        model, checkpoint = _trained(recipe, root, step, dataset)
        measured[step.label] = window_perplexity(
            model,
            held_out,
            recipe.evaluate["context_lengths"],
            batch_size=int(settings.get("batch_size", 16)),
            max_windows=settings.get("max_windows"),
        )
        facts[step.label] = {"checkpoint": checkpoint.name, "model": step.model}
    published = LIS_TABLE_3 if recipe.evaluate.get("beside") == "LIS Table 3" else {}
    return write_context_report(
        measured, root, published=published, training_length=recipe.train.get("window"), facts=facts
    )


def _evaluate_by_kind(recipe: Recipe, root: Path, dataset: TokenDataset) -> str:
    """Compare each model before and after training, kind by kind, on the first rows of the dataset in order."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for step in recipe.models:
        models = {"before": untrained(recipe, step, dataset), "after": _trained(recipe, root, step, dataset)[0]}
        sums = {when: evaluate_by_kind(m, _kind_batches(recipe, dataset), _KINDS) for when, m in models.items()}
        table[step.label] = {
            kind: {"tokens": after.num_tokens, "before": sums["before"][kind].mean, "after": after.mean}
            for kind, after in sums["after"].items()
        }
    (root / "loss_by_kind.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    text = _format_by_kind(table)
    (root / "loss_by_kind.txt").write_text(text, encoding="utf-8")
    plot_by_kind(table, root / "loss_by_kind.png")
    return text


_KINDS = {int(kind): kind.label for kind in StructureKind}


def _kind_batches(recipe: Recipe, dataset: TokenDataset) -> Iterator[Batch]:
    """Yield batches in order, with `kind` spread over the tokens of rows that hold one structure."""
    limit = int(recipe.evaluate.get("max_batches", 64))
    batches: Iterable[Batch] = Loader(dataset, int(recipe.train.get("batch_size", 16)), shuffle=False, tail="ragged")
    for number, batch in enumerate(batches):
        if number == limit:
            return
        kind = batch["kind"][:, None].expand_as(batch["input_ids"])
        yield attended(batch | {"kind": batch.get("token_kind", kind)}, _attend(recipe))


def _format_by_kind(table: dict[str, dict[str, dict[str, float]]]) -> str:
    lines = [f"{'model':<12}  {'kind':<12}{'tokens':>10}{'before':>10}{'after':>10}   (mean loss in nats per token)"]
    for label, kinds in table.items():
        for kind, row in kinds.items():
            figures = f"{int(row['tokens']):>10,}{row['before']:>10.3f}{row['after']:>10.3f}"
            lines.append(f"{label:<12}  {kind:<12}{figures}")
    return "\n".join(lines) + "\n"
