"""One measurement of `sources.py`, in a process of its own: CPU seconds and peak memory of a road over its inputs.

    python benchmarks/source_measure.py SOURCE ROAD FOLDER --warm-up FOLDER --repeats 3

A road is "lisdata", the whole conversion to shards, or the name of a bare parser. It goes over the files of the warm-up
first: imports and compilation are not measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import source_parsers
from source_cases import CASES

LISDATA = "lisdata"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """CPU seconds of all threads at the best of the repeats; bytes of memory before and at the peak; contents."""

    seconds: float
    before: int
    peak: int
    num_contents: int


def convert_files(source: str, paths: list[Path], folder: Path, unit_mib: int) -> int:
    """Convert files to shards as `lisdata convert` does and return the number of contents."""
    from lisdata.conversion import convert

    manifest = convert(source, paths, folder, fresh=True, unit_mib=unit_mib)
    return int(manifest["counts"]["contents"])


def parse_files(parser: source_parsers.Parser, paths: list[Path]) -> int:
    """Parse files one after another; there are no contents."""
    for path in paths:
        parser(path)
    return 0


def measure(road: Callable[[list[Path]], int], paths: list[Path], warm_up: list[Path], repeats: int) -> Measured:
    """Go over the warm-up, then over `paths`, and return the best of the repeats."""
    road(warm_up)
    before, best, num_contents = _peak_bytes(), float("inf"), 0
    for _ in range(repeats):
        begin = time.process_time()
        num_contents = road(paths)
        best = min(best, time.process_time() - begin)
    return Measured(seconds=best, before=before, peak=_peak_bytes(), num_contents=num_contents)


def _peak_bytes() -> int:
    """Return the most memory that the process has held; on Linux not that of the process it was started from."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure_apart(
    source: str, road: str, folder: Path, warm_up: Path, *, repeats: int = 1, unit_mib: int = 64
) -> Measured:
    """Measure in a new process."""
    command = [sys.executable, __file__, source, road, str(folder), "--warm-up", str(warm_up)]
    command += ["--repeats", str(repeats), "--unit-mib", str(unit_mib)]
    return Measured(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def main() -> None:
    """Print what was measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=CASES)
    parser.add_argument("road")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--warm-up", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--unit-mib", type=int, default=64)
    arguments = parser.parse_args()
    roads = {found.__name__: found for found in CASES[arguments.source].parsers}
    inputs = [sorted(folder.iterdir()) for folder in (arguments.folder, arguments.warm_up)]
    with TemporaryDirectory() as name:
        numbers = count()

        def convert_anew(paths: list[Path]) -> int:
            folder = Path(name) / str(next(numbers))
            return convert_files(arguments.source, paths, folder, arguments.unit_mib)

        road = convert_anew if arguments.road == LISDATA else partial(parse_files, roads[arguments.road])
        print(json.dumps(asdict(measure(road, *inputs, arguments.repeats))))


if __name__ == "__main__":
    main()
