"""The way back of archives: names, order, arrays, dtypes, byte and memory order."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lisdata.datasets import export
from lisdata.errors import ExportError
from lisdata.registry import load_exporter
from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.structure import Instance, Structure

NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0/\\"), min_size=1, max_size=8)
DTYPES = hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | st.just(np.dtype([("a", "<f4"), ("b", "S3")]))
ARRAYS = hnp.arrays(dtype=DTYPES, shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


def saved(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def loaded(data: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        return dict(found)


def test_it_is_registered() -> None:
    assert load_exporter("npz").name == "npz"


@pytest.mark.filterwarnings("ignore:Stored array in format")
@given(st.dictionaries(NAMES.filter(lambda name: name != "file"), st.tuples(ARRAYS, st.booleans()), max_size=3))
@settings(deadline=None, max_examples=15)
def test_any_archive_comes_back(round_trip: Any, arrays: dict[str, tuple[np.ndarray, bool]]) -> None:
    given_arrays = {n: np.asfortranarray(a) if f and a.ndim > 1 else a for n, (a, f) in arrays.items()}

    (data,), report = round_trip("npz", [saved(given_arrays)], ".npz")

    found = loaded(data)
    assert list(found) == list(given_arrays)
    for name, array in given_arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
    assert report.losses == {}


def test_what_numpy_saved_comes_back_byte_for_byte(round_trip: Any) -> None:
    data = saved({"a": np.arange(3), "b": np.ones((2, 2), ">f4")})

    assert round_trip("npz", [data], ".npz")[0] == [data]


def test_the_sample_comes_back_equal(round_trip: Any, root: Path) -> None:
    data = (root / "sample_data/grids/tides.npz").read_bytes()

    (found,), _ = round_trip("npz", [data], ".npz")

    before, after = loaded(data), loaded(found)
    assert [(name, array.dtype.str) for name, array in after.items()] == [("height", "<f4"), ("hour", "<M8[h]")]
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_rejected_members_are_losses(round_trip: Any) -> None:
    stream = io.BytesIO()
    np.savez(stream, good=np.ones(2), bad=np.array([{}], object))

    (found,), report = round_trip("npz", [stream.getvalue()], ".npz", on_error="skip")

    assert list(loaded(found)) == ["good"]
    assert report.losses == {"rejected records": 1}


def test_a_file_without_a_good_array_is_not_written(round_trip: Any) -> None:
    found, report = round_trip("npz", [saved({"a": np.ones(1)}), b"nothing"], ".npz", on_error="skip")

    assert len(found) == 1
    assert report.losses == {"rejected records": 1}


def test_a_dataset_of_npy_files_can_be_written_as_archives(round_trip: Any) -> None:
    stream = io.BytesIO()
    np.save(stream, np.arange(4))

    (found,), _ = round_trip("npy", [stream.getvalue()], ".npy", as_format="npz")

    assert loaded(found)["grid"].tolist() == [0, 1, 2, 3]


def test_two_arrays_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grids = [
        Structure(
            record_id=f"g#{n}", kind=StructureKind.GRID, instances=(Instance(label="grid"),), tensor=np.zeros(n + 1)
        )
        for n in range(2)
    ]
    np.save(tmp_path / "a.npy", np.zeros(2))
    import lisdata

    lisdata.convert("npy", tmp_path / "a.npy", tmp_path / "data")
    monkeypatch.setattr(IncidenceDataset, "iter_structures", lambda self, index=None: iter(grids))

    with pytest.raises(ExportError, match="g#1: expected arrays of different names, found 'grid' again"):
        export(tmp_path / "data", tmp_path / "out.npz", format="npz")
    assert not (tmp_path / "out.npz").exists()


def test_what_was_made_in_memory_is_refused(tmp_path: Path) -> None:
    write_structures(tmp_path / "data", [])

    with pytest.raises(ExportError, match="made in memory"):
        export(tmp_path / "data", tmp_path / "out.npz", format="npz")
