"""`copy`: a dataset from one place to another, every byte checked on both sides, the manifest last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lisdata.errors import DamagedShardError, PlanError
from lisdata.paths import StrPath
from lisdata.shards.manifest import MANIFEST
from lisdata.storage.folders import Folder

OnFile = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """How many files and bytes a dataset has, and how many of its files were there already."""

    num_files: int
    num_bytes: int
    num_found: int


def copy_dataset(source: StrPath, to: StrPath, *, verify: bool = True, on_file: OnFile | None = None) -> CopyReport:
    """Copy the dataset at `source` to `to`; each is a folder or a URL that fsspec opens.

    Each file's hash is compared with the manifest's as it is read and, with `verify`, read back from `to`. The
    manifest is written last, so that a copy that was killed is no dataset yet; done again it goes on. Raises PlanError
    where another dataset, or another file of one of its names, is at `to`. `on_file(bytes done, bytes in all, name)` is
    called after each file.
    """
    here, there = Folder.of(source), Folder.of(to)
    found = here.read_manifest()
    if found is None:
        raise DamagedShardError(f"{here.name}: expected a dataset, found no {MANIFEST}")
    if there.is_inside(here):
        raise PlanError(f"{there.name}: expected a place outside the dataset {here.name}")
    data, body = found
    other = there.read_manifest()
    if other is not None and other[0] != data:
        raise PlanError(f"{there.name}: expected no dataset, or the same one, found another")
    files = body["files"]
    total, num_bytes, num_found = sum(entry["size"] for entry in files.values()), 0, 0
    for name, entry in files.items():
        if there.holds(name, entry):
            num_found += 1
        else:
            if there.has(name):
                raise PlanError(f"{there.name}/{name}: expected no file here yet, or the same one, found another")
            there.write(name, here.checked_blocks(name, entry))
            if verify and not there.holds(name, entry):
                raise DamagedShardError(f"{there.name}/{name}: expected the bytes that were written, found others")
        num_bytes += entry["size"]
        if on_file is not None:
            on_file(num_bytes, total, name)
    there.write(MANIFEST, [data])
    return CopyReport(num_files=len(files), num_bytes=num_bytes, num_found=num_found)
