from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lisdata.converters.grids import GRIDS, GridOptions, grid_label
from lisdata.inputs import InputSlice, find_inputs
from lisdata.invariants import check_structures
from lisdata.registry import load_converter
from lisdata.schema import StructureKind
from lisdata.sources.arrays import NPY, NpyOptions
from lisdata.structure import Structure


def converted(path: Path, array: np.ndarray) -> Structure:
    stream = io.BytesIO()
    np.save(stream, array)
    path.write_bytes(stream.getvalue())
    piece = InputSlice(file=find_inputs([str(path)], suffixes=NPY.suffixes)[0])
    (records,) = NPY.read(piece, NpyOptions(), lambda error: pytest.fail(str(error)))
    batch = GRIDS.convert(records, GridOptions())
    check_structures(*(pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels)), "grid")
    return Structure.from_arrow(batch, 0)


def test_it_is_registered() -> None:
    assert load_converter("grids") is GRIDS


def test_an_array_is_one_instance_whose_cells_are_implied(tmp_path: Path) -> None:
    array = np.arange(6, dtype=">i2").reshape(2, 3)

    structure = converted(tmp_path / "a.npy", array)

    assert structure.kind == StructureKind.GRID
    assert [e.label for e in structure.instances] == ["grid"]
    assert structure.occurrences == structure.incidences == ()
    assert structure.tensor is not None
    assert structure.tensor.dtype.str == ">i2"
    assert structure.tensor.tolist() == array.tolist()
    assert structure.record_id.endswith("#0")
    assert structure.source == (0, 0, (tmp_path / "a.npy").stat().st_size)


def test_values_stored_by_columns_are_kept_by_rows_and_the_label_says_so(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3))

    structure = converted(tmp_path / "a.npy", array)

    assert structure.instances[0].label == 'grid:{"fortran_order":true}'
    assert structure.tensor is not None
    assert structure.tensor.tobytes() == bytes(range(6))


def test_named_fields_are_told_by_the_label(tmp_path: Path) -> None:
    array = np.array([(1, 2.5)], [("x", "<i2"), ("y", ">f4")])

    structure = converted(tmp_path / "a.npy", array)

    assert structure.instances[0].label == 'grid:{"descr":[["x","<i2"],["y",">f4"]]}'
    assert structure.tensor is not None
    assert (structure.tensor.dtype.str, structure.tensor.tobytes()) == ("|V6", array.tobytes())


@pytest.mark.parametrize("array", [np.array(2.5), np.zeros((0, 3), "?"), np.array(["ab", "c"]), np.array([1], "M8[s]")])
def test_arrays_of_any_rank_and_plain_dtype_have_a_bare_label(tmp_path: Path, array: np.ndarray) -> None:
    structure = converted(tmp_path / "a.npy", array)

    assert structure.instances[0].label == "grid" == grid_label("grid", array)
    assert structure.tensor is not None
    assert (structure.tensor.shape, structure.tensor.tobytes()) == (array.shape, array.tobytes())
