"""`verify`: every byte of a dataset against its manifest, every row against the schema's invariants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lisdata.errors import DamagedShardError, LisDataError, SchemaError
from lisdata.invariants import check_structures
from lisdata.json_shape import shown
from lisdata.paths import StrPath
from lisdata.shards.counting import count_rows
from lisdata.shards.dataset import Part
from lisdata.shards.handles import handles_of, sort_handles
from lisdata.shards.manifest import (
    INCIDENCE_FORMAT,
    MANIFEST,
    PART_TABLES,
    TOKEN_FORMAT,
    check_inside,
    file_entry,
    read_manifest,
    read_sealed,
)
from lisdata.shards.same_as import read_table, same_as_names

OnFile = Callable[[int, int, str], None]
RUN_FILES = ("run.json", ".lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What was checked, what is wrong (empty when all is well), and files that are no part of the dataset."""

    num_files: int
    num_bytes: int
    problems: tuple[str, ...]
    strangers: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def raise_for_problems(self) -> None:
        """Raise DamagedShardError with all problems, a line each, when there are any."""
        if self.problems:
            raise DamagedShardError("\n".join(self.problems))


def verify_dataset(path: StrPath, *, on_file: OnFile | None = None) -> VerifyReport:
    """Check the dataset at `path`: the seal of its JSON files, sha256 of each file, schemas, counts and invariants.

    All problems are collected, each naming its file; only a manifest that cannot be trusted ends the check at once.
    `on_file(bytes done, bytes in all, name)` is called after each file.
    """
    directory = Path(path)
    problems: list[str] = []
    try:
        manifest = read_manifest(directory)
    except LisDataError as error:
        return VerifyReport(num_files=0, num_bytes=0, problems=(str(error),), strangers=())
    good = []
    num_bytes, total = 0, sum(entry["size"] for entry in manifest["files"].values())
    for name, entry in manifest["files"].items():
        num_bytes += entry["size"]
        problem = _file_problem(directory, name, entry)
        if problem is None:
            good.append(name)
        else:
            problems.append(problem)
        if on_file is not None:
            on_file(num_bytes, total, name)
    if (directory / "run.json").exists():
        problems.extend(_message(lambda: read_sealed(directory / "run.json")))
    if "plan.json" in good:
        problems.extend(_plan_problems(directory, manifest))
    problems.extend(_content_problems(directory, manifest, set(good)))
    strangers = _strangers(directory, manifest)
    return VerifyReport(
        num_files=len(manifest["files"]), num_bytes=num_bytes, problems=tuple(problems), strangers=strangers
    )


def _file_problem(directory: Path, name: str, entry: dict[str, Any]) -> str | None:
    path = check_inside(directory, name)
    if not path.is_file():
        return f"{path}: expected {entry['size']} bytes, found no file"
    found = file_entry(path)
    if found["size"] != entry["size"]:
        return f"{path}: expected {entry['size']} bytes, found {found['size']}"
    if found["sha256"] != entry["sha256"]:
        return f"{path}: expected sha256 {entry['sha256']}, found {found['sha256']}"
    return None


def _plan_problems(directory: Path, manifest: dict[str, Any]) -> Iterator[str]:
    """Compare what the manifest repeats of the run's plan."""
    try:
        plan = read_sealed(directory / "plan.json")
    except LisDataError as error:
        yield str(error)
        return
    origins, planned_inputs = manifest.get("origins"), plan.pop("inputs", [])
    repeated = manifest | (origins[0] if origins else {})
    for name in sorted(plan.keys() & repeated.keys()):
        if plan[name] != repeated[name]:
            yield f"{directory / MANIFEST}: {name}: expected that of plan.json, found {shown(repeated[name])}"
    for number, (planned, found) in enumerate(zip(planned_inputs, manifest.get("inputs", []), strict=False)):
        if planned != planned | {name: value for name, value in found.items() if name in planned}:
            yield f"{directory / MANIFEST}: inputs[{number}]: expected that of plan.json, found {shown(found)}"
    if len(manifest.get("inputs", [])) != len(planned_inputs):
        yield f"{directory / MANIFEST}: inputs: expected the {len(planned_inputs)} of plan.json"


def _content_problems(directory: Path, manifest: dict[str, Any], good: set[str]) -> Iterator[str]:
    """Check what the rows say, part by part, as far as the files of a part are whole."""
    if manifest["format"] == TOKEN_FORMAT:
        yield from _token_problems(directory, manifest, good)
        return
    if manifest["format"] != INCIDENCE_FORMAT:
        yield f"{directory / MANIFEST}: unknown format {manifest['format']!r}"
        return
    for part in manifest["parts"]:
        names = [f"{table}/{part['name']}.arrow" for table in PART_TABLES]
        if set(names) <= good:
            yield from _message(partial(check_incidence_part, directory, part))
    for name in same_as_names(good):
        yield from _message(partial(read_table, directory / name))
    for records in (entry["records"] for entry in manifest["inputs"]):
        if records["seen"] != records["converted"] + records["rejected"]:
            yield f"{directory / MANIFEST}: records seen are not those converted and rejected: {records}"


def _token_problems(directory: Path, manifest: dict[str, Any], good: set[str]) -> Iterator[str]:
    from lisdata.token_shards import check_token_part

    for part in manifest["parts"]:
        if set(part["files"]) <= good:
            yield from _message(partial(check_token_part, directory, manifest, part))
    if "roles" in manifest and manifest["roles"]["file"] in good:
        yield from _message(partial(_check_roles, directory, manifest["roles"]))


def _check_roles(directory: Path, roles: dict[str, Any]) -> None:
    from lisdata.vocabulary import RoleVocabulary

    found = RoleVocabulary.read(directory / roles["file"])
    if (found.hash, len(found)) != (roles["hash"], roles["num_roles"]):
        expected = f"{roles['num_roles']} roles of hash {roles['hash']}"
        raise SchemaError(f"{directory / roles['file']}: expected {expected}, found {len(found)} of hash {found.hash}")


def check_incidence_part(directory: Path, entry: dict[str, Any]) -> None:
    """Raise SchemaError when a part's tables do not have the schema, the counts or the invariants they should."""
    part = Part(directory, entry)
    tables = {table: part.read(table) for table in PART_TABLES}
    for table in ("structures", "contents", "labels"):
        found, expected = tables[table].num_rows, part.counts[table]
        if found != expected:
            raise SchemaError(f"{part.path(table)}: expected {expected} rows, found {found}")
    what = str(part.path("structures"))
    check_structures(tables["structures"], tables["contents"], tables["labels"], what)
    _check_counts(tables["structures"], entry, what)
    _check_inputs(tables["structures"], part, what)
    _check_handles(tables, str(part.path("handles")))


def _check_counts(structures: pa.Table, entry: dict[str, Any], what: str) -> None:
    """Raise SchemaError unless the manifest counts occurrences, instances, kinds ... as they are."""
    found: dict[str, Counter[str]] = {"counts": Counter(), "kinds": Counter()}
    for batch in structures.to_batches():
        for name, more in zip(found, count_rows(batch), strict=True):
            found[name].update(more)
    for name, counted in found.items():
        for key in sorted({*counted, *entry[name]} - {"contents", "labels"}):
            if entry[name].get(key, 0) != counted[key]:
                raise SchemaError(f"{what}: expected {entry[name].get(key, 0)} in {name}.{key}, found {counted[key]}")


def _check_inputs(structures: pa.Table, part: Part, what: str) -> None:
    """Raise SchemaError at a structure of another input than those that the manifest says the part is of."""
    if not part.inputs:  # made in memory
        return
    for chunk in structures.column("source").chunks:
        files = np.asarray(chunk.field("file")).astype(np.int64) + part.first_file
        outside = files[(files < part.inputs.start) | (files >= part.inputs.stop)]
        if len(outside):
            expected = f"the inputs {part.inputs.start} to {part.inputs.stop - 1}"
            raise SchemaError(f"{what}: expected structures of {expected}, found one of input {outside[0]}")


def _check_handles(tables: dict[str, pa.Table], what: str) -> None:
    """Raise SchemaError unless the index names each handle of the structures, sorted by key, row and instance."""
    batches, first_row = [], 0
    for batch in tables["structures"].to_batches():
        batches.append(handles_of(batch, tables["contents"], first_row))
        first_row += batch.num_rows
    expected = sort_handles(batches)
    if not tables["handles"].equals(expected):
        found = f"{tables['handles'].num_rows} rows that differ"
        raise SchemaError(f"{what}: expected the {expected.num_rows} handles of the structures, sorted, found {found}")


def _message(check: Callable[[], object]) -> list[str]:
    try:
        check()
    except LisDataError as error:
        return [str(error)]
    return []


def _strangers(directory: Path, manifest: dict[str, Any]) -> tuple[str, ...]:
    known = {*manifest["files"], MANIFEST, *RUN_FILES}
    found = (p.relative_to(directory).as_posix() for p in sorted(directory.rglob("*")) if p.is_file())
    return tuple(name for name in found if name not in known)
