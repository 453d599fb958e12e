"""Runs an experiment: every variant under every seed, each once, then the table of all that is done.

    DIR/
      experiment.json        what all runs of this folder share: scale, data
      incidence/ tokens/     the data
      models/VARIANT-seed-N/ checkpoints and training report of a run
      runs/VARIANT-seed-N.json
      table.txt table.json table.png

A run is done when its JSON file is there. Whatever kills the process, the same call goes on from the last checkpoint
and ends with the same numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.engines import run_units
from lisdata.errors import PlanError, SchemaError
from lisdata.locks import hold_lock
from lisdata.models.devices import current_device, on_device
from lisdata.reproduce import EXPERIMENTS, load_experiment
from lisdata.reproduce.machine import describe_machine
from lisdata.reproduce.preparation import OnStep, untold
from lisdata.settings import build_settings, parse_change
from lisdata.training.allocation import keep_freed_memory
from lisdata.training.report import describe_versions

JsonDict = dict[str, Any]
RUN_FORMAT = "lisdata reproduction run 1"
KEPT_OF_DATA = (
    "of the data being prepared, units that are done are kept; the same command goes on from there, those at work anew"
)

OnProgress = Callable[[float, int, str], None]
"""Called with the runs done, of which the last may be a fraction, the runs in all, and a remark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run: a variant under a seed. `scale` is one of the experiment's settings; `data` its input, if it has one."""

    data: Path | None
    directory: Path
    scale: Any
    variant: str
    seed: int
    on_step: Callable[[int, int, float], None] | None = None

    @property
    def name(self) -> str:
        """The run's name in its folder."""
        return f"{self.variant}-seed-{self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A published table.

    `scales` are frozen dataclasses of settings by name. `prepare(data, directory, scale, on_step)` makes what the
    runs share, each step told by what `on_step(label)` returns, and returns facts of it, ready for JSON.
    `variants_at(scale)` are those of the variants that a scale has, by default all. `run(request)` trains and measures
    one variant, going on from its last checkpoint, and returns the figures, ready for JSON. `report(runs, scale,
    directory)` writes the table of those runs as table.txt, table.json and table.png and returns it as text.
    """

    name: str
    variants: tuple[str, ...]
    scales: Mapping[str, Any]
    prepare: Callable[[Path | None, Path, Any, OnStep], JsonDict]
    run: Callable[[RunRequest], JsonDict]
    report: Callable[[list[JsonDict], Any, Path], str]
    variants_at: Callable[[Any], tuple[str, ...]] | None = None


def choose_scale(experiment: Experiment, name: str, changes: Sequence[str] = (), **settings: Any) -> Any:
    """Return a scale of the experiment with some settings changed, by `changes` (KEY=VALUE) or by name.

    Raises ValueError for an unknown scale or setting, and for a value of the wrong type or range.
    """
    if name not in experiment.scales:
        raise ValueError(f"{experiment.name} has no scale {name!r}: it has {', '.join(experiment.scales)}")
    chosen = experiment.scales[name]
    values = asdict(chosen) | dict(map(parse_change, changes)) | settings
    return build_settings(type(chosen), values, experiment.name)


def reproduce(
    name: str,
    *,
    data: Path | None,
    directory: Path,
    scale: Any,
    num_seeds: int,
    variants: Sequence[str] = (),
    jobs: int = 1,
    on_step: OnStep = untold,
    on_progress: OnProgress | None = None,
) -> str:
    """Do the runs that are not done yet, in as many processes as `jobs`, and return the table of all that are.

    Seeds go 0 to `num_seeds` - 1, and every variant (of those named, else of all) has had one seed before any has the
    next; the table is written anew after each run. With one job a run happens in this process, and `on_progress` is
    called before the first and at each step, else before the first and after each run; what `on_step(label)` returns
    is called as the data is made. Raises PlanError when the folder holds runs of another scale or data,
    KeyboardInterrupt when a signal ended a training, whose state is saved, or the making of the data, which it says.
    """
    experiment = load_experiment(name)
    if EXPERIMENTS[name].needs_data and data is None:
        raise ValueError(f"{name} needs its input: expected data (--data)")
    if data is not None and data.is_dir() != EXPERIMENTS[name].is_folder:
        raise ValueError(
            f"{name}: expected data in a {'folder' if EXPERIMENTS[name].is_folder else 'file'}, got {data}"
        )
    known = experiment.variants if experiment.variants_at is None else experiment.variants_at(scale)
    unknown = [variant for variant in variants if variant not in known]
    if unknown:
        raise ValueError(f"{name} has no variant {', '.join(unknown)}: it has {', '.join(known)}")
    if num_seeds < 1 or jobs < 1:
        raise ValueError(f"expected positive numbers, got {num_seeds=}, {jobs=}")
    chosen = [variant for variant in known if not variants or variant in variants]
    units: list[JsonDict] = [
        {"name": f"{variant}-seed-{seed}", "variant": variant, "seed": seed}
        for seed in range(num_seeds)
        for variant in chosen
    ]
    with hold_lock(directory / "runs", "another reproduction"):
        made = _prepare(experiment, data, directory, scale, on_step)
        facts = {"experiment": name, "scale": asdict(scale), "data": made}
        _adopt_facts(directory / "experiment.json", facts)
        pending = [unit for unit in units if not _run_path(directory, unit["name"]).exists()]
        num_done = len(units) - len(pending)
        show = _Show(on_progress, len(units), num_done) if on_progress is not None else None
        if show is not None and pending:
            show.begin(pending[0]["name"])
        run = _RunOne(name, data, directory, scale, facts, str(current_device()), show if jobs == 1 else None)
        for done in run_units(run, pending, workers=jobs):
            num_done += 1
            if show is not None:
                show.end(done.unit["name"])
            if num_done < len(units):
                experiment.report(read_runs(experiment, directory), scale, directory)
        return experiment.report(read_runs(experiment, directory), scale, directory)


def _prepare(experiment: Experiment, data: Path | None, directory: Path, scale: Any, on_step: OnStep) -> JsonDict:
    try:
        return experiment.prepare(data, directory, scale, on_step)
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(KEPT_OF_DATA) from error


def training_figures(report: Path, *, evaluation_seconds: float) -> JsonDict:
    """Return what the record of a run takes from the report of its training: its size, steps, loss, seconds, facts."""
    found = json.loads(report.read_text(encoding="utf-8"))
    return {
        "num_parameters": found["num_parameters"],
        "steps": found["num_steps_done"],
        "final_loss": found["loss"][-1][1] if found["loss"] else None,
        "seconds": {"training": found["seconds"], "evaluation": evaluation_seconds},
        "facts": found["facts"],
    }


def read_runs(experiment: Experiment, directory: Path) -> list[JsonDict]:
    """Return the finished runs of a folder, in the order of the experiment's variants, then of seeds."""
    runs = [_read_json(path) for path in (directory / "runs").glob("*.json")]
    return sorted(runs, key=lambda run: (experiment.variants.index(run["variant"]), run["seed"]))


@dataclass(slots=True)
class _Show:
    """Turns steps of single runs into progress over all runs."""

    on_progress: OnProgress
    num_runs: int
    num_done: int

    def begin(self, name: str) -> None:
        self.on_progress(self.num_done, self.num_runs, f"{name} begins")

    def step(self, name: str, step: int, num_steps: int, loss: float) -> None:
        remark = f"{name}: step {step} of {num_steps}, loss {loss:.3f}"
        self.on_progress(self.num_done + step / num_steps, self.num_runs, remark)

    def end(self, name: str) -> None:
        self.num_done += 1
        self.on_progress(self.num_done, self.num_runs, f"{name} done")


@dataclass(frozen=True, slots=True)
class _RunOne:
    """Does one run and writes its record; picklable as long as it shows nothing."""

    experiment: str
    data: Path | None
    directory: Path
    scale: Any
    facts: JsonDict
    device: str
    show: _Show | None

    def __call__(self, unit: JsonDict) -> None:
        keep_freed_memory()
        show = self.show
        name = unit["name"]
        request = RunRequest(
            data=self.data,
            directory=self.directory,
            scale=self.scale,
            variant=unit["variant"],
            seed=unit["seed"],
            on_step=None if show is None else lambda *step: show.step(name, *step),
        )
        with on_device(self.device):
            figures = load_experiment(self.experiment).run(request)
        record = {
            "format": RUN_FORMAT,
            "variant": request.variant,
            "seed": request.seed,
            **self.facts,
            **figures,
            "machine": describe_machine() | {"device": self.device},
            "versions": describe_versions(),
        }
        _write_json(_run_path(self.directory, name), record)


def _run_path(directory: Path, name: str) -> Path:
    return directory / "runs" / f"{name}.json"


def _adopt_facts(path: Path, facts: JsonDict) -> None:
    """Write down what all runs of the folder share, or check that it is what stands there."""
    if not path.exists():
        _write_json(path, {"format": RUN_FORMAT, **facts})
        return
    found = dict(_flatten(_read_json(path)))
    wanted = dict(_flatten(json.loads(json.dumps({"format": RUN_FORMAT, **facts}))))
    differences = [
        f"{key} = {found.get(key)}, not {wanted.get(key)}"
        for key in sorted(found.keys() | wanted.keys())
        if found.get(key) != wanted.get(key)
    ]
    if differences:
        raise PlanError(f"{path}: the runs here have {'; '.join(differences)}; choose another folder")


def _flatten(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _read_json(path: Path) -> JsonDict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SchemaError(f"{path}: expected JSON, found {error}") from error
    if not isinstance(content, dict) or content.get("format") != RUN_FORMAT:
        raise SchemaError(f"{path}: expected the format {RUN_FORMAT!r}, found {str(content)[:80]!r}")
    return content


def _write_json(path: Path, content: JsonDict) -> None:
    write_atomically(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
