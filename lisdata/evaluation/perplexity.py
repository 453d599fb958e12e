"""Perplexity of one long text against the length of the context, over the same tokens at every length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from lisdata.evaluation.mode import evaluating
from lisdata.metrics import NllSum
from lisdata.training.loss import next_token_nll

TokenIds = npt.NDArray[np.integer[Any]]


def window_perplexity(
    model: nn.Module,
    token_ids: TokenIds,
    context_lengths: Sequence[int],
    *,
    batch_size: int,
    max_windows: int | None = None,
) -> dict[int, NllSum]:
    """Return for each context length the likelihood of the text, read in non-overlapping windows of that length.

    Every token of a window is predicted from those before it in the window. The text is cut to whole windows of the
    greatest length (at most `max_windows` of them), which the others must divide, so that the same tokens are scored
    at each. `batch_size` counts windows of the smallest length; longer ones come in proportionally smaller batches.
    """
    num_tokens = _count_scored_tokens(token_ids, context_lengths, max_windows)
    tokens_per_batch = batch_size * min(context_lengths)
    return {
        length: _score(model, token_ids, range(0, num_tokens, length), length, length, tokens_per_batch)
        for length in context_lengths
    }


def sliding_window_perplexity(
    model: nn.Module,
    token_ids: TokenIds,
    context_lengths: Sequence[int],
    *,
    window: int,
    stride: int,
    batch_size: int,
    max_windows: int | None = None,
) -> dict[int, NllSum]:
    """Return what `window_perplexity` does, for a model that in a longer context reads only the last `window` tokens.

    This is the trivial way to a flat curve, against which any other has to be held. The window moves on by `stride`
    tokens, and from then on only those are scored: each is predicted from at least window - stride others.
    `batch_size` counts windows.
    """
    num_tokens = _count_scored_tokens(token_ids, context_lengths, max_windows)
    if not 0 < stride <= window:
        raise ValueError(f"{stride=} is outside 1..{window=}")
    sums = {}
    for length in context_lengths:
        first = min(window, length)
        if (length - first) % stride:
            raise ValueError(f"{stride=} does not divide what a context of {length} has beyond {window=}")
        contexts = range(0, num_tokens, length)
        moved = [begin + move for begin in contexts for move in range(stride, length - first + 1, stride)]
        tokens_per_batch = batch_size * window
        sums[length] = _score(model, token_ids, contexts, first, first, tokens_per_batch) + _score(
            model, token_ids, moved, window, stride, tokens_per_batch
        )
    return sums


def _count_scored_tokens(token_ids: TokenIds, context_lengths: Sequence[int], max_windows: int | None) -> int:
    if not context_lengths or min(context_lengths) < 1:
        raise ValueError(f"expected positive context lengths, got {list(context_lengths)}")
    longest = max(context_lengths)
    if any(longest % length for length in context_lengths):
        raise ValueError(f"the longest of the context lengths {list(context_lengths)} is no multiple of each")
    num_windows = (len(token_ids) - 1) // longest
    if num_windows < 1:
        raise ValueError(f"{len(token_ids)} tokens hold no context of {longest} tokens and one to predict")
    return longest * (num_windows if max_windows is None else min(num_windows, max_windows))


def _score(
    model: nn.Module,
    token_ids: TokenIds,
    begins: Sequence[int],
    length: int,
    num_scored: int,
    tokens_per_batch: int,
) -> NllSum:
    """Add up the likelihood of the last `num_scored` targets of windows of `length` tokens."""
    total = NllSum()
    num_rows = max(1, tokens_per_batch // length)
    with evaluating(model) as device:
        for first in range(0, len(begins), num_rows):
            index = np.array(begins[first : first + num_rows])[:, None] + np.arange(length + 1)
            windows = torch.from_numpy(token_ids[index].astype(np.int64)).to(device)
            nll, _ = next_token_nll(model, {"input_ids": windows})
            scored = nll[:, -num_scored:].double()
            total += NllSum(float(scored.sum()), scored.numel())
    return total
