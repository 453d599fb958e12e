"""More inputs for a dataset that `convert` made: the plan of all, in which what is done stays done."""

from __future__ import annotations

import logging
from pathlib import Path

from lisdata.conversion.config import ConvertConfig, Paths, unit_bytes
from lisdata.conversion.known_inputs import KnownInputs
from lisdata.conversion.planning import join_pieces, make_planner
from lisdata.conversion.slices import weight_of
from lisdata.errors import PlanError
from lisdata.inputs import InputFile
from lisdata.paths import StrPath
from lisdata.runs import PLAN, RUN, JsonDict
from lisdata.runs.facts import read_facts
from lisdata.runs.replanning import list_names, refuse_other_settings
from lisdata.shards.manifest import read_sealed

_LOG = logging.getLogger("lisdata")


def plan_append(config: ConvertConfig, paths: Paths, to: StrPath) -> tuple[list[InputFile], JsonDict]:
    """Return the inputs and the plan of the dataset at `to` with the files at `paths` behind those that it has.

    A file that holds all bytes of an input is left out, and named in a warning. It is the plan of one conversion of
    all, where the inputs of the last unit, which may take in more, can still be read; else that unit stays as it is,
    with a warning.
    """
    directory, planner = Path(to), make_planner(config)
    plan = _read_plan(directory)
    refuse_other_settings(directory / PLAN, plan, planner.settings)
    earlier = _earlier_inputs(directory, plan, config.max_expansion)
    known = KnownInputs(directory, plan["units"], earlier)
    found = planner.find_files(paths, to, after=earlier, leave_out=known.take)
    if known.taken:
        names = list_names([file.path for file in known.taken])
        _LOG.warning("%s: the dataset has inputs of the same bytes, so these are left out: %s", directory, names)
    files, size, old_units = [*earlier, *found], unit_bytes(plan["unit_mib"]), plan["units"]
    old_pieces = [(piece, weight_of(files[piece["file"]], piece)) for unit in old_units for piece in unit["slices"]]
    units = list(join_pieces([*old_pieces, *planner.iter_pieces(found)], size))
    for old, new in zip(old_units, units, strict=False):
        if old != new and not all(known.holds(files[piece["file"]], old, piece) for piece in old["slices"]):
            _LOG.warning(
                "%s: inputs of unit %s are not as they were where they were: it stays as it is, and the units are not "
                "those of one conversion of all",
                directory,
                old["name"],
            )
            units = [*old_units, *join_pieces(planner.iter_pieces(found), size, first=len(old_units))]
            break
    return files, planner.plan(files, units)


def planned_unit_mib(to: StrPath) -> int:
    """Return the size of the units of the dataset at `to`, with which it is to go on."""
    return int(_read_plan(Path(to))["unit_mib"])


def known_facts(to: StrPath) -> list[JsonDict]:
    """Return path and time of the inputs that the dataset at `to` has, as its run noted them."""
    return list(read_facts(Path(to)).get("inputs", []))


def left_to_do(to: StrPath, plan: JsonDict) -> list[JsonDict]:
    """Return the units of `plan` that the dataset at `to` has not, as they are there."""
    known = _read_plan(Path(to))["units"]
    return [unit for unit in plan["units"] if unit not in known]


def _read_plan(directory: Path) -> JsonDict:
    if not (directory / PLAN).exists():
        raise PlanError(f"{directory}: expected a dataset that convert made, to append to, found none")
    plan = read_sealed(directory / PLAN)
    if "converter" not in plan:
        raise PlanError(f"{directory}: expected a dataset that convert made, to append to, found another run's")
    return plan


def _earlier_inputs(directory: Path, plan: JsonDict, max_expansion: int) -> list[InputFile]:
    facts = known_facts(directory)
    if len(facts) != len(plan["inputs"]):
        raise PlanError(f"{directory / RUN}: expected where the {len(plan['inputs'])} inputs lay, found {len(facts)}")
    return [
        InputFile(**entry, path=fact["path"], changed=fact["changed"], max_expansion=max_expansion)
        for entry, fact in zip(plan["inputs"], facts, strict=True)
    ]
