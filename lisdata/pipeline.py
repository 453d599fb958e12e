"""Runs a recipe: convert each source, merge, encode, train each model, evaluate; every step resumes where it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisdata.atomic import write_atomically
from lisdata.conversion import convert
from lisdata.errors import PlanError, RecipeError
from lisdata.recipe import JsonDict, Recipe
from lisdata.runs import OnProgress
from lisdata.settings import build_settings
from lisdata.shards.manifest import MANIFEST, read_manifest, sealed
from lisdata.shards.merging import merge_datasets

if TYPE_CHECKING:
    from lisdata.token_shards import TokenDataset

OnStep = Callable[[str], OnProgress]


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


def planned_steps(recipe: Recipe, root: Path) -> list[str]:
    """Return what `run` would do, a line a step."""
    folders = DataFolders(root=root)
    lines = [f"convert {s.source} {' '.join(s.paths)} -> {folders.incidence(s.name)}" for s in recipe.sources]
    if len(recipe.sources) > 1:
        lines.append(f"merge {len(recipe.sources)} datasets -> {folders.merged}")
    if recipe.encode:
        lines.append(f"encode with {recipe.encode.get('tokenizer', '?')} -> {folders.tokens}")
    lines.extend(f"train {m.label} ({m.model}) -> {folders.model(m.label)}" for m in recipe.models)
    if recipe.evaluate:
        lines.append(f"evaluate by {recipe.evaluate.get('protocol', '?')} -> {root}")
    return lines


def check_data(recipe: Recipe, root: Path) -> None:
    """Raise RecipeError for a source, option, path or setting that could only fail after work was done."""
    from lisdata.conversion import ConvertConfig, plan_conversion
    from lisdata.encoding import EncodeConfig

    try:
        for step in recipe.sources:
            values = {"source": step.source, "options": step.options, **step.settings}
            plan_conversion(build_settings(ConvertConfig, values, f"source {step.name}"), list(step.paths), root)
        if recipe.encode:
            build_settings(EncodeConfig, recipe.encode, "encode")
    except (ValueError, PlanError) as error:
        raise RecipeError(f"{recipe.path}: {error}") from error


def clear_outputs(root: Path) -> None:
    """Remove what an earlier run of a recipe left in `root`; refuse a folder that holds no such run."""
    names = ("incidence", "merged", "merged.json", "tokens", "models")
    if root.exists() and any(root.iterdir()) and not (root / "incidence").is_dir():
        raise RecipeError(f"{root}: not the output of a recipe, so --fresh does not empty it")
    for path in (root / name for name in names):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def make_data(recipe: Recipe, root: Path, *, workers: int, on_step: OnStep) -> JsonDict:
    """Convert, merge and encode; return the manifest of the last dataset. Steps that are done are left alone."""
    from lisdata.encoding import encode

    folders = DataFolders(root=root)
    manifest: JsonDict = {}
    for step in recipe.sources:
        manifest = convert(
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
    if recipe.encode:
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


def settings_of(table: JsonDict, names: tuple[str, ...], what: str, path: Path) -> dict[str, Any]:
    """Return the keys of a recipe's table that are not `names`; raise RecipeError when one of `names` is missing."""
    missing = [name for name in names if name not in table]
    if missing:
        raise RecipeError(f"{path}: {what} lacks {', '.join(missing)}")
    return {k: v for k, v in table.items() if k not in names}
