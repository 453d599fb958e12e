"""Models that begin from trained ones: with further parts that have no effect at first, or as they are.

So a language model goes on training on other text, with hexatags that it did not have (continued pretraining), or is
fine-tuned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from lisdata.checkpoints import CheckpointError, find_checkpoint, read_checkpoint, read_model_settings
from lisdata.models import build_model
from lisdata.models.tag_identity import begin_at_identity
from lisdata.pretrained import describe_hf, from_hf, is_hf_folder

CHANGEABLE = ("dropout", "predicts_tags")
"""Settings that may always differ from those of the trained model: what they add is new, and nothing of it is lost."""
OF_INJECTION = (
    "injection",
    "sharing",
    "target",
    "first_layer",
    "fusion",
    "tag_tables",
    "num_deprels",
    "agreement_scale",
    "separate_projections",
)
"""Settings that may differ where the trained model has no injection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A model to begin from: its name and settings, and `path`, a checkpoint or a folder of Hugging Face's."""

    path: Path
    name: str
    settings: dict[str, Any]

    @property
    def has_injection(self) -> bool:
        """Whether hexatags enter the model."""
        return bool(self.settings.get("injection", "none") != "none")

    def changed(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the settings with `changes`; ValueError for one that the trained weights decide."""
        free = CHANGEABLE + (() if self.has_injection else OF_INJECTION)
        given = {name: self.settings[name] for name in changes if name in self.settings and name not in free}
        fixed = [name for name in sorted(given) if given[name] != changes[name]]
        if fixed:
            what = ", ".join(f"{name} = {self.settings[name]}" for name in fixed)
            raise ValueError(f"{self.path}: the trained model has {what}, which cannot be changed")
        return self.settings | changes


def find_trained(path: Path, *, mask_id: int | None = None) -> TrainedModel:
    """Return what is at `path`, before any weight is read: a checkpoint, or a folder of them or of Hugging Face's.

    `mask_id` is for a folder of Hugging Face's without a tokenizer. Raises CheckpointError or PretrainedError where
    there is none, or another kind of model.
    """
    if is_hf_folder(path):
        name, settings = describe_hf(path, mask_id=mask_id)
    else:
        path = find_checkpoint(path)
        name, settings = read_model_settings(path)
    return TrainedModel(path=path, name=name, settings=settings)


def start_model(path: Path, *, seed: int = 0, mask_id: int | None = None, **changes: Any) -> nn.Module:
    """Build the trained model at `path` with its weights, in evaluation mode, with some settings changed.

    What the changes add is drawn under `seed`; where they give an injection to a model without one, it begins without
    any effect (see `begin_at_identity`). Raises ValueError for a change that the trained weights forbid,
    CheckpointError for one under which some of them would have no place.
    """
    found = find_trained(path, mask_id=mask_id)
    settings = found.changed(changes)
    if is_hf_folder(found.path):
        added = {name: value for name, value in changes.items() if name in CHANGEABLE or name not in found.settings}
        model = from_hf(found.path, seed=seed, mask_id=settings["mask_id"], **added)
    else:
        model = build_model(found.name, seed=seed, **settings)
        _fill(model, found.path)
    if not found.has_injection and settings.get("injection", "none") != "none":
        begin_at_identity(model)
    return model.eval()


def hash_weights(model: nn.Module) -> str:
    """Return the SHA-256 of all names and weights of a model: the fact that tells where a training began."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _fill(model: nn.Module, path: Path) -> None:
    """Give a model the weights of a checkpoint, each of which has to find its place."""
    trained, own = read_checkpoint(path).tensors["model"], model.state_dict()
    homeless = [name for name, tensor in trained.items() if name not in own or own[name].shape != tensor.shape]
    if homeless:
        raise CheckpointError(
            f"{path}: under these settings the model has no place for {homeless[0]} of the trained one: leave them out"
        )
    model.load_state_dict(own | trained)
