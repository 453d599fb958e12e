"""Studies of decoders given hexatags: every variant trained on the same sentences, measured under several tags.

`DecoderStudy` makes an experiment of a study's variants; the corpus is that of `sipe_corpus`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from lisdata.atomic import write_atomically
from lisdata.checkpoints import load_model, tokenizer_facts
from lisdata.encoding import load_tokenizer
from lisdata.evaluation.tag_cache import TagCache
from lisdata.models import build_model
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest, training_figures
from lisdata.reproduce.sipe_corpus import SipeFolders, make_rows, prepare_corpus, read_tests, read_valid
from lisdata.reproduce.sipe_evaluation import measure, measure_joint, validation_loss, validation_rows
from lisdata.reproduce.sipe_report import items_path
from lisdata.reproduce.sipe_settings import SipeScale, SipeVariant
from lisdata.reproduce.sipe_training import pack_batches, train_config
from lisdata.token_shards import TokenDataset
from lisdata.torch_threads import one_thread
from lisdata.training import SipeObjective, next_token_loss, train
from lisdata.training.loop import TrainResult

MODEL = "sipe-transformer-xl"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderStudy:
    """An experiment's variants and scales, what writes its table, and which of the variants a scale has if not all."""

    name: str
    variants: Mapping[str, SipeVariant]
    scales: Mapping[str, SipeScale]
    report: Callable[[list[JsonDict], Any, Path], str]
    variants_at: Callable[[Any], tuple[str, ...]] | None = None

    def experiment(self) -> Experiment:
        """Return the study as an experiment."""
        return Experiment(
            name=self.name,
            variants=tuple(self.variants),
            scales=self.scales,
            prepare=self.prepare,
            run=partial(run_variant, self.variants),
            report=self.report,
            variants_at=self.variants_at,
        )

    def prepare(self, data: Path | None, directory: Path, scale: SipeScale, on_step: OnStep) -> JsonDict:
        """Make the corpus, unless that is done, and say what it is."""
        assert data is not None  # the experiment's entry says that it needs a folder
        with_prefixes = any(variant.needs_prefixes for variant in self.variants.values())
        with one_thread():
            return prepare_corpus(data, directory, scale, on_step, with_prefixes=with_prefixes)


def run_variant(variants: Mapping[str, SipeVariant], request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and measure the best of its checkpoints on the validation sentences."""
    assert request.data is not None
    variant = variants[request.variant]
    folders = SipeFolders(root=request.directory)
    tag = TagCache(request.scale.parser, folders.tags)
    tokenizer = load_tokenizer(folders.tokenizer)
    with one_thread():
        result = _train(request, variant, folders, tag)
        if not result.is_finished:
            raise KeyboardInterrupt
        assert result.best is not None  # there is an evaluation after the last step
        model = load_model(result.best)
        began = time.perf_counter()
        tests = read_tests(request.data, folders, request.scale)
        readings, items = measure(model, variant, tokenizer, tag, tests)
        joint = None
        if variant.predicts_tags:
            joint = measure_joint(model, variant, make_rows(tokenizer), tag, tests.sentences)
    write_atomically(items_path(request.directory, request.name), (json.dumps(items) + "\n").encode())
    seconds = time.perf_counter() - began
    best = {"best_step": int(result.best.name.removeprefix("step-")), "evaluations": _evaluations(result)}
    return training_figures(result.report, evaluation_seconds=seconds) | best | {"readings": readings, "joint": joint}


def _evaluations(result: TrainResult) -> list[JsonDict]:
    found: list[JsonDict] = json.loads(result.report.read_text(encoding="utf-8"))["evaluations"]
    return found


def _train(request: RunRequest, variant: SipeVariant, folders: SipeFolders, tag: TagCache) -> TrainResult:
    scale: SipeScale = request.scale
    dataset = TokenDataset(folders.tokens("train-frozen" if variant.is_frozen else "train"))
    rows = make_rows(load_tokenizer(folders.tokenizer))
    valid = validation_rows(rows, read_valid(folders, scale), tag, is_frozen=variant.is_frozen)
    on_step = request.on_step
    return train(
        _untrained(request, variant, dataset),
        pack_batches(dataset, scale, regime=variant.regime, seed=request.seed, withhold=variant.withhold(scale)),
        train_config(scale, seed=request.seed),
        directory=request.directory / "models" / request.name,
        facts=tokenizer_facts(dataset.manifest),
        objective=SipeObjective() if variant.predicts_tags else next_token_loss,
        evaluate=validation_loss(valid, variant.regime),
        keep_best="nll",
        on_progress=None if on_step is None else lambda p: on_step(p.step, p.num_steps, p.loss),
    )


def _untrained(request: RunRequest, variant: SipeVariant, dataset: TokenDataset) -> nn.Module:
    size = dataset.schema.column("input_ids").maximum + 1
    settings = variant.model_settings(request.scale)
    return build_model(MODEL, seed=request.seed, vocabulary_size=size, **settings)
