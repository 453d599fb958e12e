"""LIS Table 4: what content-derived line addresses add to the time of a training step (appendix F.2).

A run takes steps of three models in turn, in one process and so under the same conditions, in single or in half
precision: "rope", the baseline; "leaking", the one-pass form that the paper times; "causal", the model of this package,
which reads a line's address only once the line is complete. The batch is the same each time, of the text that is given
or of one drawn at random with lines as long as those of Tiny Shakespeare. A run that is stopped begins anew.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lisdata.atomic import write_atomically
from lisdata.models.devices import current_device
from lisdata.models.lisformer_lines import LisformerLines, LisformerLinesConfig
from lisdata.models.rope import RopeConfig, RopeTransformer
from lisdata.plots import plot_overheads
from lisdata.reproduce.context_growth import Spread, align_columns
from lisdata.reproduce.leaking_lines import LeakingLines
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest

SEED = 42
NEWLINE, MEAN_LINE = 0, 28
BASELINE, MODELS = "rope", ("rope", "leaking", "causal")
PRECISIONS = ("fp32", "bf16")
PUBLISHED: dict[int, tuple[float, float]] = {768: (702, 0.044), 1024: (1215, 0.035), 1536: (1428, 0.020)}
PUBLISHED[128] = (42, 0.103)
"""Width -> milliseconds of the baseline's step on a T4 GPU, and the share that the leaking form adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingScale:
    """Size of the models and of the batch, and how they are timed, after one step to warm up."""

    width: int
    num_layers: int
    num_attention_heads: int
    batch_size: int
    length: int = 1024
    vocabulary_size: int = 65
    num_steps: int = 10
    learning_rate: float = 3e-4
    weight_decay: float = 0.1
    num_threads: int = 1

    def __post_init__(self) -> None:
        for name in ("batch_size", "length", "num_steps", "num_threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} is not a positive number")
        if self.vocabulary_size <= NEWLINE + 1:
            raise ValueError(f"{self.vocabulary_size=} has no character beside the newline")


SCALES: dict[str, TimingScale] = {
    "first": TimingScale(width=128, num_layers=4, num_attention_heads=4, batch_size=8),
    "second": TimingScale(width=768, num_layers=12, num_attention_heads=12, batch_size=4),
    "third": TimingScale(width=1024, num_layers=24, num_attention_heads=16, batch_size=2),
    "fourth": TimingScale(width=1536, num_layers=24, num_attention_heads=16, batch_size=1),
}
"""0.8, 85.2, 302.4 and 680.2 million parameters; all three models and their optimizers are held at once."""


def prepare(data: Path | None, directory: Path, scale: TimingScale, on_step: OnStep) -> JsonDict:
    """Say which text the batch is drawn from; raise ValueError for a folder."""
    if data is not None and not data.is_file():
        raise ValueError(f"{data}: expected a text file")
    return {"text": None if data is None else hashlib.sha256(data.read_bytes()).hexdigest()}


def run(request: RunRequest) -> JsonDict:
    """Time all models at the precision that the variant names; the seed draws the batch."""
    scale: TimingScale = request.scale
    ids, vocabulary_size = draw_batch(request.data, scale, request.seed)
    device = current_device()
    ids = ids.to(device)
    models = {name: build_timed(name, scale, vocabulary_size).to(device) for name in MODELS}
    take_step = {name: _stepper(model, ids, scale, request.variant) for name, model in models.items()}
    wall: dict[str, list[float]] = {name: [] for name in MODELS}
    cpu: dict[str, list[float]] = {name: [] for name in MODELS}
    threads = torch.get_num_threads()
    torch.set_num_threads(scale.num_threads)
    try:
        for number in range(scale.num_steps + 1):
            for name in _turn_order(number):
                loss, *seconds = take_step[name]()
                if number:
                    wall[name].append(seconds[0])
                    cpu[name].append(seconds[1])
            if request.on_step is not None and number:
                request.on_step(number, scale.num_steps, loss)
    finally:
        torch.set_num_threads(threads)
    return {
        "num_parameters": {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()},
        "steps": scale.num_steps,
        "step_seconds": wall,
        "step_cpu_seconds": cpu,
        "device": torch.cuda.get_device_name() if ids.is_cuda else "cpu",
    }


def draw_batch(data: Path | None, scale: TimingScale, seed: int) -> tuple[Tensor, int]:
    """Return ids (B, T + 1) of characters, a newline being `NEWLINE`, and how many characters there are."""
    rng = np.random.default_rng([SEED, seed])
    shape = (scale.batch_size, scale.length + 1)
    if data is None:
        letters = rng.integers(NEWLINE + 1, scale.vocabulary_size, shape)
        return torch.from_numpy(np.where(rng.random(shape) < 1 / MEAN_LINE, NEWLINE, letters)), scale.vocabulary_size
    text = data.read_text(encoding="utf-8")
    if len(text) <= scale.length + 1:
        raise ValueError(f"{data}: expected a text of more than {scale.length + 1} characters, found {len(text)}")
    number = {character: n for n, character in enumerate(["\n", *sorted(set(text) - {"\n"})])}
    starts = rng.integers(len(text) - scale.length - 1, size=scale.batch_size)
    rows = [[number[character] for character in text[start : start + scale.length + 1]] for start in starts]
    return torch.tensor(rows), len(number)


def build_timed(name: str, scale: TimingScale, vocabulary_size: int) -> nn.Module:
    """Build one of `MODELS`, its weights drawn under the paper's seed."""
    size: JsonDict = {
        "vocabulary_size": vocabulary_size,
        "width": scale.width,
        "num_layers": scale.num_layers,
        "num_attention_heads": scale.num_attention_heads,
        "per_head_frequencies": True,
    }
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        if name == BASELINE:
            return RopeTransformer(RopeConfig(**size))
        config = LisformerLinesConfig(**size, newline_id=NEWLINE)
        return LisformerLines(config) if name == "causal" else LeakingLines(config)


def _stepper(
    model: nn.Module, ids: Tensor, scale: TimingScale, precision: str
) -> Callable[[], tuple[float, float, float]]:
    """Return what takes a step and returns its loss, its seconds, and its seconds of CPU time."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=scale.learning_rate, weight_decay=scale.weight_decay, fused=True
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, scale.num_steps + 1)

    def take_step() -> tuple[float, float, float]:
        _wait(ids)
        began = time.perf_counter(), time.process_time()
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits = model(ids[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        _wait(ids)
        ended = time.perf_counter(), time.process_time()
        return loss.item(), ended[0] - began[0], ended[1] - began[1]

    return take_step


def _wait(tensor: Tensor) -> None:
    if tensor.is_cuda:
        torch.cuda.synchronize()


def _turn_order(number: int) -> list[str]:
    """Return the models in another order each round: a step depends on the memory that the one before left."""
    shift = number % len(MODELS)
    return [*MODELS[shift:], *MODELS[:shift]]


# -- report ----------------------------------------------------------------------------------------------------------


def write_table(runs: list[JsonDict], scale: TimingScale, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    rows = [_row(runs, precision, name) for precision in PRECISIONS for name in MODELS if _of(runs, precision)]
    published = PUBLISHED.get(scale.width)
    lines = [["precision", "model", "parameters", "runs", "mean ms", "median ms", "ratio", "ratio of CPU time"]]
    for row in rows:
        figures = (f"{row['mean_ms']:.1f}", f"{row['median_ms']:.1f}")
        ratios = (f"{Spread(*row['ratio']):.3f}", f"{Spread(*row['cpu_ratio']):.3f}")
        parameters, num_runs = f"{row['num_parameters']:,}", str(row["num_runs"])
        lines.append([row["precision"], row["model"], parameters, num_runs, *figures, *ratios])
    text = "\n".join(
        [
            "Milliseconds of a training step, and the median over steps of its ratio to the baseline's step in the same"
            " round; mean ± standard deviation over runs.",
            f"Scale: {', '.join(f'{name} {value}' for name, value in asdict(scale).items())}.",
            *_published_line(published),
            "",
            *align_columns(lines),
            "",
        ]
    )
    content = {"format": "lisdata table 4 1", "scale": asdict(scale), "rows": rows, "paper": published}
    write_atomically(directory / "table.txt", text.encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    bars: dict[str, dict[str, tuple[float, float | None]]] = {}
    for row in rows:
        if row["model"] != BASELINE:
            bars.setdefault(row["model"], {})[row["precision"]] = (row["ratio"][0] - 1, row["ratio"][1])
    plot_overheads(bars, directory / "table.png", published=None if published is None else published[1])
    return text


def _published_line(published: tuple[float, float] | None) -> list[str]:
    if published is None:
        return []
    return [f"The paper, one run on a T4 GPU: rope {published[0]:.0f} ms, leaking {1 + published[1]:.3f} times that."]


def _of(runs: Sequence[JsonDict], precision: str) -> list[JsonDict]:
    return [run for run in runs if run["variant"] == precision]


def _row(runs: Sequence[JsonDict], precision: str, name: str) -> JsonDict:
    own = _of(runs, precision)
    seconds = [second for run in own for second in run["step_seconds"][name]]
    row: JsonDict = {
        "precision": precision,
        "model": name,
        "num_parameters": own[0]["num_parameters"][name],
        "num_runs": len(own),
        "mean_ms": fmean(seconds) * 1e3,
        "median_ms": median(seconds) * 1e3,
    }
    for ratio, clock in (("ratio", "step_seconds"), ("cpu_ratio", "step_cpu_seconds")):
        spread = Spread.of([_ratio(run[clock], name) for run in own])
        row[ratio] = (spread.mean, spread.deviation)
    return row


def _ratio(seconds: dict[str, list[float]], name: str) -> float:
    return median([own / base for own, base in zip(seconds[name], seconds[BASELINE], strict=True)])


EXPERIMENT = Experiment(
    name="lis-table-4",
    variants=PRECISIONS,
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
