from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pytest
from drawn_tables import ENCODED, NESTED, PLAIN, any_tables, to_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.datasets import export
from lisdata.errors import BadRecordError, ExportError
from lisdata.exporters.arrow import ARROW
from lisdata.registry import load_exporter, load_source
from lisdata.sources import arrow_rows
from lisdata.sources.arrow import ARROW as SOURCE


def written(table: pa.Table, form: str, rows: int | None = None) -> bytes:
    stream = io.BytesIO()
    with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(stream, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=rows):
            writer.write_batch(batch)
    return stream.getvalue()


def read(data: bytes, form: str) -> pa.Table:
    reader = pa.ipc.open_file(data) if form == "file" else pa.ipc.open_stream(data)
    return reader.read_all()


def assert_same(found: bytes, data: bytes, form: str) -> None:
    back, there = read(found, form), read(data, form)
    assert back.schema.equals(there.schema, check_metadata=True)
    for name in there.schema.names:
        assert to_bits(back[name]) == to_bits(there[name]), name


def test_they_are_registered() -> None:
    assert (load_exporter("arrow"), load_source("arrow")) == (ARROW, SOURCE)


@settings(max_examples=40, deadline=None)
@given(any_tables(PLAIN + NESTED + ENCODED), st.sampled_from(["file", "stream"]))
def test_any_table_comes_back_with_types_nulls_and_metadata(round_trip: Any, table: pa.Table, form: str) -> None:
    data = written(table, form)

    (found,), report = round_trip("arrow", [data], ".arrow")

    assert_same(found, data, form)
    assert report.losses == {}


@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize("batch_rows", [1, 7, 1 << 16])
def test_batches_come_back_however_they_are_read(
    round_trip: Any, monkeypatch: pytest.MonkeyPatch, form: str, batch_rows: int
) -> None:
    monkeypatch.setattr(arrow_rows, "BATCH_ROWS", batch_rows)
    table = pa.table({"n": range(20), "d": pa.array(["x", "y"] * 10).dictionary_encode(), "s": ["", None] * 10})
    data = written(table, form, rows=6)

    (found,), _ = round_trip("arrow", [data], ".arrow")

    assert_same(found, data, form)
    assert [len(chunk) for chunk in read(found, form)["n"].chunks] == [6, 6, 6, 2]


def test_empty_batches_and_tables_come_back(round_trip: Any) -> None:
    schema = pa.schema([("a", pa.int8())])
    batches = [pa.record_batch([pa.array(v, pa.int8())], schema=schema) for v in ([], [1], [], [], [2, 3])]
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    datas = [stream.getvalue(), written(schema.empty_table(), "stream")]

    found, _ = round_trip("arrow", datas, ".arrow")

    for back, data in zip(found, datas, strict=True):
        assert_same(back, data, "stream")


def test_feather_of_version_2_is_read_and_of_version_1_refused(tmp_path: Path) -> None:
    table = pa.table({"a": [1, None], "b": ["x", ""]})
    pyarrow.feather.write_feather(table, tmp_path / "t.feather", compression="zstd")
    convert("arrow", tmp_path / "t.feather", tmp_path / "data")
    export(tmp_path / "data", tmp_path / "back.feather")
    assert pyarrow.feather.read_table(tmp_path / "back.feather").equals(table)

    (tmp_path / "old.feather").write_bytes(b"FEA1" + bytes(40) + b"FEA1")
    with pytest.raises(BadRecordError, match=r"old\.feather@0: .*found Feather version 1"):
        convert("arrow", tmp_path / "old.feather", tmp_path / "old")


@pytest.mark.parametrize("data", [b"", b"ARROW1\0\0", b"nothing", written(pa.table({"a": [1]}), "file")[:-8]])
def test_what_is_no_arrow_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.arrow").write_bytes(data)

    with pytest.raises(BadRecordError, match=r"t\.arrow@0: expected an Arrow IPC file or stream"):
        convert("arrow", tmp_path / "t.arrow", tmp_path / "data")
    manifest = convert("arrow", tmp_path / "t.arrow", tmp_path / "kept", on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 1, "converted": 0, "rejected": 1}


def test_a_stream_that_is_cut_keeps_the_batches_before(tmp_path: Path) -> None:
    data = written(pa.table({"a": range(1000)}), "stream", rows=100)
    (tmp_path / "t.arrows").write_bytes(data[: len(data) // 2])

    manifest = convert("arrow", tmp_path / "t.arrows", tmp_path / "data", on_error="skip")

    records = manifest["inputs"][0]["records"]
    assert records["rejected"] == 1
    assert 300 <= records["converted"] < 600
    with pytest.raises(BadRecordError, match=r"t\.arrows@0: expected a whole record batch \d"):
        convert("arrow", tmp_path / "t.arrows", tmp_path / "other")


def test_unions_and_two_columns_of_a_name_are_refused(tmp_path: Path) -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    for name, table in {
        "union": pa.table({"u": union}),
        "twice": pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]),
        "none": pa.table({}),
    }.items():
        (tmp_path / f"{name}.arrow").write_bytes(written(table, "file"))
        with pytest.raises(BadRecordError, match=rf"{name}\.arrow@0: expected columns that can be a table"):
            convert("arrow", tmp_path / f"{name}.arrow", tmp_path / name)


def test_several_tables_are_no_arrow_file(tmp_path: Path, root: Path) -> None:
    convert("sql", root / "sample_data/sql/library.sqlite", tmp_path / "data")

    with pytest.raises(ExportError, match="expected one table, found 'books' as well"):
        export(tmp_path / "data", tmp_path / "t.arrow", format="arrow")
