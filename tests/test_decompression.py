from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.decompression import decompressed, find_compression, without_compression
from lisdata.errors import BadRecordError

TEXT = b"".join(b"line %d of a text that repeats itself\n" % i for i in range(20_000))
COMPRESS: dict[str, Any] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
SKIPPABLE = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
NAMES = tuple(COMPRESS)


def read_until_error(stream: Any, size: int) -> tuple[bytes, BadRecordError | None]:
    parts = []
    try:
        while data := stream.read(size):
            parts.append(data)
    except BadRecordError as error:
        return b"".join(parts), error
    return b"".join(parts), None


@pytest.mark.parametrize("name", NAMES)
@given(members=st.lists(st.binary(max_size=40), min_size=1, max_size=4), size=st.integers(1, 50))
@settings(max_examples=30, deadline=None)
def test_all_members_are_read_whatever_the_size_asked_for(name: str, members: list[bytes], size: int) -> None:
    data = b"".join(COMPRESS[name](member) for member in members)

    found, error = read_until_error(decompressed(io.BytesIO(data), name), size)

    assert error is None
    assert found == b"".join(members)


@pytest.mark.parametrize("name", NAMES)
def test_reading_gives_as_many_bytes_as_are_asked_for(name: str) -> None:
    stream = decompressed(io.BytesIO(COMPRESS[name](TEXT) * 2), name)

    assert stream.read(len(TEXT) + 7) == TEXT + TEXT[:7]
    assert stream.tell() == len(TEXT) + 7
    assert stream.read(0) == b""
    assert stream.read() == TEXT[7:]
    assert stream.read() == b""


@pytest.mark.parametrize("name", NAMES)
@given(
    members=st.lists(st.binary(max_size=40), min_size=1, max_size=4),
    cut=st.integers(0, 60),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
)
@settings(max_examples=30, deadline=None)
def test_fewer_bytes_than_asked_for_are_the_last_before_the_end_or_an_error(
    name: str, members: list[bytes], cut: int, sizes: list[int]
) -> None:
    whole = b"".join(COMPRESS[name](member) for member in members)
    stream = decompressed(io.BytesIO(whole[: len(whole) - cut]), name)
    found: list[tuple[int, bytes]] = []
    error: BadRecordError | None = None

    try:
        for size in sizes * (len(whole) + 1):
            found.append((size, stream.read(size)))
            if not found[-1][1]:
                break
    except BadRecordError as damage:
        error = damage

    assert all(len(data) == size for size, data in (found[:-1] if error else found[:-2]))
    text = b"".join(data for _, data in found)
    assert b"".join(members).startswith(text)
    assert (error is not None) or text == b"".join(members)[: len(text)]
    assert cut or (error is None and text == b"".join(members))


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_skips_forward_and_not_back(name: str) -> None:
    stream = decompressed(io.BytesIO(COMPRESS[name](TEXT)), name)

    assert stream.seek(1000) == 1000
    assert stream.read(5) == TEXT[1000:1005]
    assert stream.seek(2 * len(TEXT)) == len(TEXT)
    with pytest.raises(io.UnsupportedOperation, match="only read forward"):
        stream.seek(0)
    with pytest.raises(io.UnsupportedOperation, match="only read forward"):
        stream.seek(0, io.SEEK_END)


@pytest.mark.parametrize("name", NAMES)
def test_text_is_read_through_it_by_lines(name: str) -> None:
    with io.TextIOWrapper(decompressed(io.BytesIO(COMPRESS[name](TEXT)), name), encoding="ascii") as lines:
        assert next(lines) == "line 0 of a text that repeats itself\n"
        assert sum(1 for _ in lines) == 19_999


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(max_examples=20, deadline=None)
def test_a_cut_stream_gives_what_was_whole_and_then_an_error(name: str, data: st.DataObject) -> None:
    whole = COMPRESS[name](TEXT)
    cut = data.draw(st.integers(1, len(whole) - 1))

    found, error = read_until_error(decompressed(io.BytesIO(whole[:cut]), name, "dump"), 1 << 14)

    assert TEXT.startswith(found)
    assert error is not None
    assert str(error) == f"dump@{len(found)}: expected a whole {name} stream, found one that is cut"
    assert (error.begin, error.end) == (len(found), len(found))


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_cut_in_its_second_member_is_an_error_too(name: str) -> None:
    data = COMPRESS[name](TEXT) + COMPRESS[name](TEXT)[:20]

    found, error = read_until_error(decompressed(io.BytesIO(data), name), 1000)

    assert found == TEXT
    assert error is not None


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_an_error_each_time_it_is_read(name: str) -> None:
    whole = bytearray(COMPRESS[name](TEXT))
    whole[len(whole) // 2] ^= 0xFF
    stream = decompressed(io.BytesIO(bytes(whole)), name, "dump")

    errors = [read_until_error(stream, 1 << 14)[1] for _ in range(2)]

    assert errors[0] is errors[1]
    assert str(errors[0]).startswith(f"dump@{stream.tell()}: expected a whole {name} stream, found ")


@pytest.mark.parametrize("name", NAMES)
def test_bytes_after_the_last_member_that_are_none_are_an_error(name: str) -> None:
    found, error = read_until_error(
        decompressed(io.BytesIO(COMPRESS[name](TEXT) + b"rubbish, not a member"), name), 1000
    )

    assert found == TEXT
    assert error is not None


def test_gzip_may_be_padded_with_zeros() -> None:
    data = gzip.compress(b"one") + bytes(100_000) + gzip.compress(b"two") + bytes(7)

    assert decompressed(io.BytesIO(data), "gzip").read() == b"onetwo"


def test_a_wrong_checksum_is_an_error() -> None:
    data = bytearray(gzip.compress(TEXT))
    data[-8] ^= 1  # the checksum of the member

    _, error = read_until_error(decompressed(io.BytesIO(bytes(data)), "gzip"), 1000)

    assert error is not None
    assert "incorrect data check" in str(error)


def test_zstd_frames_to_skip_are_skipped() -> None:
    frame = zstandard.ZstdCompressor().compress(TEXT)

    assert decompressed(io.BytesIO(SKIPPABLE + frame + SKIPPABLE), "zstd").read() == TEXT


def test_an_empty_stream_of_any_compression_is_empty() -> None:
    assert [decompressed(io.BytesIO(b""), name).read() for name in NAMES] == [b""] * len(NAMES)


def test_closing_it_closes_what_it_reads_from() -> None:
    raw = io.BytesIO(gzip.compress(TEXT))

    decompressed(raw, "gzip").close()

    assert raw.closed


def test_plain_bytes_are_passed_on() -> None:
    raw = io.BytesIO(TEXT)

    assert decompressed(raw, None) is raw


def test_an_unknown_compression_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown compression 'lzma': expected gzip, bz2, xz or zstd"):
        decompressed(io.BytesIO(), "lzma")


@pytest.mark.parametrize("name", NAMES)
@given(st.binary(max_size=20))
@settings(max_examples=20, deadline=None)
def test_compression_is_found_by_the_first_bytes(name: str, content: bytes) -> None:
    assert find_compression(COMPRESS[name](content)) == name


@pytest.mark.parametrize(
    "first", [b"", b"BZh", b"BZhello, said the file\n", b"\x1f\x8b", b"PK\x03\x04", zlib.compress(b"x")]
)
def test_what_only_looks_compressed_is_not(first: bytes) -> None:
    assert find_compression(first) is None


def test_a_zstd_file_may_begin_with_a_frame_to_skip() -> None:
    assert find_compression(SKIPPABLE) == "zstd"


@pytest.mark.parametrize("name", NAMES)
@given(size=st.integers(0, 3000), limit=st.integers(0, 3000))
@settings(max_examples=20, deadline=None)
def test_a_stream_above_its_limit_is_an_error_that_names_the_option(name: str, size: int, limit: int) -> None:
    stream = decompressed(io.BytesIO(COMPRESS[name](TEXT[:size])), name, "dump", limit=limit)

    found, error = read_until_error(stream, 100)

    assert (error is None) == (size <= limit)
    assert TEXT[: min(size, limit)].startswith(found)
    if error is not None:
        wanted = f"expected at most {limit} bytes when decompressed (--max-expansion), found more"
        assert str(error) == f"dump@{len(found)}: {wanted}"


@pytest.mark.parametrize("name", ["gzip", "bz2", "xz"])
def test_a_piece_that_expands_far_comes_bit_by_bit(name: str) -> None:
    data = bytes(10 << 20)
    stream = decompressed(io.BytesIO(COMPRESS[name](data)), name)

    pieces = iter(lambda: stream.read1(), b"")

    assert [len(piece) for piece in pieces] == [4 << 20, 4 << 20, 2 << 20]


def test_an_xz_stream_that_asks_for_much_memory_is_refused() -> None:
    data = bytearray(lzma.compress(TEXT))
    size = (data[12] + 1) * 4  # of the header of the block
    assert data[14:16] == b"\x21\x01"  # LZMA2, one byte of properties
    data[16] = 40  # a dictionary of 4 GiB
    data[8 + size : 12 + size] = zlib.crc32(data[12 : 8 + size]).to_bytes(4, "little")

    _, error = read_until_error(decompressed(io.BytesIO(bytes(data)), "xz"), 1000)

    assert "Memory usage limit exceeded" in str(error)


@pytest.mark.parametrize(
    ("name", "expected"), [("A.nt.GZ", "A.nt"), ("a.xz.zst", "a.xz"), ("a.gz.nt", "a.gz.nt"), (".bz2", ""), ("", "")]
)
def test_a_name_loses_the_last_suffix_of_a_compression_alone(name: str, expected: str) -> None:
    assert without_compression(name) == expected
