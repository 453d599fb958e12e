"""Entities spelled one by one in the half of a row that comes last, the facts' or the text's (LIS appendix F.3).

An entity is an example of its own, unlike in `score_names`: right at k when each of its characters is among the k
likeliest, the characters before it being given.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from lisdata.encoding.part_tables import content_ids
from lisdata.evaluation.exact_match import ExactMatchSums, add_scores
from lisdata.evaluation.mode import evaluating
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset
from lisdata.training.batches import Batch
from lisdata.training.loss import model_inputs

READINGS = {
    "last": "the last entity, the others being given",
    "all": "every entity, those before it being given",
}


def entity_contents(dataset: IncidenceDataset) -> Tensor:
    """Return the numbers that column `content` of a dataset's token rows has for entities, ascending, int64."""
    found = []
    for part in dataset.parts:
        is_entity = np.asarray(part.contents.column("kind")) == ContentKind.ENTITY
        found.append(content_ids(part)[is_entity])
    return torch.from_numpy(np.unique(np.concatenate(found)))


def score_entities(
    model: nn.Module, batches: Iterable[Batch], *, contents: Tensor, text_role: int
) -> dict[str, ExactMatchSums]:
    """Score the entities of the last half of each row (views mixed and text-first), in each of `READINGS`.

    `contents` are those of `entity_contents`, `text_role` is the number of the text's role. What stands before an
    endpoint's surface (the encoder's separator, one token) is not scored. Batches need the columns role, occurrence
    and content beside the model's.
    """
    sums = {reading: ExactMatchSums() for reading in READINGS}
    with evaluating(model) as device:
        known = contents.to(device)
        for batch in batches:
            moved = {name: column.to(device) for name, column in batch.items()}
            logits = model(**model_inputs(model, moved)).float()
            targets = moved["input_ids"][:, 1:]
            entity, is_last = find_entities(moved, known, text_role)
            for reading, example in (("last", entity.masked_fill(~is_last, -1)), ("all", entity)):
                add_scores(sums[reading], logits, targets, example[:, 1:])
    return sums


def find_entities(batch: Batch, contents: Tensor, text_role: int) -> tuple[Tensor, Tensor]:
    """Return for each token (B, T) a number of the entity that it spells, -1 for none, and whether that is the last."""
    role, occurrence, length = batch["role"], batch["occurrence"], batch["length"]
    index = torch.arange(role.shape[1], device=role.device)
    is_real = index < length[:, None]
    is_text = role == text_role
    ends_with_text = is_text.gather(1, (length - 1).clamp(min=0)[:, None])
    is_begin = torch.ones_like(is_text)
    is_begin[:, 1:] = occurrence[:, 1:] != occurrence[:, :-1]
    spells = is_real & (occurrence >= 0) & torch.isin(batch["content"], contents) & (is_text == ends_with_text)
    spells &= is_text | ~is_begin
    row = torch.arange(len(role), device=role.device)[:, None]
    entity = (row * (int(occurrence.max()) + 1) + occurrence).masked_fill(~spells, -1)
    last = index.masked_fill(~spells, -1).amax(1, keepdim=True)
    return entity, spells & (entity == entity.gather(1, last.clamp(min=0)))
