"""The adapter to lm-evaluation-harness: likelihoods are those of our own scorers, greedy is greedy, text stops."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_language_models import CHARACTERS, SIZE

from lisdata.checkpoints import Checkpoint, load_model, write_checkpoint
from lisdata.encoding.tokenizer_training import TokenizerSettings, train_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.blimp import evaluate_blimp, read_blimp
from lisdata.evaluation.causal_scorer import CausalScorer, CausalScoring
from lisdata.evaluation.prefix_scorer import PrefixScorer
from lisdata.evaluation.tag_cache import TagCache
from lisdata.models import build_model, describe_model

lm_eval = pytest.importorskip("lm_eval", reason="the extra lm-eval is not installed")

from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

from lisdata.lm_harness import DecoderLM, _windows  # noqa: E402

RULE = "python:rule_parser:parse"
TEXTS = ["the cat sees.", "a dog barks.", "cats see no dog."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a decoder, its tokenizers and a paradigm."""
    folder = tmp_path_factory.mktemp("harness")
    (folder / "text.txt").write_text("\n".join(TEXTS * 5) + "\n", encoding="utf-8")
    size = train_tokenizer(str(folder / "text.txt"), folder / "tokenizer.json", TokenizerSettings(vocabulary_size=280))
    sizes = {"vocabulary_size": max(size, SIZE), "width": 16, "num_layers": 2, "num_attention_heads": 2}
    model = build_model("sipe-transformer-xl", seed=0, injection="position", predicts_tags=True, **sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4, generator=torch.Generator().manual_seed(1))
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    checkpoint = Checkpoint(step=1, facts={"model": describe_model(model)}, state={}, tensors={"model": state})
    write_checkpoint(checkpoint, folder / "model")
    (folder / "characters.json").write_bytes(CHARACTERS.to_json())
    (folder / "blimp").mkdir()
    pairs = [("the cat sees.", "the cat see."), ("cats see.", "cats sees."), ("a dog barks.", "a dogs barks.")]
    lines = [
        {"UID": "agreement", "field": "syntax", "linguistics_term": "agreement", "pairID": str(number)}
        | {"sentence_good": good, "sentence_bad": bad}
        for number, (good, bad) in enumerate(pairs)
    ]
    (folder / "blimp" / "agreement.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> DecoderLM:
    return DecoderLM(folder / "model", folder / "tokenizer.json", parser=RULE)


def ask(kind: str, *arguments: tuple[Any, ...]) -> list[Instance]:
    return [Instance(kind, {}, given, number) for number, given in enumerate(arguments)]


def scorer(folder: Path, **scoring: Any) -> CausalScorer:
    trained = load_model(folder / "model" / "step-00000001")
    from lisdata.encoding import load_tokenizer

    return CausalScorer(trained, load_tokenizer(folder / "tokenizer.json"), CausalScoring(**scoring))


def test_the_likelihood_of_a_text_is_that_of_our_scorer_under_tags_by_the_parser(folder: Path, model: Any) -> None:
    found = model.loglikelihood(ask("loglikelihood", *(("", text) for text in TEXTS)))

    expected = scorer(folder).score(TEXTS, TagCache(RULE)(TEXTS))
    untagged = scorer(folder).score(TEXTS, None)
    for (nats, _), tokens, without in zip(found, expected, untagged, strict=True):
        assert nats == pytest.approx(-tokens.total, rel=1e-6)
        assert nats != pytest.approx(-without.total, rel=1e-6)


def test_prefix_tags_are_those_of_our_prefix_scorer(folder: Path) -> None:
    model = DecoderLM(folder / "model", folder / "tokenizer.json", parser=RULE, tags="prefix")
    causal = scorer(folder)
    expected = PrefixScorer(causal._model, causal._rows._tokenizer, TagCache(RULE), "prefix").score(TEXTS)

    found = model.loglikelihood(ask("loglikelihood", *(("", text) for text in TEXTS)))
    rolling = model.loglikelihood_rolling(ask("loglikelihood_rolling", *((text,) for text in TEXTS)))

    assert [nats for nats, _ in found] == pytest.approx([-tokens.total for tokens in expected], rel=1e-6)
    assert rolling == pytest.approx([nats for nats, _ in found], rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.text("abc", min_size=1, max_size=5), st.text("abc ", min_size=1, max_size=5))
def test_a_continuation_is_what_its_text_has_beyond_its_context(folder: Path, context: str, more: str) -> None:
    model = DecoderLM(folder / "model", folder / "characters.json", tags="none")
    asked = ask("loglikelihood", (context, more), ("", context), ("", context + more))

    (of_more, _), (of_context, _), (of_both, _) = model.loglikelihood(asked)

    assert of_more == pytest.approx(of_both - of_context, abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.text("abc", min_size=1, max_size=5), st.integers(0, 3))
def test_a_continuation_is_greedy_where_each_token_is_the_likeliest(folder: Path, context: str, wrong: int) -> None:
    model = DecoderLM(folder / "model", folder / "characters.json", tags="none")
    ids = CHARACTERS.encode_batch([context]).ids.tolist()
    for _ in range(3):
        with torch.no_grad():
            none = torch.full((1, len(ids)), -100)
            logits = model._model(torch.tensor([ids]), none, none)[0, -1, : SIZE - 1]
        ids.append(int(logits.argmax()))
    if wrong:
        ids[-wrong] = (ids[-wrong] + 1) % (SIZE - 1)
    text = CHARACTERS.decode(ids)

    ((_, is_greedy),) = model.loglikelihood(ask("loglikelihood", (context, text[len(context) :])))

    with torch.no_grad():
        none = torch.full((1, len(ids)), -100)
        best = model._model(torch.tensor([ids]), none, none)[0].argmax(-1).tolist()
    assert is_greedy == (best[len(context) - 1 : -1] == ids[len(context) :])


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.integers(0, 2), st.integers(2, 40))
def test_windows_score_each_token_once_and_read_all_there_is_room_for(size: int, num_start: int, length: int) -> None:
    if num_start >= min(size, length):
        return
    values = torch.arange(3 * length).view(3, length).numpy()

    found = list(_windows(values, num_start, size))

    scored = [token for window, count in found for token in window[0, window.shape[1] - count :].tolist()]
    assert scored == list(range(max(num_start, 1), length))
    assert all(window.shape[1] == min(size, length) for window, _ in found)


def test_a_text_longer_than_a_row_is_read_in_windows(folder: Path) -> None:
    text = "the cat sees a dog and barks."
    whole, cut = (
        DecoderLM(folder / "model", folder / "characters.json", tags="none", max_length=length) for length in (99, 8)
    )
    (expected,), (found,) = (m.loglikelihood_rolling(ask("loglikelihood_rolling", (text,))) for m in (whole, cut))

    assert found != pytest.approx(expected)
    (in_room,) = whole.loglikelihood(ask("loglikelihood", ("", text)))
    assert expected == pytest.approx(in_room[0], rel=1e-6)
    window = text[len(text) - 8 :]  # the last one, all of it read
    ((last, _),) = whole.loglikelihood(ask("loglikelihood", (window[:-1], window[-1])))
    assert -math.inf < found < last < 0


def test_a_text_is_generated_greedily_up_to_a_stop(folder: Path, model: Any) -> None:
    (whole, again) = model.generate_until(
        ask("generate_until", *[("the cat", {"max_gen_toks": 8, "until": ["\x00"]})] * 2)
    )
    assert whole == again != ""
    stop = whole[2:4]

    (cut,) = model.generate_until(ask("generate_until", ("the cat", {"max_gen_toks": 8, "until": stop})))
    (drawn,) = model.generate_until(
        ask("generate_until", ("the cat", {"max_gen_toks": 8, "do_sample": True, "temperature": 5.0, "until": []}))
    )

    assert cut == whole[: whole.index(stop)]
    assert drawn != whole


def test_the_harness_s_accuracy_is_that_of_our_benchmark(folder: Path, model: Any) -> None:
    task = {
        "task": "agreement",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"train": str(folder / "blimp" / "agreement.jsonl")}},
        "output_type": "multiple_choice",
        "validation_split": "train",
        "doc_to_text": "",
        "doc_to_choice": "{{[sentence_good, sentence_bad]}}",
        "doc_to_target": 0,
        "metric_list": [{"metric": "acc"}],
    }
    paradigms = read_blimp(folder / "blimp")

    found = lm_eval.simple_evaluate(
        model=model, tasks=[task], task_manager=TaskManager(include_defaults=False), bootstrap_iters=0
    )

    ours = evaluate_blimp(paradigms, scorer(folder), model="", tag=TagCache(RULE)).group_scores()["agreement"]
    assert found["results"]["agreement"]["acc,none"] == pytest.approx(ours)


def test_settings_that_go_nowhere_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="tags='prefix' needs a parser"):
        DecoderLM(folder / "model", folder / "tokenizer.json", tags="prefix")
    with pytest.raises(ValueError, match="max_length=1 leaves no token"):
        DecoderLM(folder / "model", folder / "tokenizer.json", max_length=1)
    short = DecoderLM(folder / "model", folder / "tokenizer.json", parser=RULE, tags="frozen", max_length=4)
    with pytest.raises(LisDataError, match="at most 4 tokens under frozen"):
        short.loglikelihood_rolling(ask("loglikelihood_rolling", (TEXTS[0],)))
    bare = DecoderLM(folder / "model", folder / "characters.json", tags="none")
    with pytest.raises(LisDataError, match="expected a prompt of at least one token"):
        bare.generate_until(ask("generate_until", ("", {})))
