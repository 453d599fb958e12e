"""Bad records stop the run, or are counted, or kept byte for byte; converted and rejected are all there is."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.decompression import decompressed
from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputFile, InputSlice
from lisdata.rejects import RejectWriter
from lisdata.shards import IncidenceDataset, verify_dataset

LINES = [b"one\n", b"bad \xff\n", b"three\n", b"\xfe\xfe\n", b"five\n"]
GOOD, BAD = [LINES[i] for i in (0, 2, 4)], [LINES[i] for i in (1, 3)]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def convert_bytes(data: bytes, folder: Path, **settings: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "in.txt").write_bytes(data)
    convert("text", [str(folder / "in.txt")], folder / "out", **settings)
    return folder / "out"


def records_of(dataset: Path) -> dict[str, int]:
    (info,) = IncidenceDataset(dataset).inputs
    return info.records


def kept(dataset: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield each quarantined record: what is said of it, and its bytes."""
    for path in sorted((dataset / "rejects").glob("*.jsonl")):
        data = path.with_suffix(".bin").read_bytes()
        for row in map(orjson.loads, path.read_bytes().splitlines()):
            yield row, data[row["at"] : row["at"] + row["size"]]


@pytest.mark.parametrize("name", COMPRESS)
def test_stop_ends_at_the_first_bad_record_with_place_expected_and_found(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadRecordError, match=r"^in.txt:2:5: expected UTF-8, found byte 0xff") as raised:
        convert_bytes(COMPRESS[name](b"".join(LINES)), tmp_path, on_error="stop")

    assert (raised.value.begin, raised.value.end) == (4, 10)
    assert not list((tmp_path / "out").glob("structures/part-*"))


@pytest.mark.parametrize("name", COMPRESS)
@pytest.mark.parametrize("on_error", ["skip", "quarantine"])
def test_the_good_records_are_converted_and_the_bad_ones_counted(name: str, on_error: str, tmp_path: Path) -> None:
    dataset = convert_bytes(COMPRESS[name](b"".join(LINES)), tmp_path, on_error=on_error)

    assert documents(dataset) == GOOD
    assert records_of(dataset) == {"seen": 5, "converted": 3, "rejected": 2}
    assert (dataset / "rejects").exists() == (on_error == "quarantine")


@pytest.mark.parametrize("name", COMPRESS)
def test_quarantined_records_are_kept_byte_for_byte_with_their_place(name: str, tmp_path: Path) -> None:
    dataset = convert_bytes(COMPRESS[name](b"".join(LINES)), tmp_path, on_error="quarantine")

    assert [data for _, data in kept(dataset)] == BAD
    first, second = (row for row, _ in kept(dataset))
    assert first | {"found": ""} == {
        "file": "in.txt", "place": "in.txt:2:5", "expected": "UTF-8", "found": "",
        "begin": 4, "end": 10, "at": 0, "size": 6,
    }  # fmt: skip
    assert (second["place"], second["begin"], second["end"], second["at"]) == ("in.txt:4:1", 16, 19, 6)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.sampled_from([b"good\n", b"a\xff\n", b"\xc3\xa9\n", b"\xed\xa0\x80\n", b"\n"]), max_size=12))
def test_no_byte_is_lost_or_comes_twice(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    dataset = convert_bytes(b"".join(lines), tmp_path_factory.mktemp("mixed"), on_error="quarantine")

    pieces = [(s.source[1], s.document) for s in IncidenceDataset(dataset).iter_structures()]
    pieces += [(row["begin"], data) for row, data in kept(dataset)]
    assert b"".join(data or b"" for _, data in sorted(pieces)) == b"".join(lines)
    assert records_of(dataset)["seen"] == len(lines)


def test_without_a_bad_record_nothing_is_kept(tmp_path: Path) -> None:
    dataset = convert_bytes(b"".join(GOOD), tmp_path, on_error="quarantine")

    assert not (dataset / "rejects").exists()
    assert records_of(dataset)["rejected"] == 0


def cut(lines: list[bytes], name: str) -> tuple[bytes, bytes]:
    """Compress in members of 300 lines, cut the one in the middle, return that with the bytes to be had from it."""
    members = [COMPRESS[name](b"".join(lines[i : i + 300])) for i in range(0, len(lines), 300)]
    middle = len(members) // 2
    packed = b"".join(members[:middle]) + members[middle][: len(members[middle]) // 2]
    whole = b""
    with decompressed(BytesIO(packed), name) as stream:
        while True:
            try:
                whole += stream.read(100)
            except BadRecordError:
                return packed, whole


MANY = [b"line %d of many, %d\n" % (i, i * i * 7919 % 10007) for i in range(3000)]


def documents(dataset: Path) -> list[bytes]:
    return [d for part in IncidenceDataset(dataset).parts for d in part.structures["document"].to_pylist()]


@pytest.mark.parametrize("name", ["gzip", "bz2", "zstd"])
@pytest.mark.parametrize("unit", ["line", "document"])
def test_a_cut_compressed_file_gives_its_whole_records_and_keeps_the_rest(name: str, unit: str, tmp_path: Path) -> None:
    packed, whole = cut(MANY, name)

    dataset = convert_bytes(packed, tmp_path, on_error="quarantine", options={"unit": unit})

    converted = b"".join(documents(dataset))
    ((row, data),) = kept(dataset)
    assert converted + data == whole
    assert b"".join(MANY).startswith(whole)
    assert (len(converted) > 10_000) == (unit == "line")
    assert (row["expected"], row["end"]) == (f"a whole {name} stream", len(whole))
    assert records_of(dataset)["rejected"] == 1
    assert verify_dataset(dataset).problems == ()


def test_a_cut_file_keeps_its_last_paragraph_whole(tmp_path: Path) -> None:
    paragraphs = [b"first %d\nsecond %d\n\n" % (i, i * 7919 % 10007) for i in range(2000)]
    packed, whole = cut(paragraphs, "gzip")

    dataset = convert_bytes(packed, tmp_path, on_error="quarantine", options={"unit": "paragraph"})

    converted = b"".join(documents(dataset))
    ((_, data),) = kept(dataset)
    assert converted + data == whole
    assert converted.endswith(b"\n\n")


def test_a_cut_compressed_file_stops_the_run_under_stop(tmp_path: Path) -> None:
    packed, whole = cut(MANY, "gzip")

    with pytest.raises(
        BadRecordError, match=rf"in.txt@{len(whole)}: expected a whole gzip stream, found one that is cut"
    ):
        convert_bytes(packed, tmp_path, on_error="stop")


# -- the writer ------------------------------------------------------------------------------------------------------


@pytest.fixture
def piece(tmp_path: Path) -> InputSlice:
    path = tmp_path / "x.bin"
    path.write_bytes(b"0123456789")
    file = InputFile(index=3, path=str(path), name="x.bin", size=10, digest="d", scope="d", compression=None)
    return InputSlice(file=file, begin=2, end=9)


def error(begin: int, end: int, data: bytes | None = None) -> BadRecordError:
    return BadRecordError(Place("x.bin", offset=begin), expected="a", found="b", begin=begin, end=end, data=data)


def test_bytes_are_read_again_where_the_source_did_not_keep_them(piece: InputSlice, tmp_path: Path) -> None:
    writer = RejectWriter(tmp_path, "00007", "quarantine")

    with writer.reading(piece):
        writer.reject(error(3, 5))
        writer.reject(error(5, 5))
        writer.reject(error(6, 8, b"67"))
    counts, files = writer.close()

    assert counts == {3: 3}
    assert set(files) == {"rejects/unit-00007.bin", "rejects/unit-00007.jsonl"}
    assert [data for _, data in kept(tmp_path)] == [b"34", b"", b"67"]


def test_damage_takes_along_what_follows_the_last_record(piece: InputSlice, tmp_path: Path) -> None:
    writer = RejectWriter(tmp_path, "00007", "quarantine")

    with writer.reading(piece):
        writer.reject(error(2, 4))
        raise error(6, 9)
    writer.close()

    assert [(row["begin"], data) for row, data in kept(tmp_path)] == [(2, b"23"), (4, b"45678")]


def test_what_is_found_may_be_any_text(piece: InputSlice, tmp_path: Path) -> None:
    writer = RejectWriter(tmp_path, "00007", "quarantine")

    with writer.reading(piece):
        writer.reject(BadRecordError(Place("x.bin"), expected="a", found="\udcff\n", begin=2, end=3, data=b"\xff"))
    writer.close()

    ((row, data),) = kept(tmp_path)
    assert (row["found"], data) == ("\\udcff\n", b"\xff")


def test_an_aborted_unit_leaves_no_rejects(piece: InputSlice, tmp_path: Path) -> None:
    writer = RejectWriter(tmp_path, "00007", "quarantine")
    with writer.reading(piece):
        writer.reject(error(3, 5))

    writer.abort()

    assert list((tmp_path / "rejects").iterdir()) == []


def test_a_record_outside_of_any_slice_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no slice is being read"):
        RejectWriter(tmp_path, "00007", "skip").reject(error(0, 1))


def test_errors_that_are_no_bad_record_are_not_swallowed(piece: InputSlice, tmp_path: Path) -> None:
    writer = RejectWriter(tmp_path, "00007", "skip")

    with pytest.raises(OSError, match="the disk"), writer.reading(piece):
        raise OSError("the disk")
