"""LIS Table 3: perplexity on Tiny Shakespeare as the context outgrows that of training, with the controls it lacks.

The paper trains four models once each. Here are three more, trained alike, and two other readings of the RoPE model:

* zero-offset: lines restart the positions, no line addresses;
* own-line: nothing but the query's own line is seen;
* sliding-window: RoPE whose queries see the last half of the training window only, in training too;
* rope in moving windows: a long context is read as one moved window of the training length;
* rope under a window mask: the same weights, each query seeing as many tokens as in training.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from lisdata.checkpoints import load_model
from lisdata.evaluation import sliding_window_perplexity, window_perplexity
from lisdata.evaluation.perplexity import TokenIds
from lisdata.experiment import split_text, train_models
from lisdata.metrics import NllSum
from lisdata.models import build_model
from lisdata.pipeline import make_data, open_tokens
from lisdata.recipe import ModelStep, Recipe, SourceStep
from lisdata.reproduce.context_growth import WHOLE, write_table
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest, training_figures
from lisdata.torch_threads import one_thread
from lisdata.training import Progress

NUM_CONTEXTS_PER_BATCH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Table3Scale:
    """Size of the models, of their training and of the contexts at which they are read, in characters."""

    width: int
    num_layers: int
    num_attention_heads: int
    window: int
    batch_size: int
    num_steps: int
    learning_rate: float
    context_lengths: tuple[int, ...]
    weight_decay: float = 0.1
    split: float = 0.9
    precision: str = "fp32"
    max_windows: int | None = None
    checkpoint_every: int = 100

    def __post_init__(self) -> None:
        if self.window < 2 or self.window % 2:
            raise ValueError(f"{self.window=} is not a positive even number")
        if self.window not in self.context_lengths:
            raise ValueError(f"the training window of {self.window} is none of {self.context_lengths=}")


SCALES: dict[str, Table3Scale] = {
    "reduced": Table3Scale(
        width=64,
        num_layers=3,
        num_attention_heads=2,
        window=128,
        batch_size=32,
        num_steps=1500,
        learning_rate=1.5e-3,
        context_lengths=(128, 256, 512, 1024, 2048),
    ),
    "paper": Table3Scale(
        width=128,
        num_layers=4,
        num_attention_heads=4,
        window=256,
        batch_size=64,
        num_steps=5000,
        learning_rate=3e-4,
        context_lengths=(256, 512, 1024, 2048, 4096),
    ),
}
"""Both read 1 to 16 times the training window; "reduced" takes about 3 minutes of one thread a run, "paper" 3 hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """A model of the registry, and its settings beyond the size, from scale and seed."""

    model: str
    settings: Callable[[Table3Scale, int], JsonDict] = lambda scale, seed: {}


VARIANTS: dict[str, _Variant] = {
    "rope": _Variant(model="rope"),
    "alibi": _Variant(model="alibi"),
    "random-lines": _Variant(model="random-lines", settings=lambda scale, seed: {"angle_seed": seed}),
    "lisformer-lines": _Variant(model="lisformer-lines"),
    "zero-offset": _Variant(model="zero-offset"),
    "own-line": _Variant(model="own-line"),
    "sliding-window": _Variant(
        model="sliding-window", settings=lambda scale, seed: {"attention_window": scale.window // 2}
    ),
}


def prepare(data: Path | None, directory: Path, scale: Table3Scale, on_step: OnStep) -> JsonDict:
    """Convert and encode the text, unless that is done, and say which text it is."""
    assert data is not None  # the experiment's entry says that it needs one
    recipe = _recipe(data, scale, ModelStep(label="rope", model="rope"), seed=0)
    make_data(recipe, directory, workers=1, on_step=on_step)
    dataset = open_tokens(recipe, directory)
    text = split_text(recipe, dataset)
    return {
        "sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        "token_shards": dataset.fingerprint,
        "num_training_characters": len(text.training),
        "num_held_out_characters": len(text.held_out),
    }


def run(request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and read the held-out text with it at every context length."""
    scale: Table3Scale = request.scale
    assert request.data is not None
    variant = VARIANTS[request.variant]
    size = {name: getattr(scale, name) for name in ("width", "num_layers", "num_attention_heads")}
    step = ModelStep(label=request.name, model=variant.model, settings=size | variant.settings(scale, request.seed))
    recipe = _recipe(request.data, scale, step, request.seed)
    with one_thread():
        result = train_models(recipe, request.directory, on_progress=lambda label: _step_progress(request))[0]
        if not result.is_finished:
            raise KeyboardInterrupt
        held_out = split_text(recipe, open_tokens(recipe, request.directory)).held_out
        model = load_model(result.checkpoint)
        began = time.perf_counter()
        readings = {reading: _figures(sums) for reading, sums in _read(request, model, held_out)}
    return training_figures(result.report, evaluation_seconds=time.perf_counter() - began) | {"readings": readings}


def _recipe(data: Path, scale: Table3Scale, step: ModelStep, seed: int) -> Recipe:
    """Return the recipe of one run: the road that any recipe takes, with one thread a training."""
    names = ("window", "split", "batch_size", "num_steps", "learning_rate", "weight_decay", "precision")
    train = {name: getattr(scale, name) for name in (*names, "checkpoint_every")}
    source = SourceStep(name="text", source="text", paths=(str(data),), options={"unit": "document"})
    return Recipe(
        path=Path("lis-table-3"),
        name="lis-table-3",
        summary="",
        sources=(source,),
        encode={"tokenizer": "chars", "view": "sequence"},
        models=(step,),
        train={"data": "windows", "seed": seed, "num_threads": 1, **train},
    )


def _step_progress(request: RunRequest) -> Callable[[Progress], None]:
    on_step = request.on_step
    if on_step is None:
        return lambda progress: None
    return lambda progress: on_step(progress.step, progress.num_steps, progress.loss)


def _read(request: RunRequest, model: nn.Module, held_out: TokenIds) -> Iterator[tuple[str, dict[int, NllSum]]]:
    """Yield the readings of a trained model: the whole context, and for RoPE the two of a window of it."""
    scale = request.scale
    settings: dict[str, Any] = {"batch_size": NUM_CONTEXTS_PER_BATCH, "max_windows": scale.max_windows}
    lengths = scale.context_lengths
    yield WHOLE, window_perplexity(model, held_out, lengths, **settings)
    if request.variant != "rope":
        return
    window = scale.window
    moved = sliding_window_perplexity(model, held_out, lengths, window=window, stride=window // 2, **settings)
    yield "moving windows", moved
    masked = build_model("sliding-window", attention_window=window, **asdict(model.config))  # type: ignore[call-overload]
    masked.load_state_dict(model.state_dict())
    yield "window mask", window_perplexity(masked, held_out, lengths, **settings)


def _figures(sums: Mapping[int, NllSum]) -> JsonDict:
    """Return the figures by context length; a perplexity beyond a float is None."""
    return {
        str(length): {
            "nll": found.nll,
            "num_tokens": found.num_tokens,
            "perplexity": found.perplexity if math.isfinite(found.perplexity) else None,
        }
        for length, found in sums.items()
    }


EXPERIMENT = Experiment(
    name="lis-table-3",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
