"""Recipes whose model begins as a trained one: the same loss at first, exact resume, what does not fit refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lisdata.checkpoints import CheckpointError
from lisdata.errors import RecipeError
from lisdata.experiment import check_models, evaluate_models, train_models
from lisdata.pipeline import make_data
from lisdata.recipe import Recipe, load_recipe

SHORT = ("train.num_steps=4", "evaluate.max_batches=2")
MODELS = {"sipe": "sipe-transformer-xl", "sipe_encoder": "encoder"}


def run(recipe: Recipe, to: Path) -> dict[str, float]:
    """Run a recipe without a word; return the loss before and after."""
    check_models(recipe)
    make_data(recipe, to, workers=1, on_step=lambda _: lambda _: None)
    train_models(recipe, to, on_progress=lambda _: lambda _: None)
    evaluate_models(recipe, to)
    (by_kind,) = json.loads((to / "loss_by_kind.json").read_text()).values()
    found: dict[str, float]
    (found,) = by_kind.values()
    return found


@pytest.fixture(scope="module")
def trained(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, float]]]:
    """Return for each recipe the folder of a base model without tags, and its losses."""
    found = {}
    for name, label in MODELS.items():
        to = tmp_path_factory.mktemp(name)
        changes = ("model.injection=none", "model.predicts_tags=false", *SHORT)
        losses = run(load_recipe(root / "pipelines" / f"{name}.toml", changes), to)
        found[name] = to / "models" / label, losses
    return found


def continued(root: Path, name: str, start: Path, *changes: str) -> Recipe:
    sizes = ("model.width=32", "model.num_layers=2", "model.num_attention_heads=2")
    return load_recipe(root / "pipelines" / f"{name}.toml", (f"model.from={start}", *sizes, *SHORT, *changes))


@pytest.mark.parametrize(
    ("name", "injection"), [("sipe", "position"), ("sipe", "input+attention"), ("sipe_encoder", "input")]
)
def test_what_goes_on_begins_with_the_loss_of_the_trained_model_and_learns(
    name: str, injection: str, root: Path, trained: dict[str, tuple[Path, dict[str, float]]], tmp_path: Path
) -> None:
    start, base = trained[name]

    losses = run(continued(root, name, start, f"model.injection={injection}"), tmp_path)

    assert losses["before"] == pytest.approx(base["after"], abs=1e-5)
    assert losses["after"] < losses["before"] - 0.01


def test_a_run_from_another_model_does_not_go_on(
    root: Path, trained: dict[str, tuple[Path, dict[str, float]]], tmp_path: Path
) -> None:
    start, _ = trained["sipe"]
    run(continued(root, "sipe", start, "model.injection=input"), tmp_path)
    other = tmp_path / "models" / "sipe-transformer-xl"

    again = continued(root, "sipe", start, "model.injection=input", "train.num_steps=4")
    train_models(again, tmp_path, on_progress=lambda _: lambda _: None)
    moved = other.rename(tmp_path / "other")
    (tmp_path / "models" / "sipe-transformer-xl").symlink_to(moved)
    with pytest.raises(CheckpointError, match="belongs to another run: from_sha256"):
        train_models(
            continued(root, "sipe", moved, "model.injection=input"), tmp_path, on_progress=lambda _: lambda _: None
        )


def test_a_trained_model_is_named_relative_to_the_recipe(root: Path, tmp_path: Path) -> None:
    text = '[[source]]\nsource = "text"\npath = "a"\n[[model]]\nname = "rope"\nfrom = "base"\n'
    (tmp_path / "r.toml").write_text(text, encoding="utf-8")

    (step,) = load_recipe(tmp_path / "r.toml").models

    assert step.start == str(tmp_path / "base")
    assert step.settings == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("model.name=sipe-roberta", "model.mask_id=1"), "is a sipe-transformer-xl, not a sipe-roberta"),
        (("model.width=64",), "from: .*the trained model has width = 32, which cannot be changed"),
        (("model.from=nowhere",), "from: nowhere: expected a checkpoint, or a folder of checkpoints, found none"),
        (("model.from=3",), "model: from: expected the path of a trained model, got 3"),
        (("model.first_layer=9",), r"first_layer=9 is outside 1\.\.2"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_before_any_work(
    changes: tuple[str, ...], message: str, root: Path, trained: dict[str, tuple[Path, dict[str, float]]]
) -> None:
    with pytest.raises(RecipeError, match=message):
        check_models(continued(root, "sipe", trained["sipe"][0], *changes))


def test_tokens_of_another_tokenizer_are_refused_where_they_are_more(
    root: Path, trained: dict[str, tuple[Path, dict[str, float]]], tmp_path: Path
) -> None:
    recipe = continued(root, "sipe", trained["sipe"][0], "encode.tokenizer=chars")
    make_data(recipe, tmp_path, workers=1, on_step=lambda _: lambda _: None)
    train_models(recipe, tmp_path, on_progress=lambda _: lambda _: None)  # fewer ones cannot be told apart

    more = continued(root, "sipe", small_model(root, tmp_path / "small"))
    make_data(more, tmp_path / "more", workers=1, on_step=lambda _: lambda _: None)
    with pytest.raises(RecipeError, match=r"expected the tokens of the trained model at .*, of vocabulary_size"):
        train_models(more, tmp_path / "more", on_progress=lambda _: lambda _: None)


def small_model(root: Path, to: Path) -> Path:
    """Return the folder of a model of characters."""
    changes = ("encode.tokenizer=chars", "train.num_steps=1", "model.injection=none")
    recipe = load_recipe(root / "pipelines" / "sipe.toml", changes)
    make_data(recipe, to, workers=1, on_step=lambda _: lambda _: None)
    train_models(recipe, to, on_progress=lambda _: lambda _: None)
    return to / "models" / "sipe-transformer-xl"
