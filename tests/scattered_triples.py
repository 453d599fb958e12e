"""Triples whose subjects are scattered; as a program: scattered_triples.py DATASET FOLDER WORKERS regroups them."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from lisdata.regrouping import regroup

MEMORY_MIB = 4


def write_scattered(path: Path, num_triples: int, *, seed: int = 0, num_subjects: int = 500) -> Path:
    """Write lines of N-Triples in no order of their subjects, which any other file has too; some are duplicates."""
    chance = random.Random(seed)
    lines = []
    for number in range(num_triples):
        subject = chance.randrange(num_subjects)
        name = f"_:b{subject}" if subject % 10 == 0 else f"<http://example.org/{subject}>"
        object_ = (
            f'"{number % 97} words"@en' if number % 3 else f"<http://example.org/{chance.randrange(num_subjects)}>"
        )
        lines.append(f"{name} <http://example.org/p{number % 7}> {object_} .\n")
    path.write_text("".join([*lines, *lines[: num_triples // 50]]))
    return path


def bytes_of(directory: Path) -> dict[str, bytes]:
    """Return the files of a folder, without those of a run that say when and where it was."""
    files = (p for p in directory.rglob("*") if p.is_file() and p.name not in ("run.json", ".lock"))
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in files}


if __name__ == "__main__":
    dataset, folder, workers = sys.argv[1:]
    regroup(dataset, folder, memory_mib=MEMORY_MIB, workers=int(workers))
