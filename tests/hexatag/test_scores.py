"""The best valid tags of scores, against all tags and against the plain twin."""

from __future__ import annotations

import itertools
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lisdata.hexatag import canonicalise, decode, encode, viterbi
from lisdata.kernels import plain_hexatags as plain

Scores = npt.NDArray[np.float32]


@cache
def valid_tags(num_words: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return all valid (terminal, nonterminal) sequences, a row each, and the greatest depth of each."""
    inner = [*itertools.product((0, 1), range(1, 5))]
    found: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []
    for pairs in itertools.product(*[inner] * (num_words - 1), [(0, 0), (1, 0)]):
        leaves, nodes = zip(*pairs, strict=True)
        if plain.decode(leaves, nodes) is not None:
            before = np.cumsum([0, *(np.array(nodes) > 2)])[:-1]
            found.append((leaves, nodes, int((np.cumsum(np.array(leaves) == 0) - before).max())))
    return tuple(np.array(column) for column in zip(*found, strict=True))  # type: ignore[return-value]


def total(terminals: Scores, nonterminals: Scores, terminal: Any, nonterminal: Any) -> float:
    places = np.arange(len(terminals))
    inner = nonterminals[places, nonterminal].astype(float)[:-1]
    return float(terminals[places, terminal].astype(float).sum() + inner.sum())


def random_scores(num_words: int, seed: int) -> tuple[Scores, Scores]:
    generator = np.random.default_rng(seed)
    return (
        generator.normal(size=(num_words, 2)).astype(np.float32),
        generator.normal(size=(num_words, 5)).astype(np.float32),
    )


@pytest.mark.parametrize("num_words", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("max_depth", [1, 2, 3, None])
def test_the_best_of_all_valid_tags_is_found(num_words: int, max_depth: int | None) -> None:
    leaves, nodes, depths = valid_tags(num_words)
    is_allowed = depths <= (max_depth or num_words)
    for seed in range(100):
        terminals, nonterminals = random_scores(num_words, seed)
        allowed = zip(leaves[is_allowed], nodes[is_allowed], strict=True)
        sums = [total(terminals, nonterminals, *tags) for tags in allowed]

        terminal, nonterminal = viterbi(terminals, nonterminals, max_depth=max_depth)

        best = int(np.argmax(sums))
        assert terminal.tolist() == leaves[is_allowed][best].tolist()
        assert nonterminal.tolist() == nodes[is_allowed][best].tolist()


# Quarters add up exactly, so that equal sums are equal however they are added.
QUARTERS = st.integers(-8, 8).map(lambda number: number / 4)


@given(data=st.data(), num_words=st.integers(1, 30), max_depth=st.one_of(st.none(), st.integers(1, 8)))
@settings(deadline=None, max_examples=150)
def test_scores_that_are_often_equal_get_valid_tags_of_the_plain_twin_s_sum(
    data: st.DataObject, num_words: int, max_depth: int | None
) -> None:
    terminals = data.draw(hnp.arrays(np.float32, (num_words, 2), elements=QUARTERS))
    nonterminals = data.draw(hnp.arrays(np.float32, (num_words, 5), elements=QUARTERS))
    limit = max_depth or num_words
    best = plain.best_tags(terminals.tolist(), nonterminals.tolist(), limit)

    terminal, nonterminal = viterbi(terminals, nonterminals, max_depth=max_depth)

    assert total(terminals, nonterminals, terminal, nonterminal) == total(terminals, nonterminals, *best)
    decode(terminal, nonterminal)
    depth = np.cumsum(terminal == 0) - np.concatenate(([0], np.cumsum(nonterminal > 2)[:-1]))
    assert depth.max() <= limit


@given(lengths=st.lists(st.integers(0, 12), max_size=8), before=st.integers(0, 3), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_a_batch_is_its_sentences_one_by_one(lengths: list[int], before: int, seed: int) -> None:
    offsets = np.cumsum([before, *lengths])
    terminals, nonterminals = random_scores(int(offsets[-1]) + 2, seed)

    terminal, nonterminal = viterbi(terminals, nonterminals, offsets)

    expected = np.full((2, len(terminals)), -100)
    for begin, end in itertools.pairwise(offsets.tolist()):
        if begin < end:
            expected[:, begin:end] = viterbi(terminals[begin:end], nonterminals[begin:end])
    assert [terminal.tolist(), nonterminal.tolist()] == expected.tolist()


def test_tags_that_are_best_word_by_word_and_valid_are_the_answer() -> None:
    heads = [2, 9, 5, 5, 2, 9, 9, 9, 0, 9]
    terminal, nonterminal = encode(heads)
    terminals, nonterminals = random_scores(len(heads), 0)
    terminals[np.arange(len(heads)), terminal] += 9
    nonterminals[np.arange(len(heads)), nonterminal] += 9

    found = viterbi(terminals, nonterminals)

    assert (found[0].tolist(), found[1].tolist()) == (terminal.tolist(), nonterminal.tolist())
    assert decode(*canonicalise(*found)).tolist() == heads


def test_eos_is_at_the_last_word_only_whatever_its_score() -> None:
    terminals, nonterminals = random_scores(6, 1)
    plain_tags = viterbi(terminals, nonterminals)
    nonterminals[:, 0] = np.linspace(1e9, -1e9, 6)

    terminal, nonterminal = viterbi(terminals, nonterminals)

    assert (nonterminal == 0).tolist() == [False] * 5 + [True]
    assert [terminal.tolist(), nonterminal.tolist()] == [tags.tolist() for tags in plain_tags]


def test_a_single_word_is_a_left_leaf_and_eos() -> None:
    terminal, nonterminal = viterbi([[-5.0, 5.0]], [[0.0, 1.0, 2.0, 3.0, 4.0]])

    assert (terminal.tolist(), nonterminal.tolist()) == ([0], [0])


def test_a_hundred_thousand_words_are_linear_at_a_fixed_depth() -> None:
    terminals, nonterminals = random_scores(100_000, 2)

    terminal, nonterminal = viterbi(terminals, nonterminals, max_depth=12)

    assert decode(terminal, nonterminal).tolist().count(0) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", range(7))
def test_scores_that_are_not_finite_are_refused_but_for_eos(value: float, column: int) -> None:
    terminals, nonterminals = random_scores(5, 3)
    if column < 2:
        terminals[3, column] = value
    else:
        nonterminals[3, column - 2] = value
    if column == 2:
        viterbi(terminals, nonterminals, [0, 2, 5])
        return

    with pytest.raises(ValueError, match=r"sentence 1 \(counted from 0\): expected finite logits"):
        viterbi(terminals, nonterminals, [0, 2, 5])


@pytest.mark.parametrize(
    ("terminal_shape", "nonterminal_shape", "max_depth", "message"),
    [
        ((3, 3), (3, 5), None, r"terminal_logits: expected shape \(words, 2\), found \(3, 3\)"),
        ((3, 2), (15,), None, r"nonterminal_logits: expected shape \(words, 5\), found \(15,\)"),
        ((3, 2), (4, 5), None, "expected as many logits of each kind, found 3 and 4"),
        ((3, 2), (3, 5), 0, "expected a whole number of at least 1, got max_depth=0"),
        ((3, 2), (3, 5), -1, "expected a whole number of at least 1, got max_depth=-1"),
        ((3, 2), (3, 5), 1.5, "expected a whole number of at least 1, got max_depth=1.5"),
        ((3, 2), (3, 5), 2.0, "expected a whole number of at least 1, got max_depth=2.0"),
        ((3, 2), (3, 5), "2", "expected a whole number of at least 1, got max_depth='2'"),
    ],
)
def test_wrong_arguments_are_refused(
    terminal_shape: tuple[int, ...], nonterminal_shape: tuple[int, ...], max_depth: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        viterbi(np.zeros(terminal_shape), np.zeros(nonterminal_shape), max_depth=max_depth)


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (np.zeros((1, 2), np.complex64), "expected real numbers, found complex64"),
        ([[1j, 0]], "expected real numbers, found complex128"),
        ([["1", "2"]], "expected real numbers, found <U1"),
        ([[b"1", b"2"]], r"expected real numbers, found \|S1"),
        ([[None, 1.0]], "expected real numbers, found object"),
        (np.zeros((1, 2), "M8[s]"), "expected real numbers, found datetime64"),
        ([[1.0, 2.0], [3.0]], "expected numbers in two dimensions: "),
        ([[1e300, 0.0]], "expected finite logits"),
        (None, r"expected shape \(words, 2\), found \(\)"),
        ("ab", r"expected shape \(words, 2\), found \(\)"),
        (torch.zeros((1, 2), dtype=torch.complex64, requires_grad=True), "expected real numbers, found complex64"),
        ([torch.zeros(2, requires_grad=True)], "expected numbers in two dimensions: .*detach"),
    ],
)
def test_logits_that_are_no_real_numbers_are_refused(logits: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        viterbi(logits, [[0.0] * 5])


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int64, np.bool_])
def test_real_numbers_of_every_type_are_taken(dtype: Any) -> None:
    terminals, nonterminals = (scores.round().astype(dtype) for scores in random_scores(6, 4))

    found = viterbi(terminals, nonterminals)

    assert_same(found, viterbi(terminals.astype(np.float32), nonterminals.astype(np.float32)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_tensors_are_taken_as_they_come_out_of_a_model(dtype: torch.dtype, requires_grad: bool) -> None:
    terminals, nonterminals = (torch.tensor(scores, dtype=dtype) for scores in random_scores(6, 5))
    arrays = terminals.float().numpy(), nonterminals.float().numpy()

    found = viterbi(terminals.requires_grad_(requires_grad), nonterminals)

    assert terminals.requires_grad == requires_grad
    assert_same(found, viterbi(*arrays))


def assert_same(found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    assert [tags.tolist() for tags in found] == [tags.tolist() for tags in expected]


def test_torch_is_not_imported_for_scores() -> None:
    call = "from lisdata.hexatag import viterbi; viterbi([[0, 0]], [[0] * 5])"
    check = f"import sys; {call}; assert 'torch' not in sys.modules"

    subprocess.run([sys.executable, "-c", check], check=True)
