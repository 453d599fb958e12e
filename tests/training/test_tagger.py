from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from rule_parser import chain
from small_taggers import SIZES, drawn_network, write_treebank

from lisdata.errors import BadRecordError
from lisdata.evaluation.attachment import score_tagger
from lisdata.hexatag import encode_batch
from lisdata.tagger.weights import load_tagger
from lisdata.tagger_run import TaggerRequest, run_training
from lisdata.training.loss import NOT_SCORED
from lisdata.training.tagger import TaggerObjective, make_network
from lisdata.training.tagger_batches import SentenceBatches
from lisdata.training.tagger_corpus import TreeCorpus, join_corpora, parse_texts, read_corpus, read_treebanks

SMALL = {"width": 16, "layers": 1, "rows": 200, "batch_words": 200, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("treebank") / "train.conllu", num_sentences=120, seed=0)


@pytest.fixture(scope="module")
def corpus(treebank: Path) -> TreeCorpus:
    return read_treebanks([str(treebank)])


# -- corpora ---------------------------------------------------------------------------------------------------------


def test_a_treebank_is_read_with_its_tags(corpus: TreeCorpus) -> None:
    assert len(corpus.offsets) == 121
    first = slice(*corpus.offsets[:2])
    forms = [corpus.forms[row] for row in corpus.form[first]]
    assert forms[-2] == "the"
    assert {corpus.deprels[row] for row in corpus.deprel} == {"det", "nsubj", "root", "obj"}
    terminal, nonterminal = encode_batch(corpus.head, corpus.offsets)
    assert np.array_equal(terminal, corpus.terminal)
    assert np.array_equal(nonterminal, corpus.nonterminal)


def test_text_is_parsed_by_the_teacher(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One two. Three four five.\n")

    found = parse_texts([str(tmp_path)], "python:rule_parser:parse")

    assert [found.forms[row] for row in found.form] == ["One", "two", ".", "Three", "four", "five", "."]
    assert found.head.tolist() == [*chain(0, "One two.").heads, *chain(0, "Three four five.").heads]


def test_joined_corpora_number_forms_and_relations_anew(corpus: TreeCorpus) -> None:
    both = join_corpora([corpus, corpus])

    assert both.num_words == 2 * corpus.num_words
    for half, offset in ((both.form[: corpus.num_words], 0), (both.form[corpus.num_words :], 0)):
        assert [both.forms[row] for row in half] == [corpus.forms[row] for row in corpus.form], offset
    assert len(both.forms) == len(set(both.forms))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((), (), None), "expected treebanks, or texts with a teacher"),
        (((), ("a.txt",), None), "expected texts and the teacher"),
        (((), (), "spacy"), "expected texts and the teacher"),
    ],
)
def test_no_trees_are_no_corpus(arguments: tuple[tuple[str, ...], tuple[str, ...], str | None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_corpus(*arguments)


def test_a_treebank_without_trees_and_one_with_wrong_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "none.conllu").write_text("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    (tmp_path / "wrong.conllu").write_text("1\ta\t_\t_\t_\t_\t1\tdep\t_\t_\n\n")

    with pytest.raises(ValueError, match="expected sentences with trees, found none"):
        read_treebanks([str(tmp_path / "none.conllu")])
    with pytest.raises(BadRecordError, match="its own head"):
        read_treebanks([str(tmp_path / "wrong.conllu")])


# -- batches ---------------------------------------------------------------------------------------------------------


def make_batches(corpus: TreeCorpus, **changes: object) -> SentenceBatches:
    settings: dict[str, object] = {"deprels": corpus.deprels, "num_rows": 50, "num_words": 60, "seed": 3}
    return SentenceBatches(corpus, **settings | changes)  # type: ignore[arg-type]


def test_an_epoch_has_each_word_once(corpus: TreeCorpus) -> None:
    batches = make_batches(corpus)
    for _ in range(2):
        counts = np.zeros(len(corpus.forms), np.int64)
        while counts.sum() < corpus.num_words:
            batch = batches.next_batch()
            words = batch["input_ids"][batch["is_word"]].numpy()
            counts += np.bincount(words, minlength=len(counts))
        assert np.array_equal(counts, np.bincount(corpus.form))


def test_targets_are_tags_of_words_and_no_end_of_sentence(corpus: TreeCorpus) -> None:
    batch = make_batches(corpus).next_batch()
    lengths = batch["is_word"].sum(0)

    assert (batch["terminal"] != NOT_SCORED).equal(batch["is_word"])
    assert ((batch["nonterminal"] != NOT_SCORED).sum(0) == lengths - 1).all()
    assert not (batch["nonterminal"] == 0).any()


def test_a_relation_that_the_tagger_has_not_is_not_scored(corpus: TreeCorpus) -> None:
    batch = make_batches(corpus, deprels=("root",)).next_batch()

    assert set(batch["deprel"].unique().tolist()) == {0, NOT_SCORED}


@pytest.mark.parametrize("num_steps", [1, 10, 25])
def test_batches_go_on_from_any_state(corpus: TreeCorpus, num_steps: int) -> None:
    batches, resumed = make_batches(corpus), make_batches(corpus)
    for _ in range(num_steps):
        batches.next_batch()
    resumed.load_state_dict(batches.state_dict())

    expected, found = batches.next_batch(), resumed.next_batch()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_some_forms_are_made_unknown_and_no_affixes(corpus: TreeCorpus) -> None:
    plain, changed = (make_batches(corpus, unknown_rate=rate).next_batch()["features"] for rate in (0.0, 1.0))

    assert plain[..., 2:].equal(changed[..., 2:])
    assert not plain[..., :2].equal(changed[..., :2])


# -- training --------------------------------------------------------------------------------------------------------


def test_a_small_tagger_learns_trees_that_follow_from_the_words(treebank: Path, tmp_path: Path) -> None:
    unseen = read_treebanks([str(write_treebank(tmp_path / "test.conllu", num_sentences=50, seed=1))])
    request = TaggerRequest(treebanks=(str(treebank),), dev=(str(treebank),), to=tmp_path / "tagger", steps=120)

    result = run_training(replace(request, **SMALL))  # type: ignore[arg-type]

    scores = score_tagger(load_tagger(tmp_path / "tagger"), unseen)
    assert result.is_finished
    assert scores.uas > 0.95
    assert scores.las > 0.9
    assert str(tmp_path) not in (tmp_path / "tagger" / "config.json").read_text()


def test_a_stopped_training_ends_in_the_same_weights(treebank: Path, tmp_path: Path) -> None:
    settings = {"treebanks": (str(treebank),), "steps": 12, "checkpoint_every": 5, **SMALL}
    run_training(TaggerRequest(to=tmp_path / "whole", **settings))  # type: ignore[arg-type]

    def stop(progress: object) -> None:
        if progress.step == 7:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_training(TaggerRequest(to=tmp_path / "stopped", **settings), on_progress=stop)  # type: ignore[arg-type]
    assert not (tmp_path / "stopped" / "config.json").exists()
    run_training(TaggerRequest(to=tmp_path / "stopped", **settings))  # type: ignore[arg-type]

    whole, stopped = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "stopped"))
    assert whole == stopped


def test_training_begins_with_another_taggers_weights(treebank: Path, tmp_path: Path) -> None:
    settings = {"treebanks": (str(treebank),), **SMALL}
    run_training(TaggerRequest(to=tmp_path / "first", steps=60, **settings))  # type: ignore[arg-type]
    again = TaggerRequest(to=tmp_path / "second", steps=1, initial=str(tmp_path / "first"), **settings)  # type: ignore[arg-type]

    run_training(again)

    corpus = read_treebanks([str(treebank)])
    first, second = (score_tagger(load_tagger(tmp_path / name), corpus).uas for name in ("first", "second"))
    assert second > first - 0.1 > 0.7


def test_scores_of_relations_that_both_know_are_kept() -> None:
    initial = drawn_network()
    network = make_network(replace(SIZES, deprels=("new", "obj")), seed=0, initial=initial)

    kept, found = initial.scores.weight, network.scores.weight
    assert torch.equal(found[:7], kept[:7])
    assert torch.equal(found[8], kept[7 + 2])
    assert not torch.equal(found[7], kept[7])


def test_other_sizes_cannot_begin_with_its_weights() -> None:
    with pytest.raises(ValueError, match="expected the sizes of the tagger that training begins with"):
        make_network(replace(SIZES, width=10), seed=0, initial=drawn_network())


def test_the_loss_is_the_sum_of_three_means(corpus: TreeCorpus) -> None:
    network = drawn_network(config=replace(SIZES, deprels=corpus.deprels))
    batch = make_batches(corpus).next_batch()
    with torch.no_grad():
        logs = network(network.embed(batch["features"]), batch["is_word"])
        expected = 0.0
        parts = ("terminal", slice(2), 1), ("nonterminal", slice(2, 7), 1), ("deprel", slice(7, None), 0.3)
        for name, columns, weight in parts:
            scored = batch[name] != NOT_SCORED
            chosen = logs[..., columns].log_softmax(-1)[scored].gather(1, batch[name][scored][:, None])
            expected -= weight * chosen.mean()
        found = TaggerObjective()(network, batch)

    torch.testing.assert_close(found, torch.as_tensor(expected))
