"""How much time and memory each injection of hexatags adds to a training step of SiPE's Transformer-XL.

    python benchmarks/sipe_step.py --steps 5
    python benchmarks/sipe_step.py --steps 5 --losses        # also the two tag losses

Tokens are random, a third of them untagged; `training_steps` says what is measured.
"""

from __future__ import annotations

import argparse

import torch
from training_steps import PRECISIONS, Run, measure, print_table

from lisdata.models.sipe_config import INJECTIONS
from lisdata.models.transformer_xl import TransformerXl, TransformerXlConfig
from lisdata.training.batches import Batch
from lisdata.training.loss import next_token_loss
from lisdata.training.sipe_losses import SipeObjective


def main() -> None:
    """Print a table and, as the last line, the same as JSON."""
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    batch = make_batch(arguments)
    runs = [
        make_run(name, precision, batch, arguments)
        for precision in arguments.precisions
        for name in arguments.injections
    ]
    print_table(measure(runs, arguments.steps), vars(arguments))


def parse_arguments() -> argparse.Namespace:
    """Return the settings of the command line; the sizes are those of the reduced runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {
        "layers": 4,
        "width": 256,
        "heads": 8,
        "length": 256,
        "batch": 16,
        "vocabulary": 8000,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--losses", action="store_true", help="Also predict tags.")
    parser.add_argument("--injections", nargs="+", default=list(INJECTIONS), choices=list(INJECTIONS))
    parser.add_argument("--precisions", nargs="+", default=list(PRECISIONS), choices=PRECISIONS)
    return parser.parse_args()


def make_batch(arguments: argparse.Namespace) -> Batch:
    """Return random tokens and tags, one position more than the model reads."""
    generator = torch.Generator().manual_seed(0)
    shape = (arguments.batch, arguments.length + 1)
    is_untagged = torch.rand(shape, generator=generator) < 1 / 3
    return {
        "input_ids": torch.randint(0, arguments.vocabulary, shape, generator=generator),
        "terminal": torch.randint(0, 2, shape, generator=generator).masked_fill(is_untagged, -100),
        "nonterminal": torch.randint(0, 5, shape, generator=generator).masked_fill(is_untagged, -100),
    }


def make_run(injection: str, precision: str, batch: Batch, arguments: argparse.Namespace) -> Run:
    """Build a model, its objective and its optimizer."""
    torch.manual_seed(0)
    config = TransformerXlConfig(
        vocabulary_size=arguments.vocabulary,
        width=arguments.width,
        num_layers=arguments.layers,
        num_attention_heads=arguments.heads,
        injection=injection,
        predicts_tags=arguments.losses,
    )
    model = TransformerXl(config)
    objective = SipeObjective() if arguments.losses else next_token_loss
    return Run(
        label=injection,
        precision=precision,
        model=model,
        loss=lambda model: objective(model, batch),
        optimizer=torch.optim.AdamW(model.parameters(), fused=True),
    )


if __name__ == "__main__":
    main()
