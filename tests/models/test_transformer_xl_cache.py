"""A text read piece by piece, with tags that change on the way, has the logits of one read at once."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_sipe import Batch, logits
from small_transformer_xl import CONFIGS, LENGTH, build_random, draw_batch, name_of

from lisdata.models.transformer_xl import TransformerXl
from lisdata.models.transformer_xl_cache import TransformerXlCache

READ = ("input_ids", "terminal", "nonterminal")


def read(model: TransformerXl, cache: TransformerXlCache, batch: Batch, begin: int, end: int) -> torch.Tensor:
    with torch.no_grad():
        return model.token_logits(
            model.hidden_states(*(batch[name][:, begin:end] for name in READ), document=None, cache=cache)
        )


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(1, LENGTH - 1), max_size=3))
def test_pieces_of_a_text_have_the_logits_of_the_whole(config: dict[str, object], seed: int, cuts: list[int]) -> None:
    model, batch = build_random(**config), draw_batch(seed)
    cache = TransformerXlCache(model, capacity=LENGTH + 2, num_rows=2)
    ends = sorted({*cuts, LENGTH})

    pieces = [read(model, cache, batch, begin, end) for begin, end in zip([0, *ends], ends, strict=False)]

    torch.testing.assert_close(torch.cat(pieces, dim=1), logits(model, batch), rtol=0, atol=1e-11)


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), changed=st.integers(0, LENGTH - 1), known=st.integers(1, LENGTH))
def test_what_stands_before_the_first_change_is_kept(
    config: dict[str, object], seed: int, changed: int, known: int
) -> None:
    model, old, new = build_random(**config), draw_batch(seed), draw_batch(seed + 1)
    begin = min(changed, known)
    batch = {name: torch.cat([old[name][:, :begin], new[name][:, begin:]], dim=1) for name in old}
    cache = TransformerXlCache(model, capacity=LENGTH, num_rows=2)
    read(model, cache, old, 0, known)

    cache.truncate(begin)
    found = read(model, cache, batch, begin, LENGTH)

    torch.testing.assert_close(found, logits(model, batch)[:, begin:], rtol=0, atol=1e-11)


def test_impossible_lengths_are_refused() -> None:
    model, batch = build_random(injection="position"), draw_batch(0)
    cache = TransformerXlCache(model, capacity=LENGTH - 1, num_rows=2)

    with pytest.raises(ValueError, match="at most 6 positions, got 0 and 7 more"):
        read(model, cache, batch, 0, LENGTH)
    with pytest.raises(ValueError, match=r"length=1 is outside 0\.\.0"):
        cache.truncate(1)
    with pytest.raises(ValueError, match="positive numbers, got capacity=0"):
        TransformerXlCache(model, capacity=0)
