"""How much CPU a record costs to write and to read, shuffled, beside a bare gather of the same columns.

    python benchmarks/loader.py                    # floor and lisdata, alternating in one process
    python benchmarks/loader.py --bench-peers bench_peers.py [its arguments]

CPU time of the whole process (all its threads) is what is compared: on a shared machine wall time is not. Each figure
is the best of several short stretches, because other processes only ever add.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from lisdata.loader import Loader
from lisdata.shards.manifest import write_manifest
from lisdata.token_shards import TokenDataset, TokenSchema, TokenShardWriter, token_manifest, write_tokens

Int64 = npt.NDArray[np.int64]

# column -> values below; two hexatags, which are negative where a token has none, are drawn from 0
EIGHT = {
    "input_ids": 50_000,
    "role": 500,
    "instance": 300,
    "position": 2048,
    "terminal": 4,
    "nonterminal": 4,
    "target": 2,
    "occurrence": 2048,
}
VOCAB_SIZE, MAX_LENGTH = 50_000, 2048
BATCH_SIZE, STRETCH = 64, 100


class LisData:
    """A plugin of bench_peers.py: its records are int32 (their first token is the record's number)."""

    def write(self, directory: str, records: Iterable[npt.NDArray[np.int32]]) -> None:
        """Write the records from an iterator."""
        write_tokens(directory, records, vocab_size=2**31)

    def loader(
        self, directory: str, shuffle: bool, workers: int, batch_size: int
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield (flat int32 tensor, lengths)."""
        dataset = TokenDataset(directory)
        batches = Loader(dataset, batch_size, shuffle=shuffle, num_workers=workers, tail="ragged", layout="flat")
        return ((batch["input_ids"], batch["length"]) for batch in batches)


def make_corpus(num_records: int) -> tuple[Int64, dict[str, Int64]]:
    """Return offsets and columns of records whose lengths are those of bench_peers.py."""
    generator = np.random.default_rng(20261129)
    lengths = np.clip(generator.lognormal(5.1, 0.6, num_records), 8, MAX_LENGTH).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return offsets, {name: generator.integers(0, high, offsets[-1]) for name, high in EIGHT.items()}


def write_floor(path: Path, offsets: Int64, columns: dict[str, npt.NDArray[Any]]) -> None:
    """Write one record batch of large lists with nothing but pyarrow."""
    arrays = [pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values)) for values in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, list(columns))
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, batch.schema) as writer:
        writer.write_batch(batch)


def read_floor(path: Path) -> Iterator[list[torch.Tensor]]:
    """Yield batches of random rows by the barest vectorised gather: no seed, no epoch, no state, no widening."""
    batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    offsets = np.asarray(batch.column(0).offsets)
    values = [np.asarray(column.values) for column in batch.columns]
    generator = np.random.default_rng(0)
    while True:
        rows = generator.integers(0, len(offsets) - 1, BATCH_SIZE)
        begins = offsets[rows]
        lengths = offsets[rows + 1] - begins
        ends = np.cumsum(lengths)
        index = np.repeat(begins - (ends - lengths), lengths) + np.arange(ends[-1])
        yield [torch.from_numpy(column[index]) for column in values]


def write_dataset(
    directory: Path, offsets: Int64, columns: dict[str, npt.NDArray[Any]], limits: dict[str, tuple[int, int]]
) -> TokenDataset:
    """Write columns in bulk, with the types that `limits` and the usual limits ask for."""
    schema = TokenSchema.choose(
        VOCAB_SIZE, columns=tuple(columns), num_roles=500, max_length=MAX_LENGTH, limits=limits, kind=0
    )
    with TokenShardWriter(directory, "part", schema) as writer:
        writer.append_batch(offsets, columns)
        commit = writer.close()
    write_manifest(directory, token_manifest(directory, [commit], {}))
    return TokenDataset(directory)


def forever(loader: Loader) -> Iterator[Any]:
    """Yield the batches of one epoch after the other."""
    while True:
        yield from loader


def cost_of_each(streams: dict[str, Iterator[Any]], repetitions: int) -> dict[str, float]:
    """Return CPU microseconds a record of each stream, measured in turns."""
    best = dict.fromkeys(streams, float("inf"))
    for _ in range(repetitions):
        for name, stream in streams.items():
            begin = time.process_time()
            for _ in range(STRETCH):
                next(stream)
            best[name] = min(best[name], (time.process_time() - begin) / (STRETCH * BATCH_SIZE) * 1e6)
    return best


def measure_reading(folder: Path, offsets: Int64, columns: dict[str, Int64], repetitions: int) -> None:
    """Print what reading costs for one int32 column and for eight columns of the narrowest types."""
    one = {"input_ids": columns["input_ids"].astype(np.int32)}
    cases: list[tuple[str, dict[str, npt.NDArray[Any]], dict[str, tuple[int, int]]]] = [
        ("one int32 column", one, {"input_ids": (0, 2**31 - 1)}),
        ("eight narrow columns", dict(columns), {}),
    ]
    print("CPU us a record, shuffled, batch 64, 0 workers")
    for title, chosen, limits in cases:
        name = title.split()[0]
        dataset = write_dataset(folder / name, offsets, chosen, limits)
        types = {column.name: column.type for column in dataset.schema.columns}
        write_floor(folder / f"{name}.arrow", offsets, {n: v.astype(types[n]) for n, v in chosen.items()})
        costs = cost_of_each(
            {
                "floor": read_floor(folder / f"{name}.arrow"),
                "flat": forever(Loader(dataset, BATCH_SIZE, layout="flat", tail="ragged")),
                "flat, no thread": forever(Loader(dataset, BATCH_SIZE, layout="flat", tail="ragged", prefetch=0)),
                "padded int64": forever(Loader(dataset, BATCH_SIZE, tail="ragged", columns=tuple(chosen))),
            },
            repetitions,
        )
        for stream, cost in costs.items():
            print(f"  {title:22}{stream:18}{cost:7.2f}   {cost / costs['floor']:5.2f} x the floor")


def measure_writing(folder: Path, offsets: Int64, columns: dict[str, Int64]) -> None:
    """Print what writing from an iterator costs, the bytes it takes, and how long opening takes."""
    schema = TokenSchema.choose(VOCAB_SIZE, columns=tuple(columns), num_roles=500, max_length=MAX_LENGTH, kind=0)
    bounds = offsets.tolist()
    ids = columns["input_ids"].astype(np.int32)

    def one_column() -> Iterator[npt.NDArray[Any]]:
        return (ids[begin:end] for begin, end in pairwise(bounds))

    def eight_columns() -> Iterator[dict[str, npt.NDArray[Any]]]:
        for begin, end in pairwise(bounds):
            yield {name: values[begin:end] for name, values in columns.items()}

    writers: dict[str, Callable[[Path], Any]] = {
        "int32": lambda target: write_tokens(target, one_column(), vocab_size=2**31),
        "narrow": lambda target: write_tokens(target, one_column(), vocab_size=VOCAB_SIZE),
        "eight columns": lambda target: write_tokens(target, eight_columns(), schema=schema),
    }
    print("writing from an iterator")
    for name, write in writers.items():
        begin = time.process_time()
        body = write(folder / f"written {name}")
        cost = (time.process_time() - begin) / (len(bounds) - 1) * 1e6
        size = sum(entry["size"] for entry in body["files"].values()) / ids.nbytes
        opening = time.perf_counter()
        TokenDataset(folder / f"written {name}")
        opening = time.perf_counter() - opening
        print(f"  {name:22}{cost:7.2f} us CPU a record, {size:.3f} x the ids as int32, opens in {opening * 1e3:.1f} ms")


def run_peers(script: str, arguments: list[str]) -> int:
    """Run bench_peers.py with the plugin of this file."""
    plugin = f"{Path(__file__).resolve()}:{LisData.__name__}"
    return subprocess.run([sys.executable, script, "all", "--plugin", plugin, *arguments], check=False).returncode


def main() -> int:
    """Measure, and print what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--records", type=int, default=200_000, help="records of the corpus (mean 196 tokens)")
    parser.add_argument("--repetitions", type=int, default=15, help="stretches of 100 batches of which the best counts")
    parser.add_argument(
        "--bench-peers", nargs="?", const="", help="path of bench_peers.py (default: under LISDATA_SHARED)"
    )
    options, rest = parser.parse_known_args()
    if options.bench_peers is not None:
        default = Path(os.environ.get("LISDATA_SHARED", "../shared")) / "tools" / "bench_peers.py"
        return run_peers(options.bench_peers or str(default), rest)
    if rest:
        parser.error(f"unknown arguments: {' '.join(rest)}")
    torch.set_num_threads(1)
    offsets, columns = make_corpus(options.records)
    with tempfile.TemporaryDirectory() as folder:
        measure_writing(Path(folder), offsets, columns)
        measure_reading(Path(folder), offsets, columns, options.repetitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
