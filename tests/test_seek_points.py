"""From each seek point on a file decompresses to what reading from its begin gives there."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata import seek_points
from lisdata.decompression import decompressed
from lisdata.errors import BadRecordError
from lisdata.seek_points import BEGIN, SeekIndex, find_seek_points

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": partial(bz2.compress, compresslevel=1),  # blocks of 100 kB
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
NAMES = tuple(COMPRESS)
WORDS = (b"river", b"garden", b"\n", b"harbour and tide\n", b"", b"\n\n", b"7919")
NO_LIMIT = 1 << 40


def make_text(seed: int, num_words: int) -> bytes:
    return b" ".join(random.Random(seed).choices(WORDS, k=num_words))


def index(data: bytes, name: str, spacing: int = 1, limit: int = NO_LIMIT, threads: int = 2) -> SeekIndex | None:
    return find_seek_points(lambda: io.BytesIO(data), name, spacing=spacing, limit=limit, threads=threads)


def read_from(data: bytes, name: str, point: seek_points.SeekPoint) -> bytes:
    return decompressed(io.BytesIO(data), name, begin=(point.bit, point.offset)).read()


@pytest.mark.parametrize("name", NAMES)
@given(
    sizes=st.lists(st.integers(0, 20_000), min_size=1, max_size=5),
    seed=st.integers(0, 99),
    spacing=st.integers(1, 100_000),
)
@settings(max_examples=12, deadline=None)
def test_from_each_point_on_is_what_reading_from_the_begin_gives(
    name: str, sizes: list[int], seed: int, spacing: int
) -> None:
    members = [make_text(seed + number, size) for number, size in enumerate(sizes)]
    data, text = b"".join(map(COMPRESS[name], members)), b"".join(members)

    found = index(data, name, spacing)

    if found is None:
        assert name != "bz2"
        assert len(sizes) == 1 or spacing > 1
        return
    assert found.size == len(text)
    assert found.points[0] == BEGIN
    for point in found.points:
        assert read_from(data, name, point) == text[point.offset :]
        assert point.newlines == text.count(b"\n", 0, point.offset)
        assert point.line_begin == text.rfind(b"\n", 0, point.offset) + 1
    for before, after in zip(found.points, found.points[1:], strict=False):
        assert after.offset >= before.offset + spacing


@pytest.mark.parametrize("name", NAMES)
def test_every_member_of_some_size_is_a_point_whatever_the_threads(name: str) -> None:
    data = b"".join(COMPRESS[name](make_text(seed, 20_000)) for seed in range(5))

    found = index(data, name, threads=1)

    assert found is not None
    assert len(found.points) >= 5
    assert found == index(data, name, threads=3)


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_a_file_of_one_member_is_not_decompressed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("decompressed")

    monkeypatch.setattr(seek_points, "codec_of", refuse)

    assert index(COMPRESS[name](make_text(0, 100_000)), name) is None


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_what_looks_like_a_member_inside_of_one_is_no_point(name: str) -> None:
    inner = COMPRESS[name](make_text(1, 50_000))
    stored = {"gzip": partial(gzip.compress, compresslevel=0), "xz": lzma.compress, "zstd": COMPRESS["zstd"]}[name]
    outer = stored(inner * 3)  # random bytes stand as they are also where they are not stored as such
    data = outer + COMPRESS[name](b"and more\n")

    found = index(data, name)

    assert found is not None
    assert found.size == len(inner) * 3 + len(b"and more\n")
    assert {point.bit for point in found.points} <= {0, 8 * len(outer)}


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_a_damaged_file_has_points_only_before_the_damage(name: str, data: st.DataObject) -> None:
    members = [make_text(seed, 3_000) for seed in range(4)]
    good = b"".join(map(COMPRESS[name], members))
    at = data.draw(st.integers(0, len(good) - 1))
    bad = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]

    found = index(bad, name)

    calm = decompressed(io.BytesIO(bad), name)
    read = bytearray()
    try:
        while piece := calm.read(1 << 12):
            read += piece
        size: int | None = len(read)
    except BadRecordError:
        size = None
    if found is not None:
        assert found.size == size
        assert all(point.offset <= len(read) for point in found.points)
        assert found.points[-1].offset <= len(b"".join(members))


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_file_has_points_only_before_the_cut(name: str) -> None:
    members = [make_text(seed, 20_000) for seed in range(3)]
    whole = b"".join(map(COMPRESS[name], members))

    found = index(whole[:-3], name)

    assert found is not None
    assert found.size is None
    assert found.known_size == found.points[-1].offset <= len(members[0]) + len(members[1])


@pytest.mark.parametrize("name", NAMES)
def test_what_expands_beyond_the_limit_has_no_points(name: str) -> None:
    data = b"".join(COMPRESS[name](make_text(seed, 30_000)) for seed in range(4))
    limit = len(make_text(0, 30_000)) + len(make_text(1, 30_000))

    found = index(data, name, limit=limit)

    assert found is not None
    assert found.size is None
    assert all(point.offset <= limit for point in found.points)


def test_blocks_that_are_no_whole_bytes_are_points_of_a_bzip2_file_of_one_stream() -> None:
    text = random.Random(0).randbytes(450_000)
    data = bz2.compress(text, 1)

    found = index(data, "bz2")

    assert found is not None
    assert len(found.points) >= 5
    assert any(point.bit % 8 for point in found.points)
    assert all(read_from(data, "bz2", point) == text[point.offset :] for point in found.points)


def bgzf(data: bytes) -> bytes:
    """Return a member as bgzip writes it: its size stands in an extra field."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    header = b"\x1f\x8b\x08\x04" + bytes(4) + b"\x00\xff" + struct.pack("<H2sHH", 6, b"BC", 2, len(packed) + 25)
    return header + packed + struct.pack("<II", zlib.crc32(data), len(data))


def test_blocks_of_bgzip_are_points_its_empty_last_one_too() -> None:
    members = [make_text(seed, 10_000) for seed in range(6)]
    data, text = b"".join(map(bgzf, [*members, b""])), b"".join(members)

    found = index(data, "gzip", spacing=1)

    assert found is not None
    assert found.size == len(text)
    assert len(found.points) >= 6
    assert all(read_from(data, "gzip", point) == text[point.offset :] for point in found.points)
