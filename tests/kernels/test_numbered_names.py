from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels.numbered_names import numbered_names


@given(prefix=st.text(st.characters(codec="utf-8"), max_size=4), numbers=st.lists(st.integers(0, (1 << 64) - 1)))
@settings(deadline=None)
def test_names_are_the_text_and_the_number(prefix: str, numbers: list[int]) -> None:
    found = numbered_names(prefix, np.array(numbers, np.uint64))

    found.validate(full=True)
    assert found.to_pylist() == [f"{prefix}{number}" for number in numbers]


@given(st.integers(0, 19), st.integers(-1, 1))
@settings(deadline=None)
def test_numbers_around_a_power_of_ten_have_their_digits(power: int, step: int) -> None:
    number = max(0, 10**power + step)

    assert numbered_names("a", np.array([number, 0], np.uint64)).to_pylist() == [f"a{number}", "a0"]
