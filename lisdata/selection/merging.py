"""Datasets made apart that have files in common, as one: what is in several comes once."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import PlanError
from lisdata.inputs import WHOLE_DIGEST_BYTES
from lisdata.paths import StrPath
from lisdata.runs import JsonDict
from lisdata.runs.replanning import list_names
from lisdata.selection.taking import Bools, write_taken
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.companions import file_numbers
from lisdata.shards.manifest import PART_TABLES, write_manifest
from lisdata.shards.merging import merge_datasets
from lisdata.shards.repeats import Repeat, find_repeats

_LOG = logging.getLogger("lisdata")


def merge_once(sources: Sequence[StrPath], to: StrPath) -> JsonDict:
    """Merge datasets as `merge` does, but leave out records that an earlier one has of the same file.

    A warning of the logger "lisdata" names the inputs that this changes. Raises PlanError where it is not sure that the
    records say the same: the file was read in another way, its triples were sorted, or it is above 64 MiB, of which a
    digest covers only pieces.
    """
    target, datasets = Path(to), [IncidenceDataset(source) for source in sources]
    repeats = list(find_repeats(datasets))
    for repeat in repeats:
        _refuse_unlike(repeat)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{target.name}.once.", dir=target.parent) as scratch:
        kept = []
        for number, dataset in enumerate(datasets):
            own = [repeat for repeat in repeats if repeat.dataset is dataset]
            folder = Path(scratch) / str(number) / dataset.path.name
            kept.append(_without(dataset, own, folder) if own else dataset.path)
        body = merge_datasets(kept, target)
    for dataset in datasets:
        names = list(dict.fromkeys(repeat.info.name for repeat in repeats if repeat.dataset is dataset))
        if names:
            _LOG.warning("%s: left out, since a dataset before it has the same: %s", dataset.path, list_names(names))
    return body


def _refuse_unlike(repeat: Repeat) -> None:
    origins = []
    for dataset, info in ((repeat.earlier, repeat.earlier_info), (repeat.dataset, repeat.info)):
        entry = dataset.manifest["inputs"][info.index]
        origin = dict(dataset.manifest["origins"][entry["origin"]])
        origin.pop("selected", None)  # which chooses records, and changes none
        origins.append(origin)
        if "sorted" in origin:
            raise PlanError(f"{repeat}, and sorted: its facts stand among others, so they cannot be left out")
        if entry["size"] > WHOLE_DIGEST_BYTES:
            raise PlanError(f"{repeat} by a digest of pieces of it: it is too large to be sure that it is the same")
    if origins[0] != origins[1]:
        raise PlanError(f"{repeat}, read with other options: its facts are not the same")


def _without(dataset: IncidenceDataset, repeats: list[Repeat], to: Path) -> Path:
    """Write the dataset without the repeated records to the folder `to`; all else of it comes along."""
    to.mkdir(parents=True)
    old = dataset.manifest
    beside = [name for name in old["files"] if name.startswith(("rejects/", "same_as/"))]
    body: JsonDict = old | {"parts": [], "counts": {}, "kinds": {}, "files": {}}
    for name in beside:
        body["files"][name] = _copy(dataset, name, to)
    left_out: Counter[int] = Counter()
    for part, entry in zip(dataset.parts, old["parts"], strict=True):
        is_repeated = _find_repeated(part, repeats)
        left_out.update(_numbers_of_records(part, is_repeated, repeats))
        if not is_repeated.any():
            body["parts"].append(entry)
            for table in PART_TABLES:
                name = f"{table}/{part.name}.arrow"
                body["files"][name] = _copy(dataset, name, to)
        elif not is_repeated.all():
            written, files = write_taken(part, ~is_repeated, to)
            body["parts"].append(written)
            body["files"].update(files)
        part.release()
    totals: dict[str, Counter[str]] = {"counts": Counter(), "kinds": Counter()}
    for entry in body["parts"]:
        for total, counted in totals.items():
            counted.update(entry[total])
    body |= {total: dict(sorted(counted.items())) for total, counted in totals.items()}
    body["inputs"] = [_input(entry, left_out[number]) for number, entry in enumerate(old["inputs"])]
    write_manifest(to, body)
    return to


def _find_repeated(part: Part, repeats: list[Repeat]) -> Bools:
    """Return which structures are left out: repeated records, and all of an input of which every record is one."""
    numbers = file_numbers(part)
    is_repeated = np.zeros(len(numbers), np.bool_)
    for repeat in repeats:
        if repeat.info.index in part.inputs:
            ids = part.read("structures", ("record_id",)).column("record_id")
            is_known = np.asarray(pc.is_in(ids, pa.array(sorted(repeat.record_ids), pa.large_string())))
            is_repeated |= (numbers == repeat.info.index) & (is_known | repeat.is_whole)
    return is_repeated


def _numbers_of_records(part: Part, is_repeated: Bools, repeats: list[Repeat]) -> list[int]:
    """Return the input of each record that is left out."""
    if not is_repeated.any():
        return []
    known = pa.array(sorted(set().union(*(repeat.record_ids for repeat in repeats))), pa.large_string())
    is_record = np.asarray(pc.is_in(part.read("structures", ("record_id",)).column("record_id"), known))
    found: list[int] = file_numbers(part)[is_repeated & is_record].tolist()
    return found


def _copy(dataset: IncidenceDataset, name: str, to: Path) -> JsonDict:
    (to / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(dataset.path / name, to / name)
    entry: JsonDict = dataset.manifest["files"][name]
    return entry


def _input(entry: JsonDict, num_left_out: int) -> JsonDict:
    """Return what the manifest says of an input, without the records that are left out."""
    if not num_left_out:
        return entry
    records = entry["records"]
    of_records = entry.get("of_records", records["seen"])
    fewer = {name: records[name] - num_left_out for name in ("seen", "converted")}
    return entry | {"records": records | fewer, "of_records": of_records}
