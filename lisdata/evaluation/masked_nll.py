"""What an encoder says of tokens masked at random in sentences that it has not seen, the same ones for every model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch import nn

from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.sentence_rows import iter_batches, pad_rows
from lisdata.evaluation.sentence_scores import Float64, Int64
from lisdata.training import Batch, MaskRecipe, apply_tag_regime, mask_tokens, masked_token_nll
from lisdata.training.loss import NOT_SCORED, move_batch

_BATCH_TOKENS = 2048


def masked_nll(
    model: nn.Module, rows: Sequence[Int64], masks: MaskRecipe, *, regime: str, num_draws: int = 1
) -> tuple[Float64, Int64]:
    """Return the nats of each row's masked tokens, and how many there are, (rows,), over draws of the masks.

    Rows are (3 or 4, T): ids and tags, of which the model is given those of the `regime`. Which tokens are masked is
    decided by the rows and the recipe alone.
    """
    nats, counts = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
    with evaluating(model) as device:
        for places, batch in _masked_batches(rows, masks, regime, num_draws):
            nll, targets = masked_token_nll(model, move_batch(batch, device))
            nats[places] += nll.double().sum(1).cpu().numpy()
            counts[places] += (targets != NOT_SCORED).sum(1).cpu().numpy()
    return nats, counts


def _masked_batches(
    rows: Sequence[Int64], masks: MaskRecipe, regime: str, num_draws: int
) -> Iterator[tuple[list[int], Batch]]:
    step = 0
    for places in iter_batches([row.shape[1] for row in rows], _BATCH_TOKENS):
        batch = apply_tag_regime(pad_rows([rows[place] for place in places]), regime)
        for _ in range(num_draws):
            yield places, mask_tokens(batch, masks, step=step)
            step += 1
