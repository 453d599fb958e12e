"""The parts of an Excel workbook before it is read: whether they may be, and what their formulas lack."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import IO

from lisdata.inputs import MEBIBYTE

FORMULAS, EMPTY_FORMULAS = "formulas_read_as_values", "formulas_without_a_value"

_PROLOG_BYTES = 1 << 16
_FORMULA = re.compile(rb"<f[ >/]")
_EMPTY_FORMULA = re.compile(rb"<f(?:/>|\s[^<>]*/>|(?:\s[^<>]*)?>[^<]*</f>)\s*(?:</c>|<v\s*/>|<v></v>)")
_CELL = b"<c "


class BadWorkbookError(Exception):
    """The file is no workbook that may be read."""

    def __init__(self, expected: str, found: str) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"expected {expected}, found {found}")


def check_archive(path: str, limit: int) -> dict[str, int]:
    """Return how many formulas there are, and how many of them without the value that was last computed.

    BadWorkbookError for an archive that has more than `limit` bytes, is damaged or not plain XML.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
            if size > limit:
                raise BadWorkbookError(
                    f"at most {limit >> 20} MiB when decompressed (--max-expanded-mib)", f"{size} bytes"
                )
            counts: Counter[str] = Counter()
            for part in archive.infolist():
                counts.update(_count_formulas(archive, part))
            return dict(+counts)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError) as error:
        # zipfile says NotImplementedError of a compression that it does not know, RuntimeError of an encrypted part
        raise BadWorkbookError("an Excel workbook (.xlsx), which is a ZIP archive", str(error)) from error


def _count_formulas(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> Counter[str]:
    """Count the formulas of a part; refuse a document type, by which XML can expand without end."""
    counts: Counter[str] = Counter()
    if not part.filename.endswith((".xml", ".rels")):
        return counts
    with archive.open(part) as stream:
        prolog = stream.read(_PROLOG_BYTES)
        if b"<!DOCTYPE" in prolog.replace(b"\0", b""):
            raise BadWorkbookError("XML without a document type", f"one in {part.filename}")
        for cells in _whole_cells(prolog, stream) if "worksheets/" in part.filename else ():
            counts[FORMULAS] += len(_FORMULA.findall(cells))
            counts[EMPTY_FORMULAS] += len(_EMPTY_FORMULA.findall(cells))
    return counts


def _whole_cells(data: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a sheet in blocks that end between two cells; a very long cell may be cut."""
    while following := stream.read(MEBIBYTE):
        data += following
        end = data.rfind(_CELL)
        if end < 0 and len(data) > 4 * MEBIBYTE:
            end = len(data)
        if end > 0:
            yield data[:end]
            data = data[end:]
    yield data
