"""Lines of the files that models are measured on, plain or compressed, with their places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lisdata.decompression import decompressed, find_compression
from lisdata.errors import Place


def iter_lines(path: Path) -> Iterator[tuple[Place, bytes]]:
    """Yield the lines that are not empty; BadRecordError where a compressed file is cut or damaged."""
    with path.open("rb") as raw:
        compression = find_compression(raw.read(4))
        raw.seek(0)
        stream = decompressed(raw, compression, str(path))
        data = b"".join(iter(stream.read, b""))  # a cut or damage is told after what can be read
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield Place(str(path), line=number), line
