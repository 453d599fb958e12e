"""Opening refuses what is missing, cut or foreign, and names it; what it opens is in source order."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

import lisdata
from lisdata.errors import DamagedShardError, LisDataError, SchemaError
from lisdata.schema import SCHEMA_VERSION
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.shards.manifest import TOKEN_FORMAT, read_manifest, read_sealed, sealed, write_atomically

Copy = Callable[[Path], Path]


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

    with pytest.raises(SchemaError, match="expected format lisdata-incidence, found lisdata-tokens"):
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
