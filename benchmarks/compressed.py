"""Compressed N-Triples: converted in one unit, and cut into units at members, frames and blocks; CPU and wall seconds.

    python benchmarks/compressed.py --megabytes 200 --to results/compressed

`index` is what the plan costs, for which all is decompressed once. rapidgzip and indexed_bzip2 are measured where they
are installed: they decompress one member, or one stream, by several threads.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import zstandard
from ntriples import write_ntriples

from lisdata.inputs import InputSlice, find_inputs

MEGABYTE = 10**6
BYTES_A_TRIPLE = 122
MEMBER_BYTES = 4 << 20
SPACING = 2 << 20
COMPRESS: dict[str, tuple[Callable[[bytes], bytes], bool]] = {  # file -> how, and whether in members
    "one_member.nt.gz": (lambda data: gzip.compress(data, 6), False),
    "members.nt.gz": (lambda data: gzip.compress(data, 6), True),
    "one_stream.nt.bz2": (bz2.compress, False),
    "frames.nt.zst": (zstandard.ZstdCompressor(level=6).compress, True),
}
PROGRAM = """
import sys
from lisdata.conversion import convert
from lisdata.inputs import InputFile
source, target, workers, is_cut = sys.argv[1:]
if is_cut == "no":
    InputFile.find_seek_points = lambda *_: None
convert("ntriples", source, target, workers=int(workers), unit_mib=2)
"""
LIBRARIES = {".gz": "rapidgzip", ".bz2": "indexed_bzip2"}
Report = dict[str, Any]


def main() -> None:
    """Print the report as JSON, or write it to a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--to", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        report = measure(Path(name), arguments.megabytes)
    text = json.dumps(report, indent=2) + "\n"
    if arguments.to is None:
        print(text, end="")
    else:
        arguments.to.mkdir(parents=True, exist_ok=True)
        (arguments.to / "compressed.json").write_text(text)


def measure(folder: Path, megabytes: int) -> Report:
    """Measure every form of one file."""
    plain = folder / "graph.nt"
    write_ntriples(plain, megabytes * MEGABYTE // BYTES_A_TRIPLE)
    data = plain.read_bytes()
    report: Report = {"megabytes": round(len(data) / MEGABYTE), "cores": os.cpu_count(), "files": {}}
    for name, (compress, is_in_members) in COMPRESS.items():
        path = folder / name
        step = MEMBER_BYTES if is_in_members else len(data)
        path.write_bytes(b"".join(compress(data[begin : begin + step]) for begin in range(0, len(data), step)))
        report["files"][name] = measure_file(path, folder)
        print(name, json.dumps(report["files"][name]), file=sys.stderr)
    return report


def measure_file(path: Path, folder: Path) -> Report:
    """Return seconds (CPU, wall) of decompressing, of the plan's index, and of whole conversions."""
    (file,) = find_inputs([str(path)], suffixes=(".nt",))
    found: Report = {"stored megabytes": round(path.stat().st_size / MEGABYTE, 1)}
    found["decompress"] = seconds(lambda: sum(len(data) for _, data in InputSlice(file=file).chunks()))
    found["index"] = seconds(lambda: file.find_seek_points(SPACING))
    library = LIBRARIES.get(path.suffix)
    if library is not None and find_spec(library) is not None:
        for threads in (1, 2):
            found[f"{library}, {threads} threads"] = seconds(lambda n=threads: read_by(library, path, n))
    for is_cut in ("no", "yes"):
        for workers in (1, 2):
            target = folder / f"{path.name}.{is_cut}.{workers}"
            command = [sys.executable, "-c", PROGRAM, str(path), str(target), str(workers), is_cut]
            label = f"convert {'cut' if is_cut == 'yes' else 'in one unit'}, {workers} workers"
            found[label] = seconds(lambda command=command: subprocess.run(command, check=True))
    return found


def seconds(work: Callable[[], Any]) -> dict[str, float]:
    """Return the CPU seconds, those of finished children too, and wall seconds of what is done."""
    began, cpu = time.perf_counter(), sum(cpu_seconds())
    work()
    return {"cpu": round(sum(cpu_seconds()) - cpu, 2), "wall": round(time.perf_counter() - began, 2)}


def cpu_seconds() -> Iterator[float]:
    """Yield user and system seconds of this process and of its children."""
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        yield from (usage.ru_utime, usage.ru_stime)


def read_by(library: str, path: Path, threads: int) -> None:
    """Decompress a file by one of the libraries."""
    with import_module(library).open(str(path), parallelization=threads) as stream:
        while stream.read(MEMBER_BYTES):
            pass


if __name__ == "__main__":
    main()
