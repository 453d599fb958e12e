"""Checkpoints without pickle: a directory of safetensors files and one JSON file, written whole or not at all.

    step-00000600/
      model.safetensors  optimizer.safetensors  random.safetensors
      checkpoint.json    step, facts, state, and the sha256 of each file beside it and of itself

*Facts* decide what a run computes (model, settings, data, labels): a checkpoint is refused under other facts. *State*
is where the run was.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisdata.atomic import sync_path
from lisdata.errors import LisDataError
from lisdata.json_shape import COUNT, MapOf, find_mismatch
from lisdata.models import build_model
from lisdata.paths import StrPath

if TYPE_CHECKING:
    from torch import Tensor, nn

FORMAT = "lisdata checkpoint 1"
INDEX = "checkpoint.json"
TOKENIZER = "tokenizer"
"""The fact that is the SHA-256 of the tokenizer's file. Checkpoints of older versions lack it, and are gone on from."""
_NAME = re.compile(r"step-(\d{8,})")
_INDEX_SHAPE = {"format": str, "step": COUNT, "facts": dict, "state": dict, "files": MapOf(str), "self_sha256": str}
_LOG = logging.getLogger("lisdata")


class CheckpointError(LisDataError):
    """A checkpoint is damaged, or belongs to another model, run or label list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """All of a training run after `step` steps; `facts` and `state` are ready for JSON.

    `tensors` holds a file's worth of named tensors under each file's name: model, optimizer, random.
    """

    step: int
    facts: dict[str, Any]
    state: dict[str, Any]
    tensors: dict[str, dict[str, Tensor]]


def write_checkpoint(checkpoint: Checkpoint, directory: StrPath) -> Path:
    """Write a checkpoint under `directory` and return its own directory, which appears complete or not at all."""
    from safetensors.torch import save_file

    directory = Path(directory)
    target = directory / f"step-{checkpoint.step:08d}"
    partial = directory / f".{target.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    hashes = {}
    for name, tensors in checkpoint.tensors.items():
        path = partial / f"{name}.safetensors"
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, path)
        sync_path(path)
        hashes[path.name] = _hash_file(path)
    index = {
        "format": FORMAT,
        "step": checkpoint.step,
        "facts": checkpoint.facts,
        "state": checkpoint.state,
        "files": hashes,
    }
    index |= {"self_sha256": _hash_index(index)}
    (partial / INDEX).write_text(json.dumps(index, indent=1, allow_nan=False), encoding="utf-8")
    sync_path(partial / INDEX)
    sync_path(partial)
    if target.exists():
        shutil.rmtree(target)
    partial.rename(target)
    sync_path(directory)
    return target


def read_checkpoint(path: StrPath) -> Checkpoint:
    """Read a checkpoint's directory; raises CheckpointError when a file is missing or not as it was written."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = Path(path)
    index = _read_index(path)
    tensors = {}
    for name, expected in index["files"].items():
        file = path / name
        if not file.is_file():
            raise CheckpointError(f"{file}: expected a file of the checkpoint, found none")
        found = _hash_file(file)
        if found != expected:
            raise CheckpointError(f"{file}: expected sha256 {expected}, found {found}")
        try:
            tensors[file.stem] = load_file(file)
        except SafetensorError as error:
            raise CheckpointError(f"{file}: expected safetensors, found {error}") from error
    return Checkpoint(step=index["step"], facts=index["facts"], state=index["state"], tensors=tensors)


def latest(directory: StrPath) -> Path | None:
    """Return the checkpoint of the greatest step under `directory`, or None where there is none."""
    found = _list_checkpoints(Path(directory))
    return found[-1] if found else None


def newest_whole(directory: Path) -> tuple[Path, Checkpoint] | None:
    """Return the newest checkpoint under `directory` that can be read, or None where there is none at all.

    Damaged ones that are newer are set aside (".step-N.damaged"), each with a warning of the logger "lisdata". Raises
    CheckpointError when all are damaged.
    """
    damage: list[tuple[Path, CheckpointError]] = []
    for path in reversed(_list_checkpoints(directory)):
        try:
            found = read_checkpoint(path)
        except CheckpointError as error:
            damage.append((path, error))
            continue
        for damaged, reason in damage:
            _LOG.warning("%s; set aside, going on from %s", reason, path.name)
            _set_aside(damaged)
        return path, found
    if damage:
        raise damage[0][1]
    return None


def _set_aside(path: Path) -> None:
    aside = path.with_name(f".{path.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)


def prune_checkpoints(directory: Path, *, keep: int) -> None:
    """Remove all but the `keep` newest checkpoints under `directory`."""
    for path in _list_checkpoints(directory)[:-keep]:
        shutil.rmtree(path)


def check_facts(found: Mapping[str, Any], expected: Mapping[str, Any], place: StrPath) -> None:
    """Raise CheckpointError naming each fact in which the checkpoint at `place` differs from this run."""
    old, new = _flatten(found), _flatten(expected)
    if TOKENIZER not in old:
        new.pop(TOKENIZER, None)
    differences = [
        f"{key}: this run has {new.get(key, 'none')}, the checkpoint {old.get(key, 'none')}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key, "none") != new.get(key, "none")
    ]
    if differences:
        raise CheckpointError(f"{place}: the checkpoint belongs to another run: {'; '.join(differences)}")


def load_model(path: StrPath, *, labels: str | None = None) -> nn.Module:
    """Build the model of the checkpoint at `path` with its weights, in evaluation mode.

    `labels` is the hash of the label list of the data to be read; a checkpoint made under another one is refused,
    since its role codes mean something else.
    """
    checkpoint = read_checkpoint(path)
    if labels is not None:
        check_facts({"labels": checkpoint.facts.get("labels")}, {"labels": labels}, path)
    name, config = _model_settings(checkpoint.facts, path)
    model = build_model(name, **config)
    model.load_state_dict(checkpoint.tensors["model"])
    return model.eval()


def read_model_settings(path: StrPath) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of the model of the checkpoint at `path`, whose tensors are not read.

    Raises CheckpointError for a model that is none of lisdata's.
    """
    return _model_settings(read_facts(path), path)


def read_facts(path: StrPath) -> dict[str, Any]:
    """Return the facts of the checkpoint at `path`, whose tensors are not read."""
    facts: dict[str, Any] = _read_index(Path(path))["facts"]
    return facts


def _model_settings(facts: Mapping[str, Any], place: StrPath) -> tuple[str, dict[str, Any]]:
    description = facts.get("model")
    if description is None or find_mismatch(description, {"name": str, "config": dict}) is not None:
        what = description.get("class") if isinstance(description, dict) else description
        raise CheckpointError(f"{place}: expected a model of lisdata, found {what}")
    return description["name"], description["config"]


def tokenizer_facts(manifest: dict[str, Any]) -> dict[str, str]:
    """Return what a checkpoint records of the tokenizer of its tokens, whose manifest this is, to know it again."""
    return {TOKENIZER: manifest["tokenizer"]["sha256"]}


def find_checkpoint(path: Path) -> Path:
    """Return the checkpoint at `path`, or the newest in it or in its folder `checkpoints`; CheckpointError without."""
    if (path / INDEX).exists():
        return path
    found = latest(path) or latest(path / "checkpoints")
    if found is None:
        models = [str(model) for model in sorted(path.glob("models/*")) if latest(model / "checkpoints")]
        below = f"; there are models below it: {', '.join(models)}" if models else ""
        raise CheckpointError(f"{path}: expected a checkpoint, or a folder of checkpoints, found none{below}")
    return found


def _list_checkpoints(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    steps = {int(match[1]): path for path in directory.iterdir() if (match := _NAME.fullmatch(path.name))}
    return [steps[step] for step in sorted(steps)]


def _read_index(path: Path) -> dict[str, Any]:
    file = path / INDEX
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file}: expected the index of a checkpoint, found {error}") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise CheckpointError(f"{file}: expected the format {FORMAT!r}, found {str(index)[:80]!r}")
    mismatch = find_mismatch(index, _INDEX_SHAPE)
    if mismatch is not None:
        raise CheckpointError(f"{file}: {mismatch}")
    for name in index["files"]:
        if not re.fullmatch(r"\w+\.safetensors", name):
            raise CheckpointError(f"{file}: expected files of tensors beside it, found {name!r}")
    if _hash_index(index) != index["self_sha256"]:
        raise CheckpointError(f"{file}: it is not what was written (self_sha256 does not match)")
    return index


def _hash_index(index: Mapping[str, Any]) -> str:
    body = {name: value for name, value in index.items() if name != "self_sha256"}
    return hashlib.sha256(json.dumps(body).encode()).hexdigest()


def _flatten(facts: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in facts.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = json.dumps(value)
    return flat


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
