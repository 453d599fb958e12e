"""How much memory a process and all that it started take, as Linux counts it, and the most that it ever was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_KIBIBYTE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes: `pss` counts a page that n processes share as an n-th in each, `anonymous` leaves out mapped files."""

    rss: int = 0
    pss: int = 0
    anonymous: int = 0

    def __add__(self, other: Memory) -> Memory:
        return Memory(rss=self.rss + other.rss, pss=self.pss + other.pss, anonymous=self.anonymous + other.anonymous)


def memory_of(pid: int | str) -> Memory:
    """Return what one process takes; nothing of one that has ended."""
    found: dict[str, int] = {}
    with suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]:
            name, size, *_ = line.split()
            found[name.rstrip(":")] = int(size) * _KIBIBYTE
    anonymous = found.get("Pss_Anon", 0) + found.get("Pss_Shmem", 0)
    return Memory(rss=found.get("Rss", 0), pss=found.get("Pss", 0), anonymous=anonymous)


def mapped_bytes(folder: Path) -> int:
    """Return how many bytes of the files below a folder this process has mapped and in memory."""
    total, is_inside = 0, False
    for line in (_PROC / "self" / "smaps").read_text().splitlines():
        name, *rest = line.split()
        if not name.endswith(":"):
            is_inside = f"{folder}/" in line
        elif is_inside and name == "Rss:":
            total += int(rest[0]) * _KIBIBYTE
    return total


def descendants(pid: int) -> list[int]:
    """Return the process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for one in found:
        found.extend(children.get(one, ()))
    return found


def memory_of_tree(pid: int) -> Memory:
    """Return what a process and its descendants take together."""
    return sum(map(memory_of, descendants(pid)), Memory())


class Peak:
    """The most that was found of each count."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.num_samples = 0

    def add(self, found: Memory) -> None:
        """Take in a sample."""
        names = ("rss", "pss", "anonymous")
        self.memory = Memory(**{name: max(getattr(self.memory, name), getattr(found, name)) for name in names})
        self.num_samples += 1


@contextmanager
def peak_of_tree(pid: int, *, every: float = 0.1) -> Iterator[Peak]:
    """Look at a process and its descendants every so many seconds inside."""
    peak, is_over = Peak(), threading.Event()

    def look() -> None:
        while not is_over.wait(every):
            peak.add(memory_of_tree(pid))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        is_over.set()
        thread.join()
