"""`lisdata verify` of a dataset of random tokens, of all columns: CPU time, beside SHA-256 alone over the same files.

    python benchmarks/verify.py --megabytes 1000

Each line is one repeat. The files are in the page cache: what a disk gives is not measured.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import lisdata
from lisdata.schema import TOKEN_COLUMNS
from lisdata.shards.manifest import write_manifest
from lisdata.token_shards import TokenSchema, TokenShardWriter, token_manifest

MEGABYTE = 10**6
VOCABULARY_SIZE, NUM_ROLES, MAX_LENGTH = 50_257, 100, 512
ROWS_A_BATCH = 4096


def main() -> None:
    """Write the dataset, then print what each repeat took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tokens"
        size = write_tokens(folder, arguments.megabytes * MEGABYTE)
        print(f"{size / MEGABYTE:,.0f} MB, columns {', '.join(TOKEN_COLUMNS)}")
        for _ in range(arguments.repeats):
            verified = rate(size, lambda: lisdata.verify(folder).raise_for_problems())
            hashed = rate(size, lambda: hash_all(folder))
            print(f"verify {verified:,.0f} MB/s of CPU time, sha256 alone {hashed:,.0f} MB/s: {verified / hashed:.2f}")


def write_tokens(folder: Path, num_bytes: int) -> int:
    """Write rows of random values within the limits of every column, about as many bytes; return how many."""
    schema = TokenSchema.choose(
        VOCABULARY_SIZE, columns=TOKEN_COLUMNS, num_roles=NUM_ROLES, max_length=MAX_LENGTH, kind=0
    )
    draw = np.random.default_rng(0)
    parts, size = [], 0
    while size < num_bytes:
        with TokenShardWriter(folder, f"part-{len(parts):05d}", schema) as writer:
            for _ in range(16):
                lengths = draw.integers(1, MAX_LENGTH, ROWS_A_BATCH)
                offsets = np.concatenate([[0], np.cumsum(lengths)])
                limits = {column.name: (column.minimum, column.maximum + 1) for column in schema.columns}
                writer.append_batch(offsets, {n: draw.integers(*limit, offsets[-1]) for n, limit in limits.items()})
            parts.append(writer.close())
        size = sum(path.stat().st_size for path in folder.rglob("*.arrow"))
    write_manifest(folder, token_manifest(folder, parts, {}))
    return size


def hash_all(folder: Path) -> None:
    """Hash every file with shards, as verify does and no more."""
    for path in sorted(folder.rglob("*.arrow")):
        with path.open("rb") as stream:
            hashlib.file_digest(stream, "sha256").hexdigest()


def rate(size: int, work: Callable[[], None]) -> float:
    """Return how many MB a second of CPU time are done."""
    began = time.process_time()
    work()
    return size / MEGABYTE / (time.process_time() - began)


if __name__ == "__main__":
    main()
