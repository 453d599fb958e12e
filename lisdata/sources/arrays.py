"""NumPy's .npy files: one array a file, its dtype, byte order and memory order as stored; never pickled objects."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.records import GridRecords
from lisdata.registry import Reject

_MAGIC = b"\x93NUMPY"
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_MAX_HEADER_BYTES = 1 << 20
_MAX_RANK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class NpyOptions:
    """Options of source npy."""

    name: str = field(default="grid", metadata={"help": "Name of the array: the label of its instance."})

    def __post_init__(self) -> None:
        if ":" in self.name:
            raise ValueError(f"the name of an array holds no ':', got {self.name!r}")


@dataclass(frozen=True, slots=True)
class NpySource:
    """Reads .npy files of versions 1.0 to 3.0; an array is one record and is held in memory whole."""

    name: str = "npy"
    summary: str = "NumPy arrays (.npy): values, dtype, byte order and memory order"
    suffixes: tuple[str, ...] = (".npy",)
    converter: str = "grids"
    exporter: str = "npy"
    splits: bool = False
    options_type: type[NpyOptions] = NpyOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: NpyOptions) -> int:
        """Raise ValueError: an array is never cut."""
        raise ValueError(f"a .npy file is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: NpyOptions, reject: Reject) -> Iterator[GridRecords]:
        """Yield the array of `piece`."""
        data = piece.read()
        try:
            array = parse_npy(data)
        except MalformedNpyError as error:
            place = Place(piece.file.name, offset=error.offset)
            reject(BadRecordError(place, expected=error.expected, found=error.found, begin=0, end=len(data), data=data))
            return
        yield GridRecords(
            file=piece.file,
            names=(options.name,),
            arrays=(array,),
            begin=np.zeros(1, np.uint64),
            end=np.full(1, len(data), np.uint64),
        )


class MalformedNpyError(ValueError):
    """Bytes are not a .npy file that holds plain values; `offset` is where they stop being one."""

    def __init__(self, offset: int, expected: str, found: str) -> None:
        self.offset, self.expected, self.found = offset, expected, found
        super().__init__(f"byte {offset}: expected {expected}, found {found}")


def parse_npy(data: bytes) -> npt.NDArray[Any]:
    """Return the array that the bytes of a .npy file hold, read-only, without a copy; MalformedNpyError otherwise."""
    header, begin = _read_header(data)
    dtype = _dtype_of(header["descr"])
    shape = _shape_of(header["shape"])
    fortran_order = header["fortran_order"]
    if not isinstance(fortran_order, bool):
        raise MalformedNpyError(8, "fortran_order to be True or False", repr(fortran_order))
    wanted, found = math.prod(shape) * dtype.itemsize, len(data) - begin
    if found != wanted:
        what = f"{wanted} bytes of values for shape {shape} of {dtype}"
        raise MalformedNpyError(begin + min(wanted, found), what, f"{found} bytes")
    flat = np.frombuffer(data, dtype, math.prod(shape), begin) if wanted else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran_order else "C")


def _read_header(data: bytes) -> tuple[dict[str, Any], int]:
    """Return the header's dictionary and where the values begin."""
    if data[:6] != _MAGIC:
        raise MalformedNpyError(0, f"the magic bytes {_MAGIC!r}", repr(data[:6]))
    version = tuple(data[6:8])
    if version not in _LENGTH_BYTES:
        raise MalformedNpyError(6, "version 1.0, 2.0 or 3.0", ".".join(map(str, version)) or "the end of the file")
    begin = 8 + _LENGTH_BYTES[version]
    end = begin + int.from_bytes(data[8:begin], "little")
    if len(data) < min(end, begin + _MAX_HEADER_BYTES):
        raise MalformedNpyError(len(data), f"a header that ends at byte {end}", "the end of the file")
    if end - begin > _MAX_HEADER_BYTES:
        raise MalformedNpyError(8, f"a header of at most {_MAX_HEADER_BYTES} bytes", f"{end - begin}")
    spelled = data[begin:end].strip()
    try:
        header = ast.literal_eval(spelled.decode("utf-8" if version == (3, 0) else "latin-1"))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # which of them depends on the text
        raise MalformedNpyError(begin, "a header that is a Python dictionary of literals", repr(spelled[:80])) from None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise MalformedNpyError(begin, "the keys descr, fortran_order and shape", repr(spelled[:80]))
    return header, end


def _dtype_of(descr: Any) -> np.dtype[Any]:
    try:
        dtype = np.lib.format.descr_to_dtype(descr)
    except (TypeError, ValueError, SyntaxError, IndexError, KeyError, AttributeError):  # whatever descr is not
        raise MalformedNpyError(8, "a dtype description", repr(descr)[:80]) from None
    if dtype.hasobject:
        raise MalformedNpyError(8, "a dtype of plain values (pickled objects are never loaded)", str(dtype))
    if dtype.itemsize == 0 or dtype.subdtype is not None:
        raise MalformedNpyError(8, "a dtype of values of at least one byte", str(dtype))
    if dtype.kind == "M" and np.datetime_data(dtype)[0] == "generic":
        raise MalformedNpyError(8, "dates with a unit, such as '<M8[s]'", repr(dtype.str))
    if dtype.names is not None and not all(map(_is_text, _field_names(np.lib.format.dtype_to_descr(dtype)))):
        raise MalformedNpyError(8, "names of fields that are UTF-8 text", repr(descr)[:80])
    return dtype


def _field_names(descr: list[Any]) -> Iterator[Any]:
    """Yield the names and titles in NumPy's description of a dtype with fields."""
    for name, kind, *_ in descr:
        yield from name if isinstance(name, tuple) else (name,)
        if isinstance(kind, list):
            yield from _field_names(kind)


def _is_text(name: Any) -> bool:
    if not isinstance(name, str):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shape_of(shape: Any) -> tuple[int, ...]:
    extents = shape if isinstance(shape, tuple) and len(shape) <= _MAX_RANK else (-1,)
    is_shape = all(type(n) is int and n >= 0 for n in extents)
    # Addressable even where a zero extent leaves no values: NumPy itself refuses other shapes.
    if not is_shape or math.prod(max(n, 1) for n in extents) >= 1 << 48:
        raise MalformedNpyError(8, "a shape: a tuple of extents of 0 or more", repr(shape)[:80])
    return extents


NPY = NpySource()
