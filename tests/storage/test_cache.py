"""Datasets at URLs open through a cache that is checked by hash, bounded, and whole whenever it was stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from drawn_tokens import rows_of, small_dataset

import lisdata
from lisdata.errors import DamagedShardError, LisDataError, PlanError, SchemaError
from lisdata.shards.manifest import MANIFEST, file_entry, read_sealed, sealed
from lisdata.storage import cache as cache_module
from lisdata.storage.cache import FOLDER_VARIABLE, LIMIT_VARIABLE, Cache
from lisdata.storage.folders import Folder
from lisdata.token_shards import TokenDataset


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache, which the environment names."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a dataset of a few parts."""
    small_dataset(tmp_path / "there")
    return f"file://{tmp_path / 'there'}"


def change_manifest(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    body = read_sealed(path / MANIFEST)
    change(body)
    (path / MANIFEST).write_bytes(sealed(body))


def num_bytes(folder: Path) -> int:
    return sum({p.stat().st_ino: p.stat().st_size for p in folder.rglob("*") if p.is_file()}.values())


@pytest.mark.parametrize("open_url", [lisdata.open, TokenDataset])
def test_a_url_opens_as_the_dataset_that_is_there(
    open_url: Callable[[str], TokenDataset], url: str, folder: Path, tmp_path: Path
) -> None:
    found = open_url(url)

    there = TokenDataset(tmp_path / "there")
    assert rows_of(found, there.schema.names) == rows_of(there, there.schema.names)
    assert found.fingerprint == there.fingerprint
    assert found.path.is_relative_to(folder)


def test_structures_open_by_url_too(root: Path, folder: Path, tmp_path: Path) -> None:
    lisdata.convert("hif", root / "sample_data" / "table2" / "interaction.hif.json", tmp_path / "edge.lis")

    found = lisdata.IncidenceDataset(f"file://{tmp_path / 'edge.lis'}")

    assert list(found.iter_structures()) == list(lisdata.IncidenceDataset(tmp_path / "edge.lis").iter_structures())
    assert found.path.is_relative_to(folder)


def test_a_second_opening_reads_the_manifest_alone(
    url: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lisdata.open(url).path
    read: list[str] = []
    blocks = Folder.blocks
    monkeypatch.setattr(Folder, "blocks", lambda self, name: read.append(name) or blocks(self, name))

    assert lisdata.open(url).path == first
    assert read == [MANIFEST]


def test_a_dataset_that_changed_there_is_fetched_anew_and_shares_its_files(
    url: str, folder: Path, tmp_path: Path
) -> None:
    before = lisdata.open(url).path
    change_manifest(tmp_path / "there", lambda body: body.update(config={"new": 1}))

    after = lisdata.open(url).path

    assert after != before
    name = next(iter(lisdata.open(url).manifest["files"]))
    assert (after / name).samefile(before / name)


def test_a_changed_byte_there_is_caught_as_it_is_fetched_and_nothing_is_opened(
    url: str, folder: Path, tmp_path: Path
) -> None:
    path = next((tmp_path / "there" / "tokens").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    with pytest.raises(DamagedShardError, match=f"file://.*{path.name}: expected sha256"):
        lisdata.open(url)

    assert not list(folder.rglob(MANIFEST))
    assert not list(folder.rglob(f"*{path.name}*"))


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x"])
def test_a_file_of_another_size_there_is_refused(
    change: Callable[[bytes], bytes], url: str, folder: Path, tmp_path: Path
) -> None:
    path = next((tmp_path / "there" / "tokens").iterdir())
    path.write_bytes(change(path.read_bytes()))

    with pytest.raises(DamagedShardError, match=r"expected .* bytes, found"):
        lisdata.open(url)


def test_a_url_without_a_dataset_or_of_no_known_kind_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DamagedShardError, match=r"found no manifest\.json"):
        lisdata.open(f"file://{tmp_path}")
    with pytest.raises(PlanError, match="expected a URL that fsspec can open"):
        lisdata.open("nothing://here")


HOSTILE = {
    "up": lambda body: body["files"].update({"../outside": {"size": 1, "sha256": "0" * 64}}),
    "absolute": lambda body: body["files"].update({"/tmp/outside": {"size": 1, "sha256": "0" * 64}}),
    "hash as path": lambda body: next(iter(body["files"].values())).update(sha256="../../outside"),
    "hash in capitals": lambda body: next(iter(body["files"].values())).update(sha256="A" * 64),
    "manifest itself": lambda body: body["files"].update({MANIFEST: {"size": 1, "sha256": "0" * 64}}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_lead_out_of_the_cache_are_refused_before_anything_is_written(
    name: str, url: str, folder: Path, tmp_path: Path
) -> None:
    change_manifest(tmp_path / "there", HOSTILE[name])

    with pytest.raises(SchemaError, match=r"file://.*manifest\.json"):
        lisdata.open(url)

    assert not folder.exists()


def test_a_manifest_that_was_changed_is_refused(url: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "there" / MANIFEST
    path.write_bytes(path.read_bytes().replace(b'"num_rows": 25', b'"num_rows": 26'))

    with pytest.raises(DamagedShardError, match="self_sha256"):
        lisdata.open(url)


OPEN = "import sys, lisdata; print(len(lisdata.open(sys.argv[1])))"


def open_elsewhere(url: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Open a URL in a process of its own, which ends."""
    return subprocess.run(
        [sys.executable, "-c", OPEN, url], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def test_datasets_that_nobody_uses_make_room_and_those_in_use_stay(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = []
    for number in (30, 40, 50, 60):
        small_dataset(tmp_path / str(number), num_rows=number)
        urls.append(f"file://{tmp_path / str(number)}")
    used = lisdata.open(urls[0])
    for url in urls[1:3]:
        assert open_elsewhere(url).returncode == 0
    monkeypatch.setenv(LIMIT_VARIABLE, repr((num_bytes(folder) + 100) / 2**30))

    assert open_elsewhere(urls[3]).stdout == "60\n"

    left = {json.loads(path.read_bytes())["num_rows"] for path in folder.rglob(MANIFEST)}
    assert {30, 60} <= left <= {30, 50, 60}  # 40 was the least lately opened that nobody uses
    assert len(rows_of(used, ("input_ids",))) == 30


def test_a_dataset_above_the_bound_is_refused_before_it_is_fetched(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "0.000001")

    with pytest.raises(PlanError, match=f"expected at most the 1073 bytes .*{LIMIT_VARIABLE}"):
        lisdata.open(url)

    assert not list(folder.rglob("*.arrow"))


def test_a_cache_full_of_datasets_in_use_says_so(
    url: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lisdata.open(url)
    small_dataset(tmp_path / "other", num_rows=26)
    monkeypatch.setenv(LIMIT_VARIABLE, repr((num_bytes(folder) + 100) / 2**30))

    with pytest.raises(PlanError, match="full of datasets in use"):
        lisdata.open(f"file://{tmp_path / 'other'}")


def test_a_bound_that_is_no_number_is_a_wrong_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "much")

    with pytest.raises(ValueError, match="expected a number of GiB in LISDATA_CACHE_GIB, got 'much'"):
        Cache.from_environment()


def test_the_cache_lies_where_the_system_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert Cache.from_environment().folder == tmp_path / "lisdata"


KILLED = """
import os, sys, lisdata
from lisdata.storage.folders import Folder
blocks, left = Folder.blocks, [int(sys.argv[2])]
def dying(self, name):
    for block in blocks(self, name):
        left[0] -= 1
        if left[0] < 0:
            yield block[:100]
            os._exit(9)
        yield block
Folder.blocks = dying
lisdata.open(sys.argv[1])
"""


@pytest.mark.parametrize("num_blocks", range(1, 3))
def test_a_fetch_that_was_killed_goes_on(num_blocks: int, url: str, folder: Path, tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, url, str(num_blocks)], env=os.environ, check=False)
    assert killed.returncode == 9
    assert not list(folder.rglob(MANIFEST))

    found = lisdata.open(url, verify="full")

    assert lisdata.verify(found.path).ok
    assert not list(folder.rglob("*.tmp"))


def test_many_at_once_fetch_a_dataset_once(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    blocks = Folder.blocks
    monkeypatch.setattr(Folder, "blocks", lambda self, name: read.append(name) or blocks(self, name))

    with ThreadPoolExecutor(6) as pool:
        lengths = list(pool.map(lambda _: len(lisdata.open(url)), range(6)))

    assert lengths == [25] * 6
    fetched = [name for name in read if name != MANIFEST]
    assert len(fetched) == len(set(fetched)) > 0


def test_a_file_that_was_changed_in_the_cache_is_not_shared(url: str, folder: Path, tmp_path: Path) -> None:
    first = lisdata.open(url)
    name = next(iter(first.manifest["files"]))
    (first.path / name).chmod(0o644)
    data = bytearray((first.path / name).read_bytes())
    data[-20] ^= 1
    (first.path / name).write_bytes(data)
    change_manifest(tmp_path / "there", lambda body: body.update(config={"new": 1}))

    second = lisdata.open(url, verify="full")

    assert file_entry(second.path / name) == second.manifest["files"][name]


def test_without_links_files_are_just_not_shared(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(cache_module.os, "link", refuse)

    assert len(lisdata.open(url, verify="full")) == 25
    assert not list(folder.rglob("objects/*"))


def test_verify_of_a_url_reads_what_is_there_and_not_the_copy(url: str, folder: Path, tmp_path: Path) -> None:
    assert lisdata.verify(url).ok
    path = next((tmp_path / "there" / "tokens").iterdir())
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)

    report = lisdata.verify(url)

    assert len(report.problems) == 1
    assert path.name in report.problems[0]


def test_a_worker_process_of_a_loader_reads_a_dataset_of_a_url(url: str, folder: Path) -> None:
    loader = lisdata.Loader(lisdata.open(url), batch_size=5, num_workers=1)

    assert sum(len(batch["length"]) for batch in loader) == 25


def test_errors_of_the_cache_are_of_the_library(url: str, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file where the cache should be")

    with pytest.raises((LisDataError, OSError), match="cache"):
        lisdata.open(url)
