"""Grids encoded by patches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lisdata
from lisdata.encoding import EncodeConfig, load_tokenizer
from lisdata.errors import LisDataError
from lisdata.journeys import grid_endpoints
from lisdata.schema import StructureKind
from lisdata.shards import write_structures
from lisdata.structure import Instance, Structure
from lisdata.token_shards import TokenDataset


@pytest.fixture
def structure(tmp_path: Path) -> Structure:
    """A grid of one-digit cells, written as a dataset."""
    values = (np.arange(30) % 10).reshape(5, 6).astype(np.uint8)
    made = Structure(record_id="g#0", kind=StructureKind.GRID, instances=(Instance(label="m"),), tensor=values)
    write_structures(tmp_path / "data", [made])
    return made


def test_tokens_of_a_patch_stand_together_at_neighbouring_positions(structure: Structure, tmp_path: Path) -> None:
    lisdata.encode(tmp_path / "data", tmp_path / "tokens", patch="2x4")

    row = TokenDataset(tmp_path / "tokens")[0]
    expected = grid_endpoints(structure, patch=(2, 4))
    text = load_tokenizer(tmp_path / "tokens" / "characters.json").decode(row["input_ids"].tolist())
    assert text == "".join(str(cell) for patch in expected.values for cell in patch.reshape(-1))
    lengths = [patch.size for patch in expected.values]
    assert row["position"].tolist() == [n * 8 + k for n, size in enumerate(lengths) for k in range(size)]
    assert row["occurrence"].tolist() == np.repeat(expected.corner @ [6, 1], lengths).tolist()


def test_patches_of_one_cell_are_the_cells(structure: Structure, tmp_path: Path) -> None:
    lisdata.encode(tmp_path / "data", tmp_path / "cells")
    lisdata.encode(tmp_path / "data", tmp_path / "patches", patch="1x1")

    cells, patches = (TokenDataset(tmp_path / name)[0] for name in ("cells", "patches"))
    assert all(np.array_equal(cells[name], patches[name]) for name in ("input_ids", "position", "occurrence", "role"))


def test_cells_are_left_out_from_the_last_patch_on(structure: Structure, tmp_path: Path) -> None:
    manifest = lisdata.encode(
        tmp_path / "data", tmp_path / "tokens", patch="2x3", grid_max_cells=8, grid_overflow="truncate"
    )

    row = TokenDataset(tmp_path / "tokens")[0]
    assert row["position"].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert row["occurrence"].tolist() == [0] * 6 + [3] * 2
    assert manifest["report"]["cells_left_out"] == 22


def test_a_grid_of_too_few_axes_is_named(structure: Structure, tmp_path: Path) -> None:
    with pytest.raises(LisDataError, match="g#0: expected a patch of at most 2 extents"):
        lisdata.encode(tmp_path / "data", tmp_path / "tokens", patch="1x1x1")


def test_a_patch_that_is_none_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="expected extents of a patch such as 8x8, got '8by8'"):
        EncodeConfig(patch="8by8")
