"""Grids cut into patches: every cell in one patch, patches and their cells row-major."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.patches import lay_patches, parse_patch

SHAPES = st.lists(st.integers(0, 6), max_size=3)


@given(SHAPES, st.lists(st.integers(1, 4), max_size=3))
def test_patches_are_the_slices_of_the_grid(shape: list[int], patch: list[int]) -> None:
    patch = patch[: len(shape)]
    cells = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)

    found = lay_patches(shape, patch)

    expected = []
    counts = [-(-n // p) for n, p in zip(shape, patch, strict=False)]
    for place in np.ndindex(*counts):
        region = cells[tuple(slice(i * p, (i + 1) * p) for i, p in zip(place, patch, strict=True))]
        if cells.size:
            expected.append((place, region.reshape(-1).tolist()))
    assert [tuple(place) for place in found.place.tolist()] == [place for place, _ in expected]
    assert [c.tolist() for c in np.split(found.cells, found.offsets[1:-1])][: len(found)] == [r for _, r in expected]
    assert len(found) == len(expected)
    assert np.array_equal(found.corner, found.place * np.array(patch, np.int64))


def test_extents_are_spelled_with_x_between_them() -> None:
    assert parse_patch("8x8") == (8, 8)
    assert parse_patch("16") == (16,)


@pytest.mark.parametrize("text", ["", "8x", "x8", "8X8", "0x8", "-1", "8,8", "8x8 "])
def test_other_spellings_are_wrong_arguments(text: str) -> None:
    with pytest.raises(ValueError, match="expected extents of a patch such as 8x8"):
        parse_patch(text)


@pytest.mark.parametrize(("patch", "message"), [((2, 2, 2), "at most 2 extents"), ((0,), "at least 1")])
def test_a_patch_that_does_not_fit_is_a_wrong_argument(patch: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lay_patches((4, 4), patch)
