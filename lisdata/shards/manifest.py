"""The JSON files of a dataset: canonical bytes, self-checked, written through a temporary name."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import orjson

from lisdata.atomic import write_atomically
from lisdata.errors import DamagedShardError, SchemaError
from lisdata.paths import StrPath
from lisdata.schema import SCHEMA_VERSION
from lisdata.shards.manifest_shapes import check_any_manifest, check_incidence_manifest, check_token_manifest

INCIDENCE_FORMAT = "lisdata-incidence"
TOKEN_FORMAT = "lisdata-tokens"
_REMEDIES = {
    (TOKEN_FORMAT, INCIDENCE_FORMAT): ": the dataset holds structures, not tokens yet: encode it first",
    (INCIDENCE_FORMAT, TOKEN_FORMAT): ": the dataset holds tokens already: give that of its structures",
}
MANIFEST = "manifest.json"
PART_TABLES = ("structures", "contents", "labels", "handles")  # of each part of an incidence dataset, a file in each
_MAX_NAME_BYTES = 255


def canonical_json(data: Any) -> bytes:
    """Return the one way this project writes JSON files: sorted keys, two spaces, a final newline."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def sealed(body: dict[str, Any]) -> bytes:
    """Return canonical JSON of `body` with its own digest (`self_sha256`) inside, so that any changed byte shows."""
    digest = hashlib.sha256(canonical_json(body)).hexdigest()
    return canonical_json(body | {"self_sha256": digest})


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the body of a sealed file; raise DamagedShardError when it is missing or not what was written."""
    return unseal(_read(path), path)


def unseal(data: bytes, what: StrPath) -> dict[str, Any]:
    """Undo `sealed`; raise DamagedShardError, naming the file `what`, when the bytes are not what was written."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise DamagedShardError(f"{what}: expected JSON, found {error}") from error
    if not isinstance(found, dict) or "self_sha256" not in found:
        raise DamagedShardError(f"{what}: expected a sealed JSON object with self_sha256, found none")
    body = {name: value for name, value in found.items() if name != "self_sha256"}
    if sealed(body) != data:
        raise DamagedShardError(f"{what}: its bytes are not those that were written (self_sha256 does not match)")
    return body


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DamagedShardError(f"{path}: expected this file, found none") from None


def file_entry(path: Path) -> dict[str, Any]:
    """Return {"size", "sha256"} of a file, read in blocks."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"size": path.stat().st_size, "sha256": digest}


def write_manifest(directory: Path, body: dict[str, Any]) -> dict[str, Any]:
    """Write `manifest.json`, the last file of a dataset, and return it as `read_manifest` will.

    `body` must hold "format" and "files" (name -> entry).
    """
    whole = body | {"schema_version": SCHEMA_VERSION}
    write_atomically(directory / MANIFEST, sealed(whole))
    return whole


def read_manifest(directory: Path, expected_format: str | None = None) -> dict[str, Any]:
    """Return the manifest of a dataset, its fields checked.

    SchemaError for another format, a newer version, or a path that leaves the folder; DamagedShardError, naming the
    field, for what is not of its type or does not fit the rest.
    """
    if not directory.is_dir():
        raise DamagedShardError(f"{directory}: expected a dataset folder, found none")
    path = directory / MANIFEST
    if not path.exists() and (directory / "plan.json").exists():
        raise DamagedShardError(f"{directory}: the run that writes it has not finished (no {MANIFEST}): run it again")
    return parse_manifest(_read(path), path, expected_format)


def parse_manifest(data: bytes, what: StrPath, expected_format: str | None = None) -> dict[str, Any]:
    """Return the manifest with these bytes, checked as by `read_manifest`; `what` names the file in errors."""
    body = unseal(data, what)
    version = body.get("schema_version")
    if type(version) is not int or version > SCHEMA_VERSION or version < 1:
        raise SchemaError(f"{what}: expected a schema version up to {SCHEMA_VERSION}, found {version}")
    if expected_format is not None and body.get("format") != expected_format:
        remedy = _REMEDIES.get((expected_format, str(body.get("format"))), "")
        raise SchemaError(f"{what}: expected format {expected_format}, found {body.get('format')}{remedy}")
    check_any_manifest(what, body)
    for name in body["files"]:
        _check_name(name, what)
    if body["format"] == INCIDENCE_FORMAT:
        check_incidence_manifest(what, body)
        check_parts(what, body)
    if body["format"] == TOKEN_FORMAT:
        check_token_manifest(what, body)
    return body


def check_inside(directory: Path, name: str) -> Path:
    """Return directory / name; raise SchemaError when the name leaves the folder."""
    _check_name(name, directory / MANIFEST)
    return directory / name


def check_linked_inside(directory: Path, name: str) -> Path:
    """Return directory / name; raise SchemaError when the name, or a link that it stands for, leaves the folder."""
    path = check_inside(directory, name)
    if not path.resolve().is_relative_to(directory.resolve()):
        raise SchemaError(f"{path}: expected a file inside the folder, found a link to {path.resolve()}")
    return path


def _check_name(name: str, what: StrPath) -> None:
    parts = Path(name).parts
    is_name = "\0" not in name and len(os.fsencode(name)) <= _MAX_NAME_BYTES
    if not parts or not is_name or Path(name).is_absolute() or ".." in parts or "\\" in name:
        raise SchemaError(f"{what}: expected names inside the folder, found {name!r}")


def check_parts(what: StrPath, body: dict[str, Any]) -> None:
    """Raise SchemaError unless the tables of the parts, and no others, are among the files of the manifest."""
    tables = [f"{table}/{part['name']}.arrow" for part in body["parts"] for table in PART_TABLES]
    for name in tables:
        if name not in body["files"]:
            raise SchemaError(f"{what}: expected {name!r} among its files, found it only as a part")
    folders = tuple(f"{table}/" for table in PART_TABLES)
    for name in sorted(set(body["files"]).difference(tables)):
        if name.startswith(folders):
            raise SchemaError(f"{what}: expected each table to be of a part, found {name!r} of none")


def check_sizes(directory: Path, body: dict[str, Any]) -> None:
    """Raise DamagedShardError at the first file of the manifest that is missing or has another size."""
    for name, entry in body["files"].items():
        path = check_inside(directory, name)
        found = path.stat().st_size if path.is_file() else None
        if found is None:
            raise DamagedShardError(f"{path}: expected {entry['size']} bytes, found no file")
        if found != entry["size"]:
            raise DamagedShardError(f"{path}: expected {entry['size']} bytes, found {found}")


def check_hashes(directory: Path, body: dict[str, Any]) -> None:
    """Raise DamagedShardError at the first file whose sha256 is not the manifest's."""
    check_sizes(directory, body)
    for name, entry in body["files"].items():
        found = file_entry(directory / name)["sha256"]
        if found != entry["sha256"]:
            raise DamagedShardError(f"{directory / name}: expected sha256 {entry['sha256']}, found {found}")
