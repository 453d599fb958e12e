"""Runs a recipe: convert each source, merge, encode, train each model, evaluate; every step resumes where it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lisdata.atomic import write_atomically
from lisdata.conversion import convert
from lisdata.errors import LisDataError, RecipeError
from lisdata.locks import hold_lock
from lisdata.recipe import CHARACTERS, JsonDict, Recipe, SourceStep
from lisdata.runs import OnProgress
from lisdata.settings import build_settings
from lisdata.shards.manifest import MANIFEST, read_manifest, sealed
from lisdata.shards.merging import merge_datasets

if TYPE_CHECKING:
    from lisdata.token_shards import TokenDataset

OnStep = Callable[[str], OnProgress]
OTHER_RUN, OTHER_TRAINING = "another run of a recipe", "another training"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolders:
    """Where a recipe's datasets lie below its output folder."""

    root: Path

    def incidence(self, name: str) -> Path:
        """Return the folder of one source's structures."""
        return self.root / "incidence" / name

    @property
    def merged(self) -> Path:
        """All sources' structures."""
        return self.root / "merged"

    @property
    def tokens(self) -> Path:
        """The token shards."""
        return self.root / "tokens"

    def model(self, label: str) -> Path:
        """Return the folder of one model's checkpoints and report."""
        return self.root / "models" / label


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step that `run` would take, in words; `num_units` is how many workers it can keep busy, where that is known."""

    text: str
    num_units: int | None = None


def planned_steps(recipe: Recipe, root: Path, num_units: Sequence[int]) -> list[PlannedStep]:
    """Return what `run` would do; `num_units` are those of each source, as `check_data` counts them."""
    folders = DataFolders(root=root)
    steps = [
        PlannedStep(text=_conversion_text(s, folders), num_units=number)
        for s, number in zip(recipe.sources, num_units, strict=True)
    ]
    lines: list[str] = []
    if len(recipe.sources) > 1:
        lines.append(f"merge {len(recipe.sources)} datasets -> {folders.merged}")
    if recipe.encode is not None:
        lines.append(f"encode with {recipe.encode.get('tokenizer', 'chars')} -> {folders.tokens}")
    lines.extend(f"train {m.label} ({m.model}) -> {folders.model(m.label)}" for m in recipe.models)
    if recipe.evaluate:
        lines.append(f"evaluate by {recipe.evaluate.get('protocol', '?')} -> {root}")
    return [*steps, *(PlannedStep(text=line) for line in lines)]


def _conversion_text(step: SourceStep, folders: DataFolders) -> str:
    sorted_by = "" if step.sort_by is None else f", sorted by {step.sort_by}"
    return f"convert {step.source} {' '.join(step.paths)}{sorted_by} -> {folders.incidence(step.name)}"


def check_data(recipe: Recipe, root: Path) -> list[int]:
    """Return the number of units of each source.

    Raises RecipeError for a source, option, path or setting that could only fail after work was done.
    """
    from lisdata.conversion import ConvertConfig, plan_conversion
    from lisdata.regrouping import check_sorting

    num_units = []
    try:
        for step in recipe.sources:
            values = {"source": step.source, "options": step.options, **step.settings}
            config = build_settings(ConvertConfig, values, f"source {step.name}")
            _, plan = plan_conversion(config, list(step.paths), root)
            if step.sort_by is not None:
                check_sorting(plan, step.sort_by)
            num_units.append(len(plan["units"]))
        if recipe.encode is not None:
            _check_encode(recipe.encode)
    except (ValueError, LisDataError, OSError) as error:
        raise RecipeError(f"{recipe.path}: {error}") from error
    return num_units


def _check_encode(settings: JsonDict) -> None:
    from lisdata.encoding import EncodeConfig, load_tokenizer

    config = build_settings(EncodeConfig, settings, "encode")
    if config.tokenizer != CHARACTERS:
        load_tokenizer(config.tokenizer)
    for name in ("vocabulary", "labels", "label_table"):
        path = getattr(config, name)
        if path is not None and not Path(path).is_file():
            raise ValueError(f"encode: {name}: no file {path}")


def clear_outputs(root: Path) -> None:
    """Remove what an earlier run of a recipe left in `root`; refuse a folder that holds no such run."""
    names = ("incidence", "merged", "merged.json", "tokens", "models")
    if not root.exists():
        return
    if any(root.iterdir()) and not (root / "incidence").is_dir():
        raise RecipeError(f"{root}: not the output of a recipe, so --fresh does not empty it")
    with ExitStack() as stack:
        stack.enter_context(hold_lock(root, OTHER_RUN))
        for folder in sorted((root / "models").glob("*/")):
            stack.enter_context(hold_lock(folder, OTHER_TRAINING))
        for path in (root / name for name in names):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def make_data(recipe: Recipe, root: Path, *, workers: int, on_step: OnStep) -> JsonDict:
    """Convert, merge and encode; return the manifest of the last dataset. Steps that are done are left alone.

    Raises PlanError when another run makes the data of this folder.
    """
    with hold_lock(root, OTHER_RUN):
        return _make_data(recipe, root, workers, on_step)


def _make_data(recipe: Recipe, root: Path, workers: int, on_step: OnStep) -> JsonDict:
    from lisdata.encoding import encode
    from lisdata.regrouping import convert_sorted

    folders = DataFolders(root=root)
    manifest: JsonDict = {}
    for step in recipe.sources:
        run = convert if step.sort_by is None else partial(convert_sorted, sort_by=step.sort_by)
        manifest = run(
            step.source,
            list(step.paths),
            folders.incidence(step.name),
            workers=workers,
            on_progress=on_step(f"convert {step.name}"),
            options=step.options,
            **step.settings,
        )
    incidence = folders.incidence(recipe.sources[0].name)
    if len(recipe.sources) > 1:
        incidence = folders.merged
        manifest = _merge_once(recipe, folders)
    if recipe.encode is not None:
        manifest = encode(incidence, folders.tokens, workers=workers, on_progress=on_step("encode"), **recipe.encode)
    return manifest


def _merge_once(recipe: Recipe, folders: DataFolders) -> JsonDict:
    """Merge the sources' datasets, unless the merged dataset there is made of just these."""
    sources = [folders.incidence(step.name) for step in recipe.sources]
    made_of = {"sources": [read_manifest(source)["files"] for source in sources]}
    note = folders.root / "merged.json"
    if (folders.merged / MANIFEST).exists():
        if note.exists() and note.read_bytes() == sealed(made_of):
            return read_manifest(folders.merged)
        raise RecipeError(f"{folders.merged}: merged from other data than the recipe's; remove it to merge again")
    manifest = merge_datasets(list(sources), folders.merged)
    write_atomically(note, sealed(made_of))
    return manifest


def open_tokens(recipe: Recipe, root: Path) -> TokenDataset:
    """Open the recipe's token shards; raise RecipeError when they were not made yet."""
    from lisdata.token_shards import TokenDataset

    tokens = DataFolders(root=root).tokens
    if not (tokens / MANIFEST).exists():
        raise RecipeError(f"{tokens}: no token shards there yet; run the recipe first: lisdata run {recipe.path}")
    return TokenDataset(tokens)
