"""Runs units one after another in this process: what every other engine must equal, byte for byte."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

JsonDict = dict[str, Any]
RunUnit = Callable[[JsonDict], None]


@runtime_checkable
class TravellingRun(Protocol):
    """Runs units also on machines that do not see the folder that they write to."""

    def is_at_home(self) -> bool:
        """Tell whether this machine sees the folder."""
        ...

    def run_apart(self, unit: JsonDict) -> dict[str, bytes]:
        """Run a unit in scratch and return its files, by name, in the order in which they are to be placed."""
        ...

    def place(self, files: dict[str, bytes]) -> None:
        """Write files that were made elsewhere into the folder."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDone:
    """A unit that was run, the seconds of its last try, and how many tries it took."""

    unit: JsonDict
    seconds: float
    tries: int = 1


def run_here(run: RunUnit, units: list[JsonDict]) -> Iterator[UnitDone]:
    """Run every unit in order and yield each when it is done."""
    for unit in units:
        yield UnitDone(unit=unit, seconds=seconds_of(run, unit))


def seconds_of(run: RunUnit, unit: JsonDict) -> float:
    """Run one unit and return how long it took."""
    began = time.perf_counter()
    run(unit)
    return time.perf_counter() - began
