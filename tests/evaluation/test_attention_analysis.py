"""Verb and object of minimal pairs, and the attention between them in two models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rule_parser
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from toy_language_models import CHARACTERS, SIZE

from lisdata.checkpoints import Checkpoint, write_checkpoint
from lisdata.cli import main
from lisdata.errors import LisDataError
from lisdata.evaluation.attention_analysis import (
    AttentionReader,
    AttentionRequest,
    PairAttention,
    choose_layers,
    compare_attention,
)
from lisdata.evaluation.attention_report import group_pairs, wilson_interval, write_attention_report
from lisdata.evaluation.benchmarks import BenchmarkRequest
from lisdata.evaluation.blimp import Pair
from lisdata.evaluation.causal_scorer import CausalScoring
from lisdata.evaluation.verb_objects import find_difference, find_verb_objects
from lisdata.models import build_model, describe_model
from lisdata.models.attention_weights import record_attention

RECITE = "python:rule_parser:recite"
SENTENCES = [("we break a big vase", "break", "vase"), ("cats drop it", "drop", "it"), ("no dog sleeps", "sleeps", "")]
BAD_VERB = "exist"
words = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def _script() -> Iterator[None]:
    """Parse both sentences of each pair: all words depend on the verb, the object as such."""
    rule_parser.SCRIPT.clear()
    for good, verb, named in SENTENCES:
        for text, root in ((good, verb), (good.replace(verb, BAD_VERB), BAD_VERB)):
            (sentence,) = next(iter(rule_parser.parse([text])))[:1]
            forms = text.split()
            heads = [0 if form == root else forms.index(root) + 1 for form in forms]
            deprels = ["root" if form == root else "obj" if form == named else "dep" for form in forms]
            fields = {name: getattr(sentence, name) for name in ("begin", "end", "word_begins", "word_ends")}
            rule_parser.SCRIPT[text] = [rule_parser.ParsedSentence(heads=heads, deprels=deprels, **fields)]
    yield
    rule_parser.SCRIPT.clear()


def pairs() -> list[Pair]:
    return [
        Pair(number=number, good=good, bad=good.replace(verb, BAD_VERB))
        for number, (good, verb, _) in enumerate(SENTENCES)
    ]


@given(words, st.data())
def test_the_one_word_that_differs_is_found_where_it_stands(text: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text) - 1))
    other = [*text[:place], "c", *text[place + 1 :]]
    first, second = "  ".join(text), " ".join(other)

    found = find_difference(first, second)

    assert found is not None
    assert first[slice(*found)] == text[place]
    assert len(first[: found[0]].split()) == place


@pytest.mark.parametrize("other", ["a b c", "a b c d e", "a x y d", ""])
def test_sentences_that_differ_in_none_or_more_words_have_no_such_word(other: str) -> None:
    assert find_difference("a b c d" if other != "a b c" else other, other) is None


def test_verbs_without_an_object_are_left_out() -> None:
    found = find_verb_objects(pairs(), RECITE)

    assert [item.pair.number for item in found] == [0, 1]
    assert [item.pair.good[slice(*item.verb)] for item in found] == ["break", "drop"]
    assert [item.pair.good[slice(*item.object)] for item in found] == ["vase", "it"]
    assert [item.distance for item in found] == [3, 1]


def write_model(folder: Path, name: str, seed: int, injection: str) -> None:
    sizes = {"vocabulary_size": SIZE + 1, "width": 16, "num_layers": 3, "num_attention_heads": 2}
    sizes |= {} if name == "sipe-transformer-xl" else {"mask_id": SIZE}
    model = build_model(name, seed=seed, injection=injection, projection_std=2.0, **sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5, generator=torch.Generator().manual_seed(seed))
    state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    facts = {"model": describe_model(model)}
    write_checkpoint(Checkpoint(step=1, facts=facts, state={}, tensors={"model": state}), folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attention")
    for name, kind in (("decoder", "sipe-transformer-xl"), ("encoder", "sipe-roberta")):
        write_model(folder / f"{name}-sipe", kind, 1, "input")
        write_model(folder / f"{name}-none", kind, 2, "none")
    (folder / "characters.json").write_bytes(CHARACTERS.to_json())
    (folder / "blimp").mkdir()
    lines = [
        {"UID": "causative", "field": "syntax", "linguistics_term": "argument_structure", "pairID": str(pair.number)}
        | {"sentence_good": pair.good, "sentence_bad": pair.bad}
        for pair in pairs()
    ]
    (folder / "blimp" / "causative.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return folder


def request(folder: Path, to: Path, kind: str, **options: Any) -> AttentionRequest:
    benchmark = BenchmarkRequest(
        checkpoints=[folder / f"{kind}-sipe", folder / f"{kind}-none"],
        tokenizer=folder / "characters.json",
        data=folder / "blimp",
        directory=to,
        parser=RECITE,
        scoring=CausalScoring(start="\n"),
    )
    return AttentionRequest(benchmark=benchmark, **options)


@pytest.mark.parametrize(("kind", "row", "band"), [("encoder", "verb", (2, 2)), ("decoder", "object", (1, 3))])
def test_an_encoder_is_read_in_the_verb_s_row_and_a_decoder_in_the_object_s(
    folder: Path, tmp_path: Path, kind: str, row: str, band: tuple[int, int]
) -> None:
    found = compare_attention(request(folder, tmp_path, kind))

    assert found.row == row
    assert found.layers == (band, band)
    assert (len(found.pairs), found.num_pairs) == (2, 3)
    assert all(0 < pair.first < 1 and 0 < pair.second < 1 for pair in found.pairs)
    assert tmp_path.joinpath("tags.jsonl").exists()


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_attention_is_the_mean_of_a_word_s_rows_and_the_sum_of_its_columns(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    asked = request(folder, tmp_path, kind, layers=(2, 3))
    model = build_model(
        "sipe-roberta" if kind == "encoder" else "sipe-transformer-xl",
        seed=0,
        **{"vocabulary_size": SIZE + 1, "width": 16, "num_layers": 3, "num_attention_heads": 2}
        | ({"mask_id": SIZE} if kind == "encoder" else {}),
    )
    (item, _) = find_verb_objects(pairs(), RECITE)

    (found, _) = AttentionReader(model, CHARACTERS, asked.benchmark, None, layers=(2, 3)).read([item, item])

    ids = CHARACTERS.encode_batch(["\n" + item.pair.good]).ids.astype(np.int64)
    with torch.no_grad(), record_attention(model) as weights:
        model(torch.from_numpy(ids)[None])
    mean = torch.stack(weights[1:]).mean((0, 2))[0]  # over layers 2 and 3 and over attention heads
    verb, other = (range(1 + span[0], 1 + span[1]) for span in (item.verb, item.object))
    query, key = (verb, other) if kind == "encoder" else (other, verb)
    expected = sum(float(mean[i, j]) for i in query for j in key) / len(query)
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_report_says_in_how_many_pairs_of_each_group_the_first_attends_more(folder: Path, tmp_path: Path) -> None:
    comparison = compare_attention(request(folder, tmp_path, "encoder"))

    text = write_attention_report(comparison, tmp_path)

    body = json.loads((tmp_path / "attention.json").read_text(encoding="utf-8"))
    assert sum(group["number"] for group in body["groups"].values()) == len(body["pairs"]) == 2
    for name, group in body["groups"].items():
        chosen = [pair for pair in body["pairs"] if pair["right"] == name]
        assert group["share"] == sum(pair["first"] > pair["second"] for pair in chosen) / len(chosen)
    assert [pair["object"] for pair in body["pairs"]] == ["vase", "it"]
    assert "read in the verb's row: how much it attends to the object" in text
    assert "RoBERTa-base 18/20" in text
    assert (tmp_path / "attention.png").read_bytes().startswith(b"\x89PNG")


def test_pairs_are_grouped_by_which_model_is_right() -> None:
    (item, _) = find_verb_objects(pairs(), RECITE)
    judged = ["both", "first", "first"]
    made = [PairAttention(item=item, judged=j, first=0.1, second=0.2) for j in judged]  # type: ignore[arg-type]

    assert {name: len(group) for name, group in group_pairs(made).items()} == {"first": 2, "both": 1}


@pytest.mark.parametrize(
    ("num_hits", "number", "low", "high"), [(18, 20, 0.699, 0.972), (11, 20, 0.342, 0.742), (0, 5, 0.0, 0.434)]
)
def test_intervals_are_wilson_s(num_hits: int, number: int, low: float, high: float) -> None:
    assert wilson_interval(num_hits, number) == pytest.approx((low, high), abs=1e-3)


def test_the_band_of_an_encoder_is_its_middle_third_and_a_layer_it_lacks_is_refused() -> None:
    sizes = {"vocabulary_size": 3, "mask_id": 0, "width": 4, "num_attention_heads": 2}
    model = build_model("sipe-roberta", seed=0, num_layers=12, **sizes)

    assert choose_layers(model, None) == (5, 8)  # the paper's
    assert choose_layers(build_model("sipe-roberta", seed=0, num_layers=1, **sizes), None) == (1, 1)
    assert choose_layers(model, (1, 12)) == (1, 12)
    with pytest.raises(ValueError, match="expected layers within 1-12, got 9-13"):
        choose_layers(model, (9, 13))


def test_models_of_two_kinds_and_one_model_are_refused(folder: Path, tmp_path: Path) -> None:
    asked = request(folder, tmp_path, "encoder")
    mixed = replace(asked.benchmark, checkpoints=[folder / "encoder-sipe", folder / "decoder-none"])
    alone = replace(asked.benchmark, checkpoints=asked.benchmark.checkpoints[:1])

    with pytest.raises(LisDataError, match="expected two encoders or two decoders"):
        compare_attention(replace(asked, benchmark=mixed))
    with pytest.raises(ValueError, match="expected two models and a parser"):
        compare_attention(replace(asked, benchmark=alone))


def test_no_such_paradigm_and_no_object_in_it_are_told(folder: Path, tmp_path: Path) -> None:
    asked = request(folder, tmp_path, "encoder")
    with pytest.raises(LisDataError, match="expected the paradigm passive_1, found none"):
        compare_attention(replace(asked, paradigm="passive_1"))
    for good, _, _ in SENTENCES:
        (sentence,) = rule_parser.SCRIPT[good]
        rule_parser.SCRIPT[good] = [replace(sentence, deprels=["dep"] * len(sentence.heads))]

    with pytest.raises(LisDataError, match="found no verb with an object in any pair"):
        compare_attention(asked)


def test_the_command_prints_the_table_and_refuses_layers_of_another_form(folder: Path, tmp_path: Path) -> None:
    options = ["--model", str(folder / "decoder-sipe"), "--beside", str(folder / "decoder-none")]
    options += ["--tokenizer", str(folder / "characters.json"), "--data", str(folder / "blimp")]
    options += ["--to", str(tmp_path), "--parser", RECITE]

    done = CliRunner().invoke(main, ["benchmark", "attention", *options, "--layers", "2-3"])
    refused = CliRunner().invoke(main, ["benchmark", "attention", *options, "--layers", "2:3"])

    assert done.exit_code == 0, done.output
    assert "read in the object's row" in done.output
    assert "layers 2-3" in done.output
    assert refused.exit_code == 2
    assert "expected layers as 5-8, got '2:3'" in refused.output
