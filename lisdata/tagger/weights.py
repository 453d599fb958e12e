"""A tagger in a folder: model.safetensors in half precision, and config.json, which says what it is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisdata.atomic import write_atomically
from lisdata.errors import LisDataError
from lisdata.json_shape import find_mismatch
from lisdata.settings import build_settings

if TYPE_CHECKING:
    from torch import Tensor

    from lisdata.tagger.network import HexatagNetwork, TaggerConfig

FORMAT = "lisdata tagger 1"
CONFIG, WEIGHTS = "config.json", "model.safetensors"
ENGLISH = Path(__file__).parent / "data"
"""The folder of the English tagger that comes with this package; its README.md is a model card."""

_SHAPE = {"format": str, "network": dict, "about": dict, "sha256": str}


class TaggerError(LisDataError):
    """A tagger's folder is incomplete or damaged."""


def save_tagger(network: HexatagNetwork, folder: Path, *, about: dict[str, Any]) -> None:
    """Write `network` to `folder`, weights as float16; `about` (ready for JSON) says how it was made."""
    import torch
    from safetensors.torch import save

    tensors = {name: tensor.to(torch.float16).contiguous() for name, tensor in network.state_dict().items()}
    data = save(tensors)
    config = {
        "format": FORMAT,
        "network": asdict(network.config),
        "about": about,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / WEIGHTS, data)
    write_atomically(folder / CONFIG, (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode())


def load_tagger(folder: Path) -> HexatagNetwork:
    """Return the network in `folder`, in float32 and evaluation mode; raises TaggerError, naming the file at fault."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    from lisdata.tagger.network import HexatagNetwork, TaggerConfig

    config = read_config(folder)
    path = folder / WEIGHTS
    data = _read(path)
    if hashlib.sha256(data).hexdigest() != config["sha256"]:
        raise TaggerError(f"{path}: it is not what {CONFIG} beside it was written with (sha256 does not match)")
    try:
        sizes, tensors = build_settings(TaggerConfig, config["network"], CONFIG), load(data)
        _refuse_other_sizes(sizes, tensors)
        network = HexatagNetwork(sizes)
        network.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    except (SafetensorError, ValueError, RuntimeError) as error:  # torch raises this one for other names and shapes
        raise TaggerError(f"{path}: expected the weights of the network in {CONFIG}: {error}") from error
    return network.eval()


def _refuse_other_sizes(config: TaggerConfig, tensors: Mapping[str, Tensor]) -> None:
    """Raise ValueError where sizes are not those of the weights: to build what a file only claims may take for ever."""
    num_layers = len({name.split(".")[1] for name in tensors if name.startswith("layers.")})
    if num_layers != config.num_layers:
        raise ValueError(f"num_layers={config.num_layers}, found weights of {num_layers}")
    for name, wanted in (
        ("tables.0.weight", (config.num_rows, config.feature_width)),
        ("mix.bias", (config.width,)),
    ):
        found = tuple(tensors[name].shape) if name in tensors else None
        if found != wanted:
            raise ValueError(f"{name} of shape {wanted}, found {found}")


def read_config(folder: Path) -> dict[str, Any]:
    """Return what config.json says; raises TaggerError where it is none of a tagger of this version."""
    path = folder / CONFIG
    try:
        config = json.loads(_read(path))
    except ValueError as error:
        raise TaggerError(f"{path}: expected JSON, found {error}") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        found = config.get("format", "none") if isinstance(config, dict) else type(config).__name__
        raise TaggerError(f"{path}: expected the format {FORMAT!r}, found {str(found)[:80]!r}")
    mismatch = find_mismatch(config, _SHAPE)
    if mismatch is not None:
        raise TaggerError(f"{path}: {mismatch}")
    return config


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TaggerError(f"{path}: expected a file of a tagger, found {error.strerror}") from error
