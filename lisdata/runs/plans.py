"""The plan in a run's folder: written once, and the only one that a run there may have."""

from __future__ import annotations

from lisdata.atomic import write_atomically
from lisdata.errors import PlanError
from lisdata.runs.commits import read_commit
from lisdata.runs.facts import begin_facts, read_facts
from lisdata.runs.job import PLAN, RUN, Job, JsonDict
from lisdata.shards.manifest import MANIFEST, check_sizes, read_manifest, read_sealed, sealed

SAME_OPTIONS = "give the options of that run to go on with it"
OTHER_FOLDER, START_OVER = "choose another folder", "--fresh to start over"
CONVERT_AGAIN = "--replan to convert again what changed"


def adopt_plan(job: Job) -> JsonDict | None:
    """Write the plan, or check that the one that stands there is the same; return the manifest when all is done."""
    path = job.directory / PLAN
    if not path.exists():
        strangers = [p.name for p in job.directory.iterdir() if not p.name.startswith(".") and p.name != RUN]
        if strangers:
            raise PlanError(
                f"{job.directory}: expected a new or empty folder, found {', '.join(sorted(strangers)[:5])}"
            )
        begin_facts(job.directory, job.facts)
        write_atomically(path, sealed(job.plan))
        return None
    found = read_sealed(path)
    if sealed(found) != sealed(job.plan):
        if difference := describe_difference(plan_settings(found), plan_settings(job.plan)):
            raise PlanError(f"{path}: {difference}", remedies=(SAME_OPTIONS, OTHER_FOLDER, START_OVER))
        may_replan = job.unit_inputs is not None and found.get("inputs") != job.plan["inputs"]
        more = (CONVERT_AGAIN,) if may_replan else ()
        difference = describe_difference(found, job.plan) or "the run in this folder has another plan"
        raise PlanError(f"{path}: {difference}", remedies=(OTHER_FOLDER, START_OVER, *more))
    _refuse_changed_inputs(job)
    if (job.directory / MANIFEST).exists():
        body = read_manifest(job.directory)
        check_sizes(job.directory, body)
        return body
    return None


def plan_settings(plan: JsonDict) -> JsonDict:
    """Return what a plan says but for inputs and units, what it is made from first."""
    settings = {name: value for name, value in plan.items() if name not in ("inputs", "units")}
    return {name: settings[name] for name in sorted(settings, key=lambda name: (name != "source", name))}


def _refuse_changed_inputs(job: Job) -> None:
    """Refuse to go on from units that read other bytes than the inputs hold now.

    The plan's digests don't cover all of a large file, so what was read is compared when a path or time differs.
    """
    if job.check_commit is None or read_facts(job.directory).get("inputs") == job.facts.get("inputs"):
        return
    for unit in job.plan["units"]:
        commit = read_commit(job.directory, unit)
        if commit is not None:
            job.check_commit(commit)


def describe_difference(found: JsonDict, wanted: JsonDict, prefix: str = "") -> str:
    """Say the first setting, or input, in which two plans differ; nothing where they are the same."""
    for name in {**found, **wanted}:
        old, new = found.get(name), wanted.get(name)
        if name == "inputs" and old and new:
            changed = next((pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]), None)
            if changed is not None:
                return f"the run in this folder has the input {_named(changed[0])}, this one {_named(changed[1])}"
            old, new = len(old), len(new)
        if isinstance(old, list) and isinstance(new, list):
            old, new = dict(enumerate(old)), dict(enumerate(new))
        if old != new and isinstance(old, dict) and isinstance(new, dict):
            return describe_difference(old, new, f"{prefix}{name}.")
        if old != new:
            return f"the run in this folder has {prefix}{name} = {repr(old)[:200]}, this one {repr(new)[:200]}"
    return ""


def _named(entry: JsonDict) -> str:
    return f"{entry.get('name')} ({entry.get('size')} bytes, digest {entry.get('digest')})"
