"""Sources to shards: MB/s of source a core, beside the bare parsers in the same run, memory, and size of shards.

    python benchmarks/sources.py
    python benchmarks/sources.py --only csv,html --mb 64 --shared ../shared/data
    python benchmarks/sources.py --memory --only ntriples
    python benchmarks/sources.py --size

Speed is CPU time of all threads of a process of its own, that has gone over a small input before: MB are 1e6 bytes of
the files as stored. --memory converts inputs of one length and of ten times as much; below the 16 MiB that are read at
once, buffers grow too, not only the table of contents.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from source_cases import CASES, Case, copy_inputs, write_inputs
from source_measure import LISDATA, Measured, measure_apart
from source_size import NUM_TRIPLES, print_sizes

_WARM_UP_BYTES = 100_000
_ONE_UNIT_MIB = 4096


def print_speed(case: Case, folder: Path, arguments: argparse.Namespace) -> None:
    """Measure the conversion and its peers in turns and print a line for each."""
    inputs = folder / "inputs"
    wanted = int(arguments.mb * 1e6 * case.share)
    if arguments.shared is None:
        paths = write_inputs(case, inputs, wanted)
    else:
        paths = copy_inputs(case, arguments.shared, inputs, wanted)
    if not paths:
        print(f"{case.source:9} no file of {arguments.shared} is {case.real}", flush=True)
        return
    write_inputs(case, folder / "warm-up", _WARM_UP_BYTES)
    size = sum(path.stat().st_size for path in paths)
    roads = [LISDATA, *(parser.__name__ for parser in case.parsers)]
    best: dict[str, Measured] = {}
    for _ in range(arguments.repeats):
        for road in roads:
            found = measure_apart(case.source, road, inputs, folder / "warm-up")
            if road not in best or found.seconds < best[road].seconds:
                best[road] = found
    speed, bare = (size / 1e6 / best[road].seconds for road in roads[:2])
    for road in roads:
        found = best[road]
        line = f"{case.source:9} {road:18} {size / 1e6 / found.seconds:8.1f} MB/s {speed_ratio(found, best):>10}"
        line += f" {found.peak / 1e6:7.0f} MB peak, {found.before / 1e6:.0f} before"
        print(line + (_verdict(case, speed, bare) if road == LISDATA else ""), flush=True)


def speed_ratio(found: Measured, best: dict[str, Measured]) -> str:
    """Return how the conversion's speed compares with what `found` is."""
    return f"{found.seconds / best[LISDATA].seconds:.2f} x it"


def _verdict(case: Case, speed: float, bare: float) -> str:
    """Say how a speed compares with the aim; a speed that is refused is refused on any machine.

    Beside an aim stands what it comes to where the bare parser, as here, makes `bare` MB/s: that alone decides nothing.
    """
    if speed < case.refuse:
        return f"; refused below {case.refuse:g} MB/s"
    if not case.aim:
        return ""
    verdict = "met" if speed >= case.aim else "missed"
    scaled = case.aim * min(1.0, bare / case.bare)
    here = f"set where the bare parser makes {case.bare:g}: {scaled:.1f} here"
    return f"; the aim of {case.aim:g} MB/s is {verdict} ({here})"


def print_memory(case: Case, folder: Path, arguments: argparse.Namespace) -> None:
    """Convert an input and one ten times longer, in one unit and in units of the default size; print peaks."""
    size = int(arguments.mb * 1e6 * case.share)
    write_inputs(case, folder / "warm-up", _WARM_UP_BYTES)
    sizes = [
        sum(path.stat().st_size for path in write_inputs(case, folder / name, length))
        for name, length in (("short", size), ("long", 10 * size))
    ]
    short, long = (
        measure_apart(case.source, LISDATA, folder / name, folder / "warm-up", unit_mib=_ONE_UNIT_MIB)
        for name in ("short", "long")
    )
    cut = measure_apart(case.source, LISDATA, folder / "long", folder / "warm-up")
    more = long.num_contents - short.num_contents
    growth = (long.peak - short.peak) / more if more > 0 else 0.0
    print(
        f"{case.source:9} {sizes[0] / 1e6:6.1f} MB: {short.peak / 1e6:5.0f} MB peak, {sizes[1] / 1e6:6.1f} MB: "
        f"{long.peak / 1e6:5.0f} in one unit, {cut.peak / 1e6:5.0f} in default units; {more:>9,} more contents: "
        f"{growth:6.0f} B a distinct content",
        flush=True,
    )


def parse_arguments() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=parse_names, default=tuple(CASES), help="sources, with commas between them")
    parser.add_argument("--mb", type=float, default=16, help="MB of an input; of slow formats a half or a quarter")
    parser.add_argument("--shared", type=Path, help="folder of real files, which are repeated up to --mb")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--memory", action="store_true", help="print peak memory instead of speed")
    parser.add_argument("--size", action="store_true", help="print bytes of shards of N-Triples instead of speed")
    parser.add_argument("--triples", type=int, default=NUM_TRIPLES, help="--size: how many")
    return parser.parse_args()


def parse_names(names: str) -> tuple[str, ...]:
    """Return the sources that an option names."""
    if unknown := set(names.split(",")) - set(CASES):
        raise argparse.ArgumentTypeError(f"expected some of {','.join(CASES)}, found {','.join(sorted(unknown))}")
    return tuple(names.split(","))


def main() -> None:
    """Measure, and print what was measured."""
    arguments = parse_arguments()
    if arguments.size:
        with TemporaryDirectory() as name:
            print_sizes(Path(name), arguments.triples)
        return
    for name in arguments.only:
        with TemporaryDirectory() as folder:
            (print_memory if arguments.memory else print_speed)(CASES[name], Path(folder), arguments)


if __name__ == "__main__":
    main()
