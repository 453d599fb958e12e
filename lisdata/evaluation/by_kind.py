"""Likelihood of held-out batches, kind by kind."""

from collections.abc import Callable, Iterable, Mapping

from torch import Tensor, nn

from lisdata.errors import LisDataError
from lisdata.evaluation.mode import evaluating
from lisdata.metrics import NllSum
from lisdata.training.batches import Batch
from lisdata.training.loss import NOT_SCORED, move_batch, next_token_nll

TokenNll = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]


def evaluate_by_kind(
    model: nn.Module, batches: Iterable[Batch], kind_names: Mapping[int, str], *, nll: TokenNll = next_token_nll
) -> dict[str, NllSum]:
    """Return the likelihood of the scored targets of each kind that the batches hold, in the order of `kind_names`.

    The column `kind` (B, T) gives the kind of each token, by its code. `nll` gives likelihoods and targets of all
    positions or of all but the first.
    """
    sums: dict[int, NllSum] = {}
    with evaluating(model) as device:
        for batch in batches:
            found, targets = nll(model, move_batch(batch, device))
            is_scored = targets != NOT_SCORED
            kinds = batch["kind"][:, -targets.shape[1] :].to(device)[is_scored]
            for kind in kinds.unique().tolist():
                part = found[is_scored][kinds == kind].double()
                sums[kind] = sums.get(kind, NllSum()) + NllSum(float(part.sum()), part.numel())
    unknown = sums.keys() - kind_names.keys()
    if unknown:
        known = ", ".join(f"{code} ({name})" for code, name in kind_names.items())
        raise LisDataError(f"column 'kind': expected one of {known}, found {min(unknown)}")
    return {name: sums[kind] for kind, name in kind_names.items() if kind in sums}
