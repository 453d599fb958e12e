"""Another plan in the place of a run's, where inputs changed or were added; units that stay as they are are kept."""

from __future__ import annotations

import logging
from pathlib import Path

from lisdata.atomic import write_atomically
from lisdata.errors import PlanError
from lisdata.runs.commits import commit_path, read_commit
from lisdata.runs.facts import begin_facts, read_facts
from lisdata.runs.job import PLAN, RUN, Job, JsonDict
from lisdata.runs.plans import SAME_OPTIONS, START_OVER, describe_difference, plan_settings
from lisdata.shards.manifest import MANIFEST, read_sealed, sealed

_LOG = logging.getLogger("lisdata")
_MOST_NAMES = 5


def replace_plan(job: Job) -> None:
    """Make the plan of `job` that of its folder, if there is another one, and warn of what changed.

    A unit is kept where its slices and inputs are those of the old plan's unit of that name, and what it read is still
    there; the files of all others are removed. Killed here, the same call goes on. Raises PlanError when more than
    inputs changed.
    """
    path = job.directory / PLAN
    if not path.exists():
        return
    old = read_sealed(path)
    refuse_other_settings(path, old, job.plan)
    kept = [unit for unit in job.plan["units"] if _is_kept(job, old, unit)]
    num_done = sum(read_commit(job.directory, unit) is not None for unit in old["units"])
    if sealed(old) == sealed(job.plan) and len(kept) == num_done:
        return
    changes = describe_changes(old["inputs"], job.plan["inputs"])
    _LOG.warning("%s: %s; %d of %d units are kept", job.directory, changes, len(kept), len(job.plan["units"]))
    _remove_others(job.directory, kept)
    names = {unit["name"] for unit in kept}
    timings = {name: took for name, took in read_facts(job.directory).get("units", {}).items() if name in names}
    begin_facts(job.directory, job.facts | {"units": timings})
    write_atomically(path, sealed(job.plan))


def refuse_other_settings(path: Path, old: JsonDict, new: JsonDict) -> None:
    """Raise PlanError when `new` has other settings than the plan `old` at `path`."""
    if difference := describe_difference(plan_settings(old), plan_settings(new)):
        raise PlanError(f"{path}: {difference}; only inputs may change", remedies=(SAME_OPTIONS, START_OVER))


def describe_changes(old: list[JsonDict], new: list[JsonDict]) -> str:
    """Say which inputs changed, were added, and are gone."""
    before, after = ({entry["name"]: entry["digest"] for entry in inputs} for inputs in (old, new))
    groups = {
        "changed": [name for name in after if name in before and before[name] != after[name]],
        "new": [name for name in after if name not in before],
        "gone": [name for name in before if name not in after],
    }
    told = [f"{what}: {list_names(names)}" for what, names in groups.items() if names]
    return "; ".join(told) or "inputs changed inside, or their order did"


def list_names(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(repr(name) for name in names[:_MOST_NAMES]) + more


def _is_kept(job: Job, old: JsonDict, unit: JsonDict) -> bool:
    before = next((found for found in old["units"] if found["name"] == unit["name"]), None)
    if before != unit or job.unit_inputs is None or job.unit_inputs(old, before) != job.unit_inputs(job.plan, unit):
        return False
    commit = read_commit(job.directory, unit)
    if commit is None:
        return False
    then, now = read_facts(job.directory).get("inputs", []), job.facts["inputs"]
    if all(index < len(then) and then[index] == now[index] for index in job.unit_inputs(job.plan, unit)):
        return True
    try:
        if job.check_commit is not None:
            job.check_commit(commit)
    except PlanError:
        return False
    return True


def _remove_others(directory: Path, kept: list[JsonDict]) -> None:
    """Remove what is not of the units kept; the manifest, which says that all is there, goes first."""
    (directory / MANIFEST).unlink(missing_ok=True)
    names = {PLAN, RUN}
    for unit in kept:
        path = commit_path(directory, unit)
        names.update((path.relative_to(directory).as_posix(), *read_sealed(path)["files"]))
    for path in directory.rglob("*"):
        if path.is_file() and path.suffix != ".lock" and path.relative_to(directory).as_posix() not in names:
            path.unlink()
