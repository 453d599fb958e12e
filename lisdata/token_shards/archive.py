"""The archive form of token shards: the same record batches, compressed by zstd; to be kept or sent, not to be read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from lisdata.errors import DamagedShardError, PlanError
from lisdata.paths import StrPath
from lisdata.shards.manifest import TOKEN_FORMAT, check_hashes, file_entry, read_manifest, write_manifest
from lisdata.storage import local_folder
from lisdata.storage.staging import staged_folder

COMPRESSION = "compression"  # of the manifest: there in an archive


def archive_tokens(source: StrPath, to: StrPath, *, compression: Literal["zstd", "none"] = "zstd") -> dict[str, Any]:
    """Write the token dataset at `source` anew, compressed or (none) as it was before; return the manifest.

    An archive that is unpacked has the bytes of the dataset that it was made from, manifest included. Every file is
    hashed first. PlanError for a folder `to` that holds something.
    """
    if compression not in ("zstd", "none"):
        raise ValueError(f"expected compression of zstd or none, got {compression!r}")
    folder, target = local_folder(source), Path(to)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PlanError(f"{target}: expected a new or empty folder, found something there")
    manifest = read_manifest(folder, TOKEN_FORMAT)
    check_hashes(folder, manifest)
    shards = {name for part in manifest["parts"] for name in part["files"]}
    with staged_folder(target, "another archive") as making:
        files = {}
        for name, entry in manifest["files"].items():
            (making / name).parent.mkdir(parents=True, exist_ok=True)
            if name in shards:
                _rewrite(folder / name, making / name, None if compression == "none" else compression)
            else:
                shutil.copyfile(folder / name, making / name)
            files[name] = file_entry(making / name) if name in shards else entry
        body = {name: value for name, value in manifest.items() if name not in ("files", COMPRESSION)}
        body |= {"files": files} | ({} if compression == "none" else {COMPRESSION: compression})
        return write_manifest(making, body)


def refuse_archive(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise PlanError for an archive: mapped, all of its rows would be in memory at once."""
    if COMPRESSION in manifest:
        raise PlanError(
            f"{folder}: an archive, whose rows cannot be mapped: lisdata archive --unpack makes it readable"
        )


def _rewrite(source: Path, target: Path, compression: str | None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    try:
        with (
            pa.memory_map(str(source)) as mapped,
            pa.ipc.open_file(mapped) as reader,
            pa.ipc.new_file(str(target), reader.schema, options=options) as writer,
        ):
            for number in range(reader.num_record_batches):
                writer.write_batch(reader.get_batch(number))
    except pa.ArrowException as error:
        raise DamagedShardError(f"{source}: expected an Arrow file, whole to its footer, found {error}") from error
