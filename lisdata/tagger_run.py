"""A hexatagger from files to the folder that `--parser tagger:FOLDER` reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lisdata.evaluation.attachment import score_tagger
from lisdata.parsers import pin_parser
from lisdata.tagger.network import HexatagNetwork, TaggerConfig
from lisdata.tagger.weights import ENGLISH, load_tagger, save_tagger
from lisdata.training import Progress, TrainConfig, TrainResult
from lisdata.training.tagger import make_network, train_tagger
from lisdata.training.tagger_corpus import TreeCorpus, read_corpus, read_treebanks

if TYPE_CHECKING:
    from torch import nn

_MAX_WARMUP_STEPS = 100
_NUM_EVALUATIONS = 10
_WEIGHT_DECAY = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerRequest:
    """What to train: trees of `treebanks` (CoNLL-U) and of `texts` as the parser `teacher` parses them, into `to`.

    `dev` names treebanks to measure it on ten times. `initial` is "tagger" or a folder whose weights and sizes are
    where training begins; else `width`, `layers` and `rows` are the sizes. `batch_words` counts padding too.
    """

    treebanks: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    teacher: str | None = None
    unit: str = "paragraph"
    to: Path
    dev: tuple[str, ...] = ()
    initial: str | None = None
    steps: int = 3000
    batch_words: int = 2000
    learning_rate: float = 4e-3
    width: int = 192
    layers: int = 3
    rows: int = 6000
    dropout: float = 0.1
    precision: str = "fp32"
    checkpoint_every: int = 500
    seed: int = 0
    threads: int | None = 1


def run_training(request: TaggerRequest, *, on_progress: Callable[[Progress], None] | None = None) -> TrainResult:
    """Train a hexatagger, or go on where an earlier call was stopped; the folder is a tagger once it has ended.

    Raises ValueError where there are no trees to learn from, CheckpointError where the folder holds another training.
    """
    corpus = read_corpus(request.treebanks, request.texts, request.teacher, unit=request.unit)
    dev = read_treebanks(request.dev) if request.dev else None
    network = _make_network(request, corpus)
    config = TrainConfig(
        num_steps=request.steps,
        batch_size=request.batch_words,
        learning_rate=request.learning_rate,
        weight_decay=_WEIGHT_DECAY,
        num_warmup_steps=min(_MAX_WARMUP_STEPS, request.steps // 10),
        seed=request.seed,
        checkpoint_every=request.checkpoint_every,
        evaluate_every=max(1, request.steps // _NUM_EVALUATIONS),
        precision=request.precision,
        num_threads=request.threads,
    )
    result = train_tagger(
        corpus,
        network,
        config,
        directory=request.to,
        evaluate=None if dev is None else partial(_evaluate, dev),
        on_progress=on_progress,
    )
    if result.is_finished:
        save_tagger(network.eval(), request.to, about=_describe(request, corpus))
    return result


def _evaluate(corpus: TreeCorpus, model: nn.Module) -> dict[str, Any]:
    return asdict(score_tagger(cast(HexatagNetwork, model.eval()), corpus))


def _make_network(request: TaggerRequest, corpus: TreeCorpus) -> HexatagNetwork:
    if request.initial is None:
        sizes = TaggerConfig(
            deprels=corpus.deprels,
            num_rows=request.rows,
            width=request.width,
            num_layers=request.layers,
            dropout=request.dropout,
        )
        return make_network(sizes, seed=request.seed)
    initial = load_tagger(ENGLISH if request.initial == "tagger" else Path(request.initial))
    sizes = replace(initial.config, deprels=corpus.deprels, dropout=request.dropout)
    return make_network(sizes, seed=request.seed, initial=initial)


def _describe(request: TaggerRequest, corpus: TreeCorpus) -> dict[str, Any]:
    """Return what config.json says of the making: names of files alone, not the folders where they lay."""
    return {
        "treebanks": [Path(path).name for path in request.treebanks],
        "texts": [Path(path).name for path in request.texts],
        "teacher": None if request.teacher is None else pin_parser(request.teacher),
        "begun_with": None if request.initial is None else Path(request.initial).name,
        "num_sentences": len(corpus.offsets) - 1,
        "num_words": corpus.num_words,
        "steps": request.steps,
        "batch_words": request.batch_words,
        "seed": request.seed,
    }
