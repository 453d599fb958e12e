"""Endpoints of grids by patches, made on demand."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import lisdata
from lisdata.journeys import addresses, grid_endpoints
from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset
from lisdata.structure import Instance, Structure


def grid(values: np.ndarray) -> Structure:
    return Structure(record_id="g#0", kind=StructureKind.GRID, instances=(Instance(label="image"),), tensor=values)


def test_without_a_patch_the_endpoints_are_the_cells_that_addresses_have() -> None:
    structure = grid(np.arange(12).reshape(3, 4))

    found, listed = grid_endpoints(structure), addresses(structure)

    assert len(found) == len(listed) == 12
    assert np.array_equal(found.coordinates, listed.coordinates(np.arange(12)))
    assert found.role == listed.roles[0]
    assert found.stacked().reshape(-1).tolist() == list(range(12))


def test_a_photograph_is_read_as_a_vision_model_reads_it(shared: Path, tmp_path: Path) -> None:
    lisdata.convert("image", shared / "data/kg/grids/flower.jpg", tmp_path / "data")
    (structure,) = IncidenceDataset(tmp_path / "data").iter_structures()
    assert structure.tensor is not None
    cut = structure.tensor[:416]  # 26 x 40 whole patches

    found = grid_endpoints(grid(cut), patch=(16, 16))

    assert len(found) == 26 * 40
    expected = cut.reshape(26, 16, 40, 16, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 16, 16, 3)
    assert np.array_equal(found.stacked(), expected)
    assert found.corner[41].tolist() == [16, 16]


def test_a_stack_of_real_digits_gives_a_patch_each(shared: Path) -> None:
    with gzip.open(shared / "data/kg/grids/digits.csv.gz", "rt") as stream:
        digits = np.loadtxt(stream, delimiter=",", max_rows=20)[:, :64].astype(np.uint8).reshape(-1, 8, 8)

    found = grid_endpoints(grid(digits), patch=(1, 8, 8))

    assert found.coordinates.tolist() == [[n, 0, 0] for n in range(20)]
    assert np.array_equal(found.stacked()[:, 0], digits)


def test_patches_at_far_edges_are_smaller() -> None:
    found = grid_endpoints(grid(np.arange(15).reshape(3, 5)), patch=(2, 3))

    assert [value.shape for value in found.values] == [(2, 3), (2, 2), (1, 3), (1, 2)]
    assert found.values[3].tolist() == [[13, 14]]
    with pytest.raises(ValueError, match="expected patches of one shape"):
        found.stacked()


def test_what_is_no_grid_or_does_not_fit_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="expected a grid with its instance, got a tree"):
        grid_endpoints(Structure(record_id="t#0", kind=StructureKind.TREE, instances=(Instance(label="a"),)))
    with pytest.raises(ValueError, match="at most 1 extents"):
        grid_endpoints(grid(np.arange(3)), patch=(2, 2))
