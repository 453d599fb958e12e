"""Files of generated lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lisdata.exporters.targets import replacing


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines, the whole file or nothing, unless it is there; then none is asked for."""
    if path.exists():
        return
    with replacing(path) as stream:
        for line in lines:
            stream.write(line)
