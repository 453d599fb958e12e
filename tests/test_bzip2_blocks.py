"""Blocks of bzip2 are found, and decompressed apart, as the library decompresses all."""

from __future__ import annotations

import bz2
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata import bzip2_blocks
from lisdata.bzip2_blocks import BlockDecompressor, DamagedStreamError, find_magic, iter_blocks, magic_at

BLOCK, END = 0x314159265359, 0x177245385090
TEXT = random.Random(5).randbytes(250_000) + b"a" * 300_000  # runs expand far


def blocks_of(data: bytes) -> list[bzip2_blocks.Block]:
    return list(iter_blocks(io.BytesIO(data)))


@given(
    before=st.binary(max_size=9),
    after=st.binary(max_size=9),
    shift=st.integers(0, 7),
    magic=st.sampled_from([BLOCK, END]),
)
def test_a_magic_number_is_found_at_any_bit(before: bytes, after: bytes, shift: int, magic: int) -> None:
    bits = "".join(f"{byte:08b}" for byte in before) + "0" * shift + f"{magic:048b}" + "0" * (8 - shift)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big") + after

    found = find_magic(data, 0)

    assert found == 8 * len(before) + shift
    assert magic_at(data, found) == magic
    assert find_magic(data, found + 1) is None


@pytest.mark.parametrize("data", [b"", b"1AY&S", bytes(100)])
def test_where_there_is_none_none_is_found(data: bytes) -> None:
    assert find_magic(data, 0) is None


@given(streams=st.lists(st.binary(max_size=200), max_size=4))
@settings(deadline=None)
def test_the_blocks_of_all_streams_hold_all(streams: list[bytes]) -> None:
    data = b"".join(map(bz2.compress, streams))

    found = blocks_of(data)

    assert b"".join(bz2.decompress(block.stream) for block in found if block.stream) == b"".join(streams)
    assert sum(block.stream is None for block in found) == len(streams)


@pytest.mark.parametrize("size", [1000, 1 << 16, 1 << 22])
@pytest.mark.parametrize("most", [5000, 1 << 20])
def test_from_each_block_on_a_stream_comes_in_pieces_of_any_size(size: int, most: int) -> None:
    data = bz2.compress(TEXT, 1) + b"what follows"
    whole = bz2.BZ2Decompressor().decompress(data)
    offset = 0
    for block in blocks_of(data.removesuffix(b"what follows")):
        if block.stream is not None:
            assert read_pieces(data[block.bit // 8 :], block.bit % 8, size, most) == whole[offset:]
            offset += len(bz2.decompress(block.stream))


def test_a_stream_comes_byte_by_byte_too() -> None:
    text = b"a text of one block"
    data = bz2.compress(text) + b"what follows"

    assert read_pieces(data[4:], 0, 1, 1) == text


def read_pieces(data: bytes, shift: int, size: int, most: int) -> bytes:
    one, parts = BlockDecompressor(shift), []
    for begin in range(0, len(data), size):
        given = data[begin : begin + size]
        while piece := one.decompress(given, most):
            assert len(piece) <= most
            parts.append(piece)
            given = b""
        if one.eof:
            assert b"what follows".startswith(one.unused_data)
            break
    assert one.eof
    return b"".join(parts)


def test_a_magic_number_inside_of_a_block_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bz2.compress(TEXT, 1)
    first, second, *_ = blocks_of(data)
    wrong = first.bit + 4000
    found = find_magic

    def find(data: bytes, begin: int) -> int | None:
        return wrong - first.bit if begin <= wrong - first.bit else found(data, begin)

    monkeypatch.setattr(bzip2_blocks, "find_magic", find)
    one = BlockDecompressor(first.bit % 8)

    assert first.stream is not None
    assert one.decompress(data[first.bit // 8 : second.bit // 8 + 8], 1 << 20) == bz2.decompress(first.stream)


@pytest.mark.parametrize(
    "data", [b"BZ", b"BZh0", b"BZh9", b"no stream", bz2.compress(b"a") + b"rest", b"BZh9" + bytes(20)]
)
def test_what_is_no_stream_is_told(data: bytes) -> None:
    with pytest.raises(DamagedStreamError):
        blocks_of(data)


@pytest.mark.parametrize("at", [10, -3])
def test_a_wrong_checksum_of_a_stream_is_told(at: int) -> None:
    data = bytearray(bz2.compress(b"a text"))
    data[at] ^= 255

    with pytest.raises(DamagedStreamError):
        blocks_of(bytes(data))


def test_a_block_without_end_is_damage_and_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bzip2_blocks, "MAX_BLOCK_BYTES", 1000)
    monkeypatch.setattr(bzip2_blocks, "_READ_BYTES", 100)
    data = bz2.compress(b"a text")[4:20] + bytes(5000)

    with pytest.raises(DamagedStreamError):
        BlockDecompressor(0).decompress(data, 100)
    with pytest.raises(DamagedStreamError):
        blocks_of(b"BZh9" + data)


def test_what_is_no_block_is_damage() -> None:
    with pytest.raises(DamagedStreamError):
        BlockDecompressor(0).decompress(bytes(20), 100)
