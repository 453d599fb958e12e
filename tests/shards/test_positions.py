"""Positions that are all 0 are left out of the file and come back when it is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.schema import STRUCTURES
from lisdata.shards import IncidenceDataset
from lisdata.shards.positions import read_positions, stored_positions

POSITION = STRUCTURES.field("position").type
SIGMA = STRUCTURES.field("sigma").type
ROWS = st.lists(st.none() | st.lists(st.integers(0, 3), max_size=4), max_size=6)


def batch(rows: list[list[int] | None]) -> pa.RecordBatch:
    sigma = [None if row is None else [7] * len(row) for row in rows]
    return pa.RecordBatch.from_arrays(
        [pa.array(sigma, SIGMA), pa.array(rows, POSITION)], names=["sigma", "position"]
    )  # fmt: skip


@settings(max_examples=200)
@given(ROWS, st.integers(0, 2), st.booleans())
def test_what_is_left_out_comes_back(rows: list[list[int] | None], begin: int, is_zero: bool) -> None:
    if is_zero:
        rows = [None if row is None else [0] * len(row) for row in rows]
    given_ = batch(rows).slice(begin)

    stored = given_.set_column(1, "position", stored_positions(given_.column("position")))

    assert read_positions(stored).column("position").to_pylist() == rows[begin:]
    has_any = any(any(row) for row in rows[begin:] if row is not None)
    assert has_any or stored.column("position").null_count == len(stored)


@given(ROWS, st.sets(st.integers(0, 5)))
def test_rows_may_be_left_out_one_by_one(rows: list[list[int] | None], left_out: set[int]) -> None:
    whole = [[0] * len(r) if r is not None and n in left_out else r for n, r in enumerate(rows)]
    stored = [None if n in left_out else r for n, r in enumerate(whole)]
    column = pa.array(stored, POSITION)

    assert read_positions(batch(whole).set_column(1, "position", column)).column("position").to_pylist() == whole


def test_triples_store_no_positions_and_text_does(root: Path, tmp_path: Path) -> None:
    for source, sample in (("ntriples", "triples/garden.nt"), ("text", "text/harbour.txt")):
        convert(source, str(root / "sample_data" / sample), tmp_path / source)
        (part,) = IncidenceDataset(tmp_path / source).parts
        stored = part.open_table("structures", ("position",)).read_all().column("position")
        read = part.read("structures", ("position",)).column("position")

        assert (stored.null_count == len(stored)) is (source == "ntriples")
        assert read.null_count == 0
        assert read.combine_chunks().equals(part.structures.column("position").combine_chunks())


@pytest.mark.parametrize("columns", [("position",), ("position", "sigma"), ("sigma", "position", "tau")])
def test_the_columns_are_those_that_are_asked_for(columns: tuple[str, ...], root: Path, tmp_path: Path) -> None:
    convert("ntriples", str(root / "sample_data" / "triples/garden.nt"), tmp_path / "data")
    (part,) = IncidenceDataset(tmp_path / "data").parts

    assert set(part.read("structures", columns).column_names) == set(columns)
