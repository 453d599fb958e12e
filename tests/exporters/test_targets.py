from __future__ import annotations

from pathlib import Path

import pytest

from lisdata.errors import ExportError
from lisdata.exporters.targets import replacing, target_paths
from lisdata.shards import InputInfo


def info(name: str, compression: str | None = None) -> InputInfo:
    return InputInfo(index=0, name=name, scope="s", compression=compression, source="csv", exporter="csv")


def test_one_file_goes_to_the_target_itself(tmp_path: Path) -> None:
    assert target_paths(tmp_path / "x.txt", (info("a/b.csv"),)) == [tmp_path / "x.txt"]


def test_files_go_below_a_folder_under_their_names_without_compression(tmp_path: Path) -> None:
    files = (info("a/b.csv.gz", "gzip"), info("c.csv.bz2", "bz2"), info("d.csv.zst", "zstd"), info("e.gz"))

    found = target_paths(tmp_path, files)

    assert [str(p.relative_to(tmp_path)) for p in found] == ["a/b.csv", "c.csv", "d.csv", "e.gz"]
    assert target_paths(tmp_path, files[3:]) == [tmp_path / "e.gz"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ""])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportError, match="expected a name inside the folder"):
        target_paths(tmp_path, (info(name),))


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="two inputs of the dataset have this name"):
        target_paths(tmp_path, (info("a.csv.gz", "gzip"), info("a.csv")))


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.txt"
    with replacing(path) as stream:
        stream.write(b"old")

    def fail() -> None:
        with replacing(path) as stream:
            stream.write(b"half")
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        fail()

    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]
