"""Images: exact pixels in their mode, palettes and transparency beside them; what Pillow would round is refused."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import GridRecords
from lisdata.registry import load_source
from lisdata.shards import IncidenceDataset
from lisdata.sources.images import IMAGE, ImageOptions, MalformedImageError, read_image

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)


def saved(image: Image.Image, format_: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format_, **options)
    return stream.getvalue()


def read(path: Path, data: bytes, **options: Any) -> tuple[list[GridRecords], list[BadRecordError]]:
    path.write_bytes(data)
    rejected: list[BadRecordError] = []
    piece = InputSlice(file=find_inputs([str(path)], suffixes=IMAGE.suffixes)[0])
    return list(IMAGE.read(piece, ImageOptions(**options), rejected.append)), rejected


def png(width: int, height: int, depth: int, colour: int) -> bytes:
    """Return a PNG whose header declares what it likes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    header = struct.pack(">LLBBBBB", width, height, depth, colour, 0, 0, 0)
    rows = zlib.compress(bytes(min(1 << 20, (width * depth * 4 // 8 + 1) * height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_it_is_registered() -> None:
    assert load_source("image") is IMAGE


@pytest.mark.parametrize(
    ("mode", "dtype", "shape", "note"),
    [
        ("1", "|b1", (5, 7), {}),
        ("L", "|u1", (5, 7), {}),
        ("LA", "|u1", (5, 7, 2), {}),
        ("RGB", "|u1", (5, 7, 3), {}),
        ("RGBA", "|u1", (5, 7, 4), {}),
        ("I;16", "<u2", (5, 7), {}),
    ],
)
def test_the_pixels_are_those_of_the_mode(mode: str, dtype: str, shape: tuple[int, ...], note: dict[str, str]) -> None:
    image = Image.fromarray(PIXELS)
    image = Image.fromarray(PIXELS[:, :, 0].astype("<u2") * 257) if mode == "I;16" else image.convert(mode)

    arrays, found = read_image(saved(image), ImageOptions())

    assert list(arrays) == [""]
    assert (arrays[""].dtype.str, arrays[""].shape) == (dtype, shape)
    assert np.array_equal(arrays[""], np.asarray(image))
    assert found == note


def test_modes_that_an_array_does_not_tell_are_noted() -> None:
    cmyk = Image.fromarray(PIXELS).convert("CMYK")

    _, note = read_image(saved(cmyk, "TIFF"), ImageOptions())

    assert note == {"mode": "CMYK"}


@pytest.mark.parametrize("format_", ["PNG", "GIF", "BMP"])
def test_a_palette_stands_beside_the_indices(format_: str) -> None:
    image = Image.new("P", (3, 1))
    image.putdata([0, 1, 2])
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])

    arrays, note = read_image(saved(image, format_), ImageOptions())

    assert arrays[""].tolist() == [[0, 1, 2]]
    assert arrays[".palette"][:3].tolist() == [[10, 20, 30], [40, 50, 60], [70, 80, 90]]
    assert note == {"mode": "P"}


@pytest.mark.parametrize(
    ("mode", "transparency", "stored"),
    [("L", 9, 9), ("RGB", (1, 2, 3), [1, 2, 3]), ("P", b"\0\x80\xff", [0, 128, 255])],
)
def test_transparency_that_is_no_channel_stands_beside_the_pixels(mode: str, transparency: Any, stored: Any) -> None:
    image = Image.fromarray(PIXELS).quantize(5) if mode == "P" else Image.new(mode, (3, 3))

    arrays, _ = read_image(saved(image, "PNG", transparency=transparency), ImageOptions())

    assert arrays[".transparency"].tolist() == stored
    assert (arrays[".transparency"].dtype == np.uint8) == (mode == "P")


@pytest.mark.parametrize("format_", ["PNG", "TIFF"])
def test_frames_of_one_mode_are_one_array(format_: str) -> None:
    frames = [Image.fromarray(np.roll(PIXELS, n, axis=1)) for n in range(3)]

    arrays, note = read_image(saved(frames[0], format_, save_all=True, append_images=frames[1:]), ImageOptions())

    assert np.array_equal(arrays[""], np.stack([np.asarray(frame) for frame in frames]))
    assert note == {"frames": True}


def test_frames_with_palettes_are_as_they_are_shown() -> None:
    frames = [Image.fromarray(np.roll(PIXELS, n, axis=1)).quantize(8) for n in range(2)]

    arrays, note = read_image(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]), ImageOptions())

    assert np.array_equal(arrays[""], np.stack([np.asarray(frame.convert("RGBA")) for frame in frames]))
    assert note == {"frames": True}


def test_a_real_photograph_is_what_pillow_decodes(shared: Path) -> None:
    path = shared / "data/kg/grids/flower.jpg"

    arrays, note = read_image(path.read_bytes(), ImageOptions())

    with Image.open(path) as image:
        assert np.array_equal(arrays[""], np.asarray(image))
    assert arrays[""].shape == (427, 640, 3)
    assert note == {}


def test_the_arrays_of_an_image_are_records_of_its_file(tmp_path: Path, root: Path) -> None:
    data = (root / "sample_data/grids/harbour.png").read_bytes()

    (records,), _ = read(tmp_path / "a.png", data, name="view")
    convert("image", tmp_path / "a.png", tmp_path / "data")

    assert records.names == ("view", "view.palette", "view.transparency")
    assert records.end.tolist() == [len(data)] * 3
    structures = list(IncidenceDataset(tmp_path / "data").iter_structures())
    scope = structures[0].record_id.removesuffix("#0")
    assert [s.record_id for s in structures] == [f"{scope}#0", f"{scope}#0.1", f"{scope}#0.2"]
    assert [s.instances[0].label for s in structures] == ['image:{"mode":"P"}', "image.palette", "image.transparency"]


JPEG = saved(Image.fromarray(PIXELS), "JPEG")
BAD = {
    "no bytes": (b"", "expected an image of format PNG, JPEG"),
    "text": (b"not an image", "expected an image of format PNG, JPEG"),
    "PostScript, which a program would be run for": (b"%!PS-Adobe-3.0 EPSF-3.0\n", "expected an image of format PNG"),
    "cut pixels": (
        saved(Image.fromarray(np.tile(PIXELS, (40, 40, 1))))[:-300],
        "expected a whole image, found a damaged",
    ),
    "a cut JPEG": (JPEG[: len(JPEG) // 2], "expected a whole image, found a damaged"),
    "channels of 16 bits": (png(2, 2, 16, 2), "expected at most 8 bits a channel where there are several, found 16"),
    "a bomb": (png(60_000, 60_000, 8, 2), "expected an image of fewer pixels"),
    "many pixels": (
        png(12_000, 12_000, 8, 0),
        r"expected at most 134217728 pixels \(see --max-pixels\), found 12000 x",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_image_or_not_exact_is_a_bad_record(tmp_path: Path, what: str) -> None:
    data, message = BAD[what]

    records, (error,) = read(tmp_path / "bad.png", data)

    assert records == []
    assert str(error).startswith("bad.png@0: ")
    with pytest.raises(BadRecordError, match=message):
        raise error
    assert (error.begin, error.end, error.data) == (0, len(data), data)


def test_tiff_of_several_channels_of_16_bits_is_refused() -> None:
    image = Image.fromarray(PIXELS)
    data = saved(image, "TIFF", tiffinfo={258: (16, 16, 16)})
    with Image.open(io.BytesIO(data)) as found:
        declared = found.tag_v2[258]

    if max(declared) > 8:  # else Pillow wrote what the pixels have
        with pytest.raises(MalformedImageError, match="16 bits"):
            read_image(data, ImageOptions())
    else:
        assert np.array_equal(read_image(data, ImageOptions())[0][""], PIXELS)


def test_frames_of_several_sizes_are_refused() -> None:
    frames = [Image.fromarray(PIXELS), Image.fromarray(PIXELS[:2])]

    with pytest.raises(MalformedImageError, match="expected frames of one size, found frames of 2 sizes"):
        read_image(saved(frames[0], "TIFF", save_all=True, append_images=frames[1:]), ImageOptions())


@given(
    st.integers(0, 10_000), st.binary(min_size=1, max_size=8), st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF"])
)
@settings(deadline=None, max_examples=200)
def test_damaged_bytes_give_pixels_or_the_error_and_nothing_else(at: int, patch: bytes, format_: str) -> None:
    whole = saved(Image.fromarray(PIXELS).quantize(4) if format_ == "GIF" else Image.fromarray(PIXELS), format_)
    at = at % len(whole)
    data = (whole[:at] + patch + whole[at + len(patch) :])[: len(whole)]

    try:
        found = read_image(data, ImageOptions(max_pixels=1 << 16))[0][""].size
    except MalformedImageError:
        found = 0

    assert found <= 4 << 16


def test_counts_balance_under_quarantine(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(saved(Image.fromarray(PIXELS)))
    (tmp_path / "in" / "b.jpg").write_bytes(BAD["a cut JPEG"][0])

    manifest = convert("image", tmp_path / "in", tmp_path / "data", on_error="quarantine")

    assert [entry["records"] for entry in manifest["inputs"]] == [
        {"seen": 1, "converted": 1, "rejected": 0},
        {"seen": 1, "converted": 0, "rejected": 1},
    ]
    (kept,) = (tmp_path / "data" / "rejects").glob("*.bin")
    assert kept.read_bytes() == BAD["a cut JPEG"][0]


def test_an_image_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(saved(Image.fromarray(PIXELS)))
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.png")], suffixes=IMAGE.suffixes)[0])

    assert not IMAGE.splits
    with pytest.raises(ValueError, match="read whole"):
        IMAGE.find_cut(piece, 10, ImageOptions())


@pytest.mark.parametrize(("option", "message"), [({"name": "a:b"}, "holds no ':'"), ({"max_pixels": 0}, "at least 1")])
def test_wrong_options_are_wrong_arguments(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImageOptions(**option)
