from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lisdata.errors import ExportError
from lisdata.exporters.arrays import NPY, structure_to_array
from lisdata.registry import load_exporter
from lisdata.schema import StructureKind
from lisdata.sources.arrays import parse_npy
from lisdata.structure import Instance, Structure

STRUCTURED = np.dtype([(("a title", "née 中"), "<f4", (2, 3)), ("b", [("c", "i1"), ("d", "S3")])])
PADDED = np.dtype({"names": ["x", "y"], "formats": ["i1", ">f8"], "offsets": [0, 8]})
DTYPES = hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | st.sampled_from([STRUCTURED, PADDED])
ARRAYS = hnp.arrays(dtype=DTYPES, shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def test_it_is_registered() -> None:
    assert load_exporter("npy") is NPY


@pytest.mark.filterwarnings("ignore:Stored array in format")
@given(st.lists(st.tuples(ARRAYS, st.booleans()), min_size=1, max_size=4))
@settings(deadline=None, max_examples=15)
def test_any_array_that_numpy_saved_comes_back_byte_for_byte(round_trip: Any, arrays: Any) -> None:
    files = [saved(np.asfortranarray(a) if is_fortran and a.ndim > 1 else a) for a, is_fortran in arrays]

    found, report = round_trip("npy", files, ".npy")

    assert found == files
    assert report.losses == {}


def test_the_samples_come_back_byte_for_byte(round_trip: Any, root: Path) -> None:
    files = [path.read_bytes() for path in sorted((root / "sample_data/grids").glob("*.npy"))]

    found, report = round_trip("npy", files, ".npy")

    assert len(files) == 2
    assert found == files
    assert report.num_records == 2
    assert {parse_npy(data).dtype.str for data in files} == {"<f4", "|u1"}


def test_a_real_image_comes_back_equal(round_trip: Any, shared: Path) -> None:
    image = pytest.importorskip("PIL.Image").open(shared / "data/kg/grids/flower.jpg")
    pixels = np.asarray(image)

    (found,), _ = round_trip("npy", [saved(pixels)], ".npy")

    assert pixels.shape == (427, 640, 3)
    assert np.array_equal(parse_npy(found), pixels)


def test_another_header_layout_is_a_loss_and_the_array_is_equal(round_trip: Any) -> None:
    header = b"{'shape': (2,), 'descr': '<i4', 'fortran_order': False}"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)

    (found,), report = round_trip("npy", [data], ".npy")

    assert np.array_equal(parse_npy(found), parse_npy(data))
    assert report.losses == {"header layouts": 1}


def test_a_rejected_file_is_a_loss(round_trip: Any) -> None:
    found, report = round_trip("npy", [saved(np.zeros(2)), b"nothing"], ".npy", on_error="skip")

    assert found == [saved(np.zeros(2))]
    assert report.losses == {"rejected records": 1}


def test_what_is_no_grid_is_refused() -> None:
    structure = Structure(record_id="a#0", kind=StructureKind.TREE, instances=(Instance(label="root"),))

    with pytest.raises(ExportError, match="a#0: expected a grid, found a tree"):
        structure_to_array(structure)
