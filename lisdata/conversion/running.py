"""`convert`: files of one source become an incidence dataset, through plan, units and commits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from lisdata.conversion.appending import known_facts, left_to_do, plan_append, planned_unit_mib
from lisdata.conversion.config import ConvertConfig, Paths
from lisdata.conversion.fold import fold_conversion
from lisdata.conversion.planning import plan_conversion
from lisdata.conversion.unit import convert_unit, iter_converted, refuse_changes, refuse_other_bytes, unit_inputs
from lisdata.engines import Engine, EngineName
from lisdata.inputs import InputFile
from lisdata.paths import StrPath
from lisdata.runs import Job, JsonDict, OnProgress, Share, finish_shares, run_job, run_share
from lisdata.settings import build_settings
from lisdata.structure import Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a dry run shows: the plan, and the first structures made in memory.

    Of an append the structures are those of new inputs; the dataset has the first `num_known` inputs of the plan, and
    all of its units but `units`.
    """

    plan: JsonDict
    structures: tuple[Structure, ...]
    units: tuple[JsonDict, ...]
    num_known: int = 0


def convert(
    source: str,
    paths: Paths,
    to: StrPath,
    *,
    workers: int = 1,
    engine: EngineName = "process",
    ray_address: str | None = None,
    fresh: bool = False,
    replan: bool = False,
    append: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> JsonDict:
    """Convert `paths` (files, folders, globs, URLs) into a dataset at `to`; return its manifest's body.

    `settings` are the fields of `ConvertConfig`. A run that was stopped goes on where it was; a finished one returns
    at once. Where inputs changed since, PlanError is raised, unless it is to start over (`fresh`) or to convert again
    only what changed (`replan`). `append` adds `paths` behind the inputs that a dataset has, but for files that it has
    already; the dataset is then that of one conversion of all, in that order, with its `unit_mib` unless one is given.

    Neither `workers` nor `engine` changes a byte of the dataset: worker processes, or tasks of Ray on the cluster at
    `ray_address`, or on one of `workers` CPUs that is started here.
    """
    if fresh + replan + append > 1:
        raise ValueError(f"expected one of {fresh=}, {replan=}, {append=}")
    chosen = Engine(name=engine, ray_address=ray_address)
    job = _make_job(source, paths, to, settings, {"workers": workers, "engine": engine}, append=append, fresh=fresh)
    return run_job(job, workers=workers, engine=chosen, fresh=fresh, replan=replan or append, on_progress=on_progress)


def convert_share(
    source: str,
    paths: Paths,
    to: StrPath,
    *,
    rank: int,
    world: int,
    workers: int = 1,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Share:
    """Convert as rank `rank` (from 0) of `world`: each `world`-th unit, in a folder `to` that all ranks see.

    Every rank is given the same arguments. The rank that ends last writes the manifest; what came of this one, and
    which ranks are not done yet, is returned. The dataset is, byte for byte, that of `convert`.
    """
    job = _make_job(source, paths, to, settings, {"workers": workers})
    return run_share(job, rank=rank, world=world, workers=workers, on_progress=on_progress)


def finish(to: StrPath) -> JsonDict:
    """Write the manifest of a conversion by ranks whose units are all done, and return its body; reads no input.

    Raises RunError, naming the ranks that have units to do, when some are not done.
    """
    return finish_shares(Path(to), fold_conversion)


def _make_job(
    source: str,
    paths: Paths,
    to: StrPath,
    settings: dict[str, Any],
    facts: JsonDict,
    *,
    append: bool = False,
    fresh: bool = False,
) -> Job:
    config, files, plan = _plan(source, paths, to, settings, append=append, fresh=fresh)
    inputs = known_facts(to) if append else []
    new_files = files[len(inputs) :]
    inputs += [{"path": file.path, "changed": file.changed} for file in new_files]
    return Job(
        directory=Path(to),
        plan=plan,
        run_unit=partial(convert_unit, files, config.options),
        fold=fold_conversion,
        facts={"inputs": inputs} | facts,
        check_commit=partial(refuse_other_bytes, files),
        unit_inputs=unit_inputs,
        check_inputs=partial(refuse_changes, new_files),
    )


def _plan(
    source: str, paths: Paths, to: StrPath, settings: dict[str, Any], *, append: bool, fresh: bool = False
) -> tuple[ConvertConfig, list[InputFile], JsonDict]:
    """Return the settings, the inputs and the plan; an append goes on in units of the size that the dataset has."""
    if append and "unit_mib" not in settings:
        settings = settings | {"unit_mib": planned_unit_mib(to)}
    config = build_settings(ConvertConfig, {"source": source} | settings, "convert")
    return config, *(plan_append(config, paths, to) if append else plan_conversion(config, paths, to, fresh=fresh))


def sample(
    source: str, paths: Paths, to: StrPath, *, num_structures: int = 3, append: bool = False, **settings: Any
) -> Sample:
    """Return what `convert` would do, and its first structures; nothing is written."""
    config, files, plan = _plan(source, paths, to, settings, append=append)
    num_known = len(known_facts(to)) if append else 0
    units = left_to_do(to, plan) if append else plan["units"]
    new = [unit | {"slices": [piece for piece in unit["slices"] if piece["file"] >= num_known]} for unit in units]
    found = iter_converted(files, config.options, plan | {"units": new})
    return Sample(plan=plan, structures=tuple(islice(found, num_structures)), units=tuple(units), num_known=num_known)
