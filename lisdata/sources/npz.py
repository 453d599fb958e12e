"""NumPy's .npz files: a zip of .npy files, so several arrays a file, each with its name; never pickled objects."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.records import GridRecords
from lisdata.registry import Reject
from lisdata.sources.arrays import MalformedNpyError, parse_npy

_SUFFIX = ".npy"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True, kw_only=True)
class NpzOptions:
    """Source npz has no options."""


@dataclass(frozen=True, slots=True)
class NpzSource:
    """Reads .npz files, stored or deflated; an array is one record, in the order of the archive's directory.

    The file is held in memory as stored, and one of its arrays at a time.
    """

    name: str = "npz"
    summary: str = "NumPy archives (.npz): several named arrays a file"
    suffixes: tuple[str, ...] = (".npz",)
    converter: str = "grids"
    exporter: str = "npz"
    splits: bool = False
    options_type: type[NpzOptions] = NpzOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: NpzOptions) -> int:
        """Raise ValueError: an archive is never cut."""
        raise ValueError(f"a .npz file is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: NpzOptions, reject: Reject) -> Iterator[GridRecords]:
        """Yield the arrays of `piece` one by one; a bad member is rejected alone, a bad archive whole."""
        data = piece.read()
        try:
            archive = _open_archive(data, piece.file.most_expanded)
        except _MalformedNpzError as error:
            reject(_bad_record(piece, data, 0, len(data), error))
            return
        seen: set[str | int] = set()
        begins = sorted({member.header_offset for member in archive.infolist()})
        ends = dict(pairwise([*begins, archive.start_dir]))
        for member in archive.infolist():
            begin = member.header_offset
            end = ends[begin]
            try:
                array = parse_npy(_read_member(archive, member, seen))
            except _MalformedNpzError as error:
                reject(_bad_record(piece, data, begin, end, error))
                continue
            except MalformedNpyError as error:
                found = f"{error.found} at its byte {error.offset}"
                wrong = _MalformedNpzError(begin, f"array {member.filename!r} with {error.expected}", found)
                reject(_bad_record(piece, data, begin, end, wrong))
                continue
            yield GridRecords(
                file=piece.file,
                names=(member.filename.removesuffix(_SUFFIX),),
                arrays=(array,),
                begin=np.full(1, begin, np.uint64),
                end=np.full(1, end, np.uint64),
            )


class _MalformedNpzError(ValueError):
    def __init__(self, offset: int, expected: str, found: str) -> None:
        self.offset, self.expected, self.found = offset, expected, found
        super().__init__(f"byte {offset}: expected {expected}, found {found}")


def _open_archive(data: bytes, limit: int) -> zipfile.ZipFile:
    """Return the archive, whose members expand to no more than `limit` bytes."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, ValueError, OSError) as error:
        # zipfile says NotImplementedError of an archive that asks for a newer version of the format
        raise _MalformedNpzError(0, "a zip archive of arrays", f"none ({error})") from None
    outside = [m.header_offset for m in archive.infolist() if not 0 <= m.header_offset < archive.start_dir]
    if outside:
        raise _MalformedNpzError(0, "members before the directory of the archive", f"one at byte {outside[0]}")
    expanded = sum(member.file_size for member in archive.infolist())
    if expanded > limit:
        raise _MalformedNpzError(
            0,
            f"arrays of at most {limit} bytes in a file of {len(data)} (see --max-expansion)",
            f"{expanded} bytes",
        )
    return archive


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, seen: set[str | int]) -> bytes:
    """Return the bytes of a member; zipfile itself reads no more of it than the directory declares."""
    name, at = member.filename, member.header_offset
    if not name.endswith(_SUFFIX):
        raise _MalformedNpzError(at, "an array, NAME.npy", repr(name[:80]))
    if name in seen or at in seen:
        raise _MalformedNpzError(at, "names and places of arrays that differ", f"those of {name[:80]!r} again")
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        raise _MalformedNpzError(at, "a member that is stored or deflated", f"{name[:80]!r}, encrypted or otherwise")
    seen |= {name, at}
    try:
        return archive.read(member)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, zlib.error) as error:
        # zipfile says NotImplementedError of a member that asks for a newer version, or holds patched data
        raise _MalformedNpzError(at, f"a whole member {name[:80]!r}", str(error) or "its end") from None


def _bad_record(piece: InputSlice, data: bytes, begin: int, end: int, error: _MalformedNpzError) -> BadRecordError:
    place = Place(piece.file.name, offset=error.offset)
    return BadRecordError(place, expected=error.expected, found=error.found, begin=begin, end=end, data=data[begin:end])


NPZ = NpzSource()
