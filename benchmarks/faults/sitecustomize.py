"""On PYTHONPATH, makes every Python process of a run fail where LISDATA_FAULT says.

It says "fsync:NUMBER:FOLDER" or "rename:NUMBER:FOLDER": the call of that number (from 1, counted in each process) on
something in the folder raises EIO, once.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

_what, _number, _folder = (os.environ.get("LISDATA_FAULT") or "none:0:").split(":", 2)
_left = [int(_number)]


def _fail_when_due(path: str) -> None:
    if path.startswith(_folder):
        _left[0] -= 1
        if _left[0] == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)


if _what == "fsync":
    _fsync = os.fsync

    def fsync(descriptor: int) -> None:
        """Bring a file to the disk, or fail."""
        _fail_when_due(os.readlink(f"/proc/self/fd/{descriptor}"))
        _fsync(descriptor)

    os.fsync = fsync

if _what == "rename":
    _replace = Path.replace

    def replace(path: Path, target: Any) -> Path:
        """Rename a file, or fail."""
        _fail_when_due(str(path))
        return _replace(path, target)

    Path.replace = replace  # type: ignore[method-assign]
