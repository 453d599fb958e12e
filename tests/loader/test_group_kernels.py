"""The kernels that pack, cut, draw and place, against their plain twins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels import gather, mixing, packing, placing, plain_packing


@settings(deadline=None)
@given(lengths=st.lists(st.integers(0, 30), max_size=40), extra=st.integers(0, 30))
def test_first_fit_is_that_of_the_plain_twin(lengths: list[int], extra: int) -> None:
    capacity = max(lengths, default=0) + extra

    packs, num_packs = packing.first_fit(np.array(lengths, np.int64), capacity)

    assert packs.tolist() == plain_packing.first_fit(lengths, capacity)
    assert num_packs == len(set(packs.tolist()))


@settings(deadline=None)
@given(
    lengths=st.lists(st.integers(0, 30), max_size=40),
    budget=st.integers(32, 99),
    multiple=st.integers(1, 8),
    is_padded=st.booleans(),
    max_rows=st.integers(1, 9),
)
def test_batches_under_a_budget_are_those_of_the_plain_twin(
    lengths: list[int], budget: int, multiple: int, is_padded: bool, max_rows: int
) -> None:
    batches, num_batches = packing.cut_by_budget(
        np.array(lengths, np.int64), budget, multiple=multiple, is_padded=is_padded, max_rows=max_rows
    )

    found: list[list[int]] = [[] for _ in range(num_batches)]
    for length, batch in zip(lengths, batches.tolist(), strict=True):
        found[batch].append(length)
    assert found == plain_packing.cut_by_budget(
        lengths, budget, multiple=multiple, is_padded=is_padded, max_rows=max_rows
    )


@settings(deadline=None)
@given(weights=st.lists(st.integers(1, 2**38), min_size=1, max_size=9), count=st.integers(0, 300))
def test_draws_are_those_of_the_plain_twin_and_within_1_of_the_weights(weights: list[int], count: int) -> None:
    lag = np.zeros(len(weights), np.int64)

    cut = count // 3
    chosen = np.array(weights, np.int64)
    sources = [*mixing.draw(chosen, lag, cut).tolist(), *mixing.draw(chosen, lag, count - cut).tolist()]

    assert sources == plain_packing.draw(weights, [0] * len(weights), count)
    counts = np.cumsum(np.array(sources)[:, None] == np.arange(len(weights)), axis=0) if sources else np.empty(0)
    due = np.arange(1, count + 1)[:, None] * (chosen / chosen.sum()) if sources else np.empty(0)
    assert np.all(np.abs(counts - due) < 1 + 1e-9)


@pytest.mark.parametrize("target", [np.int32, np.int64])
@settings(deadline=None)
@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=8), type_=st.sampled_from(sorted(gather.TYPE_CODES)))
def test_rows_are_put_in_their_places_as_the_plain_twin_does(
    target: type[np.signedinteger], lengths: list[int], type_: str
) -> None:
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    values = (np.arange(offsets[-1]) % 100).astype(type_)
    located = np.zeros((5, len(lengths)), np.int64)
    located[gather.BEGIN], located[gather.LENGTH] = offsets[:-1], lengths
    places = np.arange(len(lengths)) * 7 + 1  # at least one gap after each row
    size = 7 * len(lengths) + 1
    out = np.full(2 * size, 55, target)

    codes, addresses = np.full(2, gather.TYPE_CODES[type_]), np.full((2, 1), values.ctypes.data)
    placing.place_columns(codes, addresses, located, places, size, out)
    begins, ends = np.append(0, places + lengths), np.append(1, places + 7)
    placing.fill_columns(np.array([-3, 4]), begins, np.minimum(ends, size), size, out)

    rows = [values[begin:end].tolist() for begin, end in pairwise(offsets.tolist())]
    for column, padding in ((out[:size], -3), (out[size:], 4)):
        assert column.tolist() == plain_packing.place(rows, places.tolist(), size, padding)
