from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.converters.grids import GRIDS, GridOptions, grid_label, split_grid_label
from lisdata.inputs import InputFile, InputSlice, find_inputs
from lisdata.invariants import check_structures
from lisdata.records import GridRecords
from lisdata.registry import load_converter
from lisdata.schema import StructureKind
from lisdata.sources.arrays import NPY, NpyOptions
from lisdata.structure import Instance, Structure


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


@given(st.text(st.characters(exclude_categories=("Cs",))), st.booleans(), st.booleans())
def test_a_label_gives_name_and_facts_back_whatever_the_name(name: str, is_fortran: bool, has_note: bool) -> None:
    array = np.zeros((2, 2), order="F" if is_fortran else "C")
    note = {"mode": "P"} if has_note else {}

    found = split_grid_label(grid_label(name, array, note))

    assert found == (name, note | ({"fortran_order": True} if is_fortran else {}))


@pytest.mark.parametrize("label", ["a:b", "a:::b", "a:[1]"])
def test_a_label_of_another_form_is_refused(label: str) -> None:
    with pytest.raises(ValueError, match="as the label of a grid"):
        split_grid_label(label)


def test_arrays_that_begin_at_one_byte_have_record_ids_of_their_own() -> None:
    file = InputFile(index=0, path="", name="a.png", size=9, digest="", scope="d", compression=None)
    records = GridRecords(
        file=file,
        names=("image", "image.palette"),
        arrays=(np.zeros((1, 1), np.uint8), np.zeros((2, 3), np.uint8)),
        begin=np.zeros(2, np.uint64),
        end=np.full(2, 9, np.uint64),
        notes=({"mode": "P"}, {}),
    )

    batch = GRIDS.convert(records, GridOptions())

    assert batch.structures.column("record_id").to_pylist() == ["d#0", "d#0.1"]
    assert batch.labels.column("label").to_pylist() == ['image:{"mode":"P"}', "image.palette"]


@pytest.mark.parametrize("dtype", ["<M8", ">M8"])
def test_dates_without_a_unit_are_no_grid_in_memory_either(dtype: str) -> None:
    with pytest.raises(ValueError, match="expected dates with a unit, such as '<M8\\[s\\]'"):
        Structure(
            record_id="g#0",
            kind=StructureKind.GRID,
            instances=(Instance(label="g"),),
            tensor=np.zeros(2, np.int64).view(dtype),
        )
