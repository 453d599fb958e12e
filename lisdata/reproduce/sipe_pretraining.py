"""A backbone of SiPE trained on books, then further on others, each stage resumable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from lisdata.checkpoints import tokenizer_facts
from lisdata.encoding import load_tokenizer
from lisdata.evaluation.masked_nll import masked_nll
from lisdata.evaluation.sentence_scores import Int64
from lisdata.evaluation.tag_cache import TagCache
from lisdata.models import build_model
from lisdata.reproduce.runner import RunRequest
from lisdata.reproduce.sipe_backbones import BackboneScale, BackboneVariant
from lisdata.reproduce.sipe_corpus import SipeFolders, make_rows, read_valid
from lisdata.reproduce.sipe_evaluation import validation_loss, validation_rows
from lisdata.reproduce.sipe_training import pack_batches, train_config
from lisdata.special_tokens import mask_recipe, mask_settings
from lisdata.token_shards import TokenDataset
from lisdata.training import (
    MaskedBatches,
    MaskedSipeObjective,
    MaskRecipe,
    Objective,
    SipeObjective,
    masked_token_loss,
    next_token_loss,
    train,
)
from lisdata.training.loop import TrainResult
from lisdata.training.starting import start_model

FIRST, CONTINUED = "books", "continued"
STAGES = (FIRST, CONTINUED)


def stage_folder(directory: Path, name: str, stage: str) -> Path:
    """Return the folder of a run's training in a stage."""
    return directory / "models" / name / stage


def train_stages(request: RunRequest, variant: BackboneVariant, tag: TagCache) -> dict[str, TrainResult]:
    """Train a variant on the first books, then on those to go on with; go on where that was stopped.

    Raises KeyboardInterrupt when a signal ended a training, whose state is saved.
    """
    scale: BackboneScale = request.scale
    folders = SipeFolders(root=request.directory)
    results: dict[str, TrainResult] = {}
    for stage, num_steps in ((FIRST, scale.num_steps), (CONTINUED, scale.num_continued_steps)):
        dataset = TokenDataset(folders.tokens("train" if stage == FIRST else CONTINUED))
        if stage == FIRST:
            model = _untrained(request, variant, dataset)
        else:
            model = start_model(results[FIRST].checkpoint, seed=request.seed, **variant.tag_settings)
        regime = "none" if variant.is_late and stage == FIRST else variant.regime
        masks = mask_recipe(dataset, rate=scale.mask_rate, seed=request.seed) if variant.is_masked else None
        packs = pack_batches(dataset, scale, regime=regime, seed=request.seed)
        results[stage] = train(
            model,
            packs if masks is None else MaskedBatches(packs, masks),
            train_config(scale, seed=request.seed, num_steps=num_steps),
            directory=stage_folder(request.directory, request.name, stage),
            facts=tokenizer_facts(dataset.manifest),
            objective=_objective(variant, predicts_tags=regime not in ("none", "injection-only")),
            evaluate=_validation(scale, folders, tag, regime, masks),
            on_progress=_shown(request, scale, stage),
        )
        if not results[stage].is_finished:
            raise KeyboardInterrupt
    return results


def _untrained(request: RunRequest, variant: BackboneVariant, dataset: TokenDataset) -> nn.Module:
    settings = variant.model_settings(request.scale)
    if variant.is_masked:
        settings |= mask_settings(dataset)
    else:
        settings |= {"vocabulary_size": dataset.schema.column("input_ids").maximum + 1}
    return build_model(variant.model, seed=request.seed, **settings)


def _objective(variant: BackboneVariant, *, predicts_tags: bool) -> Objective:
    if variant.is_masked:
        return MaskedSipeObjective() if predicts_tags else masked_token_loss
    return SipeObjective() if predicts_tags else next_token_loss


def _validation(
    scale: BackboneScale, folders: SipeFolders, tag: TagCache, regime: str, masks: MaskRecipe | None
) -> Callable[[nn.Module], dict[str, Any]]:
    """Return what measures the mean nats a predicted token of the validation sentences, as `nll`."""
    made = make_rows(load_tokenizer(folders.tokenizer))
    rows = validation_rows(made, read_valid(folders, scale), tag, is_frozen=False)
    if masks is None:
        return validation_loss(rows, regime)
    return lambda model: {"nll": _mean_masked_nll(model, rows, masks, regime)}


def _mean_masked_nll(model: nn.Module, rows: Sequence[Int64], masks: MaskRecipe, regime: str) -> float:
    nats, counts = masked_nll(model, rows, masks, regime=regime)
    return float(nats.sum() / counts.sum())


def _shown(request: RunRequest, scale: BackboneScale, stage: str) -> Callable[[Any], None] | None:
    """Return what shows the steps of a stage as steps of both."""
    on_step = request.on_step
    if on_step is None:
        return None
    before = 0 if stage == FIRST else scale.num_steps
    num_steps = scale.num_steps + scale.num_continued_steps
    return lambda progress: on_step(before + progress.step, num_steps, progress.loss)
