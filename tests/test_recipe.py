"""Recipes: read, changed from the command line, refused with the key that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from changed_documents import TOML_VALUES, changed_documents, iter_places, refusal, to_toml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.errors import RecipeError
from lisdata.experiment import check_models
from lisdata.pipeline import check_data, planned_steps
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
    assert load_recipe(write(tmp_path, MINIMAL + '[encode]\ntokenizer = "chars"\n')).encode == {"tokenizer": "chars"}


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


WHOLE = {
    "name": "whole",
    "summary": "everything",
    "source": [
        {"name": "prose", "source": "text", "path": "a.txt", "options": {"unit": "line"}, "on_error": "skip"},
        {"source": "csv", "path": ["t.csv"], "options": {"header": True, "null_tokens": [""]}, "unit_mib": 1},
    ],
    "encode": {"tokenizer": "chars", "context": 16, "columns": ["input_ids", "role"], "record_ids": True},
    "model": [{"name": "rope", "label": "first", "width": 8, "dropout": 0.5}, {"name": "alibi", "num_layers": 1}],
    "train": {"data": "windows", "window": 4, "split": 0.5, "num_steps": 1, "batch_size": 2, "learning_rate": 1e-3},
    "evaluate": {"protocol": "perplexity", "context_lengths": [2, 4], "max_windows": 1, "beside": "LIS Table 3"},
}


def check(path: Path, changes: tuple[str, ...] = ()) -> None:
    """Do what `lisdata run --dry-run` does."""
    recipe = load_recipe(path, changes)
    num_units = check_data(recipe, path.parent / "out")
    check_models(recipe)
    assert len(planned_steps(recipe, path.parent / "out", num_units)) == 7


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "t.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    return tmp_path


def write_whole(folder: Path, document: Any = None) -> Path:
    document = WHOLE if document is None else document
    return write(folder, "".join(f"{json.dumps(key)} = {to_toml(value)}\n" for key, value in document.items()))


def test_the_whole_recipe_is_good(inputs: Path) -> None:
    check(write_whole(inputs))


@given(changed_documents(WHOLE, TOML_VALUES))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_one_value_says_the_recipe_is_good_or_refused(inputs: Path, document: Any) -> None:
    path = write_whole(inputs, document)

    error = refusal(lambda: check_models(load_recipe(path)), RecipeError)
    error = error or refusal(lambda: check_data(load_recipe(path), inputs / "out"), RecipeError)

    assert error is None or str(error).startswith(f"{path}: ")


@given(st.sampled_from(list(iter_places(WHOLE))), TOML_VALUES.map(to_toml) | st.text(max_size=5))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_set_says_the_recipe_is_good_or_refused(inputs: Path, place: tuple[str | int, ...], text: str) -> None:
    path = write_whole(inputs)

    error = refusal(lambda: check_models(load_recipe(path, (f"{'.'.join(map(str, place))}={text}",))), RecipeError)

    assert error is None or str(error).startswith((f"{path}: ", "--set "))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("source=3", r"expected tables \[\[source\]\], found 3"),
        ("source.0.path=7", "source: path: expected a list, got 7"),
        ("source.0.path=[7]", "source: path: expected str, got 7"),
        ("source.0.path=", "expected files or folders, got an empty path"),
        ("source.0.path=[]", "expected files or folders, got an empty path"),
        ('source.0.path=["a.txt", ""]', "expected files or folders, got an empty path"),
        ("source.0.options=5", "source: options: expected a table of names and values, got 5"),
        ("source.0.source=5", "source: source: expected str, got 5"),
        ("source.0.sort_by=object", "source: sort_by: expected one of 'subject', 'graph'|sort_by"),
        ("source.0.sort_by=subject", "source text makes no triples, so they cannot be sorted by subject"),
        ("source.0.unit_mib=1.5", "source prose: unit_mib: expected int, got 1.5"),
        ("model=3", r"expected tables \[\[model\]\], found 3"),
        ("model.0.name=3", "model: name: expected str, got 3"),
        ("model.0.width=true", "model first: width: expected int, got True"),
        ("model.0.width=7", "does not split"),
        ("model.1.name=lisformer", "model lisformer reads role, instance, position too: expected train.data = loader"),
        ("name=3", "recipe: name: expected str, got 3"),
        ("train=3", r"expected a table \[train\], found 3"),
        ("train.split=7", "expected a split between 0 and 1, got 7.0"),
        ("train.window=0", "expected a window of at least 1 token"),
        ("train.num_steps=1180591620717411303424", "train: num_steps: expected an integer of 64 bits"),
        ("train.num_threads=4611686018427387904", "is more than"),
        ("evaluate.context_lengths=5", "evaluate: context_lengths: expected a list, got 5"),
        ('evaluate.context_lengths=["a"]', "evaluate: context_lengths: expected int, got 'a'"),
        ("evaluate.context_lengths=[]", "needs evaluate.context_lengths"),
        ("evaluate.context_lengths=[2, 3]", "that divide the longest"),
        ("evaluate.max_windows=0", "max_windows of at least 1"),
        ("evaluate.besides=x", "evaluate has no besides"),
        ("encode.tokenizer=nowhere.json", "no tokenizer is called"),
        ("encode.labels=nowhere.json", "encode: labels: no file nowhere.json"),
    ],
)
def test_a_value_of_another_type_or_range_is_named_before_any_work(inputs: Path, change: str, message: str) -> None:
    path = write_whole(inputs)

    with pytest.raises(RecipeError, match=f"^{path}: .*{message}"):
        check(path, (change,))


NAMES = ["../x", "a/b", "/x", "..", ".", ".hidden", "", "a\\\\b"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("key", "what"), [("source.0.name", "source"), ("model.1.label", "model")])
def test_a_name_that_leads_out_of_its_folder_is_refused(inputs: Path, key: str, what: str, name: str) -> None:
    with pytest.raises(RecipeError, match=f"expected a name of a {what} that can be a folder's, found"):
        load_recipe(write_whole(inputs), (f'{key}="{name}"',))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("source.0.name=csv", "2 sources are called 'csv': give each a name of its own"),
        ("model.0.label=alibi", "2 models are called 'alibi': give each a label of its own"),
    ],
)
def test_two_that_would_share_a_folder_are_refused(inputs: Path, change: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load_recipe(write_whole(inputs), (change,))


def test_models_without_tokens_and_evaluation_without_models_are_refused(inputs: Path) -> None:
    without_encode = {key: value for key, value in WHOLE.items() if key != "encode"}
    without_models = {key: value for key, value in WHOLE.items() if key != "model"}

    with pytest.raises(RecipeError, match=r"expected a table \[encode\]"):
        check_models(load_recipe(write_whole(inputs, without_encode)))
    with pytest.raises(RecipeError, match=r"at least one \[\[model\]\]"):
        check_models(load_recipe(write_whole(inputs, without_models)))


def test_an_empty_table_encode_is_one_of_defaults(inputs: Path) -> None:
    assert load_recipe(write_whole(inputs, WHOLE | {"encode": {}})).encode == {}
    assert load_recipe(write(inputs, MINIMAL)).encode is None
