"""Where models of LIS Tables 5 to 7 fail to spell a name: by the character's place in it, and by the name's length.

    python benchmarks/spelling_by_place.py out/table6 --direction kg-text --to results/lis_table_6/by_place.txt

FOLDER is that of `lisdata reproduce`, its models included. Names are the last of each row, the characters before one
being given, as in the tables; perplexity is pooled over the characters of a place, char_top_5_exact is of whole names.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from lisdata.checkpoints import find_checkpoint, load_model
from lisdata.evaluation.entity_spelling import entity_contents, find_entities
from lisdata.evaluation.mode import evaluating
from lisdata.reproduce.fact_rows import EVALUATION, TEXT_ROLE, VARIANTS, token_folder
from lisdata.reproduce.row_training import iter_evaluated
from lisdata.shards import IncidenceDataset
from lisdata.token_shards import TokenDataset
from lisdata.training.loss import model_inputs

TOP = 5


@dataclass(slots=True)
class Spelling:
    """How a model spells names: nats of the characters by place, from 0, and which names are right by length."""

    nats: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    is_right: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))

    def add(self, nats: Tensor, is_among: Tensor) -> None:
        """Add a name: the nats (N,) of its characters, and whether each is among the likeliest (N,)."""
        for place, value in enumerate(nats.tolist()):
            self.nats[place].append(value)
        self.is_right[len(nats)].append(bool(is_among.all()))


def main() -> None:
    """Print a table a model and, where asked, write all of them."""
    arguments = parse_arguments()
    lines = []
    for folder in sorted((arguments.folder / "models").iterdir()):
        for group, found in measure(arguments.folder, folder.name, arguments.direction).items():
            lines += [f"{folder.name}, {arguments.direction}, {group}", *format_spelling(found), ""]
    text = "\n".join(lines)
    print(text, end="")
    if arguments.to is not None:
        arguments.to.write_text(text)


def parse_arguments() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of lisdata reproduce lis-table-5, -6 or -7")
    parser.add_argument("--direction", default="kg-text", help="kg-text, text-kg")
    parser.add_argument("--to", type=Path, help="file of the tables")
    return parser.parse_args()


def measure(directory: Path, run: str, direction: str) -> dict[str, Spelling]:
    """Return how the model of a run spells, all kinds of facts together, by the names' set: train, dev, test."""
    variant = VARIANTS[run.partition("-seed-")[0]]
    model = load_model(find_checkpoint(directory / "models" / run))
    incidence = directory / "incidence" / EVALUATION
    tokens = TokenDataset(token_folder(directory, EVALUATION, direction, variant.facts))
    contents, text_role = entity_contents(IncidenceDataset(incidence)), tokens.roles.index(TEXT_ROLE)
    found: dict[str, Spelling] = defaultdict(Spelling)
    with evaluating(model):
        for name, batches in iter_evaluated(incidence, tokens, 32):
            for batch in batches:
                for nats, is_among in iter_names(model, batch, contents, text_role):
                    found[name.partition("-")[0]].add(nats, is_among)
    return dict(found)


def iter_names(
    model: torch.nn.Module, batch: dict[str, Tensor], contents: Tensor, text_role: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield for the last name of each row the nats of its characters, and whether each is among the likeliest."""
    logits, targets = model(**model_inputs(model, batch)).float(), batch["input_ids"][:, 1:]
    nats = logits.logsumexp(-1) - logits.gather(-1, targets[..., None])[..., 0]
    is_among = (logits.topk(TOP, dim=-1).indices == targets[..., None]).any(-1)
    entity, is_last = find_entities(batch, contents, text_role)
    is_scored = (is_last & (entity >= 0))[:, 1:]
    for row in range(len(targets)):
        yield nats[row][is_scored[row]], is_among[row][is_scored[row]]


def format_spelling(found: Spelling) -> Iterator[str]:
    """Yield the lines of a table: a line a place and length, counted from 1."""
    yield "    n  perplexity of the nth character  names of n characters  char_top_5_exact"
    for n in sorted({place + 1 for place in found.nats} | set(found.is_right)):
        nats, names = found.nats.get(n - 1, []), found.is_right.get(n, [])
        perplexity = f"{math.exp(sum(nats) / len(nats)):.2f}" if nats else "-"
        rate = f"{sum(names) / len(names):.3f}" if names else "-"
        yield f"{n:5}{perplexity:>33}{len(names):>23}{rate:>18}"
    right = [one for names in found.is_right.values() for one in names]
    together = [nat for nats in found.nats.values() for nat in nats]
    yield f"  all{math.exp(sum(together) / len(together)):33.2f}{len(right):23}{sum(right) / len(right):18.3f}"


if __name__ == "__main__":
    main()
