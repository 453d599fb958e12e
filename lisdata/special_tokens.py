"""The tokens of a dataset that mean something to a model or to its training, and how tokens are masked there."""

from __future__ import annotations

from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.errors import RecipeError
from lisdata.token_shards import TokenDataset
from lisdata.training import MaskRecipe


def mask_settings(dataset: TokenDataset) -> dict[str, int]:
    """Return `mask_id`, the tokenizer's own mask token or else one more token, and `vocabulary_size` with it."""
    size = dataset.schema.column("input_ids").maximum + 1
    mask_id = _load_tokenizer(dataset).mask_id
    mask_id = size if mask_id is None else mask_id
    return {"mask_id": mask_id, "vocabulary_size": max(size, mask_id + 1)}


def mask_recipe(dataset: TokenDataset, *, rate: float, seed: int) -> MaskRecipe:
    """Return how tokens of the dataset are masked; those that its tokenizer puts around a text are not."""
    kept = _load_tokenizer(dataset).encode_batch([""], special_tokens=True).ids
    return MaskRecipe(**mask_settings(dataset), rate=rate, kept_ids=tuple(sorted(set(kept.tolist()))), seed=seed)


def newline_id(dataset: TokenDataset) -> int:
    """Return the token that ends a line; raise RecipeError where the tokenizer has no such one token."""
    ids = _load_tokenizer(dataset).encode_batch(["\n"]).ids
    if len(ids) != 1:
        raise RecipeError(f"{dataset.path}: models of lines need a tokenizer with one token for a newline")
    return int(ids[0])


def _load_tokenizer(dataset: TokenDataset) -> Tokenizer:
    return load_tokenizer(dataset.path / dataset.manifest["tokenizer"]["file"])
