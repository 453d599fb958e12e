"""Count models of the next word: those of a naive implementation; what tags that tell much or nothing come to."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.evaluation.tag_leak import backed_off_nll, measure_leak, number_of

Numbers = np.ndarray


def naive_nll(contexts: list[list[int]], targets: list[int], is_training: list[bool]) -> list[float]:
    known = Counter(target for target, own in zip(targets, is_training, strict=True) if own)
    counts: list[defaultdict[int, Counter[int]]] = [defaultdict(Counter) for _ in contexts]
    for at, own in enumerate(is_training):
        if own:
            for found, context in zip(counts, contexts, strict=True):
                found[context[at]][targets[at]] += 1
    num_targets = max(targets) + 2
    nll = []
    for at, own in enumerate(is_training):
        if own:
            continue
        p = (known[targets[at]] + 0.5) / (known.total() + 0.5 * num_targets)
        for found, context in zip(counts, contexts, strict=True):
            seen = found.get(context[at])
            if seen:
                p = (seen[targets[at]] + len(seen) * p) / (seen.total() + len(seen))
        nll.append(-math.log(p))
    return nll


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 4), st.booleans()), min_size=2, max_size=60)
)
def test_nats_are_those_of_a_naive_count_model(words: list[tuple[int, int, int, bool]]) -> None:
    *contexts, targets, is_training = (list(column) for column in zip(*words, strict=True))
    is_training[0] = True  # a count model has seen something

    arrays = [np.array(context, np.int64) for context in contexts]
    found = backed_off_nll(arrays, np.array(targets, np.int64), np.array(is_training))

    assert found.tolist() == pytest.approx(naive_nll(contexts, targets, is_training))


def make_words(num_sentences: int = 400) -> tuple[Numbers, Numbers, Numbers]:
    """Return words, the next word of each and the offsets of sentences whose words are drawn alike."""
    draw = np.random.default_rng(0)
    lengths = draw.integers(3, 9, num_sentences)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    words = draw.integers(0, 8, offsets[-1])
    return words, np.append(words[1:], 0), offsets


def test_a_tag_that_tells_the_next_word_leaks_and_one_that_tells_nothing_does_not() -> None:
    words, following, offsets = make_words()
    tags = {
        "next word": following,
        "half of it": following // 4,
        "the word itself": words,
        "nothing": np.random.default_rng(1).integers(0, 2, len(words)),
    }

    report = measure_leak([words, words], following, offsets, tags)

    assert 7 < report.perplexity < 9
    factors = {name: found.factor for name, found in report.factors.items()}
    assert factors["next word"] < 0.3
    assert 0.5 < factors["half of it"] < 0.7
    assert factors["the word itself"] == pytest.approx(1)
    assert 0.98 < factors["nothing"] < 1.1
    assert all(found.low <= found.factor <= found.high for found in report.factors.values())
    assert report.num_words == sum(np.diff(offsets)) - round_trained(offsets)


def round_trained(offsets: Numbers) -> int:
    is_trained = np.random.default_rng(0).permutation(len(offsets) - 1) < 0.8 * (len(offsets) - 1)
    return int(np.diff(offsets)[is_trained].sum())


@given(st.lists(st.text(max_size=2), max_size=20))
def test_equal_values_have_equal_numbers(values: list[str]) -> None:
    numbers = number_of(values).tolist()

    assert [values[numbers.index(number)] for number in numbers] == values
    assert sorted(set(numbers)) == list(range(len(set(values))))
