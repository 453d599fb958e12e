"""Grids of pixels back to images: PNG files with the same pixels, palette and transparency."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lisdata.converters.grids import split_grid_label
from lisdata.errors import ExportError
from lisdata.exporters.arrays import structure_to_array
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.images import PALETTE, TRANSPARENCY, ImageOptions, plain_mode, read_image

if TYPE_CHECKING:
    from PIL.Image import Image

_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")


@dataclass(frozen=True, slots=True)
class ImageExporter:
    """Writes each image as a PNG file, called as the input with .png behind it, and reads it again to compare.

    Pixels, mode, palette and transparency are those of the input. Its own bytes and metadata (EXIF, colour profiles)
    are losses. What a PNG cannot hold (CMYK, floating point, several frames) is refused: `npz` takes it.
    """

    name: str = "image"
    summary: str = "PNG images with the pixels of the input"
    suffix: str = ".png"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the images that came from `files`."""
        losses: Counter[str] = Counter()
        written: list[Path] = []
        for info, path in zip(files, target_paths(target, files, dataset.inputs, suffix=self.suffix), strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            for data in _iter_images(dataset, info):
                losses["bytes and metadata of image files (pixels are equal)"] += 1
                with replacing(path) as stream:
                    stream.write(data)
                written.append(path)
        return ExportReport(files=tuple(written), num_records=len(written), losses=dict(+losses))


def _iter_images(dataset: IncidenceDataset, info: InputInfo) -> Iterator[bytes]:
    """Yield the bytes of the PNG file; nothing for an input without an image."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    note: dict[str, Any] = {}
    for structure in dataset.iter_structures(info.index):
        name, extra = split_grid_label(structure.instances[0].label)
        suffix = next((s for s in (PALETTE, TRANSPARENCY) if arrays and name.endswith(s)), "")
        if suffix in arrays:
            raise ExportError(f"{structure.record_id}: expected one image for a file, found more")
        arrays[suffix] = structure_to_array(structure)
        note |= extra
    if arrays:
        yield arrays_to_png(arrays, note, info.name)


def arrays_to_png(arrays: dict[str, npt.NDArray[Any]], note: dict[str, Any], what: str) -> bytes:
    """Return a PNG file of an image's arrays by suffix, as `read_image` gives them; ExportError where it holds none."""
    mode = note.get("mode") or plain_mode(arrays[""])
    if mode not in _PNG_MODES or note.get("frames") or arrays[""].size == 0:
        shape = "x".join(map(str, arrays[""].shape))
        raise ExportError(
            f"{what}: expected pixels that a PNG can hold ({', '.join(_PNG_MODES)}), found mode {mode}, {shape} of "
            f"{arrays[''].dtype}: choose the format npz"
        )
    image = _make_image(arrays, mode)
    options: dict[str, Any] = {}
    if TRANSPARENCY in arrays:
        found = arrays[TRANSPARENCY]
        options["transparency"] = found.tobytes() if found.dtype == np.uint8 else _plain(found)
    stream = io.BytesIO()
    image.save(stream, "PNG", **options)
    again, _ = read_image(stream.getvalue(), ImageOptions(max_pixels=image.width * image.height))
    for suffix in (*arrays, *again):
        if suffix not in arrays or suffix not in again or not np.array_equal(arrays[suffix], again[suffix]):
            raise ExportError(f"{what}: expected its {suffix[1:] or 'pixels'} back from a PNG, found others")
    return stream.getvalue()


def _make_image(arrays: dict[str, npt.NDArray[Any]], mode: str) -> Image:
    from PIL import Image

    pixels = arrays[""]
    height, width = pixels.shape[:2]
    if mode == "1":
        return Image.fromarray(pixels)
    image = Image.frombytes(mode, (width, height), pixels.tobytes())
    if PALETTE in arrays:
        image.putpalette(arrays[PALETTE].tobytes(), "RGBA" if arrays[PALETTE].shape[1] == 4 else "RGB")
    return image


def _plain(values: npt.NDArray[Any]) -> int | tuple[int, ...]:
    return int(values) if values.ndim == 0 else tuple(values.tolist())


IMAGE = ImageExporter()
