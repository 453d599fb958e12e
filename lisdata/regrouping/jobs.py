"""The two runs of a regrouping: facts divided among partitions, then the structures of each partition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import lisdata
from lisdata.errors import PlanError
from lisdata.exporters.input_ordinals import FIRST_ORDINAL, room_for_ordinals
from lisdata.inputs import MEBIBYTE
from lisdata.regrouping.spills import SPILL_FORMAT, spill_part
from lisdata.regrouping.units import BYTES_A_FACT, regroup_unit
from lisdata.runs import PLAN, RUN, Job, JsonDict
from lisdata.runs.facts import read_facts
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import INCIDENCE_FORMAT, MANIFEST, PART_TABLES, file_entry, read_sealed

SPILLS = ".spills"
"""The folder inside the target where the first run has its facts."""

_FILLED = 0.5  # how full of what fits a partition is on average


@dataclass(frozen=True, slots=True, kw_only=True)
class RegroupJobs:
    """What divides the facts, and what then makes the structures."""

    spill: Job
    regroup: Job


def plan_jobs(source: IncidenceDataset, name: str, target: Path, settings: JsonDict, facts: JsonDict) -> RegroupJobs:
    """Return the jobs for the dataset `source`, which its units open by `name`; `settings` decide the output."""
    plan = _plan(source, settings)
    spills = target.absolute() / SPILLS
    return RegroupJobs(
        spill=Job(
            directory=target / SPILLS,
            plan=_plan_spill(source, plan),
            run_unit=partial(spill_part, name),
            fold=fold_spills,
            facts={},
        ),
        regroup=Job(
            directory=target,
            plan=plan,
            run_unit=partial(regroup_unit, name, spills),
            fold=partial(_fold, source.manifest),
            facts={"dataset": name} | facts,
        ),
    )


def fold_again(target: Path) -> Callable[[JsonDict, list[JsonDict]], JsonDict]:
    """Return what folds the run at `target`, which knows of its dataset by run.json; PlanError if that changed."""
    name = read_facts(target).get("dataset")
    if name is None:
        raise PlanError(f"{target / RUN}: expected the dataset that is regrouped, found none")
    source = IncidenceDataset(name)
    if file_entry(source.path / MANIFEST)["sha256"] != read_sealed(target / PLAN)["dataset"]:
        raise PlanError(f"{name}: changed since it was regrouped to {target}")
    return partial(_fold, source.manifest)


def _plan(source: IncidenceDataset, settings: JsonDict) -> JsonDict:
    """Return the plan: all that decides the output, and nothing of where the dataset lies."""
    num_facts = source.manifest["counts"].get("instances", 0)
    wanted = num_facts * BYTES_A_FACT / (_FILLED * settings["memory_mib"] * MEBIBYTE)
    num_partitions = 1 + int(wanted)
    entries = [{k: e[k] for k in ("name", "size", "digest", "scope", "compression")} for e in source.manifest["inputs"]]
    files = source.manifest["files"]
    beside = [name for name in files if name.startswith(("rejects/", "same_as/"))]
    sizes = [sum(files[f"{table}/{part.name}.arrow"]["size"] for table in PART_TABLES) for part in source.parts]
    weight = sum(sizes) // num_partitions
    units: list[JsonDict] = [{"name": f"{n:05d}", "weight": weight, "partition": n} for n in range(num_partitions)]
    if beside:
        weight = sum(files[name]["size"] for name in beside)
        units.append({"name": "beside", "weight": weight, "copies": sorted(beside)})
    return settings | {
        "format": INCIDENCE_FORMAT,
        "lisdata": lisdata.__version__,
        "dataset": file_entry(source.path / MANIFEST)["sha256"],
        "inputs": entries,
        "spilled": [part.name for part in source.parts],
        "units": units,
    }


def _plan_spill(source: IncidenceDataset, plan: JsonDict) -> JsonDict:
    files = source.manifest["files"]
    weights = {name: files[f"structures/{name}.arrow"]["size"] for name in plan["spilled"]}
    return {
        "format": SPILL_FORMAT,
        "lisdata": plan["lisdata"],
        "dataset": plan["dataset"],
        "by": plan["by"],
        "partitions": sum("partition" in unit for unit in plan["units"]),
        "units": [{"name": name, "weight": weight} for name, weight in weights.items()],
    }


def fold_spills(plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the manifest's body of facts that are divided: only that all of them are."""
    return {"format": SPILL_FORMAT}


def _fold(manifest: JsonDict, plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the new manifest's body: what the old one says of the inputs, and the sums of the commits."""
    room = room_for_ordinals(len(manifest["inputs"]))
    sorted_as = {name: plan[name] for name in ("by", "group_by", "memory_mib")}
    kept: JsonDict = {name: manifest[name] for name in ("report", "on_error") if name in manifest}
    parts = [part for commit in commits for part in commit["parts"]]
    totals: dict[str, dict[str, int]] = {"counts": {}, "kinds": {}}
    for total, part in ((total, part) for part in parts for total in totals):
        for name, count in part[total].items():
            totals[total][name] = totals[total].get(name, 0) + count
    return {
        **kept,
        **totals,
        "format": INCIDENCE_FORMAT,
        "lisdata": plan["lisdata"],
        "origins": [origin | {"sorted": sorted_as} for origin in manifest["origins"]],
        "inputs": [entry | {FIRST_ORDINAL: index * room} for index, entry in enumerate(manifest["inputs"])],
        "parts": parts,
    }
