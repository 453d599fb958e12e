"""Datasets on S3, against a real server on this machine (moto's)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from drawn_tokens import rows_of, small_dataset

import lisdata
from lisdata.cli import main
from lisdata.errors import DamagedShardError
from lisdata.storage.cache import FOLDER_VARIABLE
from lisdata.storage.folders import Folder
from lisdata.token_shards import TokenDataset

pytest.importorskip("s3fs", reason="needs the extra s3")
server = pytest.importorskip("moto.server", reason="needs moto's server: pip install 'moto[s3]' flask flask-cors")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of an empty bucket; credentials and address are in the environment."""
    import fsspec

    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    settings = {"endpoint_url": f"http://{host}:{port}", "key": "test", "secret": "test"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSSPEC_S3", json.dumps(settings))
        patch.setitem(fsspec.config.conf, "s3", settings)
        fsspec.filesystem("s3").mkdir("lakes")
        yield "s3://lakes"
    running.stop()


@pytest.fixture
def copied(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a dataset in the bucket."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    lisdata.copy(small_dataset(tmp_path / "here").path, f"{bucket}/{tmp_path.name}/tokens")
    return f"{bucket}/{tmp_path.name}/tokens"


def test_a_dataset_on_s3_is_read_through_the_cache(copied: str, tmp_path: Path) -> None:
    found = lisdata.open(copied, verify="full")

    here = TokenDataset(tmp_path / "here")
    assert rows_of(found, here.schema.names) == rows_of(here, here.schema.names)
    assert lisdata.verify(copied).ok
    assert sum(len(batch["length"]) for batch in lisdata.Loader(found, batch_size=5)) == 25


def test_a_copy_on_s3_that_was_stopped_goes_on(copied: str, tmp_path: Path) -> None:
    there = Folder.of(copied)
    name = sorted(there.read_manifest()[1]["files"])[0]  # type: ignore[index]
    for lost in ("manifest.json", name):
        there.files.rm(there.path(lost))
    with pytest.raises(DamagedShardError, match=r"found no manifest\.json"):
        lisdata.open(copied)

    report = lisdata.copy(tmp_path / "here", copied)

    assert report.num_found == report.num_files - 1
    assert lisdata.verify(copied).ok


def test_a_changed_object_is_caught(copied: str) -> None:
    there = Folder.of(copied)
    name = sorted(there.read_manifest()[1]["files"])[0]  # type: ignore[index]
    data = bytearray(there.files.cat_file(there.path(name)))
    data[-20] ^= 1
    there.files.pipe_file(there.path(name), bytes(data))

    with pytest.raises(DamagedShardError, match=f"s3://.*{name}: expected sha256"):
        lisdata.open(copied)


def test_the_command_line_takes_the_url_wherever_it_takes_a_folder(copied: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "rows: 25" in run("stats", copied)
    assert run("verify", copied).startswith(f"{copied}: good")
    assert "tokens.idx" in run("export", copied, "--format", "megatron", "--to", str(tmp_path / "there"))
