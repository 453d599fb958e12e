"""Results item by item: they survive their CSV, seeds vote, models are compared on the same items only."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import LisDataError, SchemaError
from lisdata.evaluation.item_results import (
    ItemResults,
    Verdict,
    check_same_items,
    compare_results,
    read_item_results,
    vote_over_seeds,
    write_item_results,
)

names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)
verdicts = st.dictionaries(
    names, st.dictionaries(st.integers(0, 99), st.sampled_from([True, False, None]), min_size=1), min_size=1
)


def results(*items: Verdict, model: str = "m", group: str = "g") -> ItemResults:
    return ItemResults(model=model, verdicts={group: dict(enumerate(items))})


@settings(deadline=None)
@given(st.dictionaries(names, verdicts, min_size=1, max_size=3))
def test_results_survive_their_file(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, dict[str, dict[int, Verdict]]]
) -> None:
    path = tmp_path_factory.mktemp("results") / "items.csv"
    written = [ItemResults(model=model, verdicts=groups) for model, groups in found.items()]

    write_item_results(written, path)

    assert read_item_results(path) == written


def test_ties_count_as_one_says() -> None:
    found = results(True, False, None, None)

    assert found.num_ties == 2
    assert found.group_scores() == {"g": 0.25}
    assert found.group_scores("half") == {"g": 0.5}
    with pytest.raises(ValueError, match="ties='right' is none of wrong, half"):
        found.group_scores("right")  # type: ignore[arg-type]


def test_more_than_half_of_the_seeds_make_an_item_right() -> None:
    seeds = [results(True, True, None, False), results(True, False, True, False)]

    assert vote_over_seeds(seeds) == results(True, False, False, False, model="vote")
    assert vote_over_seeds([*seeds, seeds[0]]).verdicts["g"] == {0: True, 1: True, 2: False, 3: False}


def test_models_asked_other_items_are_not_compared() -> None:
    with pytest.raises(LisDataError, match="expected a and b on the same items, found no g, item 1 in a"):
        check_same_items([results(True, model="a"), results(True, True, model="b")])
    with pytest.raises(LisDataError, match="expected a and b on the same groups, found no g in b"):
        check_same_items([results(True, model="a"), results(True, model="b", group="h")])
    with pytest.raises(ValueError, match="expected the results of at least one model"):
        vote_over_seeds([])


def test_the_difference_of_two_models_is_that_of_their_scores() -> None:
    first = [results(True, True, None, True), results(True, False, False, True)]
    second = [results(True, False, None, False), results(False, False, False, True)]

    found = {ties: compare_results(first, second, ties=ties).difference for ties in ("wrong", "half")}  # type: ignore[arg-type]

    assert found["wrong"] == pytest.approx(5 / 8 - 2 / 8)
    assert found["half"] == pytest.approx(5.5 / 8 - 2.5 / 8)


def test_items_are_paired_by_their_number_and_not_by_their_order() -> None:
    first = ItemResults(model="a", verdicts={"g": {0: True, 1: False, 2: True}})
    second = ItemResults(model="b", verdicts={"g": {2: True, 0: True, 1: False}})

    assert compare_results([first], [second]).standard_error == 0


def test_published_results_differ_by_the_published_figures(shared: Path) -> None:
    folder = shared / "data" / "syntaxgym" / "hu2020_results"
    models = (f"syntaxgym_results_{name}-pretrained_.csv" for name in ("gpt-2-xl", "gpt-2"))
    larger, smaller = (read_item_results(folder / name) for name in models)
    groups = [name for name in larger[0].verdicts if name not in ("fgd-embed3", "fgd-embed4", "nn-nv-rpl")]

    found = compare_results(larger, smaller, groups=groups)

    assert 100 * found.difference == pytest.approx(84.24 - 78.42, abs=0.01)
    assert 0.03 < found.low < found.difference < found.high < 0.09


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["model,suite,correct"], ":1: expected the columns model, suite, item, correct, found model, suite, correct"),
        (["model,suite,item,correct", "m,g,0,true"], ":2: expected a model, a suite, the number of an item and one of"),
        (["model,suite,item,correct", "m,g,x,True"], ":2: expected a model"),
        (["model,suite,item,correct", "m,g,0"], ":2: expected a model"),
        (["model,suite,item,correct", "m,g,0,True", "m,g,0,tie"], ":3: expected each item once, found g item 0 of m"),
        (["model,suite,item,correct"], ": expected results, found none"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_line(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    with pytest.raises(SchemaError) as caught:
        read_item_results(path)

    assert str(caught.value).startswith(f"{path}{message}")
