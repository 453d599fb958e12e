"""Opening refuses what is missing, cut or foreign, and names it; what it opens is in source order."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

import lisdata
from lisdata.errors import DamagedShardError, LisDataError, SchemaError
from lisdata.schema import SCHEMA_VERSION, StructureKind
from lisdata.shards import IncidenceDataset, Part, write_structures
from lisdata.shards import dataset as dataset_module
from lisdata.shards import writer as writer_module
from lisdata.shards.manifest import TOKEN_FORMAT, read_manifest, read_sealed, sealed, write_atomically
from lisdata.structure import Structure

Copy = Callable[[Path], Path]


class StructureColumns:
    def __init__(self, part: Part) -> None:
        self.names = part.structures.column_names


def reseal(dataset: Path, **changes: object) -> None:
    body = read_manifest(dataset)
    (dataset / "manifest.json").write_bytes(sealed(body | changes))


@pytest.fixture(params=["converted", "encoded"])
def dataset(request: pytest.FixtureRequest, copy_of: Copy) -> Path:
    """A dataset of either form, to be damaged."""
    return copy_of(request.getfixturevalue(request.param))


def test_a_cut_file_of_any_kind_is_refused_and_named(dataset: Path) -> None:
    for name in ["manifest.json", *read_manifest(dataset)["files"]]:
        path = dataset / name
        good = path.read_bytes()
        for size in {0, 1, len(good) // 2, len(good) - 1}:
            path.write_bytes(good[:size])
            with pytest.raises(DamagedShardError) as raised:
                lisdata.open(dataset)
            assert str(raised.value).startswith(f"{path}: "), f"{name} cut to {size}"
        path.write_bytes(good)
    assert len(lisdata.open(dataset)) == 240


def test_a_missing_file_of_any_kind_is_refused_and_named(dataset: Path) -> None:
    for name in read_manifest(dataset)["files"]:
        path = dataset / name
        good = path.read_bytes()
        path.unlink()
        with pytest.raises(DamagedShardError, match=f"{path}: expected {len(good)} bytes, found no file"):
            lisdata.open(dataset)
        path.write_bytes(good)


def test_a_file_whose_footer_is_gone_is_refused_though_its_size_is_right(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    path = IncidenceDataset(dataset).parts[0].path("contents")

    size = path.stat().st_size
    os.truncate(path, size - 8)
    os.truncate(path, size)

    with pytest.raises(DamagedShardError, match=f"{path}: expected an Arrow file with its footer"):
        lisdata.open(dataset)
    assert len(lisdata.open(dataset, verify="none")) == 240


def test_damage_in_the_middle_names_the_file_when_it_is_read(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    part = IncidenceDataset(dataset).parts[0]
    data = bytearray(part.path("structures").read_bytes())
    middle = slice(len(data) // 4, len(data) // 2)
    data[middle] = bytes(len(data[middle]))
    part.path("structures").write_bytes(data)

    opened = IncidenceDataset(dataset)

    with pytest.raises(DamagedShardError, match=str(part.path("structures"))):
        list(opened.iter_structures())
    with pytest.raises(DamagedShardError, match=str(part.path("structures"))):
        opened.find_structure("none such")


def test_a_folder_without_manifest_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(DamagedShardError, match=r"manifest.json: expected this file, found none"):
        lisdata.open(tmp_path)
    with pytest.raises(DamagedShardError, match="expected a dataset folder, found none"):
        lisdata.open(tmp_path / "absent")


def test_an_unfinished_run_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(sealed({}))

    with pytest.raises(DamagedShardError, match="has not finished"):
        lisdata.open(tmp_path)


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/passwd", "", "a\\..\\b"])
def test_a_manifest_that_leads_out_of_the_folder_is_refused(name: str, converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    files = read_manifest(dataset)["files"]

    reseal(dataset, files=files | {name: {"size": 0, "sha256": ""}})

    with pytest.raises(SchemaError, match="expected names inside the folder"):
        lisdata.open(dataset, verify="none")


def test_a_part_that_leads_out_of_the_folder_is_refused(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)
    (part, *others) = read_manifest(dataset)["parts"]

    reseal(dataset, parts=[part | {"name": "../../outside"}, *others])

    with pytest.raises(SchemaError, match=r"expected 'structures/../../outside.arrow' among its files"):
        lisdata.open(dataset, verify="none")


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 0, "1", None])
def test_another_schema_version_is_refused(version: object, converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)

    reseal(dataset, schema_version=version)

    with pytest.raises(SchemaError, match=f"expected a schema version up to {SCHEMA_VERSION}, found {version}"):
        lisdata.open(dataset)


def test_token_shards_are_not_opened_as_structures(converted: Path, copy_of: Copy) -> None:
    dataset = copy_of(converted)

    reseal(dataset, format=TOKEN_FORMAT)

    with pytest.raises(SchemaError, match="found lisdata-tokens: the dataset holds tokens already"):
        IncidenceDataset(dataset)


def test_an_unknown_way_to_verify_is_refused(converted: Path) -> None:
    with pytest.raises(ValueError, match="expected verify to be one of none, open, full, got 'ful'"):
        IncidenceDataset(converted, verify="ful")  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"self_sha256": 1}', b"\xff", b"null"])
def test_a_file_that_is_not_sealed_json_is_refused_with_its_name(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)

    with pytest.raises(DamagedShardError, match=str(path)):
        read_sealed(path)


def test_a_sealed_file_that_was_written_differently_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(orjson.dumps(orjson.loads(sealed({"a": 1}))))

    with pytest.raises(DamagedShardError, match="self_sha256 does not match"):
        read_sealed(path)


def test_sealed_bodies_come_back(tmp_path: Path) -> None:
    body = {"b": [1, 2.5, None], "a": {"é": True}}
    write_atomically(tmp_path / "deep" / "x.json", sealed(body))

    assert read_sealed(tmp_path / "deep" / "x.json") == body
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["x.json"]


def test_a_write_that_fails_leaves_neither_the_file_nor_its_beginning(tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()

    with pytest.raises(OSError, match="taken"):
        write_atomically(target, b"data")
    assert list(tmp_path.iterdir()) == [target]


def test_structures_of_one_input_come_in_source_order(converted: Path) -> None:
    dataset = IncidenceDataset(converted)

    for info in dataset.inputs:
        sources = [s.source for s in dataset.iter_structures(info.index)]
        assert len(sources) == 120
        assert {file for file, _, _ in sources} == {info.index}
        assert sources == sorted(sources)
    assert sum(1 for _ in dataset.iter_structures()) == len(dataset) == 240


def test_a_part_is_read_only_for_inputs_that_it_has_rows_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", 8000)
    (tmp_path / "in").mkdir()
    for number in range(6):
        (tmp_path / "in" / f"{number}.txt.gz").write_bytes(gzip.compress(b"%d\n" % number * 4000))
    lisdata.convert("text", tmp_path / "in", tmp_path / "d", unit_mib=1)
    dataset = IncidenceDataset(tmp_path / "d")
    assert len(dataset.parts) > 2
    assert {part.inputs for part in dataset.parts} == {range(6)}  # they are of one unit

    for info in dataset.inputs:
        ((part, rows),) = dataset.iter_part_rows(info.index)  # an input of 8 kB is a batch, so it stands in one part
        assert part.rows_of(info.index).tolist() == rows.tolist()
        assert len(rows) == info.records["converted"] == 4000
    assert [p for p in dataset.parts if "structures" in vars(p)] == [], "only the places of rows were read"


def test_rows_of_an_input_are_found_whatever_their_order(tmp_path: Path) -> None:
    files = [2, 0, 2, 7, 0]
    structures = [
        Structure(record_id=str(n), kind=StructureKind.MIXED, source=(file, n, n)) for n, file in enumerate(files)
    ]
    write_structures(tmp_path, structures)
    (part,) = IncidenceDataset(tmp_path).parts

    assert {file: part.rows_of(file).tolist() for file in range(9)} == {
        file: [n for n, found in enumerate(files) if found == file] for file in range(9)
    }


def test_batches_of_many_small_inputs_are_read_as_one_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_BATCH_BYTES", 1)  # as written before the writer joined them
    (tmp_path / "in").mkdir()
    for number in range(20):
        (tmp_path / "in" / f"{number}.txt").write_bytes(b"%d\n" % number * number)
    lisdata.convert("text", tmp_path / "in", tmp_path / "d")
    (part,) = IncidenceDataset(tmp_path / "d").parts
    expected = part.read("structures")
    assert expected["tau"].num_chunks > 10

    assert (part.structures["tau"].num_chunks, part.structures.equals(expected)) == (1, True)
    part.release()
    monkeypatch.setattr(dataset_module, "MIN_CHUNK_BYTES", 1)
    assert part.structures.equals(expected)
    assert part.structures["tau"].num_chunks == expected["tau"].num_chunks


def test_what_is_derived_from_a_part_is_made_once_until_the_part_is_let_go(converted: Path) -> None:
    part = IncidenceDataset(converted).parts[0]

    first = part.derived(StructureColumns)

    assert part.derived(StructureColumns) is first
    part.release()
    assert part.derived(StructureColumns) is not first


def test_a_record_is_found_by_its_id_and_none_by_another(converted: Path) -> None:
    dataset = IncidenceDataset(converted)
    *_, last = dataset.iter_structures()

    assert dataset.find_structure(last.record_id) == last
    with pytest.raises(KeyError):
        dataset.find_structure("nowhere#0")


def test_a_dataset_of_nothing_opens(tmp_path: Path) -> None:
    write_structures(tmp_path, [])

    dataset = lisdata.open(tmp_path)

    assert len(dataset) == 0
    assert list(dataset.iter_structures()) == []


def test_every_error_of_wrong_data_is_a_lisdata_error() -> None:
    assert issubclass(DamagedShardError, LisDataError)
    assert issubclass(SchemaError, LisDataError)


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path / 'x.json'}'"):
        write_atomically(tmp_path / "x.json", b"data")
    assert list(tmp_path.iterdir()) == []
