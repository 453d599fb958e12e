from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_taggers import SIZES, drawn_network

from lisdata.evaluation.attachment import score_tagger
from lisdata.tagger.prediction import predict
from lisdata.training.tagger_corpus import TreeCorpus

NETWORK = drawn_network()
FORMS, OFFSETS = ("a", "bb", "The", "9", "x-y", "a"), np.array([0, 4, 6])


def make_corpus() -> TreeCorpus:
    """Return a corpus whose trees are those that the network finds."""
    found = predict(NETWORK, FORMS, OFFSETS)
    return TreeCorpus(
        forms=FORMS,
        form=np.arange(6),
        offsets=OFFSETS,
        head=found.head,
        deprel=found.deprel,
        deprels=SIZES.deprels,
        terminal=found.terminal,
        nonterminal=found.nonterminal,
    )


def test_its_own_trees_are_all_right() -> None:
    scores = score_tagger(NETWORK, make_corpus())

    assert (scores.num_words, scores.num_sentences) == (6, 2)
    assert {scores.uas, scores.las, scores.terminal, scores.nonterminal, scores.whole_sentences} == {1.0}


def test_a_wrong_head_counts_where_it_stands() -> None:
    corpus = make_corpus()
    head = corpus.head.copy()
    head[0] = 4 if head[0] != 4 else 3

    scores = score_tagger(NETWORK, replace(corpus, head=head))

    assert (scores.uas, scores.las, scores.whole_sentences) == (5 / 6, 5 / 6, 1 / 2)


def test_relations_are_compared_by_name() -> None:
    corpus = make_corpus()
    order = [2, 0, 1]
    renumbered = replace(
        corpus, deprels=tuple(SIZES.deprels[row] for row in order), deprel=np.argsort(order)[corpus.deprel]
    )

    assert (score_tagger(NETWORK, renumbered).las, score_tagger(NETWORK, renumbered).known_relations) == (1.0, 1.0)
    others = score_tagger(NETWORK, replace(corpus, deprels=("other", "names", "here")))
    assert (others.las, others.known_relations) == (0.0, 0.0)


def test_punctuation_can_be_left_out() -> None:
    corpus = make_corpus()
    head = corpus.head.copy()
    head[5] = 1 if head[5] != 1 else 0
    marked = replace(corpus, head=head, deprel=np.array([0, 0, 0, 0, 0, 1]), deprels=("dep", "punct"))

    scores = score_tagger(NETWORK, marked)

    assert (scores.uas, scores.uas_without_punctuation) == (pytest.approx(5 / 6), 1.0)
