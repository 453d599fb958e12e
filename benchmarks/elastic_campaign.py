"""Stops and resumes loaders at random steps under other worlds and workers, and compares every row with a calm run.

    python benchmarks/elastic_campaign.py --trials 50 --rows 2000 --to results/elastic_campaign

Each trial takes a kind of batches (rows, packs, budget, mixture ...) through 3 epochs, stopped and resumed three times:
world sizes from 1, 2, 3, 5, 8, each rank with 0, 1 or 3 worker processes. The ranks take their steps in turn in this
process. The rows of each epoch must come once, in the order of a loader that nothing disturbed, and the draws from the
sources of a mixture must be within 1 of its weights: after any number of them where rows come as they are drawn, at
the end where packs or buckets reorder them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lisdata.loader import Batch, Loader, Mixture
from lisdata.token_shards import TokenDataset, write_tokens

NUM_EPOCHS, NUM_STRETCHES = 3, 4
WORLDS, WORKERS, TAILS = (1, 2, 3, 5, 8), (0, 1, 3), ("pad", "ragged")
MODES: dict[str, dict[str, Any]] = {
    "rows": {},
    "window": {"shuffle": "window", "window": 256},
    "buckets": {"bucket": 16},
    "packs": {"pack_to": 128, "pack_window": 300},
    "split packs": {"pack_to": 40, "long_rows": "split"},
    "flat packs": {"pack_to": 128, "pack_window": 100, "layout": "flat"},
    "budget": {"max_tokens": 512},
    "bucket budget": {"max_tokens": 512, "bucket": 8, "pad_to": 8},
}
WEIGHTS = (0.6, 0.3, 0.1)
AS_DRAWN = ("rows",)
Entry = tuple[int, int, int]  # source, row, first token


def main() -> None:
    """Print a line a trial on stderr, the result as JSON (--to: in a file); exit 1 when rows were lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50, help="trials of each kind, of one dataset and of a mixture")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=3, help="most worker processes a rank")
    parser.add_argument("--to", type=Path, help="folder where campaign.json is written, instead of to stdout")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "This DataLoader will create")
    draw, begin = random.Random(arguments.seed), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = run_trials(Path(folder), arguments, draw)
    report |= {"seconds": round(time.perf_counter() - begin, 1)}
    text = json.dumps(report, indent=2) + "\n"
    if arguments.to is None:
        print(text, end="")
    else:
        arguments.to.mkdir(parents=True, exist_ok=True)
        (arguments.to / "campaign.json").write_text(text)
    sys.exit(bool(report["failures"]))


def run_trials(folder: Path, arguments: argparse.Namespace, draw: random.Random) -> dict[str, Any]:
    """Return how many trials, steps and rows there were, and each failure with what leads to it again."""
    sizes = (arguments.rows, max(1, arguments.rows // 7), max(1, arguments.rows // 3))
    datasets = [write_rows(folder / str(number), size, number) for number, size in enumerate(sizes)]
    mixture = Mixture(datasets, weights=WEIGHTS, num_rows=arguments.rows)
    totals: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    grid: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    for number in range(arguments.trials):
        for name, mode in MODES.items():
            for dataset in (datasets[0], mixture):
                kind = f"{name} of a mixture" if dataset is mixture else name
                settings = mode | {"seed": number, "tail": draw.choice(TAILS)}
                path = [draw_stretch(draw, arguments, name) for _ in range(NUM_STRETCHES)]
                found = train(dataset, settings, path, totals)
                calm = train(dataset, settings | {"tail": "ragged"}, [CALM], Counter())
                trials[kind] += 1
                grid.update(f"{stretch['world_size']} x {stretch['num_workers']}" for stretch in path)
                totals["rows"] += sum(map(len, found))
                wrong = found != calm or not is_complete(found, dataset)
                wrong |= dataset is mixture and name in AS_DRAWN and not is_by_weight(found)
                if wrong:
                    failures.append({"kind": kind, "settings": settings, "path": path})
                print(f"{number} {kind}: {'WRONG' if wrong else 'good'}", file=sys.stderr)
    spread = {"world x workers": dict(sorted(grid.items()))}
    return {"trials": dict(trials), "epochs": NUM_EPOCHS, **totals, **spread, "failures": failures}


CALM = {"world_size": 1, "batch_size": 16, "num_workers": 0, "prefetch": 0, "steps": 0}


def draw_stretch(draw: random.Random, arguments: argparse.Namespace, name: str) -> dict[str, int]:
    """Return how a stretch of training is spread, and how many steps it lasts."""
    world_size, batch_size = draw.choice(WORLDS), draw.randint(1, 16)
    tokens_of_row, rows_of_line = 32, {"packs": 4, "flat packs": 4}.get(name, 1)
    rows_of_batch = MODES[name].get("max_tokens", 0) // tokens_of_row or batch_size * rows_of_line
    of_all = NUM_EPOCHS * arguments.rows / (world_size * rows_of_batch)
    return {
        "world_size": world_size,
        "batch_size": batch_size,
        "num_workers": draw.choice([n for n in WORKERS if n <= arguments.workers]),
        "prefetch": draw.choice((1, 2, 3)),
        "steps": int(draw.uniform(0, of_all / 2)),
    }


def train(
    dataset: TokenDataset | Mixture, settings: dict[str, Any], path: list[dict[str, int]], totals: Counter[str]
) -> list[list[Entry]]:
    """Go through the epochs on one stretch after the other, the last of them to the end."""
    epochs: list[list[Entry]] = [[] for _ in range(NUM_EPOCHS)]
    state: dict[str, Any] | None = None
    for number, stretch in enumerate(path):
        spread = {name: value for name, value in stretch.items() if name not in ("steps", "batch_size")}
        batch_size = None if "max_tokens" in settings else stretch["batch_size"]
        ranks = range(stretch["world_size"])
        loaders = [Loader(dataset, batch_size, rank=rank, **spread, **settings) for rank in ranks]
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(state)
        totals["resumes"] += state is not None
        limit = stretch["steps"] if number < len(path) - 1 else sys.maxsize
        totals["steps"] += take_steps(loaders, limit, epochs)
        state = json.loads(json.dumps(loaders[0].state_dict()))
    return epochs


def take_steps(loaders: list[Loader], limit: int, epochs: list[list[Entry]]) -> int:
    """Take up to `limit` steps on all ranks, through ends of epochs; return how many there were."""
    steps = 0
    while steps < limit and loaders[0].epoch < NUM_EPOCHS:
        epoch = loaders[0].epoch
        for batches in zip(*loaders, strict=True):
            for batch in batches:
                epochs[epoch] += entries_of(batch)
            steps += 1
            if steps == limit:
                break
    return steps


def entries_of(batch: Batch) -> list[Entry]:
    """Return the rows of a batch that are no filler."""
    nothing = torch.zeros_like(batch["row"])
    table = torch.stack((batch.get("source", nothing), batch["row"], batch.get("begin", nothing)), dim=1)
    if "real" in batch:
        table = table[batch["real"][batch["pack"]] if "pack" in batch else batch["real"]]
    return [(source, row, begin) for source, row, begin in table.tolist()]


def is_complete(epochs: list[list[Entry]], dataset: TokenDataset | Mixture) -> bool:
    """Tell whether each row came once an epoch, or was drawn in turn and by weight from its source."""
    if isinstance(dataset, TokenDataset):
        return all(sorted(row for _, row, begin in e if begin == 0) == list(range(len(dataset))) for e in epochs)
    drawn = Counter((source, row) for entries in epochs for source, row, begin in entries if begin == 0)
    for number, (size, weight) in enumerate(zip(dataset.sizes, WEIGHTS, strict=True)):
        times = [drawn[number, row] for row in range(size)]
        if max(times) - min(times) > 1 or abs(sum(times) - weight * drawn.total()) >= 1:
            return False
    return True


def is_by_weight(epochs: list[list[Entry]]) -> bool:
    """Tell whether each source is within one row of its weight after any number of draws."""
    sources = np.array([source for entries in epochs for source, _, _ in entries])
    draws = np.arange(1, len(sources) + 1)
    return all(np.abs(np.cumsum(sources == number) - weight * draws).max() < 1 for number, weight in enumerate(WEIGHTS))


def write_rows(directory: Path, num_rows: int, seed: int) -> TokenDataset:
    """Write rows of 1 to 100 tokens, of a mean of about 32."""
    generator = np.random.default_rng(seed)
    lengths = np.clip(generator.lognormal(3.2, 0.7, num_rows), 1, 100).astype(int)
    write_tokens(directory, ([row] * n for row, n in enumerate(lengths)), vocab_size=num_rows, tokens_per_part=20_000)
    return TokenDataset(directory)


if __name__ == "__main__":
    main()
