"""Runs merged in bounded memory: the rows of all, in order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.exporters import sorted_runs
from lisdata.exporters.sorted_runs import SortedRuns

RUNS = st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=30).map(sorted), max_size=6)


def batch(values: list[int], run: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"ordinal": pa.array(values, pa.uint64()), "text": pa.array([f"{run}: {value}" for value in values])}
    )


@settings(max_examples=50, deadline=None)
@given(runs=RUNS, at=st.integers(0, 30))
def test_the_rows_of_all_runs_come_in_order(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[int]], at: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, SortedRuns(tmp_path_factory.getbasetemp(), len(runs)) as merge:
        patch.setattr(merge, "_block_bytes", 40)  # about two rows a block
        for number, values in enumerate(runs):
            merge.add(batch(half, number) for half in (values[:at], values[at:]))
        found = [row for rows in merge.merged() for row in rows.to_pylist()]

    rows = [row for number, values in enumerate(runs) for row in batch(values, number).to_pylist()]
    assert [row["ordinal"] for row in found] == sorted(row["ordinal"] for row in rows)
    assert sorted(row["text"] for row in found) == sorted(row["text"] for row in rows)


def test_its_file_has_no_name(tmp_path: Path) -> None:
    with SortedRuns(tmp_path, 1) as merge:
        merge.add([batch([1], 0)])

        assert list(tmp_path.iterdir()) == []


def test_the_blocks_of_many_runs_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_runs, "_MIN_BLOCK_BYTES", 1)
    monkeypatch.setattr(sorted_runs, "MERGE_BYTES", 8000)
    with SortedRuns(tmp_path, 100) as merge:
        merge.add([batch(list(range(1000)), 0)])

        assert max(rows.nbytes for rows in merge.merged()) < 400
