from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import ExportError
from lisdata.exporters.targets import moved_names, replacing, sweep_leftovers, target_names, target_paths
from lisdata.shards import InputInfo

PARTS = st.sampled_from(["a", "a.gz", "A.GZ", "b.csv", "b.csv.zst", "2", "3", ".gz"])
NAMES = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
INPUTS = st.lists(st.tuples(NAMES, st.sampled_from([None, "gzip"])), max_size=8)


def info(name: str, compression: str | None = None, index: int = 0) -> InputInfo:
    return InputInfo(index=index, name=name, scope="s", compression=compression, source="csv", exporter="csv")


def infos(*names: str) -> list[InputInfo]:
    """Inputs of these names, compressed where the name says so."""
    ends = (".gz", ".GZ")
    return [info(name, "gzip" if name.endswith(ends) else None, index) for index, name in enumerate(names)]


def names_of(*names: str) -> list[str]:
    return list(target_names(infos(*names)).values())


def test_one_file_goes_to_the_target_itself(tmp_path: Path) -> None:
    assert target_paths(tmp_path / "x.txt", (info("a/b.csv"),)) == [tmp_path / "x.txt"]


def test_files_go_below_a_folder_under_their_names_without_compression(tmp_path: Path) -> None:
    files = (
        info("a/b.csv.gz", "gzip"),
        info("c.csv.BZ2", "bz2", 1),
        info("d.csv.zst", "zstd", 2),
        info("e.gz", None, 3),
        info("f/.gz", "gzip", 4),
    )

    found = target_paths(tmp_path, files)

    assert [str(p.relative_to(tmp_path)) for p in found] == ["a/b.csv", "c.csv", "d.csv", "e.gz", "f/.gz"]
    assert target_paths(tmp_path, files[3:4]) == [tmp_path / "e.gz"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", ".", "a\0b", "../.gz"])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportError, match="expected a name inside the folder"):
        target_paths(tmp_path, (info(name),))


def test_a_name_that_leaves_the_folder_is_in_no_other_s_way(tmp_path: Path) -> None:
    files = infos("../a", "a")

    assert target_paths(tmp_path, files[1:], files) == [tmp_path / "a"]
    assert target_paths(tmp_path / "alone", files[:1], files) == [tmp_path / "alone"]


@settings(deadline=None)
@given(inputs=INPUTS, suffix=st.sampled_from(["", ".gz", ".jsonl"]))
def test_names_are_distinct_and_none_is_a_folder_of_another(inputs: list[tuple[str, str | None]], suffix: str) -> None:
    files = [info(name, compression, index) for index, (name, compression) in enumerate(inputs)]

    found = target_names(files, suffix=suffix)

    paths = [PurePosixPath(found[file.index]) for file in files]
    folders = {folder for path in paths for folder in path.parents}
    assert len(set(paths)) == len(paths)
    assert folders.isdisjoint(paths)
    for file, path in zip(files, paths, strict=True):
        wanted = PurePosixPath(target_names([file], suffix=suffix)[file.index])
        assert path == wanted or (path.parts[0].isdigit() and path.parts[1:] == wanted.parts)
    moved = moved_names(files, suffix=suffix)
    assert {k: new for k, (_, new) in moved.items()} == {
        f.index: found[f.index] for f in files if found[f.index] != target_names([f], suffix=suffix)[f.index]
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.txt.gz", "a.txt"], ["2/a.txt", "a.txt"]),
        (["t.nt", "t.nt", "t.nt"], ["t.nt", "2/t.nt", "3/t.nt"]),
        (["a.txt", "a.txt/b.txt"], ["2/a.txt", "a.txt/b.txt"]),
        (["a.txt/b.txt", "a.txt.gz"], ["a.txt/b.txt", "2/a.txt"]),
        (["a.txt", "a.txt.gz", "2/a.txt"], ["a.txt", "3/a.txt", "2/a.txt"]),
        (["2", "a", "a"], ["2", "a", "3/a"]),
        (["a.txt.GZ", "b.txt.gz"], ["a.txt", "b.txt"]),
        (["a/./b", "a/b"], ["a/b", "2/a/b"]),
    ],
)
def test_an_input_keeps_its_own_name_and_others_give_way(names: list[str], expected: list[str]) -> None:
    found = target_names(infos(*names))

    assert [found[index] for index in range(len(names))] == expected


def test_a_name_does_not_depend_on_which_inputs_are_chosen(tmp_path: Path) -> None:
    files = infos("t.nt", "t.nt", "u.nt.gz")

    paths = target_paths(tmp_path, files, files, suffix=".jsonl")

    assert [target_paths(tmp_path, [file], files, suffix=".jsonl") for file in files] == [[path] for path in paths]
    assert paths[1:] == [tmp_path / "2/t.nt.jsonl", tmp_path / "u.nt.jsonl"]


def test_thousands_of_inputs_of_one_name_are_named() -> None:
    assert names_of(*["t.nt"] * 5000)[-1] == "5000/t.nt"


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


def test_what_a_killed_export_leaves_is_swept_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    (tmp_path / ".lisdata-export-00.tmp").write_bytes(b"half")
    (tmp_path / ".other-00.tmp").write_bytes(b"not ours")

    with replacing(tmp_path / "x.txt") as stream:
        stream.write(b"whole")
        sweep_leftovers([tmp_path, tmp_path / "absent"])

    assert sorted(path.name for path in tmp_path.iterdir()) == [".other-00.tmp", "x.txt"]
    assert (tmp_path / "x.txt").read_bytes() == b"whole"
