"""Whether a tokenizer is the one that a model was trained with, by what the model records of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lisdata.checkpoints import TOKENIZER, find_checkpoint, read_facts
from lisdata.encoding import Tokenizer
from lisdata.errors import LisDataError
from lisdata.pretrained import is_hf_folder

_HF_TOKENIZER = "tokenizer.json"
_NOT_OF_TOKENS = ("truncation", "padding")


def hash_tokenizer(tokenizer: Tokenizer) -> str:
    """Return the SHA-256 of the tokenizer's file, as the manifest of a token dataset has it."""
    return hashlib.sha256(tokenizer.to_json()).hexdigest()


def recorded_tokenizer(model: Path) -> str | None:
    """Return the SHA-256 of the tokenizer of a checkpoint, a folder of them or one of Hugging Face's; None if unknown.

    Checkpoints of recipes record it; a folder of Hugging Face's may have its tokenizer.json.
    """
    if is_hf_folder(model):
        file = model / _HF_TOKENIZER
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    recorded = read_facts(find_checkpoint(model)).get(TOKENIZER)
    return recorded if isinstance(recorded, str) else None


def check_own_tokenizer(model: Path, tokenizer: Tokenizer, file: Path) -> bool:
    """Return whether `tokenizer`, read from `file`, is known to be the model's own: False where the model does not say.

    Raises LisDataError for one that the model was not trained with.
    """
    recorded, found = recorded_tokenizer(model), hash_tokenizer(tokenizer)
    if recorded is not None and recorded != found and not _is_written_anew(model, tokenizer):
        raise LisDataError(
            f"{model}: expected the tokenizer that the model was trained with, of sha256 {recorded}, found {file}, of "
            f"sha256 {found}; it lies in the folder of the tokens that the model has read, or of Hugging Face's model"
        )
    return recorded is not None


def _is_written_anew(model: Path, tokenizer: Tokenizer) -> bool:
    """Tell whether the JSON of a folder of Hugging Face's says the same: its library spaces it, cuts and pads anew."""
    if not is_hf_folder(model):
        return False
    own, other = (_content(data) for data in ((model / _HF_TOKENIZER).read_bytes(), tokenizer.to_json()))
    return own is not None and own == other


def _content(data: bytes) -> dict[str, Any] | None:
    """Return what the JSON of a tokenizer says of tokens; None where it is none."""
    try:
        found = json.loads(data)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    return {name: value for name, value in found.items() if name not in _NOT_OF_TOKENS}
