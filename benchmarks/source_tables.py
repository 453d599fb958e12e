"""Generated inputs that are tables, arrays and records in JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from source_draws import Draws

CSV_HEADER = b"id,name,city,founded,area,people,note,is_open\r\n"
_PARQUET_ROWS = 20_000


def csv(draws: Draws) -> Iterator[bytes]:
    """Yield rows of eight cells: some quoted, some empty."""
    row = 0
    while True:
        row += 1
        note = f'"{draws.words(4)}, ""{draws.word()}"""' if draws.below(3) else ""
        cells = (
            f"{row},{draws.words(2)} {draws.number()},city {draws.below(2000)},{draws.date()},{draws.decimal()},"
            f"{draws.below(1_000_000)},{note},{'true' if draws.below(2) else 'false'}\r\n"
        )
        yield cells.encode()


def parquet(draws: Draws) -> Iterator[bytes]:
    """Yield files of 20,000 rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = 0
    while True:
        rows = range(first, first + _PARQUET_ROWS)
        first += _PARQUET_ROWS
        table = pa.table(
            {
                "id": pa.array(rows, pa.int64()),
                "name": [f"{draws.words(2)} {draws.number()}" for _ in rows],
                "city": [f"city {draws.below(2000)}" for _ in rows],
                "area": [draws.decimal() for _ in rows],
                "people": pa.array([draws.below(1_000_000) for _ in rows], pa.int32()),
                "note": [draws.words(5) if draws.below(3) else None for _ in rows],
            }
        )
        sink = io.BytesIO()
        pq.write_table(table, sink)
        yield sink.getvalue()


def npz(draws: Draws) -> Iterator[bytes]:
    """Yield archives of three arrays, 2 MB together."""
    while True:
        rng = np.random.default_rng(draws.below(1 << 30))
        arrays: dict[str, Any] = {
            "heat": rng.standard_normal((256, 512), np.float32),
            "counts": rng.integers(0, 1000, (128, 1024)),
            "mask": rng.random((512, 1024)) < 0.1,
        }
        sink = io.BytesIO()
        np.savez(sink, **arrays)
        yield sink.getvalue()


def json_documents(draws: Draws) -> Iterator[bytes]:
    """Yield documents of 200 records, indented as an API's answers are."""
    while True:
        found = {"count": 200, "next": None, "results": [_post(draws) for _ in range(200)]}
        yield json.dumps(found, ensure_ascii=False, indent=1).encode()


def _post(draws: Draws) -> dict[str, Any]:
    return {
        "id": draws.below(1 << 60),
        "created_at": draws.date(),
        "text": draws.sentence(),
        "user": {"id": draws.number(), "name": draws.words(2), "followers": draws.below(10_000), "verified": False},
        "place": None,
        "coordinates": [draws.decimal(), draws.decimal()],
        "tags": [draws.word() for _ in range(draws.below(5))],
        "lang": ("en", "de", "ja")[draws.below(3)],
    }


def jsonl(draws: Draws) -> Iterator[bytes]:
    """Yield records with a text and mentions in it."""
    while True:
        name = f"{draws.word()} {draws.number()}"
        before = draws.sentence()
        start = len(before) + 1
        entities = [{"start": start, "end": start + len(name), "id": f"Q{draws.number()}"}]
        record = {"text": f"{before} {name} {draws.sentence()}", "entities": entities}
        yield json.dumps(record, ensure_ascii=False).encode() + b"\n"
