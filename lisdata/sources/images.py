"""Images (PNG, JPEG, GIF, BMP, TIFF, WebP) as grids of their exact pixels, read by Pillow."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.records import GridRecords
from lisdata.registry import Reject

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
PALETTE, TRANSPARENCY = ".palette", ".transparency"
_PNG_COLOURS = (2, 4, 6)  # colour types of several channels
_INDEXED = ("P", "PA")
_BITS_PER_SAMPLE = 258  # tag of TIFF
_DECODER_ERRORS = (OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, OverflowError, MemoryError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOptions:
    """Options of source image."""

    name: str = field(default="image", metadata={"help": "Name of the array of pixels: the label of its instance."})
    max_pixels: int = field(
        default=1 << 27,
        metadata={"help": "Most pixels of an image, all its frames together; Pillow itself refuses 178,956,970."},
    )

    def __post_init__(self) -> None:
        if ":" in self.name:
            raise ValueError(f"the name of an array holds no ':', got {self.name!r}")
        if self.max_pixels < 1:
            raise ValueError(f"expected max_pixels of at least 1, got {self.max_pixels}")


@dataclass(frozen=True, slots=True)
class ImageSource:
    """Reads images; each is held in memory whole, and is one record for each array that it has.

    The pixels are an array (row, column) or (row, column, channel), as Pillow decodes them: not rotated, and not
    converted from their mode, which the label has where the array does not say it (P, CMYK, ...). Frames of one mode
    stand in an array (frame, row, column, ...); frames of several are first made RGBA, as they are shown. A palette is
    an array NAME.palette (colour, channel); transparency that is no channel is an array NAME.transparency: one value,
    a value a channel, or (uint8) the alpha of each colour of the palette.
    """

    name: str = "image"
    summary: str = "Images (PNG, JPEG, GIF, BMP, TIFF, WebP): exact pixels, mode, palette and transparency"
    suffixes: tuple[str, ...] = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
    converter: str = "grids"
    exporter: str = "image"
    splits: bool = False
    options_type: type[ImageOptions] = ImageOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: ImageOptions) -> int:
        """Raise ValueError: an image is never cut."""
        raise ValueError(f"an image is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: ImageOptions, reject: Reject) -> Iterator[GridRecords]:
        """Yield the arrays of the image."""
        data = piece.read()
        try:
            arrays, note = read_image(data, options)
        except MalformedImageError as error:
            place = Place(piece.file.name, offset=0)
            reject(BadRecordError(place, expected=error.expected, found=error.found, begin=0, end=len(data), data=data))
            return
        yield GridRecords(
            file=piece.file,
            names=tuple(options.name + suffix for suffix in arrays),
            arrays=tuple(arrays.values()),
            begin=np.zeros(len(arrays), np.uint64),
            end=np.full(len(arrays), len(data), np.uint64),
            notes=(note, *({} for _ in range(len(arrays) - 1))),
        )


class MalformedImageError(ValueError):
    """Bytes are no image that can be read exactly."""

    def __init__(self, expected: str, found: str) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"expected {expected}, found {found}")


def read_image(data: bytes, options: ImageOptions) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Return the arrays of an image by suffix ("" the pixels), and the note of its mode and frames."""
    from PIL import Image, UnidentifiedImageError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of large images, for which max_pixels is; of odd metadata
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                _refuse_inexact(image, data)
                _refuse_large(image, options.max_pixels)
                if getattr(image, "n_frames", 1) == 1:
                    arrays = _read_arrays(image)
                    return arrays, _note_of(image.mode, arrays[""])
                mode, frames = _read_frames(image)
                return {"": frames}, _note_of(mode, frames[0]) | {"frames": True}
        except MalformedImageError:
            raise
        except UnidentifiedImageError:
            raise MalformedImageError(f"an image of format {', '.join(FORMATS)}", repr(data[:12])) from None
        except Image.DecompressionBombError as error:
            raise MalformedImageError("an image of fewer pixels", str(error)) from None
        except (*_DECODER_ERRORS, struct.error, zlib.error) as error:  # which of them depends on format and damage
            raise MalformedImageError("a whole image", f"a damaged one ({error})") from None


def plain_mode(pixels: npt.NDArray[Any]) -> str | None:
    """Return the mode that pixels have where no note says another; None where nothing can be told from the array."""
    if pixels.ndim == 2:
        return {"|b1": "1", "|u1": "L", "<u2": "I;16", "<i4": "I", "<f4": "F"}.get(pixels.dtype.str)
    if pixels.ndim == 3 and pixels.dtype == np.uint8:
        return {2: "LA", 3: "RGB", 4: "RGBA"}.get(pixels.shape[2])
    return None


def _note_of(mode: str, pixels: npt.NDArray[Any]) -> dict[str, Any]:
    return {} if mode == plain_mode(pixels) else {"mode": mode}


def _refuse_inexact(image: Image, data: bytes) -> None:
    """Refuse what Pillow reads with fewer bits than the file has: several channels of more than 8."""
    bits = 8
    if image.format == "PNG" and data[25] in _PNG_COLOURS:
        bits = data[24]
    elif image.format == "TIFF":
        declared = image.tag_v2.get(_BITS_PER_SAMPLE, (8,))  # type: ignore[attr-defined]
        bits = max(declared) if len(declared) > 1 else 8
    if bits > 8:
        raise MalformedImageError("at most 8 bits a channel where there are several", f"{bits} bits ({image.mode})")


def _refuse_large(image: Image, limit: int) -> None:
    width, height = image.size
    frames = getattr(image, "n_frames", 1)
    if width * height * frames > limit:
        shown = f"{frames} frames of {width} x {height}" if frames > 1 else f"{width} x {height}"
        raise MalformedImageError(f"at most {limit} pixels (see --max-pixels)", shown)


def _read_arrays(image: Image) -> dict[str, npt.NDArray[Any]]:
    image.load()
    arrays = {"": np.array(image)}
    if image.palette is not None and image.mode in _INDEXED:
        colours = image.getpalette(image.palette.mode) or []
        arrays[PALETTE] = np.array(colours, np.uint8).reshape(-1, len(image.palette.mode))
    transparency = image.info.get("transparency")
    if isinstance(transparency, bytes):
        arrays[TRANSPARENCY] = np.frombuffer(transparency, np.uint8)
    elif transparency is not None:
        arrays[TRANSPARENCY] = np.array(transparency, np.int64)
    return arrays


def _read_frames(image: Image) -> tuple[str, npt.NDArray[Any]]:
    """Return the mode of the frames, and all of them in an array."""
    from PIL import ImageSequence

    is_keyed = "transparency" in image.info
    frames = [frame.copy() for frame in ImageSequence.Iterator(image)]
    sizes, modes = {frame.size for frame in frames}, {frame.mode for frame in frames}
    if len(sizes) > 1:
        raise MalformedImageError("frames of one size", f"frames of {len(sizes)} sizes")
    if len(modes) > 1 or is_keyed or not modes.isdisjoint(_INDEXED):
        frames, modes = [frame.convert("RGBA") for frame in frames], {"RGBA"}
    return modes.pop(), np.stack([np.array(frame) for frame in frames])


IMAGE = ImageSource()
