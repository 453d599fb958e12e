"""Recipes: one TOML file says which sources become which shards, and which models are trained and evaluated on them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lisdata.errors import RecipeError

JsonDict = dict[str, Any]
CHARACTERS = "chars"  # the tokenizer that is no file
_ENCODE_PATHS = ("tokenizer", "vocabulary", "labels", "label_table")
_TABLES = ("name", "summary", "source", "encode", "model", "train", "evaluate")
_SOURCE_KEYS = ("name", "source", "path", "options", "on_error", "unit_mib", "compression")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStep:
    """One `[[source]]`: files that `convert` turns into a dataset called `name`."""

    name: str
    source: str
    paths: tuple[str, ...]
    options: JsonDict = field(default_factory=dict)
    settings: JsonDict = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStep:
    """One `[[model]]`: a registered model under a label, with its settings."""

    label: str
    model: str
    settings: JsonDict = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A whole road: sources -> shards -> (merge) -> tokens -> models -> evaluation."""

    path: Path
    name: str
    summary: str
    sources: tuple[SourceStep, ...]
    encode: JsonDict
    models: tuple[ModelStep, ...] = ()
    train: JsonDict = field(default_factory=dict)
    evaluate: JsonDict = field(default_factory=dict)


def load_recipe(path: str | Path, changes: tuple[str, ...] = ()) -> Recipe:
    """Read a recipe and apply `changes` (KEY=VALUE, e.g. "train.num_steps=50", "source.path=corpus.txt").

    Paths in the file are relative to the file's folder, those of `changes` to the working folder. Raises RecipeError,
    naming the file and the key, for anything unknown, missing or of the wrong type.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: expected TOML, found {error}") from error
    _anchor_paths(data, path.parent)
    for change in changes:
        _apply(data, change, path)
    return _recipe(data, path)


def choose_models(recipe: Recipe, labels: tuple[str, ...]) -> Recipe:
    """Return the recipe with only the models called `labels` (all when there are none)."""
    known = [step.label for step in recipe.models]
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise RecipeError(f"{recipe.path}: no model {', '.join(unknown)}; it has {', '.join(known) or 'none'}")
    return replace(recipe, models=tuple(step for step in recipe.models if not labels or step.label in labels))


def _recipe(data: JsonDict, path: Path) -> Recipe:
    _refuse_unknown(data, _TABLES, path, "recipe")
    sources = data.get("source")
    steps = [sources] if isinstance(sources, dict) else sources
    if not steps:
        raise RecipeError(f"{path}: expected at least one [[source]], found none")
    models = data.get("model", [])
    models = [models] if isinstance(models, dict) else models
    return Recipe(
        path=path,
        name=str(data.get("name", path.stem)),
        summary=str(data.get("summary", "")),
        sources=tuple(_source(step, path) for step in steps),
        encode=_table(data, "encode", path),
        models=tuple(_model(step, path) for step in models),
        train=_table(data, "train", path),
        evaluate=_table(data, "evaluate", path),
    )


def _table(data: JsonDict, key: str, path: Path) -> JsonDict:
    found = data.get(key, {})
    if not isinstance(found, dict):
        raise RecipeError(f"{path}: expected a table [{key}], found {found!r}")
    return found


def _source(step: Any, path: Path) -> SourceStep:
    if not isinstance(step, dict):
        raise RecipeError(f"{path}: expected a table [[source]], found {step!r}")
    _refuse_unknown(step, _SOURCE_KEYS, path, "source")
    for key in ("source", "path"):
        if key not in step:
            raise RecipeError(f"{path}: expected source.{key}; give it with --set source.{key}=...")
    paths = step["path"]
    return SourceStep(
        name=str(step.get("name", step["source"])),
        source=step["source"],
        paths=tuple([paths] if isinstance(paths, str) else paths),
        options=dict(step.get("options", {})),
        settings={k: step[k] for k in ("on_error", "unit_mib", "compression") if k in step},
    )


def _model(step: Any, path: Path) -> ModelStep:
    if not isinstance(step, dict) or "name" not in step:
        raise RecipeError(f"{path}: expected a table [[model]] with a name, found {step!r}")
    settings = {k: v for k, v in step.items() if k not in ("name", "label")}
    return ModelStep(label=str(step.get("label", step["name"])), model=step["name"], settings=settings)


def _refuse_unknown(table: JsonDict, known: tuple[str, ...], path: Path, what: str) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise RecipeError(f"{path}: {what} has no key {', '.join(unknown)}; it has {', '.join(known)}")


def _anchor_paths(data: JsonDict, folder: Path) -> None:
    steps = data.get("source", [])
    for step in [steps] if isinstance(steps, dict) else steps:
        if isinstance(step, dict) and "path" in step:
            paths = [step["path"]] if isinstance(step["path"], str) else step["path"]
            step["path"] = [anchored(p, folder) for p in paths]
            options = step.get("options", {})
            if isinstance(options.get("schema"), str):
                options["schema"] = anchored(options["schema"], folder)

    encode = data.get("encode", {})
    for name in _ENCODE_PATHS if isinstance(encode, dict) else ():
        if isinstance(encode.get(name), str) and encode[name] != CHARACTERS:
            encode[name] = anchored(encode[name], folder)


def anchored(path: str, folder: Path) -> str:
    """Return `path` below `folder`, unless it is absolute or a URL."""
    return path if "://" in path or Path(path).is_absolute() else str(folder / path)


def _apply(data: JsonDict, change: str, path: Path) -> None:
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise RecipeError(f"--set {change}: expected KEY=VALUE")
    *parents, last = key.split(".")
    target: Any = data
    for name in parents:
        target = _child(_only(target, name, change), name, change, path)
    target = _only(target, last, change)
    if not isinstance(target, dict):
        raise RecipeError(f"--set {change}: {'.'.join(parents)} is not a table in {path}")
    target[last] = _value(text)


def _only(target: Any, name: str, change: str) -> Any:
    """Return the one table of a list, unless `name` is a number that says which."""
    if not isinstance(target, list) or name.isdigit():
        return target
    if len(target) != 1:
        raise RecipeError(
            f"--set {change}: there is a list of {len(target)} where {name} is looked for; say which by 0, 1..."
        )
    return target[0]


def _child(target: Any, name: str, change: str, path: Path) -> Any:
    if isinstance(target, list) and int(name) < len(target):
        return target[int(name)]
    if isinstance(target, dict):
        return target.setdefault(name, {})
    raise RecipeError(f"--set {change}: {path} has no {name} there")


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
