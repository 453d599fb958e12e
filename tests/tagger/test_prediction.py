from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_taggers import drawn_network

from lisdata.hexatag import TreeFault, decode_batch, tag_trees
from lisdata.tagger.prediction import find_precision, find_root, iter_batches, places_of, predict

NETWORK = drawn_network()
SENTENCES = st.lists(st.lists(st.sampled_from(["a", "bb", "The", "9", "x-y"]), max_size=9), max_size=8)


@settings(deadline=None)
@given(sentences=SENTENCES)
def test_tags_always_give_a_projective_tree(sentences: list[list[str]]) -> None:
    offsets = np.cumsum([0, *map(len, sentences)])
    found = predict(NETWORK, [form for sentence in sentences for form in sentence], offsets)

    wanted = [TreeFault.NONE if sentence else TreeFault.EMPTY for sentence in sentences]
    assert tag_trees(found.head, offsets, lift=False).fault.tolist() == wanted
    assert ((found.deprel >= 0) & (found.deprel < 3)).all()
    assert ((found.deprel == find_root(NETWORK.config.deprels)) == (found.head == 0)).all()
    taken = np.unique(offsets)
    assert np.array_equal(decode_batch(found.terminal, found.nonterminal, taken), found.head)


@settings(deadline=None)
@given(sentences=SENTENCES)
def test_a_sentence_has_the_same_tree_alone(sentences: list[list[str]]) -> None:
    offsets = np.cumsum([0, *map(len, sentences)])
    together = predict(NETWORK, [form for sentence in sentences for form in sentence], offsets, precision="fp32")

    for number, sentence in enumerate(sentences):
        alone = predict(NETWORK, sentence, np.array([0, len(sentence)]), precision="fp32")
        rows = slice(offsets[number], offsets[number + 1])
        assert alone.head.tolist() == together.head[rows].tolist()
        assert alone.deprel.tolist() == together.deprel[rows].tolist()


@pytest.mark.parametrize(("names", "row"), [(("det", "ROOT"), 1), (("root", "det"), 0), (("det", "obj"), None)])
def test_the_root_is_known_by_the_names_of_treebanks_and_of_spacy(names: tuple[str, ...], row: int | None) -> None:
    assert find_root(names) == row


@given(lengths=st.lists(st.integers(0, 9), max_size=30), num_words=st.integers(1, 40))
def test_each_sentence_with_words_is_in_one_batch_that_fits(lengths: list[int], num_words: int) -> None:
    sizes = np.array(lengths, np.int64)
    batches = list(iter_batches(sizes, num_words))

    assert sorted(row for batch in batches for row in batch.tolist()) == [row for row, n in enumerate(lengths) if n]
    for batch in batches:
        assert len(batch) == 1 or int(sizes[batch].max()) * len(batch) <= num_words


def test_places_are_rows_of_the_words() -> None:
    at, is_word = places_of(np.array([0, 2, 2, 5]), np.array([0, 2]))

    assert at.T.tolist() == [[0, 1, 0], [2, 3, 4]]
    assert is_word.T.tolist() == [[True, True, False], [True, True, True]]


def test_a_very_long_sentence_takes_time_in_proportion() -> None:
    found = predict(NETWORK, ["word"] * 5_000, np.array([0, 5_000]))

    assert tag_trees(found.head, np.array([0, 5_000]), lift=False).fault.tolist() == [TreeFault.NONE]


@pytest.mark.parametrize(("capabilities", "precision"), [({"amx_bf16": True}, "bf16"), ({}, "fp32"), (None, "fp32")])
def test_precision_follows_the_machine(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool] | None, precision: str
) -> None:
    if capabilities is None:
        monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    else:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)

    assert find_precision() == precision
