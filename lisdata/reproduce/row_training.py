"""What experiments on rows of facts and text share: their scales, their tokens, their training, their evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lisdata.checkpoints import load_model
from lisdata.encoding import encode
from lisdata.loader import BatchCollator, Loader, Mixture
from lisdata.models import build_model, find_model
from lisdata.reproduce.runner import JsonDict, RunRequest, training_figures
from lisdata.runs import OnProgress
from lisdata.shards import IncidenceDataset
from lisdata.token_shards import TokenDataset
from lisdata.torch_threads import one_thread
from lisdata.training import LoaderBatches, TrainConfig, train
from lisdata.training.batches import Batch

SEPARATOR, BETWEEN_FACTS_AND_TEXT = " ", "|"
TEXT_ROLE = "record#token"
COLUMNS = ("input_ids", "role", "instance", "position")
EVALUATED_COLUMNS = (*COLUMNS, "occurrence", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScale:
    """Size of the models, of their training and of the data; `num_evaluated` examples a row of the table.

    Defaults are those of LIS appendix F.3 and F.4.
    """

    num_steps: int
    num_training_rows: int
    num_evaluated: int = 1000
    width: int = 60
    num_layers: int = 3
    dropout: float = 0.2
    batch_size: int = 32
    learning_rate: float = 5e-4
    weight_decay: float = 0.01
    checkpoint_every: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RowVariant:
    """A model of the registry, how it is given facts, which training it has, and settings beyond the size."""

    model: str
    facts: str = "endpoints"
    training: str = "single"
    settings: Callable[[Any], JsonDict] = lambda scale: {}


def encode_rows(
    source: Path,
    target: Path,
    *,
    facts: str,
    columns: Sequence[str],
    labels: Path,
    vocabulary: Path | None,
    view: str = "auto",
    on_progress: OnProgress | None = None,
) -> None:
    """Encode a dataset of facts and text, unless that is done; without a vocabulary the characters are its own."""
    encode(
        source,
        target,
        separator=SEPARATOR,
        text_separator=BETWEEN_FACTS_AND_TEXT,
        facts=facts,
        columns=tuple(columns),
        labels=str(labels),
        vocabulary=None if vocabulary is None else str(vocabulary),
        record_ids=False,
        view=view,
        on_progress=on_progress,
    )


def build_untrained(
    request: RunRequest, variant: RowVariant, dataset: TokenDataset, **settings: Any
) -> torch.nn.Module:
    """Build a variant's model for a dataset's vocabularies, at the size of the scale, changed by `settings`."""
    scale: RowScale = request.scale
    size: JsonDict = {
        "vocabulary_size": dataset.schema.column("input_ids").maximum + 1,
        "width": scale.width,
        "num_layers": scale.num_layers,
        "num_attention_heads": 1,
        "activation": "relu",
        "dropout": scale.dropout,
    }
    if "role" in find_model(variant.model).columns:
        size["num_roles"] = dataset.schema.column("role").maximum + 1
    return build_model(variant.model, seed=request.seed, **(size | settings | variant.settings(scale)))


def train_and_score(
    request: RunRequest,
    model: torch.nn.Module,
    source: TokenDataset | Mixture,
    *,
    columns: Sequence[str],
    labels: JsonDict,
    score: Callable[[torch.nn.Module], JsonDict],
) -> JsonDict:
    """Train a model on rows of `source`, or go on training it, and return the run's figures, those of `score` included.

    `columns` are those that the model takes of a row, `labels` the dataset's entry of its roles. Raises
    KeyboardInterrupt when a signal ended the training, whose state is saved.
    """
    scale: RowScale = request.scale
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
        source,
        scale.batch_size,
        bucket=scale.batch_size,
        seed=request.seed,
        tail="drop",
        columns=(*(name for name in columns if name in COLUMNS), "document"),
    )
    facts = {"dataset": source.fingerprint, "batch_size": scale.batch_size, "seed": request.seed}
    on_step = request.on_step
    result = train(
        model,
        LoaderBatches(loader, description=facts),
        config,
        directory=request.directory / "models" / request.name,
        facts={"labels": labels},
        on_progress=None if on_step is None else lambda p: on_step(p.step, p.num_steps, p.loss),
    )
    if not result.is_finished:
        raise KeyboardInterrupt
    began = time.perf_counter()
    with one_thread():
        scores = score(load_model(result.checkpoint))
    return training_figures(result.report, evaluation_seconds=time.perf_counter() - began) | {"scores": scores}


def iter_evaluated(incidence: Path, tokens: TokenDataset, batch_size: int) -> Iterator[tuple[str, Iterator[Batch]]]:
    """Yield the name of each file that `incidence` was converted from, and the batches of its rows in `tokens`."""
    begin = 0
    for info in IncidenceDataset(incidence).inputs:  # rows stand in their order
        end = begin + info.records["converted"]
        yield Path(info.name).stem, _row_batches(tokens, begin, end, batch_size)
        begin = end


def _row_batches(dataset: TokenDataset, begin: int, end: int, batch_size: int) -> Iterator[Batch]:
    collate = BatchCollator()
    for first in range(begin, end, batch_size):
        yield collate(dataset.gather(range(first, min(first + batch_size, end))))
