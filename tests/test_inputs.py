from __future__ import annotations

import bz2
import contextlib
import gzip
import os
import tempfile
from pathlib import Path
from typing import Any

import fsspec
import pytest
import xxhash
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata import inputs
from lisdata.errors import BadRecordError, PlanError
from lisdata.inputs import InputFile, InputSlice, find_inputs

COMPRESS: dict[str, Any] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
LINES = b"".join(b"%d\n" % (i * i) for i in range(3000))


def input_of(path: Path, data: bytes) -> InputFile:
    path.write_bytes(data)
    (found,) = find_inputs([str(path)], suffixes=(".txt",))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


# -- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [None, *COMPRESS])
@given(lines=st.lists(st.binary(max_size=9)), size=st.integers(1, 30), data=st.data())
@settings(max_examples=40, deadline=None)
def test_blocks_are_the_bytes_of_the_slice_cut_after_newlines(
    folder: Path, compression: str | None, lines: list[bytes], size: int, data: st.DataObject
) -> None:
    body = b"\n".join(lines)
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(body))] * 2)))
    file = input_of(folder / "body.txt", body if compression is None else COMPRESS[compression](body))
    piece = InputSlice(file=file, begin=begin, end=data.draw(st.sampled_from([end, None])))

    blocks = list(piece.blocks(size))

    assert b"".join(block for _, block in blocks) == piece.read() == body[begin : piece.end]
    assert [offset for offset, _ in blocks] == [begin + sum(len(b) for _, b in blocks[:i]) for i in range(len(blocks))]
    assert all(block.endswith(b"\n") for _, block in blocks[:-1])
    assert all(blocks)


def test_a_slice_whose_end_is_before_its_begin_is_empty(folder: Path) -> None:
    file = input_of(folder / "body.txt", LINES)

    assert InputSlice(file=file, begin=9, end=3).read() == b""


def test_a_line_longer_than_a_block_is_one_block(folder: Path) -> None:
    file = input_of(folder / "long.txt", b"a\n" + b"x" * 5000 + b"\nb\n")

    assert [len(block) for _, block in InputSlice(file=file).blocks(64)][:2] == [2, 5000 + 1 + 2]


@pytest.mark.parametrize("compression", COMPRESS)
def test_compression_is_known_by_content_not_by_name(folder: Path, compression: str) -> None:
    file = input_of(folder / "plainly_named.txt", COMPRESS[compression](LINES))

    assert file.compression == compression
    assert InputSlice(file=file).read() == LINES


def test_a_name_does_not_make_a_file_compressed(folder: Path) -> None:
    file = input_of(folder / "not_at_all.txt.gz", LINES)

    assert file.compression is None
    assert InputSlice(file=file).read() == LINES


@pytest.mark.parametrize("compression", COMPRESS)
def test_all_members_of_a_compressed_file_are_read(folder: Path, compression: str) -> None:
    compress = COMPRESS[compression]
    file = input_of(folder / "members.txt.x", compress(LINES) + compress(b"") + compress(b"the last"))

    assert InputSlice(file=file).read() == LINES + b"the last"


@pytest.mark.parametrize("compression", COMPRESS)
def test_a_cut_compressed_file_gives_its_whole_lines_and_then_names_the_one_it_cuts(
    folder: Path, compression: str
) -> None:
    compress = COMPRESS[compression]
    second = compress(b"second member\n" * 500)
    file = input_of(folder / f"cut.txt.{compression}", compress(LINES + b"half a li") + second[: len(second) // 2])
    blocks = []

    with pytest.raises(
        BadRecordError, match=f"cut.txt.{compression}@.* expected a whole {compression} stream"
    ) as caught:
        blocks.extend(InputSlice(file=file).blocks(1000))

    found = b"".join(block for _, block in blocks)
    assert found.startswith(LINES)
    assert found.endswith(b"\n")
    assert (LINES + b"half a li" + b"second member\n" * 500).startswith(found)
    assert caught.value.begin == len(found)
    assert caught.value.end >= len(LINES) + len(b"half a li")
    rejected = InputSlice(file=file, begin=caught.value.begin, end=caught.value.end).read()
    assert (LINES + b"half a li" + b"second member\n" * 500).startswith(found + rejected)


@pytest.mark.parametrize("compression", COMPRESS)
def test_a_slice_that_begins_after_the_cut_is_an_error(folder: Path, compression: str) -> None:
    whole = COMPRESS[compression](LINES)
    file = input_of(folder / "cut.txt", whole[: len(whole) // 2])

    with pytest.raises(BadRecordError, match=f"expected a whole {compression} stream"):
        InputSlice(file=file, begin=len(LINES)).read()


def test_a_missing_file_is_no_bad_record(folder: Path) -> None:
    file = input_of(folder / "gone.txt", LINES)
    (folder / "gone.txt").unlink()

    with pytest.raises(FileNotFoundError):
        InputSlice(file=file).read()


@pytest.mark.parametrize("compression", [None, *COMPRESS])
@given(body=st.binary(max_size=40).map(lambda b: b.replace(b"\1", b"\n")), data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_place_is_line_and_column_from_one(
    folder: Path, compression: str | None, body: bytes, data: st.DataObject
) -> None:
    file = input_of(folder / "place.txt", body if compression is None else COMPRESS[compression](body))
    offset = data.draw(st.integers(0, len(body)))

    place = InputSlice(file=file).place(offset)

    before = body[:offset]
    assert place.line == before.count(b"\n") + 1
    assert place.column == len(before.rpartition(b"\n")[2]) + 1
    assert str(place) == f"place.txt:{place.line}:{place.column}"


# -- finding ---------------------------------------------------------------------------------------------------------


def write_tree(root: Path, *names: str) -> None:
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")


def names_of(files: list[InputFile]) -> list[str]:
    assert [file.index for file in files] == list(range(len(files)))
    return [file.name for file in files]


def test_a_folder_gives_its_files_of_the_suffix_sorted_and_named_below_it(tmp_path: Path) -> None:
    write_tree(tmp_path, "b.txt", "a/c.txt", "a/b.TXT", "z.txt.gz", "n.csv", "README")

    files = find_inputs([str(tmp_path)], suffixes=(".txt",))

    assert names_of(files) == ["a/b.TXT", "a/c.txt", "b.txt", "z.txt.gz"]


def test_paths_keep_the_order_in_which_they_are_given(tmp_path: Path) -> None:
    write_tree(tmp_path, "b.txt", "a.txt", "folder/c.txt")

    files = find_inputs([str(tmp_path / n) for n in ("b.txt", "folder", "a.txt")], suffixes=(".txt",))

    assert names_of(files) == ["b.txt", "c.txt", "a.txt"]


def test_a_file_that_is_named_needs_no_suffix(tmp_path: Path) -> None:
    write_tree(tmp_path, "data")

    assert names_of(find_inputs([str(tmp_path / "data")], suffixes=(".txt",))) == ["data"]


def test_a_glob_gives_its_files_sorted(tmp_path: Path) -> None:
    write_tree(tmp_path, "b.txt", "a.txt", "c.csv", "folder.txt/x")

    assert names_of(find_inputs([str(tmp_path / "*.txt")], suffixes=(".txt",))) == ["a.txt", "b.txt"]


def test_a_file_whose_name_looks_like_a_glob_is_found(tmp_path: Path) -> None:
    write_tree(tmp_path, "data[1].txt")

    (file,) = find_inputs([str(tmp_path / "data[1].txt")], suffixes=(".txt",))

    assert InputSlice(file=file).read() == b"0\n"


def test_no_two_inputs_have_one_name(tmp_path: Path) -> None:
    write_tree(tmp_path, "one/x.txt", "two/x.txt", "three/x.txt")

    files = find_inputs([str(tmp_path / n / "x.txt") for n in ("one", "two", "three")], suffixes=(".txt",))

    assert len({file.name for file in files}) == 3


def test_the_output_folder_is_never_an_input(tmp_path: Path) -> None:
    write_tree(tmp_path, "a.txt", "out/rejects/b.txt", "out-of-this/c.txt")

    files = find_inputs([str(tmp_path)], suffixes=(".txt",), exclude=str(tmp_path / "out"))

    assert names_of(files) == ["a.txt", "out-of-this/c.txt"]


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"nowhere\.txt: no such file or folder"):
        find_inputs([str(tmp_path / "nowhere.txt")], suffixes=(".txt",))


def test_a_folder_without_a_fitting_file_is_an_error(tmp_path: Path) -> None:
    write_tree(tmp_path, "a.csv")

    with pytest.raises(PlanError, match=r"no input found at .* \(looked for files that end in \.txt, \.md\)"):
        find_inputs([str(tmp_path)], suffixes=(".txt", ".md"))


def test_copies_of_one_file_have_scopes_of_their_own(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_bytes(b"_:b0\n")
    (tmp_path / "other.txt").write_bytes(b"_:b1\n")

    files = find_inputs([str(tmp_path)], suffixes=(".txt",))

    digest = files[0].digest
    assert [file.digest for file in files[:3]] == [digest] * 3
    assert [file.scope for file in files] == [digest, f"{digest}~1", f"{digest}~2", files[3].digest]
    assert files[3].digest != digest


@given(size=st.integers(1, 200_000), data=st.data())
def test_a_digest_sees_every_byte_of_a_file_of_up_to_64_mib(size: int, data: st.DataObject) -> None:
    changed = data.draw(st.integers(0, size - 1))
    body = bytearray(size)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.txt", "b.txt", "c.txt"):
            Path(folder, name).write_bytes(body)
            body[changed] ^= 1
        Path(folder, "d.txt").write_bytes(body + b"\0")

        first, second, third, fourth = find_inputs([folder], suffixes=(".txt",))

    assert first.digest == third.digest
    assert len({first.digest, second.digest, fourth.digest}) == 3


def test_a_digest_of_a_larger_file_sees_size_begin_and_end_and_pieces_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "WHOLE_DIGEST_BYTES", 1 << 20)
    base = bytearray(6 << 20)
    bodies = [bytes(base), bytes(base + b"\0")]
    for at in (0, len(base) - 1, *(len(base) * piece // 63 for piece in range(1, 63))):
        body = bytearray(base)
        body[at] = 1
        bodies.append(bytes(body))
    for number, body in enumerate(bodies):
        (tmp_path / f"{number:02d}.txt").write_bytes(body)

    files = find_inputs([str(tmp_path)], suffixes=(".txt",))

    assert len({file.digest for file in files}) == len(bodies)
    assert [file.size for file in files] == [len(body) for body in bodies]


def test_the_digest_of_a_slice_is_that_of_its_bytes_as_stored(tmp_path: Path) -> None:
    for name, data in (("a.txt", b"abcdef"), ("b.txt.gz", gzip.compress(b"abcdef"))):
        (tmp_path / name).write_bytes(data)
    plain, packed = find_inputs([str(tmp_path)], suffixes=(".txt",))

    assert InputSlice(file=plain, begin=1, end=3).digest() == xxhash.xxh3_128(b"bc").hexdigest()
    assert InputSlice(file=plain).digest() == xxhash.xxh3_128(b"abcdef").hexdigest()
    assert InputSlice(file=packed).digest() == xxhash.xxh3_128((tmp_path / "b.txt.gz").read_bytes()).hexdigest()


@given(begin=st.integers(0, 40), length=st.integers(0, 200), limit=st.integers(20, 120))
def test_a_line_without_end_is_refused_before_it_fills_the_memory(begin: int, length: int, limit: int) -> None:
    data = b"short\n" * (begin // 6) + b"x" * length + b"\nrest\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_bytes(data)
        (file,) = find_inputs([folder], suffixes=(".txt",))
        found, error = b"", None
        try:
            for _, block in InputSlice(file=file).blocks(16, longest_line=limit):
                found += block
        except BadRecordError as caught:
            error = caught

        assert data.startswith(found)
        assert (found == data) == (error is None)
        if error is not None:
            assert length + 6 > limit
            assert (error.begin, str(limit) in error.expected) == (len(found), True)
        if length > limit + 32:
            assert error is not None
        assert InputSlice(file=file).read() == data


def test_pipes_in_a_folder_are_passed_by(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\n")
    os.mkfifo(tmp_path / "b.txt")
    os.mkfifo(tmp_path / "plan.json")

    assert [file.name for file in find_inputs([str(tmp_path)], suffixes=(".txt",))] == ["a.txt"]


def test_hidden_files_are_read_only_when_named(tmp_path: Path) -> None:
    for name in ("a.txt", ".b.txt", ".git/c.txt", "sub/.cache/d.txt", "sub/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())

    assert [file.name for file in find_inputs([str(tmp_path)], suffixes=(".txt",))] == ["a.txt", "sub/e.txt"]
    assert [file.name for file in find_inputs([str(tmp_path / ".git")], suffixes=(".txt",))] == ["c.txt"]
    assert [file.name for file in find_inputs([str(tmp_path / ".b.txt")], suffixes=(".txt",))] == [".b.txt"]


def test_a_pipe_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")

    with pytest.raises(PlanError, match=r"a.txt: expected a regular file, not a pipe or device"):
        find_inputs([str(tmp_path / "a.txt")], suffixes=(".txt",))


@pytest.mark.parametrize("name", ["file:x.txt", "local:y.txt", "a::b.txt", "http:z.txt"])
def test_a_name_with_a_colon_is_no_url(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"here\n")
    (tmp_path / "x.txt").write_bytes(b"elsewhere\n")

    with contextlib.chdir(tmp_path):
        (file,) = find_inputs([name], suffixes=(".txt",))

    assert InputSlice(file=file).read() == b"here\n"


def test_a_url_of_an_unknown_or_uninstalled_protocol_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str) -> None:
        raise ImportError("Install s3fs to access S3")

    with pytest.raises(PlanError, match=r"nosuch://x/a.txt: .*nosuch"):
        find_inputs(["nosuch://x/a.txt"], suffixes=(".txt",))
    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(PlanError, match=r"s3://x/a.txt: Install s3fs"):
        find_inputs(["s3://x/a.txt"], suffixes=(".txt",))


def test_an_fsspec_url_is_read() -> None:
    fs = fsspec.filesystem("memory")
    fs.pipe({"/lisdata_inputs/a.txt": b"plain\n", "/lisdata_inputs/b.txt.gz": gzip.compress(b"packed\n")})
    try:
        files = find_inputs(["memory://lisdata_inputs"], suffixes=(".txt",))

        assert names_of(files) == ["a.txt", "b.txt.gz"]
        assert [InputSlice(file=file).read() for file in files] == [b"plain\n", b"packed\n"]
        assert [file.compression for file in files] == [None, "gzip"]
    finally:
        fs.rm("/lisdata_inputs", recursive=True)


def test_an_empty_file_is_an_input_without_blocks(tmp_path: Path) -> None:
    file = input_of(tmp_path / "empty.txt", b"")

    assert list(InputSlice(file=file).blocks()) == []
    assert (file.size, file.compression) == (0, None)


@given(
    lines=st.lists(st.integers(0, 60), max_size=8),
    ends=st.booleans(),
    size=st.integers(1, 40),
    limit=st.integers(1, 50),
)
def test_long_lines_are_passed_over_and_nothing_else(lines: list[int], ends: bool, size: int, limit: int) -> None:
    data = b"".join(b"%c" % (97 + number) * length + b"\n" for number, length in enumerate(lines))
    data = data if ends else data.removesuffix(b"\n")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_bytes(data)
        (file,) = find_inputs([folder], suffixes=(".txt",))
        passed: list[tuple[int, int]] = []
        found = []
        for begin, block in InputSlice(file=file).blocks(
            size, longest_line=limit, on_long_line=lambda *line: passed.append(line)
        ):
            assert data[begin : begin + len(block)] == block
            found.append((begin, begin + len(block)))

    pieces = sorted(found + passed)
    assert [begin for begin, _ in pieces] == [0, *(end for _, end in pieces)][: len(pieces)]
    assert (pieces[-1][1] if pieces else 0) == len(data)
    for begin, end in passed:
        assert end - begin > limit
        assert data[:begin].endswith(b"\n") or begin == 0
        assert data[begin:end].count(b"\n") == data[begin:end].endswith(b"\n")
    assert all(end - begin <= limit + size for begin, end in found)
