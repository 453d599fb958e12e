from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.tagger.features import NUM_FEATURES, hash_forms, shape_of


@given(forms=st.lists(st.text(), max_size=6), num_rows=st.integers(1, 100))
def test_features_are_rows_of_the_tables_and_a_function_of_the_form(forms: list[str], num_rows: int) -> None:
    features = hash_forms(forms, num_rows)

    assert features.shape == (len(forms), NUM_FEATURES)
    assert ((features >= 0) & (features < num_rows)).all()
    for form, row in zip(forms, features, strict=True):
        assert np.array_equal(hash_forms([form], num_rows)[0], row)


def test_features_never_change_for_weights_were_trained_on_them() -> None:
    assert hash_forms(["Reading", "1,000.5", "\ud800"], 6000).tolist() == [
        [4467, 5028, 4279, 5769, 4389],
        [3011, 652, 3454, 846, 1790],
        [5632, 4010, 5605, 4327, 4638],
    ]


def test_case_shows_in_the_shape_alone() -> None:
    lower, upper = hash_forms(["reads", "READS"], 1 << 20)

    assert (lower == upper).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("form", "shape"),
    [("Hundred", "Xxxxx"), ("U.S.", "X.X."), ("1,000", "d,ddd"), ("iPhone", "xXxxxx"), ("--------", "----"), ("", "")],
)
def test_shapes_are_short(form: str, shape: str) -> None:
    assert shape_of(form) == shape


def test_a_long_form_has_a_bounded_shape() -> None:
    assert len(shape_of("aA" * 1000)) == 12
