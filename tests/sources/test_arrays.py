from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lisdata.converters.grids import GRIDS, GridOptions
from lisdata.encoding.surfaces import cell_texts
from lisdata.errors import BadRecordError
from lisdata.inputs import InputFile, InputSlice, find_inputs
from lisdata.records import GridRecords
from lisdata.registry import load_source
from lisdata.sources.arrays import NPY, MalformedNpyError, NpyOptions, parse_npy
from lisdata.structure import Structure

STRUCTURED = np.dtype([("név 中", "<f4", (2, 3)), ("b", [("c", "i1"), ("d", "S3")])])
DTYPES = hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | hnp.byte_string_dtypes() | st.just(STRUCTURED)


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=True)
    return stream.getvalue()


def with_header(text: str, values: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    spelled = text.encode("utf-8")
    length = len(spelled).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + length + spelled + values


def declared(descr: str = "'<f4'", fortran_order: str = "False", shape: str = "()") -> bytes:
    return with_header(f"{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}}}")


def read(path: Path, data: bytes, **options: Any) -> tuple[list[GridRecords], list[BadRecordError]]:
    path.write_bytes(data)
    rejected: list[BadRecordError] = []
    piece = InputSlice(file=find_inputs([str(path)], suffixes=NPY.suffixes)[0])
    return list(NPY.read(piece, NpyOptions(**options), rejected.append)), rejected


def test_it_is_registered() -> None:
    assert load_source("npy") is NPY


@pytest.mark.filterwarnings("ignore:Stored array in format")
@given(hnp.arrays(dtype=DTYPES, shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)), st.booleans())
@settings(deadline=None)
def test_any_array_is_read_as_it_was_saved(array: np.ndarray, is_fortran: bool) -> None:
    array = np.asfortranarray(array) if is_fortran and array.ndim > 1 else array

    found = parse_npy(saved(array))

    assert found.dtype == array.dtype
    assert found.dtype.byteorder == array.dtype.byteorder
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()
    assert found.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(version: tuple[int, int]) -> None:
    header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}"

    assert parse_npy(with_header(header, b"\0\1\0\2", version)).tolist() == [1, 2]


def test_an_array_is_one_record_of_its_file(tmp_path: Path) -> None:
    data = saved(np.arange(6).reshape(2, 3))

    (records,), _ = read(tmp_path / "a.npy", data, name="heat")

    assert records.num_records == 1
    assert records.names == ("heat",)
    assert (records.begin.tolist(), records.end.tolist()) == ([0], [len(data)])


GOOD = saved(np.arange(4, dtype="<u2"))
BAD = {
    "no bytes": (b"", r"@0: expected the magic bytes"),
    "another format": (b"PK\x03\x04" + GOOD, r"@0: expected the magic bytes .* found b'PK"),
    "only the magic": (b"\x93NUMPY", r"@6: expected version 1.0, 2.0 or 3.0, found the end of the file"),
    "a new version": (GOOD[:6] + b"\x04\x00" + GOOD[8:], r"@6: expected version 1.0, 2.0 or 3.0, found 4.0"),
    "a cut header": (GOOD[:40], r"@40: expected a header that ends at byte 128, found the end of the file"),
    "an endless header": (GOOD[:6] + b"\x02\x00" + b"\xff\xff\xff\x00" + bytes(1 << 20), r"at most 1048576 bytes"),
    "cut values": (GOOD[:-1], r"@135: expected 8 bytes of values for shape \(4,\) of uint16, found 7 bytes"),
    "trailing bytes": (GOOD + b"\0", r"@136: expected 8 bytes .*, found 9 bytes"),
    "pickled objects": (saved(np.array([{}, None], object)), r"@8: expected a dtype of plain values \(pickled objects"),
    "objects in a field": (saved(np.zeros(1, [("a", "O")])), r"@8: expected a dtype of plain values \(pickled objects"),
    "no literal": (with_header("__import__('os')"), r"@10: expected a header that is a Python dictionary of literals"),
    "no UTF-8": (
        with_header("{}", version=(3, 0)).replace(b"{}", b"\xff}"),
        r"@12: expected a header that is a Python",
    ),
    "a missing key": (with_header("{'descr': '<f4', 'shape': (1,)}"), r"@10: expected the keys descr, fortran_order"),
    "no dictionary": (with_header("[1]"), r"@10: expected the keys descr, fortran_order and shape, found b'\[1\]'"),
    "no dtype": (declared(descr="'nope'"), r"@8: expected a dtype description, found 'nope'"),
    "empty strings": (declared(descr="'<U0'"), r"@8: expected a dtype of values of at least one byte"),
    "dates without a unit": (declared(descr="'<M8'"), r"@8: expected dates with a unit, .*, found '<M8'"),
    "dates of a generic unit": (declared(descr="'>M8[generic]'"), r"@8: expected dates with a unit"),
    "a name that is no UTF-8": (declared(descr=r"[('\ud800', '<f4')]"), r"@8: expected names of fields"),
    "a title that is no UTF-8": (declared(descr=r"[(('\udfff', 'a'), '<f4')]"), r"@8: expected names of fields"),
    "a name deep inside": (declared(descr=r"[('a', [('b\ud800', '<f4')])]"), r"@8: expected names of fields"),
    "a title that is no text": (declared(descr=r"[((b'x', 'a'), '<f4')]"), r"@8: expected (names|a dtype)"),
    "a title of titles": (declared(descr=r"[((('x', 'y'), 'a'), '<f4')]"), r"@8: expected (names|a dtype)"),
    "no order": (declared(fortran_order="1"), r"@8: expected fortran_order to be True or False, found 1"),
    "no shape": (declared(shape="3"), r"@8: expected a shape: a tuple of extents of 0 or more, found 3"),
    "a negative extent": (declared(shape="(-1,)"), r"@8: expected a shape"),
    "a boolean extent": (declared(shape="(True,)"), r"@8: expected a shape"),
    "an endless shape": (declared(shape=f"(0, {1 << 60})"), r"@8: expected a shape"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_array_of_plain_values_is_a_bad_record(tmp_path: Path, what: str) -> None:
    data, message = BAD[what]

    records, (error,) = read(tmp_path / "bad.npy", data)

    assert records == []
    assert error.args[0].startswith("bad.npy@")
    with pytest.raises(BadRecordError, match=message):
        raise error
    assert (error.begin, error.end, error.data) == (0, len(data), data)


@given(st.binary(max_size=40), st.integers(0, 140))
@settings(deadline=None)
def test_damaged_bytes_give_an_array_or_the_error_and_nothing_else(patch: bytes, at: int) -> None:
    data = (GOOD[:at] + patch + GOOD[at + len(patch) :])[: len(GOOD)]

    try:
        found, error = parse_npy(data), None
    except MalformedNpyError as refused:
        found, error = None, refused

    assert (found is None) != (error is None)
    assert error is None or 0 <= error.offset <= len(data)


FIELD_NAMES = st.text(st.characters(exclude_categories=()), max_size=3)
NESTED = st.recursive(
    st.sampled_from(["<f4", ">i2", "|S3", "<U2", "<M8[ms]", "<M8", "|b1", "|V2"]),
    lambda kind: st.lists(st.tuples(FIELD_NAMES, kind), min_size=1, max_size=3, unique_by=lambda field: field[0]),
    max_leaves=4,
)


@given(NESTED, st.integers(0, 2))
@settings(deadline=None)
def test_what_is_read_can_be_converted_and_spelled_whatever_its_fields_are_called(descr: Any, rows: int) -> None:
    header = repr({"descr": descr, "fortran_order": False, "shape": (rows,)})
    try:
        size = np.lib.format.descr_to_dtype(descr).itemsize
    except ValueError:  # NumPy knows no such names
        return
    file = InputFile(index=0, path="", name="a.npy", size=1, digest="", scope="d", compression=None)

    try:
        array = parse_npy(with_header(header, bytes(rows * size), (3, 0)))
    except MalformedNpyError:
        return
    records = GridRecords(
        file=file, names=("a",), arrays=(array,), begin=np.zeros(1, np.uint64), end=np.ones(1, np.uint64)
    )

    structures = GRIDS.convert(records, GridOptions()).structures
    assert structures.num_rows == 1
    tensor = Structure.from_arrow(GRIDS.convert(records, GridOptions()), 0).tensor
    assert tensor is not None
    assert len(cell_texts(tensor.reshape(-1))) == rows


def test_an_array_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(GOOD)
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.npy")], suffixes=NPY.suffixes)[0])

    assert not NPY.splits
    with pytest.raises(ValueError, match="read whole"):
        NPY.find_cut(piece, 10, NpyOptions())


def test_a_name_with_a_colon_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="holds no ':'"):
        NpyOptions(name="a:b")
