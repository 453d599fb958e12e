"""Bytes of a million triples, grouped by subject, as a dataset: all of it, and what each column costs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from source_draws import Draws
from source_graphs import ntriples

NUM_TRIPLES = 1_000_000
MOST_RAW, MOST_ZSTD = 110, 25
_ONE_UNIT_MIB = 4096


def print_sizes(folder: Path, num_triples: int) -> None:
    """Convert generated triples in one unit and in units of the default size, raw and compressed, and print sizes."""
    path = folder / "triples.nt"
    with path.open("wb") as stream:
        stream.writelines(islice(_lines(), num_triples))
    print(f"{num_triples:,} triples grouped by subject, {path.stat().st_size / 1e6:.1f} MB of N-Triples")
    for compression, limit in (("none", MOST_RAW), ("zstd", MOST_ZSTD)):
        sizes = {
            label: _convert(path, folder / f"{compression}-{label}", compression, unit_mib)
            for label, unit_mib in (("one", _ONE_UNIT_MIB), ("default", 64))
        }
        (one, _), (default, num_units) = sizes["one"], sizes["default"]
        print(
            f"{compression:5} {one / 1e6:7.1f} MB in one unit (at most {limit} wanted) {default / 1e6:7.1f} MB in "
            f"{num_units} units of the default size, {default / one - 1:+.1%}"
        )
    print(f"{'column':32} {'MB':>7} {'zstd':>7}")
    for name, raw, compressed in _columns(folder / "none-one"):
        print(f"{name:32} {raw / 1e6:7.2f} {compressed / 1e6:7.2f}")


def _lines() -> Iterator[bytes]:
    for piece in ntriples(Draws(0)):
        yield from piece.splitlines(keepends=True)


def _convert(path: Path, folder: Path, compression: str, unit_mib: int) -> tuple[int, int]:
    """Return the bytes of all files of the dataset, and its number of units."""
    from lisdata.conversion import convert

    options: dict[str, Any] = {"group_by": "subject"}
    manifest = convert("ntriples", path, folder, options=options, compression=compression, unit_mib=unit_mib)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return size, len(manifest["parts"])


def _columns(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield table.column of each column that has bytes, and its bytes raw and compressed by itself."""
    for path in sorted(folder.glob("*/*.arrow")):
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        for name, column in zip(table.column_names, table.columns, strict=True):
            raw, compressed = (_ipc_size(name, column, compression) for compression in (None, "zstd"))
            if raw > 100_000:
                yield f"{path.parent.name}.{name}", raw, compressed


def _ipc_size(name: str, column: pa.ChunkedArray, compression: str | None) -> int:
    sink = pa.BufferOutputStream()
    table = pa.table({name: column})
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return int(sink.getvalue().size)
