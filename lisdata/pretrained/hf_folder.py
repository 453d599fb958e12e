"""What is read of a folder of Hugging Face's: config.json, the weights, and of the tokenizer what masks a token."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisdata.encoding import load_tokenizer
from lisdata.errors import LisDataError
from lisdata.json_shape import MapOf, find_mismatch, shown

if TYPE_CHECKING:
    from torch import Tensor

_CONFIG, _WEIGHTS, _INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
_UNREADABLE = (OSError, ValueError, RecursionError)


class PretrainedError(LisDataError):
    """A folder does not hold a checkpoint that a model of lisdata can take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HfConfig:
    """The options in a config.json; one that is not there has the default of its architecture."""

    path: Path
    options: Mapping[str, Any]

    def get(self, name: str, default: Any) -> Any:
        """Return an option as it stands there."""
        return self.options.get(name, default)

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number; PretrainedError where there is none."""
        value = self.options.get(name, default)
        if type(value) is not int:
            raise self.error(name, "a whole number", value)
        return value

    def number(self, name: str, default: float) -> float:
        """Return a number; PretrainedError for anything else."""
        value = self.options.get(name, default)
        if type(value) not in (int, float):
            raise self.error(name, "a number", value)
        return float(value)

    def text(self, name: str) -> str:
        """Return a text; PretrainedError where there is none."""
        value = self.options.get(name)
        if not isinstance(value, str):
            raise self.error(name, "a text", value)
        return value

    def require(self, expected: Mapping[str, Any]) -> None:
        """Raise PretrainedError for an option that is there with another value than `expected`."""
        for name, value in expected.items():
            if self.options.get(name, value) != value:
                raise self.error(name, shown(value), self.options[name])

    def require_given(self, expected: Mapping[str, Any]) -> None:
        """Raise PretrainedError for an option that is absent or has another value than `expected`."""
        for name, value in expected.items():
            if self.options.get(name) != value:
                raise self.error(name, shown(value), self.options.get(name))

    def error(self, name: str, expected: str, found: Any) -> PretrainedError:
        """Return the error of an option."""
        return PretrainedError(f"{self.path}: {name}: expected {expected}, found {shown(found)}")


def is_hf_folder(folder: Path) -> bool:
    """Return whether a folder has a config.json."""
    return (folder / _CONFIG).is_file()


def read_config(folder: Path) -> HfConfig:
    """Return the options of the folder's config.json."""
    path = folder / _CONFIG
    options = _read_json(path)
    if not isinstance(options, dict):
        raise PretrainedError(f"{path}: expected an object, found {shown(options)}")
    return HfConfig(path=path, options=options)


def read_mask_id(folder: Path) -> int:
    """Return the token that the folder's tokenizer.json masks others with; PretrainedError where there is none."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise PretrainedError(f"{path}: expected a tokenizer, which tells the mask token, found none; give mask_id")
    mask_id = load_tokenizer(path).mask_id
    if mask_id is None:
        raise PretrainedError(f"{path}: expected a mask token in the vocabulary, found none; give mask_id")
    return mask_id


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of the folder's safetensors, one file or several with an index, in float32."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tensors: dict[str, Tensor] = {}
    for path in _weight_files(folder):
        try:
            tensors |= {name: tensor.float() for name, tensor in load_file(path).items()}
        except (SafetensorError, OSError) as error:
            raise PretrainedError(f"{path}: expected safetensors, found {error}") from error
    return tensors


def _weight_files(folder: Path) -> list[Path]:
    if (folder / _WEIGHTS).is_file():
        return [folder / _WEIGHTS]
    path = folder / _INDEX
    if not path.is_file():
        raise PretrainedError(f"{folder}: expected {_WEIGHTS}, or {_INDEX}, found none")
    index = _read_json(path)
    mismatch = find_mismatch(index, {"weight_map": MapOf(str)})
    if mismatch is not None:
        raise PretrainedError(f"{path}: {mismatch}")
    names = sorted(set(index["weight_map"].values()))
    for name in names:
        if not re.fullmatch(r"[\w-][\w.-]*\.safetensors", name):
            raise PretrainedError(f"{path}: expected files of tensors beside it, found {name!r}")
    return [folder / name for name in names]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except _UNREADABLE as error:
        raise PretrainedError(f"{path}: expected JSON, found {error}") from error
