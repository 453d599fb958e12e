"""The gather kernels against their plain twin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels import gather, plain_loading

NO_LIMIT = 2**62


def locate(
    offsets: npt.NDArray[np.int64], num_values: int, rows: npt.NDArray[np.int64], limit: int = NO_LIMIT
) -> tuple[npt.NDArray[np.int64], int, int, int]:
    """Locate rows in one segment at the address of `offsets`."""
    located = np.empty((5, len(rows)), np.int64)
    first_row, addresses = np.array([0, len(offsets) - 1]), np.array([offsets.ctypes.data])
    bad, total, longest = gather.locate(
        rows, first_row, addresses, np.array([num_values]), np.zeros(1, np.int64), 3, limit, located
    )
    return located, bad, total, longest


@settings(deadline=None)
@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=12),
    picks=st.lists(st.integers(0, 10**6), max_size=20),
    extra=st.integers(0, 9),
    type_=st.sampled_from(sorted(gather.TYPE_CODES)),
    target=st.sampled_from([np.int32, np.int64]),
    is_padded=st.booleans(),
)
def test_columns_of_every_type_are_copied_as_the_plain_twin_does(
    lengths: list[int], picks: list[int], extra: int, type_: str, target: type[np.signedinteger], is_padded: bool
) -> None:
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    high = min(np.iinfo(type_).max, np.iinfo(target).max)
    low = max(np.iinfo(type_).min, np.iinfo(target).min)
    values = np.random.default_rng(0).integers(low, high, offsets[-1], dtype=np.int64, endpoint=True).astype(type_)
    rows = np.array(picks, np.int64) % len(lengths)
    located, bad, total, longest = locate(offsets, len(values), rows)
    width = longest + extra if is_padded else 0
    out = np.empty(len(rows) * width if is_padded else total, target)

    gather.copy_columns(
        np.array([gather.TYPE_CODES[type_]]), np.array([[values.ctypes.data]]), np.array([-7]), located, width, out
    )

    assert bad == -1
    assert out.tolist() == plain_loading.gather(offsets, values, rows, width, -7).tolist()


def test_columns_without_a_buffer_hold_zeros_and_the_kind_of_the_row() -> None:
    offsets = np.array([0, 2, 3])
    located, _, _, _ = locate(offsets, 3, np.array([1, 0]))
    out = np.empty(8, np.int64)

    gather.copy_columns(
        np.array([gather.ZEROS, gather.ROW_KIND]), np.zeros((2, 1), np.int64), np.array([-1, 0]), located, 2, out
    )

    assert out.tolist() == [0, -1, 0, 0, 3, 0, 3, 3]


def test_lengths_are_cut_at_the_limit() -> None:
    located, bad, total, longest = locate(np.array([0, 5, 6]), 6, np.array([0, 1]), limit=2)

    assert (bad, total, longest) == (-1, 3, 2)
    assert located[gather.LENGTH].tolist() == [2, 1]


@pytest.mark.parametrize("offsets", [[0, 7, 6], [0, -1, 6], [0, 2**60, 6], [5, 2, 6]])
def test_offsets_that_leave_the_column_are_found_and_not_followed(offsets: list[int]) -> None:
    _, bad, _, _ = locate(np.array(offsets), 6, np.array([1, 0]))

    assert bad >= 0


@pytest.mark.parametrize("row", [-1, 2, 2**40])
def test_a_row_that_does_not_exist_is_found(row: int) -> None:
    assert locate(np.array([0, 1, 2]), 2, np.array([0, row]))[1] == 1
