"""The way back of images: PNG files with equal pixels, palettes and transparency; other things are said or refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

import lisdata
from lisdata.errors import ExportError
from lisdata.exporters.images import arrays_to_png
from lisdata.registry import load_exporter
from lisdata.sources.images import ImageOptions, read_image

LOSS = {"bytes and metadata of image files (pixels are equal)": 1}


def saved(image: Image.Image, format_: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format_, **options)
    return stream.getvalue()


def there_and_back(folder: Path, data: bytes, name: str) -> bytes:
    (folder / name).write_bytes(data)
    lisdata.convert("image", folder / name, folder / "data")
    (report,) = lisdata.export(folder / "data", folder / "out.png")
    assert report.losses == LOSS
    return (folder / "out.png").read_bytes()


def equal(left: bytes, right: bytes) -> bool:
    a, b = (read_image(data, ImageOptions())[0] for data in (left, right))
    return list(a) == list(b) and all(np.array_equal(a[name], b[name]) for name in a)


def test_it_is_registered() -> None:
    assert load_exporter("image").name == "image"


@given(
    hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)),
    st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]),
)
@settings(deadline=None, max_examples=60)
def test_the_pixels_of_every_mode_of_png_come_back(pixels: np.ndarray, mode: str) -> None:
    image = Image.fromarray(pixels)
    if mode == "I;16":
        image = Image.fromarray(pixels.astype("<u2") * 257)
    elif mode == "P":
        image = image.quantize(int(pixels[0, 0]) % 16 + 2)
    else:
        image = image.convert(mode)
    arrays, note = read_image(saved(image), ImageOptions())

    assert equal(arrays_to_png(arrays, note, "x"), saved(image))


def test_a_photograph_comes_back_pixel_for_pixel_and_its_bytes_are_said_to_be_lost(
    shared: Path, tmp_path: Path
) -> None:
    data = (shared / "data/kg/grids/flower.jpg").read_bytes()

    assert equal(there_and_back(tmp_path, data, "flower.jpg"), data)


def test_the_sample_comes_back_with_palette_and_transparency(root: Path, tmp_path: Path) -> None:
    data = (root / "sample_data/grids/harbour.png").read_bytes()

    assert equal(there_and_back(tmp_path, data, "harbour.png"), data)


@pytest.mark.parametrize(("mode", "transparency"), [("L", 9), ("RGB", (1, 2, 3)), ("P", b"\0\x80\xff"), ("P", 2)])
def test_transparency_comes_back(tmp_path: Path, mode: str, transparency: Any) -> None:
    image = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    data = saved(image.quantize(5) if mode == "P" else image.convert(mode), "PNG", transparency=transparency)

    assert equal(there_and_back(tmp_path, data, "a.png"), data)


def test_in_a_folder_each_image_is_a_png_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for name, format_ in (("a.jpg", "JPEG"), ("b.bmp", "BMP")):
        (tmp_path / "in" / name).write_bytes(saved(Image.new("RGB", (3, 2), (9, 8, 7)), format_))
    lisdata.convert("image", tmp_path / "in", tmp_path / "data")

    (report,) = lisdata.export(tmp_path / "data", tmp_path / "out")

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.jpg.png", "b.bmp.png"]
    assert report.num_records == 2


REFUSED = {
    "CMYK": saved(Image.new("CMYK", (2, 2)), "TIFF"),
    "F": saved(Image.new("F", (2, 2)), "TIFF"),
    "frames": saved(Image.new("L", (2, 2)), "TIFF", save_all=True, append_images=[Image.new("L", (2, 2), 5)]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_png_cannot_hold_is_refused_and_goes_into_an_archive(tmp_path: Path, what: str) -> None:
    (tmp_path / "a.tiff").write_bytes(REFUSED[what])
    lisdata.convert("image", tmp_path / "a.tiff", tmp_path / "data")

    with pytest.raises(ExportError, match=r"a.tiff: expected pixels that a PNG can hold .*: choose the format npz"):
        lisdata.export(tmp_path / "data", tmp_path / "out.png")
    assert not (tmp_path / "out.png").exists()
    lisdata.export(tmp_path / "data", tmp_path / "out.npz", format="npz")
    with np.load(tmp_path / "out.npz") as found:
        assert np.array_equal(found["image"], read_image(REFUSED[what], ImageOptions())[0][""])


def test_arrays_of_other_sources_can_be_written_as_images(tmp_path: Path) -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    np.save(tmp_path / "a.npy", pixels)
    lisdata.convert("npy", tmp_path / "a.npy", tmp_path / "data")

    lisdata.export(tmp_path / "data", tmp_path / "out.png", format="image")

    assert np.array_equal(np.asarray(Image.open(tmp_path / "out.png")), pixels)


def test_several_images_of_one_file_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.zeros((2, 2), np.uint8), b=np.zeros((2, 2), np.uint8))
    lisdata.convert("npz", tmp_path / "a.npz", tmp_path / "data")

    with pytest.raises(ExportError, match="expected one image for a file, found more"):
        lisdata.export(tmp_path / "data", tmp_path / "out.png", format="image")


def test_pixels_that_would_not_come_back_are_refused() -> None:
    with pytest.raises(ExportError, match="x: expected its palette back from a PNG, found others"):
        arrays_to_png({"": np.zeros((2, 2), np.uint8)}, {"mode": "P"}, "x")
