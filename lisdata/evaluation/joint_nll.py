"""The three parts of -log p(tokens, tags) of sentences under a decoder that predicts the next position's tags too.

All tags that there are count, those of the first word too, each predicted from what is before it. Their sum with the
tokens' part is -log p(x, tags), which bounds -log p(x) from above, whatever parser the tags are of: what a model that
was given tags gains by them, it has paid for. Which tokens bear tags is taken as known: it follows from spelling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import nn

from lisdata.evaluation.causal_scorer import CausalScoring
from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.sentence_rows import iter_batches, pad_rows
from lisdata.evaluation.sentence_scores import Float64, Int64
from lisdata.training.loss import move_batch
from lisdata.training.sipe_losses import sipe_nll
from lisdata.training.tag_regimes import apply_tag_regime


def joint_nll(model: nn.Module, rows: Sequence[Int64], scoring: CausalScoring) -> Float64:
    """Return the nats of each row's tokens, terminals and nonterminals, (rows, 3); of all but its first token.

    Rows (3, T), T at least 2, are ids and tags; the tags given and predicted are those of `scoring.regime`. Raises
    ValueError for a model that predicts no tags.
    """
    found = np.zeros((len(rows), 3))
    with evaluating(model) as device:
        for places in iter_batches([row.shape[1] for row in rows], scoring.batch_tokens):
            batch = apply_tag_regime(pad_rows([rows[place] for place in places]), scoring.regime, seed=scoring.seed)
            for part, scored in enumerate(sipe_nll(model, move_batch(batch, device))):
                found[places, part] = scored.nll.double().sum(1).cpu().numpy()
    return found
