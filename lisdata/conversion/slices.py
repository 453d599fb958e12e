"""Inputs cut into slices at the begins of records, and slices as a plan holds them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import Any

from lisdata.errors import DamagedShardError
from lisdata.inputs import InputFile, InputSlice, time_of_change
from lisdata.registry import Source
from lisdata.runs import PLAN, JsonDict
from lisdata.runs.facts import read_facts
from lisdata.seek_points import SeekIndex, SeekPoint
from lisdata.shards.manifest import read_sealed

Piece = tuple[JsonDict, int]
"""A slice of an input as the plan holds it, and its size in bytes: as stored, of a cut compressed file decompressed."""

_LEAST_EXPANSION = 4  # how far text expands at least: a compressed file that is smaller is no more than a unit
_POINTS_A_UNIT = 32
_LEAST_SPACING = 64 << 10
_LARGE_BYTES = 64 << 20
_SECONDS_BETWEEN_NOTES = 10.0
_LOG = logging.getLogger("lisdata.conversion")


def iter_slices(file: InputFile, source: Source, options: Any, size: int) -> Iterator[Piece]:
    """Yield the slices of an input, which is cut where it is large into ones of about `size` bytes."""
    if not source.splits:
        yield _whole(file)
    elif file.compression is not None:
        yield from _iter_compressed(file, source, options, size)
    elif file.size <= size:
        yield _whole(file)
    else:
        for begin, end in _iter_cuts(InputSlice(file=file, begin=0, end=file.size), source, options, size):
            yield {"file": file.index, "begin": begin, "end": end}, end - begin


def planned_slice(file: InputFile, piece: JsonDict) -> InputSlice:
    """Return the slice of a file that an entry of a plan stands for."""
    place = InputSlice(file=file, begin=piece["begin"], end=piece["end"])
    if "point" not in piece:
        return place
    point, (first, end) = SeekPoint(*piece["point"]), piece["stored"]
    return InputSlice(file=file, begin=place.begin, end=place.end, points=(point,), stored=(first, end))


def weight_of(file: InputFile, piece: JsonDict) -> int:
    """Return the size of a slice that an entry of a plan stands for."""
    if "weight" in piece:
        return int(piece["weight"])
    return int(file.size if piece["end"] is None else piece["end"] - piece["begin"])


def _whole(file: InputFile) -> Piece:
    return {"file": file.index, "begin": 0, "end": None}, file.size


def _iter_compressed(file: InputFile, source: Source, options: Any, size: int) -> Iterator[Piece]:
    """Yield slices that a worker can reach without what is before; the last has what is damaged, to be told of it."""
    index = None
    if file.size * _LEAST_EXPANSION > size and file.is_local:
        index = find_points(file, time_of_change(file.path), max(_LEAST_SPACING, size // _POINTS_A_UNIT))
    if index is None:
        yield _whole(file)
        return
    whole = InputSlice(file=file, begin=0, end=index.known_size, points=index.points)
    cuts = list(_iter_cuts(whole, source, options, size))
    if len(cuts) < 2:
        yield _whole(file)
        return
    for begin, end in cuts:
        point, is_last = whole.point_before(begin), end == index.known_size
        after = None if is_last else whole.point_from(end)
        stored_end = file.size if after is None else -(-after.bit // 8)
        yield (
            {
                "file": file.index,
                "begin": begin,
                "end": None if is_last else end,
                "point": list(astuple(point)),
                "stored": [point.bit // 8, stored_end],
                "weight": end - begin,
            },
            end - begin,
        )


@lru_cache(maxsize=8)  # a recipe is checked, then run; a sorted conversion is planned twice
def find_points(file: InputFile, changed: str | None, spacing: int) -> SeekIndex | None:
    """Return the seek points of a file, found once a process for a time at which it `changed`."""
    if file.size < _LARGE_BYTES:
        return file.find_seek_points(spacing)
    _LOG.info("%s: reading it once to see where it can be cut", file.name)
    return file.find_seek_points(spacing, _Told(file))


class _Told:
    """Says now and then how far a file has been read to see where it can be cut, and how long the rest will take."""

    def __init__(self, file: InputFile) -> None:
        self._file, self._begun = file, time.monotonic()
        self._told = self._begun

    def __call__(self, num_bytes: int) -> None:
        now = time.monotonic()
        if now - self._told < _SECONDS_BETWEEN_NOTES or not num_bytes:
            return
        self._told, size = now, self._file.size
        left = (now - self._begun) * (size - num_bytes) / num_bytes
        read = f"{num_bytes / 1e6:,.0f} of {size / 1e6:,.0f} MB"
        _LOG.info("%s: read %s to see where it can be cut, %.0f s left", self._file.name, read, left)


def _iter_cuts(whole: InputSlice, source: Source, options: Any, size: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of slices of about `size` bytes."""
    begin, last = whole.begin, whole.end or 0
    while begin < last:
        end = source.find_cut(whole, begin + size, options) if begin + size < last else last
        yield begin, end
        begin = end


class KnownSlices:
    """The slices in the plan that a run in a folder has already, for inputs that lie there unchanged since.

    To cut a compressed file it is decompressed: a run that is started again, or by many ranks, is spared that.
    """

    def __init__(self, directory: Path, settings: JsonDict) -> None:
        self._slices: dict[int, list[JsonDict]] = {}
        self._inputs: list[JsonDict] = []
        self._facts: list[JsonDict] = []
        plan: JsonDict = {}
        with suppress(DamagedShardError):  # which the run itself will tell of
            plan = read_sealed(directory / PLAN)
        if {name: value for name, value in plan.items() if name not in ("inputs", "units")} == settings:
            self._inputs, self._facts = plan["inputs"], read_facts(directory).get("inputs", [])
            for piece in (piece for unit in plan["units"] for piece in unit["slices"]):
                self._slices.setdefault(piece["file"], []).append(piece)

    def of(self, file: InputFile) -> list[Piece] | None:
        """Return the slices of a compressed input; None for one that is not known as it is now."""
        if file.compression is None or file.index >= min(len(self._inputs), len(self._facts)):
            return None
        entry, fact = self._inputs[file.index], self._facts[file.index]
        is_same = (entry["digest"], entry["size"], fact["path"]) == (file.digest, file.size, file.path)
        if not is_same or fact["changed"] is None or fact["changed"] != time_of_change(file.path):
            return None
        return [(piece, weight_of(file, piece)) for piece in self._slices.get(file.index, [])]
