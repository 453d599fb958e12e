"""MDS folders are read and written as MosaicML streaming does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from drawn_tokens import rows_of, small_dataset

from lisdata import decompression
from lisdata.errors import DamagedShardError, LisDataError, SchemaError
from lisdata.token_formats import export_tokens, import_tokens, mds, mds_reading
from lisdata.token_shards import TokenDataset

GOLDEN = Path(__file__).parents[1] / "golden" / "token_formats"
ROWS = json.loads((GOLDEN / "rows.json").read_text())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder of streaming's writer, to be changed."""
    return Path(shutil.copytree(GOLDEN / "mds", tmp_path / "mds"))


def change_index(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    index = json.loads((folder / "index.json").read_text())
    change(index)
    (folder / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("name", ["mds", "mds_zstd"])
def test_what_streaming_wrote_is_read(name: str, tmp_path: Path) -> None:
    manifest = import_tokens("mds", GOLDEN / name, tmp_path / "after")

    after = TokenDataset(tmp_path / "after", verify="full")
    for column in ("input_ids", "role", "labels"):
        assert [row[column].tolist() for row in after] == ROWS[column]
    assert [(row["kind"], row["record_id"]) for row in after] == [(n % 3, f"r{n}") for n in range(6)]
    assert manifest["report"] == {"left out column tokens": 6, "left out column weight": 6}


def test_plain_bytes_are_taken_as_the_integers_that_the_caller_names(tmp_path: Path) -> None:
    import_tokens("mds", GOLDEN / "mds", tmp_path / "after", input_ids="tokens", bytes_type="int64", column=("labels",))

    after = TokenDataset(tmp_path / "after")
    assert [row["input_ids"].tolist() for row in after] == ROWS["tokens"]
    assert after.schema.names == ("input_ids", "labels")


def test_streaming_reads_our_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streaming = pytest.importorskip("streaming", reason="needs mosaicml-streaming")
    monkeypatch.setattr(mds, "SHARD_BYTES", 300)
    dataset = small_dataset(tmp_path / "before")
    export_tokens(dataset, tmp_path / "there", "mds")

    readers = [
        streaming.base.format.reader_from_json(str(tmp_path / "there"), None, entry)
        for entry in json.loads((tmp_path / "there" / "index.json").read_text())["shards"]
    ]

    assert len(readers) > 2
    for reader in readers:
        reader.validate(allow_unsafe_types=False)
    samples = [sample for reader in readers for sample in (reader[number] for number in range(len(reader)))]
    assert [{n: s[n].tolist() for n in dataset.schema.names} for s in samples] == rows_of(dataset, dataset.schema.names)
    assert [(int(s["kind"]), s["record_id"]) for s in samples] == [(r["kind"], r["record_id"]) for r in dataset]


def test_a_shard_is_the_one_that_streaming_would_write(copy: Path, tmp_path: Path) -> None:
    streaming = pytest.importorskip("streaming", reason="needs mosaicml-streaming")
    import_tokens("mds", copy, tmp_path / "rows")
    rows = TokenDataset(tmp_path / "rows")
    export_tokens(rows, tmp_path / "there", "mds")
    types = {c.name: c.type for c in rows.schema.columns}
    columns = {n: f"ndarray:{t}" for n, t in types.items()} | {"kind": "uint8", "record_id": "str"}

    with streaming.MDSWriter(columns=columns, out=str(tmp_path / "theirs")) as writer:
        for row in rows:
            writer.write({n: row[n].astype(types[n]) if n in types else row[n] for n in columns})

    name = "shard.00000.mds"
    assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


BAD_INDEX: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no shards": (lambda index: index.update(shards=[]), "at least one shard"),
    "not a list": (lambda index: index.update(shards=3), "shards: expected a list"),
    "format": (lambda index: index["shards"][0].update(format="csv"), "found csv"),
    "version": (lambda index: index["shards"][0].update(version=1), "of 1"),
    "compression": (lambda index: index["shards"][0].update(compression="br:3"), "found br:3"),
    "names": (lambda index: index["shards"][0]["column_names"].pop(), "expected columns of different names"),
    "repeated": (
        lambda index: index["shards"][0]["column_names"].append("kind"),
        "expected columns of different names",
    ),
    "too large": (
        lambda index: index["shards"][0]["raw_data"].update(bytes=2**32),
        "expected at most 4294967295 bytes",
    ),
    "same shard": (lambda index: index["shards"].append(index["shards"][0]), "expected each shard once"),
    "no samples": (lambda index: index["shards"][0].update(samples=0), "expected 0 samples, found 3"),
    "columns": (lambda index: index["shards"][1].update(column_sizes=[None] * 7), "found others"),
    "escape": (lambda index: index["shards"][0]["raw_data"].update(basename="../x"), "names inside the folder"),
    "absolute": (lambda index: index["shards"][0]["raw_data"].update(basename="/etc/passwd"), "names inside"),
    "samples": (lambda index: index["shards"][0].update(samples=4), "expected 4 samples, found 3"),
    "bytes": (lambda index: index["shards"][0]["raw_data"].update(bytes=9), "expected 9 bytes, found 648"),
    "hash": (lambda index: index["shards"][0]["raw_data"]["hashes"].update(sha1="00"), "expected sha1 00"),
    "missing": (lambda index: index["shards"][0]["raw_data"].update(basename="x.mds"), "x.mds: expected this file"),
}


@pytest.mark.parametrize("name", BAD_INDEX)
def test_an_index_that_does_not_fit_is_refused(name: str, copy: Path, tmp_path: Path) -> None:
    change, message = BAD_INDEX[name]
    change_index(copy, change)

    with pytest.raises(LisDataError, match=message):
        import_tokens("mds", copy, tmp_path / "after")


def test_a_link_out_of_the_folder_is_not_followed(copy: Path, tmp_path: Path) -> None:
    path = copy / "shard.00001.mds"
    path.rename(tmp_path / "outside.mds")
    path.symlink_to(tmp_path / "outside.mds")

    with pytest.raises(SchemaError, match="expected a file inside the folder, found a link to"):
        import_tokens("mds", copy, tmp_path / "after")


def test_pickled_columns_are_never_read(copy: Path, tmp_path: Path) -> None:
    for shard in range(3):
        change_index(copy, lambda index, at=shard: index["shards"][at]["column_encodings"].__setitem__(0, "pkl"))  # type: ignore[misc]

    with pytest.raises(SchemaError, match="'input_ids', pkl"):
        import_tokens("mds", copy, tmp_path / "after")


def test_no_index_or_one_that_is_not_json_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "index.json").write_text("{")
    with pytest.raises(DamagedShardError, match="expected JSON"):
        import_tokens("mds", copy, tmp_path / "after")
    (copy / "index.json").unlink()
    with pytest.raises(DamagedShardError, match="expected this file"):
        import_tokens("mds", copy, tmp_path / "after")


@pytest.mark.parametrize("place", range(0, 648, 71))
def test_a_byte_that_changed_is_found_by_the_hash(place: int, copy: Path, tmp_path: Path) -> None:
    path = copy / "shard.00000.mds"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)

    with pytest.raises(DamagedShardError, match="expected sha1"):
        import_tokens("mds", copy, tmp_path / "after")


@pytest.mark.parametrize("place", range(0, 648, 71))
def test_without_hashes_a_changed_shard_is_read_or_refused_and_never_crashes(
    place: int, copy: Path, tmp_path: Path
) -> None:
    change_index(copy, lambda index: [shard["raw_data"].update(hashes={}) for shard in index["shards"]])
    path = copy / "shard.00000.mds"
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)

    try:
        manifest = import_tokens("mds", copy, tmp_path / "after")
    except LisDataError:
        return
    assert manifest["num_rows"] == 6


def test_a_cut_zstd_shard_is_refused(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(GOLDEN / "mds_zstd", tmp_path / "mds"))
    path = copy / "shard.00001.mds.zstd"
    path.write_bytes(path.read_bytes()[:-20])
    change_index(copy, lambda index: index["shards"][1]["zip_data"].update(hashes={}, bytes=path.stat().st_size))

    with pytest.raises(LisDataError, match=r"shard\.00001"):
        import_tokens("mds", copy, tmp_path / "after")


def write_shard(folder: Path, encodings: dict[str, str], sizes: list[int | None], samples: list[bytes]) -> Path:
    """Write one shard of samples as they are, and its index."""
    folder.mkdir()
    begins = np.cumsum([8 + 4 * len(samples), *map(len, samples)]).astype("<u4")
    data = np.uint32(len(samples)).tobytes() + begins.tobytes() + b"".join(samples)
    (folder / "shard.00000.mds").write_bytes(data)
    shard = {
        "format": "mds",
        "version": 2,
        "column_names": list(encodings),
        "column_encodings": list(encodings.values()),
        "column_sizes": sizes,
        "compression": None,
        "raw_data": {"basename": "shard.00000.mds", "bytes": len(data), "hashes": {}},
        "zip_data": None,
        "samples": len(samples),
    }
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": [shard]}))
    return folder


@pytest.mark.parametrize("kind", [b"", b"\0\0"])
def test_a_kind_that_is_not_one_byte_is_refused(kind: bytes, tmp_path: Path) -> None:
    sample = np.uint32(len(kind)).tobytes() + np.int32(7).tobytes() + kind
    encodings = {"input_ids": "ndarray:int32:1", "kind": "uint8"}
    folder = write_shard(tmp_path / "mds", encodings, [4, None], [sample])

    with pytest.raises(DamagedShardError, match=f"kind: expected 1 byte, found {len(kind)}"):
        import_tokens("mds", folder, tmp_path / "after")


def test_an_array_of_fixed_shape_has_as_many_values(tmp_path: Path) -> None:
    sample = np.arange(3, dtype="<i4").tobytes()
    good = write_shard(tmp_path / "good", {"input_ids": "ndarray:int32:3"}, [12], [sample, sample])
    bad = write_shard(tmp_path / "bad", {"input_ids": "ndarray:int32:7"}, [12], [sample])

    import_tokens("mds", good, tmp_path / "after")
    with pytest.raises(DamagedShardError, match="expected 7 values of int32, found 12 bytes"):
        import_tokens("mds", bad, tmp_path / "refused")

    assert rows_of(TokenDataset(tmp_path / "after"), ("input_ids",)) == [{"input_ids": [0, 1, 2]}] * 2


@pytest.mark.parametrize("shape", ["1,3", "-3", "9" * 5000])
def test_a_fixed_shape_of_other_than_one_axis_is_no_row_of_tokens(shape: str, tmp_path: Path) -> None:
    sample = np.arange(3, dtype="<i4").tobytes()
    folder = write_shard(tmp_path / "mds", {"input_ids": f"ndarray:int32:{shape}"}, [12], [sample])

    with pytest.raises(SchemaError, match="expected a column of arrays of integers"):
        import_tokens("mds", folder, tmp_path / "after")


def test_a_shard_is_taken_in_blocks_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mds_reading, "_ROWS_AT_ONCE", 2)

    import_tokens("mds", GOLDEN / "mds", tmp_path / "after", column=("labels",))

    after = TokenDataset(tmp_path / "after", verify="full")
    assert [row["input_ids"].tolist() for row in after] == ROWS["input_ids"]
    assert [row["record_id"] for row in after] == [f"r{n}" for n in range(6)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: zstandard.compress(zstandard.decompress(data) + b"?"), "bytes, found more"),
        (lambda data: data + zstandard.compress(b"?"), "bytes, found more"),
        (lambda data: zstandard.compress(zstandard.decompress(data)[:-1]), r"expected \d+ bytes, found \d+"),
        (lambda data: data + zstandard.compress(b"?")[:-2], "expected a whole zstd stream"),
        (lambda data: data + b"?????", "expected a whole zstd stream"),
    ],
    ids=["longer", "second frame", "shorter", "cut frame", "no frame"],
)
def test_a_zstd_shard_that_holds_other_than_its_bytes_is_refused(
    change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(GOLDEN / "mds_zstd", tmp_path / "mds"))
    path = copy / "shard.00000.mds.zstd"
    path.write_bytes(change(path.read_bytes()))
    change_index(copy, lambda index: index["shards"][0]["zip_data"].update(hashes={}, bytes=path.stat().st_size))

    with pytest.raises(LisDataError, match=message):
        import_tokens("mds", copy, tmp_path / "after")


def test_a_compressed_shard_that_expands_beyond_measure_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    size = decompression.SMALL_EXPANSION_BYTES + 1
    folder = write_shard(tmp_path / "mds", {"input_ids": "ndarray:int32"}, [None], [])
    (folder / "shard.00000.mds").unlink()
    packed = zstandard.compress(bytes(1000))
    (folder / "shard.00000.mds.zstd").write_bytes(packed)
    zipped = {"basename": "shard.00000.mds.zstd", "bytes": len(packed), "hashes": {}}

    def change(index: dict[str, Any]) -> None:
        index["shards"][0]["raw_data"].update(bytes=size)
        index["shards"][0].update(compression="zstd", zip_data=zipped)

    change_index(folder, change)

    with pytest.raises(DamagedShardError, match=f"when decompressed, found an index that says {size}"):
        import_tokens("mds", folder, tmp_path / "after")


def test_a_folder_in_the_place_of_a_shard_is_refused(copy: Path, tmp_path: Path) -> None:
    path = copy / "shard.00000.mds"
    path.unlink()
    path.mkdir()
    change_index(copy, lambda index: index["shards"][0]["raw_data"].update(bytes=path.stat().st_size))

    with pytest.raises(DamagedShardError, match=r"shard\.00000\.mds: expected this file"):
        import_tokens("mds", copy, tmp_path / "after")
