"""A conversion of text in units of 16 KiB; as a program: small_conversion.py INPUT FOLDER WORKERS."""

from __future__ import annotations

import sys
from pathlib import Path

import lisdata.conversion
from lisdata.conversion import convert

UNIT_BYTES = 16 << 10


def write_text(path: Path, num_lines: int = 6000) -> Path:
    """Write about 40 bytes a line."""
    path.write_bytes(b"".join(b"line %d of a small text, number %d\n" % (i, i * i % 7919) for i in range(num_lines)))
    return path


if __name__ == "__main__":
    source, folder, workers = sys.argv[1:]
    lisdata.conversion.config.MEBIBYTE = UNIT_BYTES
    convert("text", source, folder, workers=int(workers), unit_mib=1)
