"""SyntaxGym: published results and golden files come out again; surprisals known in closed form decide as they must."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_language_models import CHARACTERS, SIZE, Uniform

from lisdata.evaluation.causal_scorer import CausalScorer, CausalScoring
from lisdata.evaluation.item_results import ItemResults, read_item_results, vote_over_seeds
from lisdata.evaluation.sentence_scores import TokenSurprisals
from lisdata.evaluation.surprisal_tables import read_surprisal_table
from lisdata.evaluation.syntaxgym import (
    CIRCUITS,
    circuit_scores,
    counted_suites,
    evaluate_suite,
    evaluate_suites,
    macro_score,
    region_surprisals,
)
from lisdata.evaluation.syntaxgym_formulas import parse_formula
from lisdata.evaluation.syntaxgym_suites import METRICS, Condition, Item, Suite, read_suite, read_suites

PUBLISHED = {
    "gpt-2-xl-pretrained_": [84.24],
    "gpt-2-pretrained_": [78.42],
    "transformer-xl_": [59.57],
    "jrnn_": [56.27],
    "grnn_": [55.14],
    "gpt-2_bllip-lg-gptbpe": [75.09],
    "rnng_bllip-lg": [60.61, 57.96, 56.33],
}


def read_published(shared: Path, name: str) -> list[ItemResults]:
    return read_item_results(shared / "data" / "syntaxgym" / "hu2020_results" / f"syntaxgym_results_{name}.csv")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_items_give_the_published_scores(shared: Path, name: str) -> None:
    results = read_published(shared, name)

    scores = [100 * macro_score(result.group_scores()) for result in results]

    assert scores == pytest.approx(PUBLISHED[name], abs=0.005)
    assert all(len(counted_suites(result.verdicts)) == 31 for result in results)


def test_published_items_are_those_of_the_suites(shared: Path) -> None:
    suites = read_suites(shared / "data" / "syntaxgym" / "suites")

    verdicts = read_published(shared, "gpt-2-pretrained_")[0].verdicts

    assert {name: list(items) for name, items in verdicts.items()} == {
        suite.name: list(range(len(suite.items))) for suite in suites
    }


def test_every_suite_that_counts_is_in_one_circuit(shared: Path) -> None:
    result = read_published(shared, "gpt-2-xl-pretrained_")[0]
    names = counted_suites(result.verdicts)

    circuits = circuit_scores(result.group_scores())

    assert all(sum(name.startswith(prefixes) for prefixes in CIRCUITS.values()) == 1 for name in names)
    assert list(circuits) == list(CIRCUITS)
    sizes = {circuit: sum(name.startswith(prefixes) for name in names) for circuit, prefixes in CIRCUITS.items()}
    weighted = sum(sizes[circuit] * score for circuit, score in circuits.items()) / 31
    assert 100 * weighted == pytest.approx(84.24, abs=0.005)


def test_seeds_vote_on_each_item(shared: Path) -> None:
    seeds = read_published(shared, "rnng_bllip-lg")

    vote = vote_over_seeds(seeds)

    verdicts = [seed.verdicts["cleft"] for seed in seeds]
    expected = {item: sum(bool(verdict[item]) for verdict in verdicts) >= 2 for item in verdicts[0]}
    assert vote.verdicts["cleft"] == expected
    assert 100 * macro_score(vote.group_scores()) == pytest.approx(57.45, abs=0.005)


@pytest.mark.parametrize("model", ["grnn", "transformer-xl"])
@pytest.mark.parametrize("metric", METRICS)
def test_the_reference_tool_s_region_surprisals_are_ours(shared: Path, tmp_path: Path, model: str, metric: str) -> None:
    folder = shared / "data" / "syntaxgym" / "syntaxgym_core"
    texts = (folder / "test_sentences.txt").read_text(encoding="utf-8").splitlines()
    table = read_surprisal_table(folder / f"test_surp_{model}.txt", texts)
    golden = json.loads((folder / f"test_out_{model}.json").read_text(encoding="utf-8"))
    body = json.loads((folder / "test_in.json").read_text(encoding="utf-8"))
    body["predictions"] = [{"type": "formula", "formula": "(3;%that%) > (3;%what%)"}]
    body["meta"]["metric"] = metric
    (tmp_path / "suite.json").write_text(json.dumps(body), encoding="utf-8")

    suite = read_suite(tmp_path / "suite.json")

    num_compared = 0
    for item, expected_item in zip(suite.items, golden["items"], strict=True):
        for expected in expected_item["conditions"]:
            condition = item.conditions[expected["condition_name"]]
            found = region_surprisals(condition, table.score([condition.text])[0], metric)
            for region in expected["regions"]:
                bits = found[region["region_number"]] / math.log(2)
                assert bits == pytest.approx(region["metric_value"][metric], abs=1e-9)
                num_compared += 1
    assert num_compared == 24
    assert [held for (held,) in evaluate_suite(suite, table)] == [
        golden["items"][n]["conditions"][0]["regions"][2]["metric_value"][metric]
        > golden["items"][n]["conditions"][1]["regions"][2]["metric_value"][metric]
        for n in range(2)
    ]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["", "a", "bc d", ",", "is n't"]), min_size=1, max_size=6).filter(any), st.data())
def test_regions_share_out_all_surprisal(contents: list[str], data: st.DataObject) -> None:
    condition = Condition(numbers=tuple(range(1, len(contents) + 1)), contents=tuple(contents))
    text = condition.text
    cuts = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text))))})
    surprisal = np.arange(1.0, len(cuts))
    tokens = TokenSurprisals(begin=np.array(cuts[:-1]), end=np.array(cuts[1:]), surprisal=surprisal)

    found = region_surprisals(condition, tokens)

    owners = []  # the region of each character, the space before a region in it
    for number, content in zip(condition.numbers, contents, strict=True):
        owners += [number] * (len(content) + (bool(content) and bool(owners)))
    expected = dict.fromkeys(condition.numbers, 0.0)
    for begin, value in zip(cuts[:-1], surprisal, strict=True):
        expected[owners[begin]] += value
    assert found == expected


def test_an_unknown_metric_is_refused() -> None:
    tokens = TokenSurprisals(begin=np.zeros(1, int), end=np.ones(1, int), surprisal=np.ones(1))

    with pytest.raises(ValueError, match="metric='sums' is none of sum, mean"):
        region_surprisals(Condition(numbers=(1,), contents=("a",)), tokens, "sums")


def toy_suite(name: str, formulas: list[str], *sentences: dict[str, list[str]]) -> Suite:
    items = []
    for number, conditions in enumerate(sentences, 1):
        regions = {
            condition: Condition(numbers=tuple(range(1, len(contents) + 1)), contents=tuple(contents))
            for condition, contents in conditions.items()
        }
        items.append(Item(number=number, conditions=regions))
    return Suite(name=name, metric="sum", predictions=tuple(map(parse_formula, formulas)), items=tuple(items))


def test_under_a_uniform_model_regions_count_characters() -> None:
    scorer = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start="\n"))
    bit = math.log2(SIZE)
    formulas = [
        f"(2;%x%) > {2.999 * bit} & (2;%x%) < {3.001 * bit}",  # " ab": the space belongs to the region after it
        "(2;%x%) = (2;%y%)",
        "(*;%x%) > (*;%y%)",
        "(3;%y%) < 0.001 & (1;%x%) < (1;%y%)",  # an empty region has 0
    ]
    item = {"x": ["a", "ab", "c"], "y": ["aa", "de", ""]}

    held = evaluate_suite(toy_suite("toy", formulas, item), scorer)

    assert held == [(True, True, True, True)]


def test_without_a_start_the_first_token_counts_nothing() -> None:
    scorer = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start=""))

    held = evaluate_suite(toy_suite("toy", ["(1;%x%) < 0.001", "(1;%y%) > 1"], {"x": ["a"], "y": ["aa"]}), scorer)

    assert held == [(True, True)]


def test_the_unit_decides_what_is_equal() -> None:
    suite = toy_suite("toy", ["(1;%x%) = (1;%y%) + 0.00105"], {"x": ["a"], "y": ["b"]})
    scorer = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start="\n"))
    assert 1e-3 + 1e-5 * math.log(SIZE) < 0.00105 < 1e-3 + 1e-5 * math.log2(SIZE)

    assert evaluate_suite(suite, scorer, unit="bits") == [(True,)]
    assert evaluate_suite(suite, scorer, unit="nats") == [(False,)]


def test_only_the_first_prediction_makes_an_item_right() -> None:
    scorer = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start="\n"))
    formulas = ["(1;%x%) < (1;%y%)", "(1;%x%) > (1;%y%)"]
    calls: list[tuple[float, float, str]] = []

    results = evaluate_suites(
        [toy_suite("cleft", formulas, {"x": ["a"], "y": ["aa"]}, {"x": ["aa"], "y": ["a"]})],
        scorer,
        model="uniform",
        on_progress=lambda *call: calls.append(call),
    )

    assert results == ItemResults(model="uniform", verdicts={"cleft": {0: True, 1: False}})
    assert results.group_scores() == {"cleft": 0.5}
    assert calls == [(1, 1, "cleft")]


def test_three_suites_do_not_count() -> None:
    scores = {"cleft": 1.0, "fgd_pp": 0.0, "fgd-embed3": 1.0, "fgd-embed4": 1.0, "nn-nv-rpl": 1.0}

    assert macro_score(scores) == 0.5
    assert circuit_scores(scores) == {"Long-Distance Dependencies": 0.5}


def test_a_benchmark_without_suites_has_no_score() -> None:
    with pytest.raises(ValueError, match="got none"):
        macro_score({"nn-nv-rpl": 1.0})
