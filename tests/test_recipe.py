"""Recipes: read, changed from the command line, refused with the key that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from lisdata.errors import RecipeError
from lisdata.recipe import choose_models, load_recipe

MINIMAL = '[[source]]\nsource = "text"\npath = "corpus.txt"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_paths_of_the_file_are_relative_to_its_folder(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, MINIMAL))

    assert recipe.sources[0].paths == (str(tmp_path / "corpus.txt"),)


def test_files_of_encode_are_relative_to_its_folder_too(tmp_path: Path) -> None:
    text = MINIMAL + '[encode]\ntokenizer = "t.json"\nlabels = "/roles.json"\nview = "auto"\n'

    recipe = load_recipe(write(tmp_path, text))

    assert recipe.encode == {"tokenizer": str(tmp_path / "t.json"), "labels": "/roles.json", "view": "auto"}
    assert load_recipe(write(tmp_path, MINIMAL + '[encode]\ntokenizer = "chars"\n')).encode["tokenizer"] == "chars"


def test_absolute_paths_and_urls_stay_as_they_are(tmp_path: Path) -> None:
    text = '[source]\nsource = "text"\npath = ["/data/a.txt", "memory://b.txt"]\n'

    assert load_recipe(write(tmp_path, text)).sources[0].paths == ("/data/a.txt", "memory://b.txt")


def test_a_changed_path_is_relative_to_the_working_folder(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, '[source]\nsource = "text"\n'), ("source.path=other.txt",))

    assert recipe.sources[0].paths == ("other.txt",)


def test_the_only_source_of_a_list_needs_no_number(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, MINIMAL), ("source.path=other.txt", "source.options.unit=document"))

    assert recipe.sources[0].options == {"unit": "document"}


def test_one_of_several_is_chosen_by_number(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, MINIMAL + MINIMAL), ("source.1.name=second",))

    assert [s.name for s in recipe.sources] == ["text", "second"]


def test_changes_are_toml_values_and_else_text(tmp_path: Path) -> None:
    changes = (
        "train.num_steps=50",
        "train.learning_rate=1e-3",
        "train.data=windows",
        "evaluate.context_lengths=[1, 2]",
    )

    recipe = load_recipe(write(tmp_path, MINIMAL), changes)

    assert recipe.train == {"num_steps": 50, "learning_rate": 1e-3, "data": "windows"}
    assert recipe.evaluate == {"context_lengths": [1, 2]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one"),
        ("[[source]]\nsource = 'text'\n", "source.path"),
        ("[[source]]\npath = 'a'\n", "source.source"),
        (MINIMAL + "[trian]\nnum_steps = 1\n", "no key trian"),
        (MINIMAL + "[[model]]\nwidth = 8\n", "with a name"),
        (MINIMAL + "colour = 1\n", "no key colour"),
        ("encode = 3\n" + MINIMAL, r"\[encode\]"),
        ("not toml", "expected TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)

    with pytest.raises(RecipeError, match=message) as caught:
        load_recipe(path)

    assert str(path) in str(caught.value)


@pytest.mark.parametrize("change", ["train", "=3", "source.7.path=a", "name.more=1"])
def test_a_change_that_fits_nowhere_is_refused(tmp_path: Path, change: str) -> None:
    with pytest.raises(RecipeError, match="--set"):
        load_recipe(write(tmp_path, 'name = "n"\n' + MINIMAL), (change,))


def test_models_are_chosen_by_label_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, MINIMAL + '[[model]]\nname = "rope"\n[[model]]\nname = "alibi"\n'))

    assert [m.label for m in choose_models(recipe, ("alibi",)).models] == ["alibi"]
    assert choose_models(recipe, ()) == recipe
    with pytest.raises(RecipeError, match="no model rpoe; it has rope, alibi"):
        choose_models(recipe, ("rpoe",))
