"""char_top_k_exact: names spelled character by character, right when every character is among the k likeliest.

Not link prediction's hits@k: nothing is ranked but the next character, the characters before it being given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from lisdata.evaluation.mode import evaluating
from lisdata.training.batches import Batch
from lisdata.training.loss import model_inputs

TOP_KS = (1, 5)


@dataclass(slots=True)
class ExactMatchSums:
    """Sums over examples: how many there were, exact at each k, and the likelihood of the scored characters."""

    num_examples: int = 0
    num_exact: dict[int, int] = field(default_factory=lambda: dict.fromkeys(TOP_KS, 0))
    nll: float = 0.0
    num_characters: int = 0

    def figures(self) -> dict[str, float | int | None]:
        """Return char_top_k_exact for each k, and the perplexity a character (None beyond a float), ready for JSON."""
        rates = {f"char_top_{k}_exact": n / max(1, self.num_examples) for k, n in self.num_exact.items()}
        mean = self.nll / max(1, self.num_characters)
        perplexity = math.exp(mean) if mean < 700 else None
        return {"examples": self.num_examples, "characters": self.num_characters, **rates, "perplexity": perplexity}


def score_names(model: nn.Module, batches: Iterable[Batch]) -> dict[str, ExactMatchSums]:
    """Score the names in the text of rows of facts and text (view mixed), an example a row; teacher-forced.

    A name is a mention in the text whose content the row's facts show. Two readings: "all" scores every name of the
    text, "predicted" all but the first, which the others are to be told from. Batches need the columns instance,
    occurrence and content beside the model's.
    """
    sums = {"all": ExactMatchSums(), "predicted": ExactMatchSums()}
    with evaluating(model) as device:
        for batch in batches:
            moved = {name: column.to(device) for name, column in batch.items()}
            logits = model(**model_inputs(model, moved)).float()
            targets = moved["input_ids"][:, 1:]
            names, first = find_names(moved)
            row = torch.arange(len(targets), device=device)[:, None].expand_as(targets)
            for reading, is_scored in (("all", names), ("predicted", names & ~first)):
                add_scores(sums[reading], logits, targets, row.masked_fill(~is_scored[:, 1:], -1))
    return sums


def find_names(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return which tokens (B, T) spell names in the text, and which of these the first name."""
    instance, occurrence, content = batch["instance"], batch["occurrence"], batch["content"]
    index = torch.arange(instance.shape[1], device=instance.device)
    is_real = index < batch["length"][:, None]
    text = instance.masked_fill(~is_real, -1).amax(1, keepdim=True)
    is_text = is_real & (instance == text)
    shown = content.masked_fill(is_text | ~is_real | (occurrence < 0), 0)  # 0 is no content
    is_named = (content[:, :, None] == shown[:, None, :]).any(-1) & (content != 0)
    names = is_text & is_named & (occurrence >= 0)
    first = occurrence.masked_fill(~names, torch.iinfo(occurrence.dtype).max).amin(1, keepdim=True)
    return names, names & (occurrence == first)


def add_scores(sums: ExactMatchSums, logits: Tensor, targets: Tensor, example: Tensor) -> None:
    """Add what logits (B, T, V) say of targets (B, T); `example` (B, T) numbers what is scored as one, -1: nothing."""
    is_scored = example >= 0
    number, member = example[is_scored].unique(return_inverse=True)
    scores, wanted = logits[is_scored], targets[is_scored]
    best = scores.topk(min(max(TOP_KS), scores.shape[-1]), dim=-1).indices == wanted[:, None]
    for k in TOP_KS:
        is_wrong = ~best[:, :k].any(-1)
        sums.num_exact[k] += len(number) - len(member[is_wrong].unique())
    nll = scores.logsumexp(-1) - scores.gather(-1, wanted[:, None])[:, 0]
    sums.nll += float(nll.double().sum())
    sums.num_characters += len(wanted)
    sums.num_examples += len(number)
