"""Token datasets drawn by hypothesis, and whether two hold the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lisdata
from lisdata.token_shards import TokenColumn, TokenDataset, TokenSchema

LIMITS = {
    "input_ids": ((0, 200), (0, 60_000), (0, 2**31 - 1), (0, 2**32 - 1)),
    "role": ((0, 8), (0, 300)),
    "terminal": ((-100, 127),),
    "content": ((-(2**63), 2**63 - 1),),
}


@st.composite
def token_rows(draw: st.DrawFn) -> tuple[TokenSchema, list[dict[str, Any]]]:
    """Draw a schema with some columns, and up to 20 rows of it, empty ones among them."""
    names = ["input_ids", *draw(st.lists(st.sampled_from(["role", "terminal", "content"]), unique=True))]
    columns = tuple(TokenColumn.narrowest(name, *draw(st.sampled_from(LIMITS[name]))) for name in names)
    kind, has_record_id = draw(st.sampled_from([None, 0, 3])), draw(st.booleans())
    schema = TokenSchema(columns=columns, kind=kind, has_record_id=has_record_id)
    rows = []
    for number, length in enumerate(draw(st.lists(st.integers(0, 12), max_size=20))):
        generator = np.random.default_rng(draw(st.integers(0, 2**32)))
        row: dict[str, Any] = {c.name: generator.integers(c.minimum, c.maximum, length, endpoint=True) for c in columns}
        row |= {"kind": number % 7} if kind is None else {}
        row |= {"record_id": draw(st.text(max_size=5).filter(_is_utf8))} if has_record_id else {}
        rows.append(row)
    return schema, rows


def _is_utf8(text: str) -> bool:
    return text.isprintable()


def write(folder: Path, drawn: tuple[TokenSchema, list[dict[str, Any]]], **options: Any) -> TokenDataset:
    """Write drawn rows as a token dataset in a folder, and open it."""
    schema, rows = drawn
    lisdata.write_tokens(folder, rows, schema=schema, **options)
    return TokenDataset(folder)


def rows_of(dataset: TokenDataset, names: tuple[str, ...]) -> list[dict[str, list[int]]]:
    """Return some columns of all rows as lists."""
    return [{name: row[name].tolist() for name in names} for row in dataset]


SMALL = TokenSchema.choose(70_000, columns=("input_ids", "role", "terminal"), num_roles=300, has_record_id=True)


def small_dataset(folder: Path, num_rows: int = 25) -> TokenDataset:
    """Write a dataset of a few rows and three columns, with kinds and ids, the same each time."""
    generator = np.random.default_rng(5)
    rows = [
        {
            "input_ids": generator.integers(0, 70_000, number % 9),
            "role": generator.integers(0, 300, number % 9),
            "terminal": generator.integers(-100, 2, number % 9),
            "kind": number % 6,
            "record_id": f"record {number}",
        }
        for number in range(num_rows)
    ]
    return write(folder, (SMALL, rows), tokens_per_part=60)
