"""Archives of arrays: each array by name, exactly; bombs, pickles and damage refused by place."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata import inputs
from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import GridRecords
from lisdata.registry import load_source
from lisdata.shards import IncidenceDataset
from lisdata.sources.npz import NPZ, NpzOptions


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=True)
    return stream.getvalue()


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as opened:
        for name, data in members:
            opened.writestr(zipfile.ZipInfo(name), data, method)
    return stream.getvalue()


def read(path: Path, data: bytes, *, max_expansion: int = 200) -> tuple[list[GridRecords], list[BadRecordError]]:
    path.write_bytes(data)
    rejected: list[BadRecordError] = []
    piece = InputSlice(file=find_inputs([str(path)], suffixes=NPZ.suffixes, max_expansion=max_expansion)[0])
    return list(NPZ.read(piece, NpzOptions(), rejected.append)), rejected


def test_it_is_registered() -> None:
    assert load_source("npz") is NPZ


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_in_their_order_with_their_names(tmp_path: Path, save: Any) -> None:
    stream = io.BytesIO()
    save(stream, weight=np.arange(6, dtype=">f4").reshape(2, 3), bias=np.float64(2), **{"dense/kernel:0": [True]})

    records, rejected = read(tmp_path / "a.npz", stream.getvalue())

    assert rejected == []
    assert [r.names for r in records] == [("weight",), ("bias",), ("dense/kernel:0",)]
    assert [r.arrays[0].dtype.str for r in records] == [">f4", "<f8", "|b1"]
    assert records[0].arrays[0].tolist() == [[0, 1, 2], [3, 4, 5]]
    begins, ends = [int(r.begin[0]) for r in records], [int(r.end[0]) for r in records]
    assert begins[0] == 0
    assert begins[1:] == ends[:-1]
    assert stream.getvalue()[ends[-1] :].startswith(b"PK\x01\x02")  # the directory


GOOD = ("a.npy", saved(np.arange(4)))
BAD_MEMBERS = {
    "pickled objects": (("b.npy", saved(np.array([{}], object))), r"array 'b.npy' with a dtype of plain values"),
    "no array": (("b.npy", b"nothing"), r"array 'b.npy' with the magic bytes"),
    "a file of another kind": (("notes.txt", b"hello"), r"expected an array, NAME.npy, found 'notes.txt'"),
    "a folder": (("b.npy/", b""), r"expected an array, NAME.npy, found 'b.npy/'"),
    "a name again": (("a.npy", saved(np.zeros(1))), r"names and places of arrays that differ, found those of 'a.npy'"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("what", BAD_MEMBERS)
def test_a_bad_member_is_rejected_by_its_place_and_the_others_are_kept(tmp_path: Path, what: str) -> None:
    member, message = BAD_MEMBERS[what]
    data = archive(GOOD, member, ("c.npy", saved(np.ones(2))))

    records, (error,) = read(tmp_path / "a.npz", data)

    assert [r.names[0] for r in records] == ["a", "c"]
    with pytest.raises(BadRecordError, match=message):
        raise error
    assert str(error.place) == f"a.npz@{error.begin}"
    assert error.data == data[error.begin : error.end]
    assert error.data.startswith(b"PK\x03\x04")


def test_a_member_whose_bytes_changed_is_rejected(tmp_path: Path) -> None:
    data = bytearray(archive(GOOD, ("b.npy", saved(np.ones(2))), method=zipfile.ZIP_STORED))
    data[data.index(b"\x93NUMPY") + 140] ^= 1

    records, (error,) = read(tmp_path / "a.npz", bytes(data))

    assert [r.names[0] for r in records] == ["b"]
    assert "expected a whole member 'a.npy', found Bad CRC-32" in str(error)


def test_a_member_packed_otherwise_is_rejected(tmp_path: Path) -> None:
    _, (error,) = read(tmp_path / "a.npz", archive(GOOD, method=zipfile.ZIP_LZMA))

    assert "expected a member that is stored or deflated" in str(error)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", archive(GOOD)[:-30], saved(np.ones(2))])
def test_what_is_no_archive_is_one_bad_record(tmp_path: Path, data: bytes) -> None:
    records, (error,) = read(tmp_path / "a.npz", data)

    assert records == []
    assert str(error).startswith("a.npz@0: expected a zip archive of arrays, found none (")
    assert (error.begin, error.end) == (0, len(data))


def test_a_bomb_is_refused_before_any_of_it_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "SMALL_EXPANSION_BYTES", 1 << 16)
    bomb = archive(("a.npy", saved(np.zeros(1 << 19, np.uint8))))

    _, (error,) = read(tmp_path / "a.npz", bomb)
    records, _ = read(tmp_path / "a.npz", bomb, max_expansion=1000)

    assert f"found {(1 << 19) + 128} bytes" in str(error)
    assert "--max-expansion" in str(error)
    assert records[0].arrays[0].size == 1 << 19


def test_a_member_longer_than_the_directory_says_is_not_expanded(tmp_path: Path) -> None:
    data = bytearray(archive(("a.npy", saved(np.zeros(1 << 16, np.uint8)))))
    directory = data.rindex(b"PK\x01\x02")
    struct.pack_into("<L", data, directory + 24, 200)  # its size in full

    records, (error,) = read(tmp_path / "a.npz", bytes(data))

    assert records == []
    assert "expected a whole member" in str(error)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8))
@settings(deadline=None, max_examples=150)
def test_damaged_bytes_give_arrays_or_bad_records_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, at: int, patch: bytes
) -> None:
    whole = archive(GOOD, ("b.npy", saved(np.ones(2))))
    at = at % len(whole)
    data = (whole[:at] + patch + whole[at + len(patch) :])[: len(whole)]

    records, rejected = read(tmp_path_factory.mktemp("npz") / "a.npz", data)

    assert len(records) <= 2
    assert all(0 <= error.begin <= error.end <= len(data) for error in rejected)


def test_quarantine_keeps_the_good_arrays_and_counts_balance(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(archive(GOOD, BAD_MEMBERS["no array"][0], ("c:d.npy", saved(np.ones(2)))))

    manifest = convert("npz", tmp_path / "a.npz", tmp_path / "data", on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 3, "converted": 2, "rejected": 1}
    assert [s.instances[0].label for s in IncidenceDataset(tmp_path / "data").iter_structures()] == ["a", "c::d"]


def test_an_archive_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(archive(GOOD))
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.npz")], suffixes=NPZ.suffixes)[0])

    assert not NPZ.splits
    with pytest.raises(ValueError, match="read whole"):
        NPZ.find_cut(piece, 10, NpzOptions())
