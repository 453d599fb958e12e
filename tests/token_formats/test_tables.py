"""Parquet files, folders of Hugging Face datasets, Lance and WebDataset: read and written as their libraries do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_tokens import rows_of, small_dataset

import lisdata
from lisdata.errors import DamagedShardError, ExportError, SchemaError
from lisdata.token_formats import export_tokens, import_tokens, webdataset
from lisdata.token_shards import TokenColumn, TokenDataset, TokenSchema

IDS = pa.array([[1, 2], [], [3]], pa.list_(pa.int64()))


def write_table(path: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


# -- Parquet -----------------------------------------------------------------------------------------------------------


def test_columns_of_lists_of_integers_are_taken_and_others_told(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "a.parquet",
        tokens=IDS,
        attention_mask=pa.array([[1, 1], [], [1]], pa.large_list(pa.uint8())),
        text=pa.array(["a", "b", "c"]),
        score=pa.array([[0.5], [], [1.5]]),
    )

    manifest = import_tokens("parquet", path, tmp_path / "after", input_ids="tokens")

    after = TokenDataset(tmp_path / "after", verify="full")
    assert rows_of(after, ("input_ids", "attention_mask")) == [
        {"input_ids": ids, "attention_mask": [1] * len(ids)} for ids in ([1, 2], [], [3])
    ]
    assert after.schema.column("input_ids").type == "uint8"
    assert manifest["report"] == {"left out column text": 3, "left out column score": 3}


def test_lists_of_fixed_size_and_slices_are_rows_too(tmp_path: Path) -> None:
    table = pa.table({"input_ids": pa.array([[n, n + 1] for n in range(9)], pa.list_(pa.int32(), 2))})
    pq.write_table(table.slice(2, 5), tmp_path / "a.parquet", row_group_size=2)

    import_tokens("parquet", tmp_path, tmp_path / "after")

    assert rows_of(TokenDataset(tmp_path / "after"), ("input_ids",)) == [{"input_ids": [n, n + 1]} for n in range(2, 7)]


REFUSED = {
    "no ids": ({"tokens": IDS}, {}, "found no 'input_ids'"),
    "text": ({"input_ids": pa.array(["a"])}, {}, "'input_ids', string"),
    "two of ids": ({"input_ids": IDS, "tokens": IDS}, {"input_ids": "tokens"}, "expected one column of ids"),
    "no column": ({"input_ids": IDS}, {"column": ("role",)}, "found no 'role'"),
    "null row": ({"input_ids": pa.array([[1], None])}, {}, "found nulls"),
    "null id": ({"input_ids": pa.array([[1, None]])}, {}, "found nulls among them"),
    "uneven": ({"input_ids": IDS, "role": pa.array([[1], [2], []])}, {}, "as many values as input_ids"),
    "below 0": ({"input_ids": pa.array([[-1]])}, {}, "from 0 on, found -1"),
    "kind": ({"input_ids": pa.array([[1]]), "kind": pa.array([9])}, {}, "a kind up to 6"),
    "uint64": ({"input_ids": pa.array([[2**64 - 1]], pa.list_(pa.uint64()))}, {}, "expected values up to"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_are_no_rows_of_tokens_are_refused(name: str, tmp_path: Path) -> None:
    columns, options, message = REFUSED[name]
    path = write_table(tmp_path / "a.parquet", **columns)

    with pytest.raises(SchemaError, match=message):
        import_tokens("parquet", path, tmp_path / "after", **options)


def test_files_of_other_columns_or_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedShardError, match=r"\*\.parquet"):
        import_tokens("parquet", tmp_path, tmp_path / "after")
    write_table(tmp_path / "a.parquet", input_ids=IDS)
    write_table(tmp_path / "b.parquet", input_ids=IDS, role=IDS)
    with pytest.raises(SchemaError, match=r"b.parquet: expected the columns of a.parquet"):
        import_tokens("parquet", tmp_path, tmp_path / "after")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    with pytest.raises(DamagedShardError, match=r"b.parquet: expected a Parquet file"):
        import_tokens("parquet", tmp_path, tmp_path / "after")


@pytest.mark.parametrize("name", ["input_ids", "text"])
def test_columns_of_one_name_are_refused(name: str, tmp_path: Path) -> None:
    table = pa.table([IDS, IDS, IDS], ["input_ids", name, name])
    pq.write_table(table, tmp_path / "a.parquet")

    with pytest.raises(SchemaError, match=f"found '{name}' more than once"):
        import_tokens("parquet", tmp_path / "a.parquet", tmp_path / "after")


def test_a_byte_that_changed_in_a_parquet_page_of_ours_is_found(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    lisdata.write_tokens(tmp_path / "before", [generator.integers(0, 60_000, 3000)], vocab_size=60_000)
    export_tokens(TokenDataset(tmp_path / "before"), tmp_path / "there", "parquet")
    path = tmp_path / "there" / "part-00000.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    with pytest.raises(DamagedShardError, match=r"part-00000.parquet"):
        import_tokens("parquet", tmp_path / "there", tmp_path / "after")


# -- Hugging Face datasets ---------------------------------------------------------------------------------------------


def test_a_hugging_face_dataset_lies_over_the_mapped_shards(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="needs the library datasets")
    dataset = small_dataset(tmp_path / "before")

    found = lisdata.to_hf_dataset(dataset)

    assert found["input_ids"][7] == dataset[7]["input_ids"].tolist()
    ours = dataset.segments.owners[0].column("input_ids").values.buffers()[1].address
    assert found.data.column("input_ids").chunk(0).values.buffers()[1].address == ours


def test_a_hugging_face_dataset_in_memory_is_written(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    source = datasets.Dataset.from_dict({"tokens": [[1, 2], [3], []], "text": ["a", "b", "c"]})

    manifest = lisdata.from_hf_dataset(source.select([1, 0]), tmp_path / "after", input_ids="tokens")

    assert rows_of(TokenDataset(tmp_path / "after"), ("input_ids",)) == [{"input_ids": [3]}, {"input_ids": [1, 2]}]
    assert manifest["report"] == {"left out column text": 2}


def test_no_rows_are_an_empty_object_and_no_folder(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="needs the library datasets")
    lisdata.write_tokens(tmp_path / "before", [], vocab_size=9)
    dataset = TokenDataset(tmp_path / "before")

    assert len(lisdata.to_hf_dataset(dataset)) == 0
    with pytest.raises(ExportError, match="expected rows"):
        export_tokens(dataset, tmp_path / "there", "hf")


@pytest.mark.parametrize("cut", [1, 100, None])
def test_a_cut_file_of_save_to_disk_is_refused(cut: int | None, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    datasets.Dataset.from_dict({"input_ids": [[1, 2], [3]]}).save_to_disk(tmp_path / "there")
    (path,) = (tmp_path / "there").glob("*.arrow")
    if cut is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-cut])

    with pytest.raises(DamagedShardError, match="whole to its end"):
        import_tokens("hf", tmp_path / "there", tmp_path / "after")


def test_a_folder_that_is_no_single_dataset_is_refused(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    with pytest.raises(DamagedShardError, match=r"state\.json: expected this file"):
        import_tokens("hf", tmp_path, tmp_path / "after")
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(DamagedShardError, match="expected JSON"):
        import_tokens("hf", tmp_path, tmp_path / "after")
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": 3}))
    with pytest.raises(DamagedShardError, match="_data_files"):
        import_tokens("hf", tmp_path, tmp_path / "after")
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": []}))
    with pytest.raises(DamagedShardError, match=r"data files of .*save_to_disk, each once, found \[\]"):
        import_tokens("hf", tmp_path, tmp_path / "after")
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"input_ids": [[1]]})})
    splits.save_to_disk(tmp_path / "splits")
    with pytest.raises(SchemaError, match="found those of train"):
        import_tokens("hf", tmp_path / "splits", tmp_path / "after")


@pytest.mark.parametrize("name", ["../other/data-00000-of-00001.arrow", "/{}", "sub/{}", "..", "", "a\\\\b"])
def test_files_outside_the_folder_of_a_hugging_face_dataset_are_never_read(name: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    for folder, ids in (("there", [[1, 2]]), ("other", [[3]])):
        datasets.Dataset.from_dict({"input_ids": ids}).save_to_disk(tmp_path / folder)
    change_data_files(tmp_path / "there", lambda names: [name.format(names[0])])

    with pytest.raises(SchemaError, match=r"expected names .* folder"):
        import_tokens("hf", tmp_path / "there", tmp_path / "after")


def test_a_link_out_of_the_folder_of_a_hugging_face_dataset_is_not_followed(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    datasets.Dataset.from_dict({"input_ids": [[1, 2]]}).save_to_disk(tmp_path / "there")
    (data,) = (tmp_path / "there").glob("*.arrow")
    (tmp_path / "there/inside.arrow").symlink_to(data.rename(tmp_path / "there/moved"))
    change_data_files(tmp_path / "there", lambda _: ["inside.arrow"])
    assert import_tokens("hf", tmp_path / "there", tmp_path / "kept")["counts"]["rows"] == 1
    (tmp_path / "there/inside.arrow").unlink()
    (tmp_path / "there/inside.arrow").symlink_to((tmp_path / "there/moved").rename(tmp_path / "outside"))

    with pytest.raises(SchemaError, match="expected a file inside the folder, found a link to"):
        import_tokens("hf", tmp_path / "there", tmp_path / "after")


@pytest.mark.parametrize("info", ["[1]", "[" * 100_000, "3", "{"])
def test_a_wrong_description_of_a_hugging_face_dataset_is_one_clear_line(info: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    datasets.Dataset.from_dict({"input_ids": [[1, 2]]}).save_to_disk(tmp_path / "there")
    (tmp_path / "there/dataset_info.json").write_text(info)

    with pytest.raises(DamagedShardError, match=r"expected a folder of datasets\.save_to_disk, found"):
        import_tokens("hf", tmp_path / "there", tmp_path / "after")


def test_a_data_file_named_twice_is_refused(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    datasets.Dataset.from_dict({"input_ids": [[1, 2]]}).save_to_disk(tmp_path / "there")
    change_data_files(tmp_path / "there", lambda names: names * 3)

    with pytest.raises(DamagedShardError, match="each once"):
        import_tokens("hf", tmp_path / "there", tmp_path / "after")


def change_data_files(folder: Path, change: Callable[[list[str]], list[str]]) -> None:
    path = folder / "state.json"
    state = json.loads(path.read_text())
    names = change([entry["filename"] for entry in state["_data_files"]])
    path.write_text(json.dumps(state | {"_data_files": [{"filename": name} for name in names]}))


# -- WebDataset and Lance ----------------------------------------------------------------------------------------------


def test_the_library_webdataset_reads_our_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("webdataset", reason="needs the library webdataset")
    monkeypatch.setattr(webdataset, "SHARD_BYTES", 3000)
    dataset = small_dataset(tmp_path / "before")
    report = export_tokens(dataset, tmp_path / "there", "webdataset")

    samples = list(library.WebDataset([str(path) for path in report.files], shardshuffle=False).decode())

    assert len(report.files) > 1
    names = dataset.schema.names
    assert [{name: sample[f"{name}.npy"].tolist() for name in names} for sample in samples] == rows_of(dataset, names)
    assert [sample["row.json"] for sample in samples] == [
        {"kind": row["kind"], "record_id": row["record_id"]} for row in dataset
    ]


def test_a_name_that_would_split_a_member_is_refused(tmp_path: Path) -> None:
    schema = TokenSchema(
        columns=(TokenColumn.narrowest("input_ids", 0, 9), TokenColumn.narrowest("a.b/c", 0, 9)), kind=0
    )
    lisdata.write_tokens(tmp_path / "before", [], schema=schema)

    with pytest.raises(ExportError, match=r"found 'a\.b/c'"):
        export_tokens(TokenDataset(tmp_path / "before"), tmp_path / "there", "webdataset")


def test_the_library_lance_reads_our_dataset(tmp_path: Path) -> None:
    lance = pytest.importorskip("lance", reason="needs the library pylance")
    dataset = small_dataset(tmp_path / "before")
    report = export_tokens(dataset, tmp_path / "there", "lance")

    found = lance.dataset(str(report.files[0])).to_table().to_pylist()

    names = dataset.schema.names
    assert [{name: row[name] for name in names} for row in found] == rows_of(dataset, names)
    assert [row["record_id"] for row in found] == [row["record_id"] for row in dataset]


# -- oddities of others ------------------------------------------------------------------------------------------------


def test_ids_of_rows_that_are_all_empty_have_no_type_yet_and_are_taken(tmp_path: Path) -> None:
    untyped = pa.array([[], []], pa.list_(pa.null()))
    path = write_table(tmp_path / "a.parquet", input_ids=untyped, labels=untyped)

    manifest = import_tokens("parquet", path, tmp_path / "after")

    assert (manifest["num_rows"], manifest["num_tokens"]) == (2, 0)
    assert manifest["report"] == {"left out column labels": 2}
    path = write_table(tmp_path / "b.parquet", input_ids=pa.array([[None]], pa.list_(pa.null())))
    with pytest.raises(SchemaError, match="found nulls among them"):
        import_tokens("parquet", path, tmp_path / "never")


def test_splits_and_streams_are_refused_with_what_to_give(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the library datasets")
    one = datasets.Dataset.from_dict({"input_ids": [[1]]})

    with pytest.raises(ValueError, match="got DatasetDict: give one split of it"):
        lisdata.from_hf_dataset(datasets.DatasetDict({"train": one}), tmp_path / "after")
    with pytest.raises(ValueError, match="got IterableDataset: give one whose rows are there"):
        lisdata.from_hf_dataset(one.to_iterable_dataset(), tmp_path / "after")
