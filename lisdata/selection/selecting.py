"""Writes the chosen structures of a dataset as one: a unit a part, resumable, the same with any number of workers."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np

import lisdata
from lisdata.errors import PlanError
from lisdata.runs import Job, JsonDict, OnProgress, run_job
from lisdata.selection.taking import Bools, write_taken
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.companions import file_numbers, find_companions, find_inputs_taken, with_companions
from lisdata.shards.manifest import INCIDENCE_FORMAT, MANIFEST, PART_TABLES, file_entry

Compression = Literal["zstd", "none"]

_OF_INPUTS = ("name", "size", "digest", "scope", "compression")


class Choice(Protocol):
    """Says which structures are taken. It is picklable, and looks at one part at a time."""

    def to_json(self) -> JsonDict:
        """Return all that decides what is taken, for the plan."""

    def is_taken(self, dataset: IncidenceDataset, part: Part) -> Bools:
        """Return for each structure of a part of `dataset`, in its order, whether it is taken."""


def check_target(source: Path, target: Path) -> None:
    """Raise PlanError where the dataset to write would lie inside the one that is read."""
    if target.resolve().is_relative_to(source.resolve()):
        raise PlanError(f"{target}: expected a folder outside the dataset {source}")


def count_taken(dataset: IncidenceDataset, choice: Choice) -> tuple[int, int]:
    """Return how many structures would be taken, and how many there are, but what tells how an input was written."""
    taken = total = 0
    for part in dataset.parts:
        is_record = ~find_companions(dataset, part)
        taken += int(np.count_nonzero(choice.is_taken(dataset, part) & is_record))
        total += int(np.count_nonzero(is_record))
        part.release()
    return taken, total


def count_records(manifest: JsonDict) -> int:
    """Return how many structures a selection has, but what tells how an input was written."""
    in_memory = (part["counts"]["structures"] for part in manifest["parts"] if part["inputs"][0] == part["inputs"][1])
    count: int = sum(entry["records"]["converted"] for entry in manifest["inputs"]) + sum(in_memory)
    return count


def select(
    dataset: IncidenceDataset,
    to: Path,
    choice: Choice,
    *,
    compression: str = "zstd",
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write the structures that `choice` takes as a dataset at `to`; return its manifest's body.

    They keep their record ids, sources and order, and what tells how their input was written goes with them; contents
    that none of them shows, reports on the conversion, rejected records and `same_as` tables stay behind. An input's
    records are then the structures taken from it, without what tells how it was written; `of_records` is how many
    there were at first, so that an input with records elsewhere alone is told from one without any.
    """
    if compression not in get_args(Compression):
        raise ValueError(f"expected a compression of {', '.join(get_args(Compression))}, got {compression!r}")
    check_target(dataset.path, to)
    files = dataset.manifest["files"]
    sizes = {p.name: sum(files[f"{table}/{p.name}.arrow"]["size"] for table in PART_TABLES) for p in dataset.parts}
    plan = {
        "format": INCIDENCE_FORMAT,
        "lisdata": lisdata.__version__,
        "dataset": file_entry(dataset.path / MANIFEST)["sha256"],
        "choice": choice.to_json(),
        "inputs": [{name: entry[name] for name in _OF_INPUTS} for entry in dataset.manifest["inputs"]],
        "compression": compression,
        "units": [{"name": name, "weight": size} for name, size in sizes.items()],
    }
    is_done = (to / MANIFEST).exists() and not fresh  # what `choice` looks at may be gone
    inputs_taken = frozenset() if is_done else find_inputs_taken(dataset, partial(choice.is_taken, dataset))
    job = Job(
        directory=to,
        plan=plan,
        run_unit=partial(_select_unit, dataset.path, choice, inputs_taken),
        fold=partial(_fold, dataset.manifest),
        facts={"dataset": str(dataset.path), "workers": workers},
    )
    return run_job(job, workers=workers, fresh=fresh, on_progress=on_progress)


def _select_unit(
    source: Path, choice: Choice, inputs_taken: frozenset[int], directory: Path, plan: JsonDict, unit: JsonDict
) -> JsonDict:
    """Write what is taken of part unit["name"] and return the commit; no part where nothing is."""
    dataset = IncidenceDataset(source)
    part = next(part for part in dataset.parts if part.name == unit["name"])
    is_taken = with_companions(dataset, part, choice.is_taken(dataset, part), inputs_taken)
    if not is_taken.any():
        return {"unit": part.name, "files": {}, "parts": [], "taken": {}}
    codec = None if plan["compression"] == "none" else plan["compression"]
    found, files = write_taken(part, is_taken, directory, compression=codec)
    numbers = file_numbers(part)[is_taken & ~find_companions(dataset, part)].tolist() if part.inputs else []
    taken = Counter(map(str, numbers))
    return {"unit": part.name, "files": files, "parts": [found], "taken": dict(sorted(taken.items()))}


def _fold(manifest: JsonDict, plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    parts = [part for commit in commits for part in commit["parts"]]
    taken: Counter[str] = Counter()
    totals: dict[str, Counter[str]] = {"counts": Counter(), "kinds": Counter()}
    for commit in commits:
        taken.update(commit["taken"])
    for total, part in ((total, part) for part in parts for total in totals):
        totals[total].update(part[total])
    return {
        "format": INCIDENCE_FORMAT,
        "lisdata": plan["lisdata"],
        "origins": [_chosen_from(origin, plan) for origin in manifest["origins"]],
        "inputs": [_input(entry, taken[str(number)]) for number, entry in enumerate(manifest["inputs"])],
        "parts": parts,
        **{name: dict(sorted(total.items())) for name, total in totals.items()},
    }


def _chosen_from(origin: JsonDict, plan: JsonDict) -> JsonDict:
    """Return the origin with this choice behind those that were made before."""
    chosen = {"dataset": plan["dataset"], "choice": plan["choice"]}
    return origin | {"selected": [*origin.get("selected", ()), chosen]}


def _input(entry: JsonDict, taken: int) -> dict[str, Any]:
    kept = {name: value for name, value in entry.items() if name != "report"}
    of_records = entry.get("of_records", entry["records"]["seen"])
    return kept | {"records": {"seen": taken, "converted": taken, "rejected": 0}, "of_records": of_records}
