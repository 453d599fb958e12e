"""What content-derived line addresses add to a training step (LIS Table 4): the LISformer beside the RoPE model.

    python benchmarks/lis_step.py                                       # Table 3's size: T 256, batch 64, d 128
    python benchmarks/lis_step.py --length 1024 --batch 8               # Table 4's first scale
    python benchmarks/lis_step.py --text input.txt

"causal" is the model of this package, which reads each line's address only once the line is complete. "leaking" is the
one-pass form that the paper times: every token carries its line's address, so a query knows how its own line goes on.
It is here for its time alone. Lines are those of a text, or of a text drawn at random with lines as long as those of
Tiny Shakespeare (28 characters on average); `training_steps` says what is measured.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from training_steps import PRECISIONS, Run, measure, print_table

from lisdata.models.lisformer_lines import LisformerLines, LisformerLinesConfig
from lisdata.models.rope import RopeConfig, RopeTransformer
from lisdata.reproduce.leaking_lines import LeakingLines

NEWLINE, MEAN_LINE = 0, 28
MODELS = ("rope", "causal", "leaking")


def main() -> None:
    """Print a table and, as the last line, the same as JSON."""
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    ids, vocabulary_size = make_batch(arguments)
    runs = [
        make_run(name, precision, ids, vocabulary_size, arguments)
        for precision in arguments.precisions
        for name in arguments.models
    ]
    print_table(measure(runs, arguments.steps), vars(arguments) | {"text": arguments.text and arguments.text.name})


def parse_arguments() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"layers": 4, "width": 128, "heads": 4, "length": 256, "batch": 64}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--text", type=Path, help="A text whose lines are read; drawn at random without it.")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--precisions", nargs="+", default=list(PRECISIONS), choices=PRECISIONS)
    return parser.parse_args()


def make_batch(arguments: argparse.Namespace) -> tuple[Tensor, int]:
    """Return ids (B, T + 1) of characters, a newline being NEWLINE, and how many there are."""
    size = arguments.batch * (arguments.length + 1)
    rng = random.Random(0)
    if arguments.text is None:
        letters = [NEWLINE if rng.random() < 1 / MEAN_LINE else rng.randrange(1, 65) for _ in range(size)]
        return torch.tensor(letters).view(arguments.batch, -1), 65
    text = arguments.text.read_text(encoding="utf-8")
    numbers = {character: number for number, character in enumerate(["\n", *sorted(set(text) - {"\n"})])}
    starts = [rng.randrange(len(text) - arguments.length - 1) for _ in range(arguments.batch)]
    rows = [[numbers[c] for c in text[start : start + arguments.length + 1]] for start in starts]
    return torch.tensor(rows), len(numbers)


def make_run(name: str, precision: str, ids: Tensor, vocabulary_size: int, arguments: argparse.Namespace) -> Run:
    """Build a model and its optimizer."""
    torch.manual_seed(42)
    size = {
        "vocabulary_size": vocabulary_size,
        "width": arguments.width,
        "num_layers": arguments.layers,
        "num_attention_heads": arguments.heads,
    }
    if name == "rope":
        model: nn.Module = RopeTransformer(RopeConfig(**size))
    else:
        config = LisformerLinesConfig(**size, newline_id=NEWLINE)
        model = LisformerLines(config) if name == "causal" else LeakingLines(config)

    def loss(model: nn.Module) -> Tensor:
        return cross_entropy(model(ids[:, :-1]).flatten(0, 1).float(), ids[:, 1:].flatten())

    return Run(
        label=name,
        precision=precision,
        model=model,
        loss=loss,
        optimizer=torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, fused=True),
    )


if __name__ == "__main__":
    main()
