from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.kernels.numbering import renumber


@given(numbers=st.lists(st.integers(0, (1 << 32) - 1), min_size=1), data=st.data())
def test_each_value_becomes_its_number(numbers: list[int], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, len(numbers) - 1)))

    found = renumber(np.array(values, np.uint32), np.array(numbers, np.uint32))

    assert found.tolist() == [numbers[value] for value in values]


def test_a_value_without_a_number_is_an_error() -> None:
    with pytest.raises(IndexError, match="value 1 is 2, of 2 numbers"):
        renumber(np.array([1, 2], np.uint32), np.array([5, 6], np.uint32))
