"""Encoders that others have trained: folders of Hugging Face's, with config.json and safetensors, as models of lisdata.

Nothing is downloaded; such a folder is what `huggingface-cli download` or `save_pretrained` leaves.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisdata.pretrained.hf_encoders import ENCODERS, HfEncoder, Weights
from lisdata.pretrained.hf_folder import (
    HfConfig,
    PretrainedError,
    is_hf_folder,
    read_config,
    read_mask_id,
    read_tensors,
)

if TYPE_CHECKING:
    from torch import nn

__all__ = ["PretrainedError", "describe_hf", "from_hf", "is_hf_folder"]


def from_hf(folder: str | Path, *, mask_id: int | None = None, seed: int = 0, **settings: Any) -> nn.Module:
    """Build the encoder in `folder`, a RoBERTa, DeBERTa-v3 or ModernBERT with its head of masked tokens.

    It gives the logits that transformers gives, up to rounding. `settings` are those of the model in lisdata, such as
    `injection` or `predicts_tags`; what they add begins as in a new model, drawn under `seed`. `mask_id` is found in
    the folder's tokenizer.json unless given. Raises PretrainedError for a folder that cannot be read, another
    architecture, or an option of it that lisdata's model does not have; ValueError for a wrong setting.
    """
    from lisdata.models import build_model

    folder = Path(folder)
    name, of_config = describe_hf(folder, mask_id=mask_id)
    fixed = sorted(of_config.keys() & settings.keys() - {"dropout"})
    if fixed:
        raise ValueError(f"{', '.join(fixed)}: what the checkpoint has cannot be set")
    model = build_model(name, seed=seed, **(of_config | settings))
    config = read_config(folder)
    weights = Weights(read_tensors(folder), folder)
    _find_encoder(config).fill(weights, config, model)
    weights.check_all_used()
    return model.eval()


def describe_hf(folder: Path, *, mask_id: int | None = None) -> tuple[str, dict[str, Any]]:
    """Return the name of the model in lisdata that the encoder in `folder` is, and its settings.

    Raises what `from_hf` raises of the configuration.
    """
    config = read_config(folder)
    encoder = _find_encoder(config)
    return encoder.name, encoder.settings(config) | {"mask_id": read_mask_id(folder) if mask_id is None else mask_id}


def _find_encoder(config: HfConfig) -> HfEncoder:
    encoder = ENCODERS.get(config.text("model_type"))
    if encoder is None:
        raise config.error("model_type", f"one of {', '.join(ENCODERS)}", config.get("model_type", None))
    return encoder
