"""Which token masks others in a dataset, and which are never masked."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import lisdata
from lisdata.errors import RecipeError
from lisdata.special_tokens import mask_recipe, mask_settings, newline_id
from lisdata.token_shards import TokenDataset
from lisdata.training import mask_tokens

TEXT = "one line\nand another\n"


def encode(folder: Path, **settings: object) -> TokenDataset:
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    lisdata.convert("text", folder / "a.txt", folder / "lis")
    lisdata.encode(folder / "lis", folder / "tok", **settings)
    return TokenDataset(folder / "tok")


def test_without_a_mask_token_one_more_token_masks(tmp_path: Path) -> None:
    dataset = encode(tmp_path, tokenizer="chars")
    size = len({*TEXT})

    assert mask_settings(dataset) == {"mask_id": size, "vocabulary_size": size + 1}
    recipe = mask_recipe(dataset, rate=0.3, seed=7)
    assert (recipe.rate, recipe.seed, recipe.kept_ids) == (0.3, 7, ())
    assert newline_id(dataset) == 0


def test_the_tokenizer_s_own_mask_token_masks_all_but_its_template(tmp_path: Path, shared: Path) -> None:
    tokenizer = shared / "data" / "tokenizers" / "roberta-base.tokenizer.json"
    dataset = encode(tmp_path, tokenizer=str(tokenizer), special_tokens=True)
    rows = [torch.tensor(dataset[row]["input_ids"]).long() for row in range(len(dataset))]

    recipe = mask_recipe(dataset, rate=1.0, seed=0)

    assert mask_settings(dataset) == {"mask_id": 50264, "vocabulary_size": 50265}
    assert recipe.kept_ids == (0, 2)
    for row in rows:
        assert (row[0], row[-1]) == (0, 2)
        masked = mask_tokens({"input_ids": row[None]}, recipe, step=0)["masked_target"][0]
        assert masked.tolist() == [-100, *row[1:-1].tolist(), -100]


def test_models_of_lines_need_one_token_for_a_newline(tmp_path: Path, shared: Path) -> None:
    dataset = encode(tmp_path, tokenizer=str(shared / "data" / "tokenizers" / "roberta-base.tokenizer.json"))
    assert newline_id(dataset) == 50118

    (tmp_path / "other").mkdir()
    with pytest.raises(RecipeError, match="one token for a newline"):
        newline_id(encode(tmp_path / "other", tokenizer=str(_without_newline(tmp_path))))


def _without_newline(folder: Path) -> Path:
    path = folder / "words.json"
    words = '{"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "one": 1}}'
    path.write_text(
        f'{{"version": "1.0", "added_tokens": [], "pre_tokenizer": {{"type": "Whitespace"}}, "model": {words}}}',
        encoding="utf-8",
    )
    return path
