"""SiPE Table 2: a decoder without tags beside decoders that are given hexatags, with the controls that the paper lacks.

The paper's decoders are given the tags of a parse of the whole sentence, which tells of words to come. Here are also
models that learn to predict tags and are given none, that are given shuffled ones, the tags of an incremental parser
(of what was read), one half of the tags, or one bit of them, and a larger model without tags; and every model is
measured under tags that a reader could know. `lisdata.reproduce.sipe_settings` lists the variants.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from torch import nn

from lisdata.atomic import write_atomically
from lisdata.checkpoints import load_model
from lisdata.encoding import load_tokenizer
from lisdata.evaluation.tag_cache import TagCache
from lisdata.loader import Loader
from lisdata.models import build_model
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest, training_figures
from lisdata.reproduce.sipe_corpus import COLUMNS, SipeFolders, make_rows, prepare_corpus, read_tests, read_valid
from lisdata.reproduce.sipe_evaluation import measure, measure_joint, validation_loss, validation_rows
from lisdata.reproduce.sipe_report import items_path, write_table
from lisdata.reproduce.sipe_settings import SCALES, VARIANTS, SipeScale, SipeVariant
from lisdata.reproduce.threads import one_thread
from lisdata.token_shards import TokenDataset
from lisdata.training import (
    Batch,
    BatchSource,
    LoaderBatches,
    RegimeBatches,
    SipeObjective,
    TrainConfig,
    next_token_loss,
    train,
)
from lisdata.training.loop import TrainResult

MODEL = "sipe-transformer-xl"


def prepare(data: Path | None, directory: Path, scale: SipeScale) -> JsonDict:
    """Make the corpus, unless that is done, and say what it is."""
    assert data is not None  # the experiment's entry says that it needs a folder
    with one_thread():
        return prepare_corpus(data, directory, scale)


def run(request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and measure the best of its checkpoints on the validation sentences."""
    assert request.data is not None
    variant = VARIANTS[request.variant]
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
    config = TrainConfig(
        num_steps=scale.num_steps,
        batch_size=scale.batch_size,
        learning_rate=scale.learning_rate,
        weight_decay=scale.weight_decay,
        clip_norm=scale.clip_norm,
        num_warmup_steps=scale.num_warmup_steps,
        seed=request.seed,
        checkpoint_every=scale.checkpoint_every,
        evaluate_every=scale.evaluate_every,
        precision=scale.precision,
        num_threads=1,
    )
    rows = make_rows(load_tokenizer(folders.tokenizer))
    valid = validation_rows(rows, read_valid(folders, scale), tag, is_frozen=variant.is_frozen)
    on_step = request.on_step
    return train(
        _untrained(request, variant, dataset),
        _batches(request, variant, dataset),
        config,
        directory=request.directory / "models" / request.name,
        objective=SipeObjective() if variant.predicts_tags else next_token_loss,
        evaluate=validation_loss(valid, variant.regime),
        keep_best="nll",
        on_progress=None if on_step is None else lambda p: on_step(p.step, p.num_steps, p.loss),
    )


def _untrained(request: RunRequest, variant: SipeVariant, dataset: TokenDataset) -> nn.Module:
    size = dataset.schema.column("input_ids").maximum + 1
    settings = variant.model_settings(request.scale)
    return build_model(MODEL, seed=request.seed, vocabulary_size=size, **settings)


def _batches(request: RunRequest, variant: SipeVariant, dataset: TokenDataset) -> BatchSource:
    scale: SipeScale = request.scale
    loader = Loader(
        dataset,
        scale.batch_size,
        pack_to=scale.length + 1,
        seed=request.seed,
        tail="drop",
        columns=(*COLUMNS, "document"),
    )
    facts: dict[str, Any] = {"batch_size": scale.batch_size, "pack_to": scale.length + 1, "seed": request.seed}
    packs = _Packs(LoaderBatches(loader, description={"dataset": dataset.fingerprint} | facts))
    return RegimeBatches(packs, variant.regime, withhold=variant.withhold(scale), seed=request.seed)


class _Packs:
    """Batches of packs without what tells of the rows in them: `document` says all that a model and its loss need."""

    def __init__(self, batches: LoaderBatches) -> None:
        self._batches = batches
        self.state_dict, self.load_state_dict = batches.state_dict, batches.load_state_dict
        self.description = batches.description

    def next_batch(self) -> Batch:
        """Return the next batch, (B, T + 1) each."""
        batch = self._batches.next_batch()
        return {name: batch[name] for name in (*COLUMNS, "document")}


EXPERIMENT = Experiment(
    name="sipe-table-2",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
