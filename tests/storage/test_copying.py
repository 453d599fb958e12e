"""Copies of datasets are checked on both sides, go on where they were stopped, and write over nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from drawn_tokens import small_dataset
from fsspec.implementations.memory import MemoryFileSystem

import lisdata
from lisdata.errors import DamagedShardError, PlanError
from lisdata.shards.manifest import MANIFEST
from lisdata.storage.folders import Folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A dataset of a few parts."""
    return small_dataset(tmp_path / "source").path


def test_a_copy_there_and_back_has_the_same_bytes(source: Path, tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}"

    report = lisdata.copy(source, url)
    lisdata.copy(url, tmp_path / "back")

    assert files_of(tmp_path / "back") == files_of(source)
    assert report.num_files == len(files_of(source)) - 1
    assert report.num_found == 0


def test_what_is_no_part_of_the_dataset_stays_behind(source: Path, tmp_path: Path) -> None:
    (source / "notes.txt").write_text("mine")

    lisdata.copy(source, str(tmp_path / "back"))

    assert not (tmp_path / "back" / "notes.txt").exists()


@pytest.mark.parametrize("num_files", [0, 1, 2])
def test_a_copy_that_was_stopped_is_no_dataset_and_goes_on(
    num_files: int, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, left = Folder.write, [num_files]

    def stopping(self: Folder, name: str, blocks: Iterable[bytes]) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        write(self, name, blocks)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write", stopping)
        with pytest.raises(KeyboardInterrupt):
            lisdata.copy(source, tmp_path / "back")
    with pytest.raises(DamagedShardError):
        lisdata.open(tmp_path / "back")

    report = lisdata.copy(source, tmp_path / "back")

    assert report.num_found == num_files
    assert files_of(tmp_path / "back") == files_of(source)


def test_a_damaged_source_is_told_and_not_copied(source: Path, tmp_path: Path) -> None:
    path = next((source / "tokens").iterdir())
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)

    with pytest.raises(DamagedShardError, match=f"{path.name}: expected sha256"):
        lisdata.copy(source, tmp_path / "back")

    assert not (tmp_path / "back" / MANIFEST).exists()
    assert not list((tmp_path / "back").rglob(f"*{path.name}*"))


def test_a_target_that_does_not_keep_what_it_is_sent_is_told(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Folder.write
    monkeypatch.setattr(Folder, "write", lambda self, name, blocks: write(self, name, [b"".join(blocks)[:-1] + b"?"]))

    with pytest.raises(DamagedShardError, match="expected the bytes that were written"):
        lisdata.copy(source, tmp_path / "back")
    lisdata.copy(source, tmp_path / "unread", verify=False)

    with pytest.raises(DamagedShardError):
        lisdata.open(tmp_path / "unread")


def test_nothing_is_written_over(source: Path, tmp_path: Path) -> None:
    other = small_dataset(tmp_path / "other", num_rows=3).path
    before = files_of(other)
    with pytest.raises(PlanError, match="expected no dataset, or the same one"):
        lisdata.copy(source, other)
    (other / MANIFEST).unlink()
    with pytest.raises(PlanError, match="expected no file here yet"):
        lisdata.copy(source, other)

    assert files_of(other) == {name: data for name, data in before.items() if name != MANIFEST}


def test_no_dataset_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(DamagedShardError, match=r"found no manifest\.json"):
        lisdata.copy(tmp_path, tmp_path / "back")
    with pytest.raises(PlanError, match="fsspec"):
        lisdata.copy("nothing://here", tmp_path / "back")


@pytest.mark.parametrize("place", ["in", "tokens", "a/../b"])
def test_a_dataset_is_not_copied_into_itself(place: str, source: Path, tmp_path: Path) -> None:
    before = files_of(source)
    lisdata.copy(source, f"memory://{tmp_path.name}")

    with pytest.raises(PlanError, match="expected a place outside the dataset"):
        lisdata.copy(source, source / place)
    with pytest.raises(PlanError, match="expected a place outside the dataset"):
        lisdata.copy(f"memory://{tmp_path.name}", f"memory://{tmp_path.name}/{place}")
    lisdata.copy(source, f"{source}{place.partition('/')[0]}")

    assert files_of(source) == before


def test_a_place_that_cannot_be_reached_is_not_an_empty_one(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(self: MemoryFileSystem, path: str, **_: Any) -> None:
        raise ConnectionRefusedError("nobody listens")

    monkeypatch.setattr(MemoryFileSystem, "info", unreachable)

    with pytest.raises(PlanError, match="expected a place that can be reached, found nobody listens"):
        lisdata.copy("memory://far", tmp_path / "back")
    with pytest.raises(PlanError, match="can be reached"):
        lisdata.copy(source, "memory://far")
    with pytest.raises(PlanError, match="can be reached"):
        lisdata.open("memory://far")


def test_a_web_server_that_is_not_there_is_told_so() -> None:
    pytest.importorskip("aiohttp", reason="fsspec needs aiohttp for http")

    with pytest.raises(PlanError, match="expected a place that can be reached, found Cannot connect"):
        lisdata.open("http://127.0.0.1:1/graph.lis")


def test_s3_without_a_connection_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = pytest.importorskip("botocore.exceptions", reason="needs the extra s3")

    def unreachable(self: MemoryFileSystem, path: str, **_: Any) -> None:
        raise exceptions.EndpointConnectionError(endpoint_url="far")

    monkeypatch.setattr(MemoryFileSystem, "info", unreachable)

    with pytest.raises(PlanError, match="can be reached, found Could not connect"):
        lisdata.open("memory://far")


def test_progress_ends_at_the_whole(source: Path, tmp_path: Path) -> None:
    told: list[tuple[Any, ...]] = []

    report = lisdata.copy(source, tmp_path / "back", on_file=lambda *facts: told.append(facts))

    assert [name for _, _, name in told] == sorted(name for name in files_of(source) if name != MANIFEST)
    assert told[-1][:2] == (report.num_bytes, report.num_bytes)


@pytest.fixture(autouse=True)
def _forget_memory() -> Iterable[None]:
    yield
    fsspec.filesystem("memory").store.clear()
