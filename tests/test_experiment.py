"""What a recipe makes of its token shards for a model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import lisdata
from lisdata.encoding import load_tokenizer
from lisdata.errors import RecipeError
from lisdata.evaluation.own_tokenizer import hash_tokenizer, recorded_tokenizer
from lisdata.experiment import (
    attended,
    batches_of,
    check_models,
    evaluate_models,
    split_text,
    train_models,
    untrained,
)
from lisdata.models import MODELS
from lisdata.pipeline import make_data
from lisdata.recipe import Recipe, load_recipe
from lisdata.special_tokens import newline_id
from lisdata.token_shards import TokenDataset
from lisdata.training import TrainConfig, next_token_nll
from lisdata.training.loss import NOT_SCORED

TEXT = b"one line\nand another\nand a third\n"
CONFIG = TrainConfig(num_steps=1, batch_size=4)
BY_KIND_TABLES = "[encode]\n[evaluate]\nprotocol = 'loss-by-kind'\n"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> TokenDataset:
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "a.txt").write_bytes(TEXT)
    lisdata.convert("text", [str(folder / "a.txt")], folder / "lis")
    lisdata.encode(folder / "lis", folder / "tok", tokenizer="chars", context=24)
    found = lisdata.open(folder / "tok")
    assert isinstance(found, TokenDataset)
    return found


def recipe(
    folder: Path, train: str = "", model: str = "lisformer", settings: str = "", more: str = "[encode]\n"
) -> Recipe:
    path = folder / "r.toml"
    source = '[source]\nsource = "text"\npath = "a"\n'
    table = f'[[model]]\nname = "{model}"\nwidth = 16\n{settings}'
    path.write_text(f"{source}{table}[train]\n{train}\n{more}", encoding="utf-8")
    return load_recipe(path)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[int | None, TokenDataset]:
    """Twelve short texts, a row each (None) or packed in rows of 24 tokens."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "in").mkdir()
    for number in range(12):
        (folder / "in" / f"{number:02d}.txt").write_text(f"text {number}\n" + "more\n" * (number % 3), encoding="utf-8")
    lisdata.convert("text", folder / "in", folder / "lis", options={"unit": "document"})
    found = {}
    for context in (None, 24):
        lisdata.encode(folder / "lis", folder / f"tok-{context}", context=context)
        found[context] = TokenDataset(folder / f"tok-{context}")
    return found


def batch_and_model(
    documents: TokenDataset, folder: Path, name: str, attend: str
) -> tuple[dict[str, torch.Tensor], torch.nn.Module]:
    settings = {"sliding-window": "attention_window = 8\n"}.get(name, "")
    chosen = recipe(folder, f'data = "loader"\nattend = "{attend}"\nnum_steps = 1\nbatch_size = 4', name, settings)
    check_models(chosen)
    batch = batches_of(chosen, chosen.models[0], documents, CONFIG).next_batch()
    return batch, untrained(chosen, chosen.models[0], documents).eval()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("context", [None, 24])
def test_padding_is_never_scored_and_all_else_is(
    context: int | None, name: str, documents: dict[int | None, TokenDataset], tmp_path: Path
) -> None:
    batch, model = batch_and_model(documents[context], tmp_path, name, attend="row")

    nll, targets = next_token_nll(model, batch)

    assert targets.shape[1] + 1 > min(batch["length"].tolist())  # there is padding
    assert (targets != NOT_SCORED).sum(1).tolist() == (batch["length"] - 1).tolist()
    assert torch.isfinite(nll).all()


def test_changing_one_packed_structure_changes_no_other_s_loss(
    documents: dict[int | None, TokenDataset], tmp_path: Path
) -> None:
    batch, model = batch_and_model(documents[24], tmp_path, "lisformer", attend="structure")
    before, targets = next_token_nll(model, batch)
    row = int(batch["document"].max(1).values.argmax())
    in_row = torch.arange(len(targets))[:, None] == row
    assert int(batch["document"][row].max()) > 0
    for number in range(int(batch["document"][row].max()) + 1):
        is_changed = (batch["document"] == number) & in_row
        ids = torch.where(is_changed, (batch["input_ids"] + 1) % (batch["input_ids"].max() + 1), batch["input_ids"])

        after, _ = next_token_nll(model, batch | {"input_ids": ids})

        is_other = ~(is_changed[:, 1:] | is_changed[:, :-1])
        assert torch.equal(after[is_other], before[is_other])
        assert not torch.equal(after, before)
    is_across = batch["document"][:, 1:] != batch["document"][:, :-1]
    assert bool((targets[is_across] == NOT_SCORED).all())


@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if "document" not in entry.columns])
def test_a_model_that_cannot_keep_structures_apart_is_refused_packed_rows(
    name: str, documents: dict[int | None, TokenDataset], tmp_path: Path
) -> None:
    chosen = recipe(tmp_path, 'data = "loader"', name)

    with pytest.raises(RecipeError, match="cannot keep the structures that are packed in a row apart"):
        batches_of(chosen, chosen.models[0], documents[24], CONFIG)
    assert batches_of(chosen, chosen.models[0], documents[None], CONFIG).next_batch()["document"].max() == 0


def test_tokens_without_a_column_of_the_model_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    lisdata.convert("text", tmp_path / "a.txt", tmp_path / "lis")
    lisdata.encode(tmp_path / "lis", tmp_path / "tok", columns=["input_ids", "position"])
    chosen = recipe(tmp_path, 'data = "loader"')

    with pytest.raises(RecipeError, match="model lisformer reads role, instance, which the tokens do not have"):
        batches_of(chosen, chosen.models[0], TokenDataset(tmp_path / "tok"), CONFIG)


def test_a_window_longer_than_the_text_is_an_error_of_the_recipe(dataset: TokenDataset, tmp_path: Path) -> None:
    chosen = recipe(tmp_path, 'data = "windows"\nwindow = 1000', "rope")

    with pytest.raises(RecipeError, match=r"r\.toml: train: a text of \d+ tokens has no window of 1000"):
        batches_of(chosen, chosen.models[0], dataset, CONFIG)


def test_the_table_by_kind_says_on_which_rows_it_was_measured(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(TEXT * 9)
    chosen = recipe(tmp_path, 'data = "loader"\nnum_steps = 1\nbatch_size = 2', more=BY_KIND_TABLES)
    check_models(chosen)
    make_data(chosen, tmp_path / "out", workers=1, on_step=lambda _: lambda _: None)
    train_models(chosen, tmp_path / "out", on_progress=lambda _: lambda _: None)

    first, header, *rows = evaluate_models(chosen, tmp_path / "out").splitlines()

    assert first.endswith("on rows of the training data")
    assert header.split() == ["model", "kind", "tokens", "before", "after"]
    assert [row.split()[:2] for row in rows] == [["lisformer", "text"]]


def test_a_model_records_the_tokenizer_of_its_tokens(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(TEXT * 9)
    chosen = recipe(tmp_path, 'data = "loader"\nnum_steps = 1\nbatch_size = 2', more=BY_KIND_TABLES)
    make_data(chosen, tmp_path / "out", workers=1, on_step=lambda _: lambda _: None)
    train_models(chosen, tmp_path / "out", on_progress=lambda _: lambda _: None)

    own = tmp_path / "out" / "tokens" / "characters.json"
    assert recorded_tokenizer(tmp_path / "out" / "models" / "lisformer") == hash_tokenizer(load_tokenizer(own))


def test_a_context_longer_than_the_text_is_an_error_of_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(TEXT * 9)
    table = "[encode]\n[evaluate]\nprotocol = 'perplexity'\ncontext_lengths = [5000]\n"
    chosen = recipe(tmp_path, 'data = "windows"\nwindow = 4\nnum_steps = 1\nbatch_size = 2', "rope", more=table)
    make_data(chosen, tmp_path / "out", workers=1, on_step=lambda _: lambda _: None)
    train_models(chosen, tmp_path / "out", on_progress=lambda _: lambda _: None)

    with pytest.raises(RecipeError, match=r"r\.toml: evaluate: \d+ tokens hold no context of 5000 tokens"):
        evaluate_models(chosen, tmp_path / "out")


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
    cut = split_text(recipe(tmp_path, 'data = "loader"\nsplit = 0.5'), dataset)

    assert len(cut.training) + len(cut.held_out) == dataset.num_tokens
    assert len(cut.training) == dataset.num_tokens // 2


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ('data = "stream"', "train: data: expected one of windows, loader, got 'stream'"),
        ("", "train needs data"),
        ('data = "windows"', "train.window"),
        ('data = "loader"\nattend = "all"', "attend"),
    ],
)
def test_a_wrong_setting_of_the_data_is_named(dataset: TokenDataset, tmp_path: Path, train: str, message: str) -> None:
    chosen = recipe(tmp_path, train)

    with pytest.raises(RecipeError, match=message):
        batches_of(chosen, chosen.models[0], dataset, CONFIG)
