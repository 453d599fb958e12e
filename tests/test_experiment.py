"""What a recipe makes of its token shards for a model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import lisdata
from lisdata.errors import RecipeError
from lisdata.experiment import attended, batches_of, newline_id, split_text, untrained
from lisdata.recipe import Recipe, load_recipe
from lisdata.token_shards import TokenDataset
from lisdata.training import TrainConfig

TEXT = b"one line\nand another\nand a third\n"
CONFIG = TrainConfig(num_steps=1, batch_size=2)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> TokenDataset:
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "a.txt").write_bytes(TEXT)
    lisdata.convert("text", [str(folder / "a.txt")], folder / "lis")
    lisdata.encode(folder / "lis", folder / "tok", tokenizer="chars", context=24)
    found = lisdata.open(folder / "tok")
    assert isinstance(found, TokenDataset)
    return found


def recipe(folder: Path, train: str = "", model: str = "lisformer") -> Recipe:
    path = folder / "r.toml"
    path.write_text(
        f'[source]\nsource = "text"\npath = "a"\n[[model]]\nname = "{model}"\nwidth = 16\n[train]\n{train}\n',
        encoding="utf-8",
    )
    return load_recipe(path)


def test_the_row_is_one_document_and_padding_stays_apart() -> None:
    batch = {"document": torch.tensor([[0, 0, 1, 2, -1]])}

    assert attended(batch, "row")["document"].tolist() == [[0, 0, 0, 0, -1]]
    assert attended(batch, "structure")["document"].tolist() == [[0, 0, 1, 2, -1]]


def test_the_model_has_the_vocabulary_and_the_roles_of_the_dataset(dataset: TokenDataset, tmp_path: Path) -> None:
    chosen = recipe(tmp_path)

    config = untrained(chosen, chosen.models[0], dataset).config

    assert config.vocabulary_size == len({*TEXT})
    assert config.num_roles == len(dataset.roles)


def test_a_model_of_lines_is_told_which_token_ends_a_line(dataset: TokenDataset, tmp_path: Path) -> None:
    chosen = recipe(tmp_path, model="lisformer-lines")

    assert untrained(chosen, chosen.models[0], dataset).config.newline_id == newline_id(dataset) == 0


def test_the_text_is_cut_once_and_nothing_of_it_is_lost(dataset: TokenDataset, tmp_path: Path) -> None:
    cut = split_text(recipe(tmp_path, "split = 0.5"), dataset)

    assert len(cut.training) + len(cut.held_out) == dataset.num_tokens
    assert len(cut.training) == dataset.num_tokens // 2


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ('data = "stream"', "windows or loader"),
        ('data = "windows"', "train.window"),
        ('data = "loader"\nattend = "all"', "attend"),
    ],
)
def test_a_wrong_setting_of_the_data_is_named(dataset: TokenDataset, tmp_path: Path, train: str, message: str) -> None:
    chosen = recipe(tmp_path, train)

    with pytest.raises(RecipeError, match=message):
        batches_of(chosen, chosen.models[0], dataset, CONFIG)
