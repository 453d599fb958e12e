"""Recipes: one TOML file says which sources become which shards, and which models are trained and evaluated on them."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from lisdata.errors import RecipeError
from lisdata.settings import build_settings

T = TypeVar("T")
JsonDict = dict[str, Any]
CHARACTERS = "chars"  # the tokenizer that is no file
_ENCODE_PATHS = ("tokenizer", "vocabulary", "labels", "label_table")
_TABLES = ("name", "summary", "source", "encode", "model", "train", "evaluate")
_MODEL_KEYS = ("name", "label", "from")
_SETTING_KEYS = ("on_error", "unit_mib", "compression", "max_expansion")
_SOURCE_KEYS = ("name", "source", "path", "options", "sort_by", *_SETTING_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStep:
    """One `[[source]]`: files that `convert` turns into a dataset called `name`, its triples sorted by `sort_by`."""

    name: str
    source: str
    paths: tuple[str, ...]
    options: JsonDict = field(default_factory=dict)
    settings: JsonDict = field(default_factory=dict)
    sort_by: Literal["subject", "graph"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStep:
    """One `[[model]]`: a registered model under a label, with its settings.

    `start` ("from" in the file) is a trained model that it begins as, a checkpoint or a folder of Hugging Face's.
    """

    label: str
    model: str
    settings: JsonDict = field(default_factory=dict)
    start: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A whole road: sources -> shards -> (merge) -> tokens -> models -> evaluation; `encode` None stops at shards."""

    path: Path
    name: str
    summary: str
    sources: tuple[SourceStep, ...]
    encode: JsonDict | None = None
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
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, or of numbers and lists beyond all measure
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


def recipe_settings(kind: type[T], values: JsonDict, what: str, path: Path) -> T:
    """Return `build_settings(kind, values, what)`; its errors become RecipeErrors of the recipe at `path`."""
    try:
        return build_settings(kind, values, what)
    except ValueError as error:
        raise RecipeError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    """What a recipe says of itself."""

    name: str = ""
    summary: str = ""


def _recipe(data: JsonDict, path: Path) -> Recipe:
    _refuse_unknown(data, _TABLES, path, "recipe")
    heading = recipe_settings(_Heading, {k: data[k] for k in ("name", "summary") if k in data}, "recipe", path)
    sources = tuple(_source(step, path) for step in _tables(data, "source", path))
    if not sources:
        raise RecipeError(f"{path}: expected at least one [[source]], found none")
    models = tuple(_model(step, path) for step in _tables(data, "model", path))
    _refuse_folders([source.name for source in sources], "source", path)
    _refuse_folders([model.label for model in models], "model", path)
    return Recipe(
        path=path,
        name=heading.name or path.stem,
        summary=heading.summary,
        sources=sources,
        encode=_table(data, "encode", path) if "encode" in data else None,
        models=models,
        train=_table(data, "train", path),
        evaluate=_table(data, "evaluate", path),
    )


def _table(data: JsonDict, key: str, path: Path) -> JsonDict:
    found = data.get(key, {})
    if not isinstance(found, dict):
        raise RecipeError(f"{path}: expected a table [{key}], found {found!r}")
    return found


def _tables(data: JsonDict, key: str, path: Path) -> list[JsonDict]:
    found = data.get(key, [])
    steps = [found] if isinstance(found, dict) else found
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise RecipeError(f"{path}: expected tables [[{key}]], found {found!r}")
    return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceTable:
    source: str
    path: tuple[str, ...]
    name: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    sort_by: Literal["subject", "graph"] | None = None

    def __post_init__(self) -> None:
        if not self.path or "" in self.path:
            raise ValueError("source: path: expected files or folders, got an empty path")


def _source(step: JsonDict, path: Path) -> SourceStep:
    _refuse_unknown(step, _SOURCE_KEYS, path, "source")
    for key in ("source", "path"):
        if key not in step:
            raise RecipeError(f"{path}: expected source.{key}; give it with --set source.{key}=...")
    paths = [step["path"]] if isinstance(step["path"], str) else step["path"]
    values = {key: step[key] for key in ("source", "name", "options", "sort_by") if key in step} | {"path": paths}
    table = recipe_settings(_SourceTable, values, "source", path)
    return SourceStep(
        name=table.source if table.name is None else table.name,
        source=table.source,
        paths=table.path,
        options=table.options,
        settings={k: step[k] for k in _SETTING_KEYS if k in step},
        sort_by=table.sort_by,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelTable:
    name: str
    label: str | None = None


def _model(step: JsonDict, path: Path) -> ModelStep:
    if "name" not in step:
        raise RecipeError(f"{path}: expected a table [[model]] with a name, found {step!r}")
    known = recipe_settings(_ModelTable, {k: step[k] for k in ("name", "label") if k in step}, "model", path)
    settings = {k: v for k, v in step.items() if k not in _MODEL_KEYS}
    start = step.get("from")
    if start is not None and (not isinstance(start, str) or not start):
        raise RecipeError(f"{path}: model: from: expected the path of a trained model, got {start!r}")
    label = known.name if known.label is None else known.label
    return ModelStep(label=label, model=known.name, settings=settings, start=start)


def _refuse_folders(names: list[str], what: str, path: Path) -> None:
    """Refuse names that cannot be those of folders of their own below the output folder."""
    for name, count in Counter(names).items():
        if not name or name.startswith(".") or any(c in name for c in "/\\\0"):
            raise RecipeError(f"{path}: expected a name of a {what} that can be a folder's, found {name!r}")
        if count > 1:
            key = "name" if what == "source" else "label"
            raise RecipeError(f"{path}: {count} {what}s are called {name!r}: give each a {key} of its own")


def _refuse_unknown(table: JsonDict, known: tuple[str, ...], path: Path, what: str) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise RecipeError(f"{path}: {what} has no key {', '.join(unknown)}; it has {', '.join(known)}")


def _anchor_paths(data: JsonDict, folder: Path) -> None:
    """Put the paths that the file names below `folder`; what is of another type is left to be refused."""
    steps = data.get("source")
    for step in steps if isinstance(steps, list) else [steps]:
        if isinstance(step, dict):
            _anchor(step, ("path",), folder)
            _anchor(step.get("options"), ("schema",), folder)
    models = data.get("model")
    for step in models if isinstance(models, list) else [models]:
        _anchor(step, ("from",), folder)
    encode = data.get("encode")
    if isinstance(encode, dict):
        _anchor(encode, tuple(name for name in _ENCODE_PATHS if encode.get(name) != CHARACTERS), folder)


def _anchor(table: Any, names: tuple[str, ...], folder: Path) -> None:
    for name in names if isinstance(table, dict) else ():
        found = table.get(name)
        if isinstance(found, str):
            table[name] = anchored(found, folder)
        elif isinstance(found, list):
            table[name] = [anchored(path, folder) if isinstance(path, str) else path for path in found]


def anchored(path: str, folder: Path) -> str:
    """Return `path` below `folder`, unless it is absolute or a URL, or empty."""
    return path if not path or "://" in path or Path(path).is_absolute() else str(folder / path)


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
    if not isinstance(target, list) or name.isdecimal():
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
    except (ValueError, RecursionError):
        return text
