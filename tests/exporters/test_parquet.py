from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_tables import ENCODED, NESTED, PLAIN, any_tables, to_bits
from hypothesis import given, settings

import lisdata.conversion
from lisdata.alignment import audit
from lisdata.conversion import convert
from lisdata.datasets import export, verify
from lisdata.errors import BadRecordError, ExportError
from lisdata.exporters.parquet import PARQUET
from lisdata.registry import load_exporter, load_source
from lisdata.shards import IncidenceDataset
from lisdata.sources.parquet import PARQUET as SOURCE
from lisdata.sources.parquet import ParquetOptions


def written(table: pa.Table, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def assert_same(found: bytes, data: bytes) -> None:
    back, there = pq.ParquetFile(io.BytesIO(found)), pq.ParquetFile(io.BytesIO(data))
    assert back.schema_arrow.equals(there.schema_arrow, check_metadata=True)
    for name in there.schema_arrow.names:
        assert to_bits(back.read()[name]) == to_bits(there.read()[name]), name


def test_they_are_registered() -> None:
    assert (load_exporter("parquet"), load_source("parquet")) == (PARQUET, SOURCE)


@settings(max_examples=40, deadline=None)
@given(any_tables(PLAIN + NESTED + ENCODED))
def test_any_table_comes_back_with_types_nulls_and_metadata(round_trip: Any, table: pa.Table) -> None:
    try:
        data = written(table)
    except (pa.ArrowException, OSError):  # Parquet has no struct without fields, no seconds before year 0 ...
        return

    (found,), report = round_trip("parquet", [data], ".parquet")

    assert_same(found, data)
    assert report.losses == {}


def rows(count: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "text": pa.array([None if n % 3 else f"row {n}" for n in range(count)]),
            "code": pa.array([f"c{n % 4}" for n in range(count)]).dictionary_encode(),
        }
    )


def test_row_groups_compression_and_old_timestamps_come_back(round_trip: Any) -> None:
    table = rows(1000).append_column("at", pa.array(range(1000), pa.timestamp("ns")))
    codecs = {"id": "gzip", "text": "snappy", "code": "none", "at": "zstd"}
    data = written(table, row_group_size=300, compression=codecs, use_deprecated_int96_timestamps=True)

    (found,), _ = round_trip("parquet", [data], ".parquet", rows_per_structure=7)

    assert_same(found, data)
    back, there = (pq.ParquetFile(io.BytesIO(d)).metadata for d in (found, data))
    assert [back.row_group(g).num_rows for g in range(4)] == [300, 300, 300, 100]
    found_codecs = [back.row_group(0).column(column).compression for column in range(4)]
    assert found_codecs == ["GZIP", "SNAPPY", "UNCOMPRESSED", "ZSTD"]
    assert back.schema.column(3).physical_type == there.schema.column(3).physical_type == "INT96"


@pytest.mark.parametrize("table", [rows(0), rows(1)])
def test_a_table_of_no_or_one_row_comes_back(round_trip: Any, table: pa.Table) -> None:
    (found,), report = round_trip("parquet", [written(table)], ".parquet")

    assert_same(found, written(table))
    assert report.num_records == table.num_rows


def test_a_big_file_is_cut_between_row_groups_and_its_records_are_named_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "big.parquet"
    path.write_bytes(written(rows(4_000), row_group_size=200, compression="none"))
    convert("parquet", path, tmp_path / "whole")
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", 6_000)

    convert("parquet", path, tmp_path / "cut", unit_mib=1)

    cut, whole = (IncidenceDataset(tmp_path / name) for name in ("cut", "whole"))
    assert len(cut.parts) > 3
    named = [[(s.record_id, s.instances) for s in d.iter_structures()] for d in (cut, whole)]
    assert len({record_id for record_id, _ in named[0]}) == len(named[0])
    assert named[0] == named[1]
    export(tmp_path / "cut", tmp_path / "back.parquet")
    assert_same((tmp_path / "back.parquet").read_bytes(), path.read_bytes())


def test_a_compressed_file_is_copied_and_one_beyond_the_limit_refused(tmp_path: Path) -> None:
    data = written(pa.table({"noise": [os.urandom(1 << 21)]}), compression="none")
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(data))

    convert("parquet", tmp_path / "t.parquet.gz", tmp_path / "data")
    export(tmp_path / "data", tmp_path / "back.parquet")

    assert_same((tmp_path / "back.parquet").read_bytes(), data)
    with pytest.raises(BadRecordError, match="at most 1 MiB when decompressed"):
        convert("parquet", tmp_path / "t.parquet.gz", tmp_path / "other", options={"max_copy_mib": 1})


def test_a_damaged_row_group_is_one_bad_record_and_the_others_are_kept(tmp_path: Path) -> None:
    data = bytearray(written(rows(900), row_group_size=300, compression="gzip", write_page_checksum=True))
    about = pq.ParquetFile(io.BytesIO(bytes(data))).metadata.row_group(1).column(1)
    at = about.data_page_offset + about.total_compressed_size // 2
    data[at : at + 8] = b"\xff" * 8
    (tmp_path / "t.parquet").write_bytes(data)

    manifest = convert("parquet", tmp_path / "t.parquet", tmp_path / "data", on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 601, "converted": 600, "rejected": 1}
    assert not verify(tmp_path / "data").problems
    with pytest.raises(BadRecordError, match=r"t\.parquet@\d+: expected row group 1 with rows 300 to 599"):
        convert("parquet", tmp_path / "t.parquet", tmp_path / "other")


def test_a_row_with_text_that_is_not_utf_8_is_a_bad_record(tmp_path: Path) -> None:
    values = pa.array([b"a", b"\xff", b"c"]).cast(options=pa.compute.CastOptions.unsafe(pa.string()))
    (tmp_path / "t.parquet").write_bytes(written(pa.table({"n": [1, 2, 3], "s": values})))

    manifest = convert("parquet", tmp_path / "t.parquet", tmp_path / "data", on_error="skip")

    assert manifest["inputs"][0]["records"] == {"seen": 3, "converted": 2, "rejected": 1}
    with pytest.raises(BadRecordError, match=r"t\.parquet\[t\]:2: expected a valid string in column 's'"):
        convert("parquet", tmp_path / "t.parquet", tmp_path / "other")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"t\.parquet@0: expected a Parquet file"),
        (b"PAR1 and then nothing", r"t\.parquet@0: expected a Parquet file"),
        (written(rows(3))[:-20], r"t\.parquet@0: expected a Parquet file"),
    ],
)
def test_what_is_no_parquet_file_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "t.parquet").write_bytes(data)

    with pytest.raises(BadRecordError, match=message):
        convert("parquet", tmp_path / "t.parquet", tmp_path / "data")
    manifest = convert("parquet", tmp_path / "t.parquet", tmp_path / "kept", on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 1, "converted": 0, "rejected": 1}
    assert (tmp_path / "kept/rejects/unit-00000.bin").read_bytes() == data


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    (tmp_path / "t.parquet").write_bytes(written(table))

    with pytest.raises(BadRecordError, match="each column name once, found 'a' again"):
        convert("parquet", tmp_path / "t.parquet", tmp_path / "data")


def test_keys_are_entities_and_come_back_typed(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(written(rows(5)))
    options = {"primary_key": ("id",), "foreign_key": ("code=Code.name",), "table": "T"}
    convert("parquet", tmp_path / "t.parquet", tmp_path / "data", options=options)

    export(tmp_path / "data", tmp_path / "back.parquet")

    assert_same((tmp_path / "back.parquet").read_bytes(), written(rows(5)))
    scopes = {o.content.scope for s in IncidenceDataset(tmp_path / "data").iter_structures() for o in s.occurrences}
    assert scopes == {None, "table:T.id", "table:Code.name"}
    with pytest.raises(ValueError, match="expected a foreign key as"):
        ParquetOptions(foreign_key=("nonsense",))
    with pytest.raises(ValueError, match="at least 1 MiB"):
        ParquetOptions(max_copy_mib=0)
    with pytest.raises(BadRecordError, match="expected keys of columns id, text, code, found 'x'"):
        convert("parquet", tmp_path / "t.parquet", tmp_path / "other", options={"primary_key": ("x",)})


def test_a_csv_file_may_be_written_as_parquet_and_types_that_parquet_lacks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'a,b\n1,""\n,x\n')
    convert("csv", tmp_path / "t.csv", tmp_path / "data")
    export(tmp_path / "data", tmp_path / "t.parquet", format="parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pylist() == [{"a": "1", "b": ""}, {"a": None, "b": "x"}]

    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema([("i", pa.month_day_nano_interval())])) as writer:
        writer.write_batch(pa.record_batch({"i": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}))
    convert("arrow", tmp_path / "t.arrow", tmp_path / "intervals")
    with pytest.raises(ExportError, match="expected types that Parquet has"):
        export(tmp_path / "intervals", tmp_path / "i.parquet", format="parquet")


def test_a_file_without_row_groups_keeps_its_schema(tmp_path: Path) -> None:
    pq.ParquetWriter(tmp_path / "a.parquet", pa.schema([("n", pa.int8()), ("s", pa.string())])).close()

    manifest = convert("parquet", tmp_path / "a.parquet", tmp_path / "data")
    ((path,),) = (report.files for report in export(tmp_path / "data", tmp_path / "back.parquet"))

    assert manifest["inputs"][0]["records"]["rejected"] == 0
    assert pq.read_table(path).equals(pq.read_table(tmp_path / "a.parquet"))
    assert audit(tmp_path / "data", path).ok
