"""What another format has no place for, in a folder beside its files: schema, roles, tokenizer."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.errors import DamagedShardError
from lisdata.json_shape import COUNT, MapOf, find_mismatch
from lisdata.shards.manifest import MANIFEST, file_entry, read_sealed, sealed
from lisdata.shards.manifest_shapes import TOKEN_FACTS, check_token_manifest
from lisdata.token_shards import TokenDataset, TokenSchema
from lisdata.vocabulary import ROLES_FILE, RoleVocabulary

NOTES_FOLDER = "_lisdata"  # readers of Parquet and of lakes skip names that begin so
_NOTES = "export.json"
_FORMAT = "lisdata-token-export"
_SHAPE = {
    "format": str,
    "num_rows": COUNT,
    "num_tokens": COUNT,
    "schema": dict,
    "manifest": TOKEN_FACTS,
    "files": MapOf({"size": COUNT, "sha256": str}),
}
# Of the manifest, what tells how the rows lie in files, and what each manifest says anew.
_LAYOUT = ("format", "schema", "schema_version", "num_rows", "num_tokens", "parts", "files", "self_sha256")
_VOCABULARY = re.compile(r"\w[\w.-]*\.json", re.ASCII)
_OTHERS = (MANIFEST, "plan.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What was noted of the dataset that an export was made from."""

    folder: Path
    schema: TokenSchema
    num_rows: int
    num_tokens: int
    manifest: dict[str, Any]
    files: dict[str, dict[str, Any]]

    def check_counts(self, num_rows: int, num_tokens: int, origin: str) -> None:
        """Raise DamagedShardError unless as many rows and tokens were found as had been written."""
        if (num_rows, num_tokens) != (self.num_rows, self.num_tokens):
            raise DamagedShardError(
                f"{origin}: expected {self.num_rows} rows and {self.num_tokens} tokens as in {self.folder / _NOTES}, "
                f"found {num_rows} and {num_tokens}; without {self.folder} it is taken as it is"
            )

    def copy_files(self, target: Path) -> None:
        """Copy the vocabularies to `target`; raise DamagedShardError where one is not as it was."""
        for name, entry in self.files.items():
            source = self.folder / name
            if not source.is_file() or file_entry(source) != entry:
                raise DamagedShardError(f"{source}: expected the file that {self.folder / _NOTES} names")
            shutil.copyfile(source, target / name)
            if name == ROLES_FILE:
                RoleVocabulary.read(source)

    def check_manifest(self, manifest: dict[str, Any]) -> None:
        """Raise DamagedShardError where what was noted makes a manifest whose fields do not agree."""
        check_token_manifest(self.folder / _NOTES, manifest)


def write_notes(dataset: TokenDataset, target: Path) -> None:
    """Write the notes on `dataset`, and its vocabularies, into a folder of `target`."""
    folder = target / NOTES_FOLDER
    folder.mkdir()
    names = _vocabulary_names(dataset.manifest)
    files = {name: entry for name, entry in dataset.manifest["files"].items() if name in names}
    for name in files:
        shutil.copyfile(dataset.path / name, folder / name)
    body = {
        "format": _FORMAT,
        "num_rows": len(dataset),
        "num_tokens": dataset.num_tokens,
        "schema": dataset.schema.to_json(),
        "manifest": {name: value for name, value in dataset.manifest.items() if name not in _LAYOUT},
        "files": files,
    }
    write_atomically(folder / _NOTES, sealed(body))


def has_notes(folder: Path) -> bool:
    """Tell whether a folder is an export that this library made."""
    return (folder / NOTES_FOLDER / _NOTES).is_file()


def read_notes(folder: Path) -> Notes | None:
    """Return the notes in a folder, or None; raise DamagedShardError where they are not what was written."""
    if not has_notes(folder):
        return None
    path = folder / NOTES_FOLDER / _NOTES
    body = read_sealed(path)
    problem = find_mismatch(body, _SHAPE)
    if problem is not None or body["format"] != _FORMAT:
        raise DamagedShardError(f"{path}: {problem or 'expected the notes of an export'}")
    for name in body["files"]:
        if name not in _vocabulary_names(body["manifest"]):
            raise DamagedShardError(f"{path}: files: expected roles and tokenizer, found {name!r}")
    for name in body["manifest"]:
        if name in _LAYOUT:
            raise DamagedShardError(f"{path}: manifest: expected nothing of how rows lie in files, found {name!r}")
    return Notes(
        folder=folder / NOTES_FOLDER,
        schema=TokenSchema.from_json(body["schema"], str(path)),
        num_rows=body["num_rows"],
        num_tokens=body["num_tokens"],
        manifest=body["manifest"],
        files=body["files"],
    )


def _vocabulary_names(manifest: dict[str, Any]) -> set[str]:
    """Return the names that vocabularies may have in a dataset: plain ones, so that no other file is one."""
    names = {ROLES_FILE, *(manifest[name]["file"] for name in ("roles", "tokenizer") if name in manifest)}
    return {name for name in names if _VOCABULARY.fullmatch(name) and name.lower() not in _OTHERS}
