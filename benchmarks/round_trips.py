"""Every file of data/kg there and back: which source reads it, what was compared, what the export told as lost.

python benchmarks/round_trips.py --shared ../shared [--markdown | --json] [PATTERN ...]

A line a file; exit 1 when a promise is broken. Comparisons are by other parsers than ours (see
tests/independent_checks.py), and `lisdata audit` compares each dataset with its export read again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

HEADER = ("file", "source", "compared", "result", "inputs", "structures", "contents", "losses told", "notes")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A file, its roads joined; `contents` and `structures` are those of the first road."""

    file: str
    source: str
    compared: str
    faults: tuple[str, ...]
    inputs: int
    structures: int
    contents: int
    losses: dict[str, int]
    notes: tuple[str, ...]
    seconds: float

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        result = "broken: " + self.faults[0][:160] if self.faults else "kept"
        losses = "; ".join(f"{count} {name}" for name, count in self.losses.items()) or "none"
        counts = (f"{self.inputs:,}", f"{self.structures:,}", f"{self.contents:,}")
        return (self.file, self.source, self.compared, result, *counts, losses, "; ".join(self.notes))


def walk(name: str) -> FileRow:
    """Walk the roads of a file and join what they found."""
    from way_back import sum_losses, walk_file

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="lisdata-round-trips.") as folder:
        walked = walk_file(name, Path(folder))
    first = walked[0]
    left_out = {what: count for found in walked for what, count in found.left_out.items() if count}
    notes = [note for found in walked for note in found.notes]
    notes += [f"no inputs: {count} {what}" for what, count in left_out.items()]
    return FileRow(
        file=name,
        source=", ".join(dict.fromkeys(found.road.source for found in walked)),
        compared=", ".join(dict.fromkeys(what for found in walked for what in _compared(found.road))),
        faults=tuple(fault for found in walked for fault in found.faults),
        inputs=first.num_inputs,
        structures=first.structures,
        contents=first.contents,
        losses=dict(sum_losses(walked)),
        notes=tuple(dict.fromkeys(notes)),
        seconds=time.perf_counter() - begin,
    )


def _compared(road: Any) -> list[str]:
    named = [*road.checks] or ["networkx graph equal"]
    return [*named, "audit"] if road.is_audited else named


def total(rows: list[FileRow]) -> str:
    """Return the totals in one line."""
    broken = sum(bool(row.faults) for row in rows)
    losses = sum(bool(row.losses) for row in rows)
    return (
        f"{len(rows)} files, {sum(row.inputs for row in rows):,} inputs, {sum(row.structures for row in rows):,} "
        f"structures, {sum(row.contents for row in rows):,} contents; promises kept: {len(rows) - broken}, broken: "
        f"{broken}; files with losses, all told: {losses}; {sum(row.seconds for row in rows):.0f} s"
    )


def table_lines(header: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, markdown: bool) -> list[str]:
    """Return a table as lines: of Markdown, or with columns that stand below each other."""
    listed = [header, *rows]
    if markdown:
        cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in listed]
        lines = ["| " + " | ".join(row) + " |" for row in cells]
        return [lines[0], "|" + "---|" * len(header), *lines[1:]]
    widths = [max(len(row[column]) for row in listed) for column in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in listed]


def main() -> None:
    """Print the table and its totals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="only files whose path in data/kg matches one")
    parser.add_argument("--shared", type=Path, default=None, help="the folder that has data/kg with the real files")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.shared is not None:
        os.environ["LISDATA_SHARED"] = str(arguments.shared.resolve())
    from real_files import SHARED, real_names

    names = [n for n in real_names() if not arguments.patterns or any(fnmatch(n, p) for p in arguments.patterns)]
    if not names:
        parser.error(f"no such file below {SHARED / 'data' / 'kg'}")
    rows: list[FileRow] = []
    for name in names:
        rows.append(walk(name))
        print(f"{len(rows)}/{len(names)} {name}: {rows[-1].cells()[3]}", file=sys.stderr)
    if arguments.json:
        print(json.dumps([_plain(row) for row in rows], indent=2))
    else:
        print("\n".join(table_lines(HEADER, (row.cells() for row in rows), markdown=arguments.markdown)))
        print(f"\n{total(rows)}")
    sys.exit(any(row.faults for row in rows))


def _plain(row: FileRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FileRow.__slots__}


if __name__ == "__main__":
    main()
