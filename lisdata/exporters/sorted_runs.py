"""Rows put in the order of a column in bounded memory: sorted runs go to a file, which is merged from its blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MERGE_BYTES = 128 << 20
"""About what all the blocks hold that are in memory while runs are merged."""

_MIN_BLOCK_BYTES = 64 << 10
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")

Extent = tuple[int, int]


class SortedRuns:
    """Runs of record batches, each sorted by its first column (uint64), in a file without a name in `folder`.

    The system removes the file with the process, however that ends. `num_runs` is how many there will be.
    """

    def __init__(self, folder: Path, num_runs: int) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by close()
        self._block_bytes = max(_MIN_BLOCK_BYTES, MERGE_BYTES // max(1, num_runs))
        self._runs: list[list[Extent]] = []

    def __enter__(self) -> SortedRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write one run: batches whose rows are sorted, one batch after another."""
        run = []
        for batch in batches:
            num_rows = max(1, self._block_bytes * batch.num_rows // max(1, batch.nbytes))
            run += [self._write(batch.slice(begin, num_rows)) for begin in range(0, batch.num_rows, num_rows)]
        if run:
            self._runs.append(run)

    def merged(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all runs in order; equal values come in no order that is promised."""
        waiting = [_Head(self._read(run)) for run in self._runs]
        while waiting:
            bound = min(head.last for head in waiting)
            taken = pa.Table.from_batches([head.take_to(bound) for head in waiting]).combine_chunks().to_batches()[0]
            yield taken.take(pa.array(np.argsort(_order(taken), kind="stable")))
            waiting = [head for head in waiting if not head.is_over]

    def _write(self, batch: pa.RecordBatch) -> Extent:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
            writer.write_batch(batch)
        data = sink.getvalue()
        begin = self._file.seek(0, 2)
        self._file.write(data)
        return begin, data.size

    def _read(self, run: list[Extent]) -> Iterator[pa.RecordBatch]:
        for begin, size in run:
            self._file.seek(begin)
            yield pa.ipc.open_stream(self._file.read(size)).read_next_batch()


class _Head:
    """What of a run is in memory: a block, of which the rows from `_begin` on were not taken yet."""

    def __init__(self, blocks: Iterator[pa.RecordBatch]) -> None:
        self._blocks = blocks
        self.is_over = False
        self._load()

    def _load(self) -> None:
        block = next(self._blocks, None)
        if block is None:
            self.is_over = True
            return
        self._block, self._begin = block, 0
        self._values = _order(block)
        self.last = int(self._values[-1])

    def take_to(self, bound: int) -> pa.RecordBatch:
        """Return the rows of the block up to the value `bound`, and go on to the next block behind its last row."""
        end = int(np.searchsorted(self._values, np.uint64(bound), side="right"))
        taken = self._block.slice(self._begin, end - self._begin)
        self._begin = end
        if end == self._block.num_rows:
            self._load()
        return taken


def _order(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    found: npt.NDArray[np.uint64] = np.asarray(batch.column(0))
    return found
