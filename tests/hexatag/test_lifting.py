"""Trees that are not projective: lifted as Nivre and Nilsson say, and hung back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from small_trees import all_heads, flatten, trees

from lisdata.errors import TreeError
from lisdata.hexatag import ProjectiveTree, TreeFault, deprojectivize, encode, projectivize, tag_trees
from lisdata.kernels import plain_hexatags as plain
from lisdata.kernels.hexatag_lift import lift_sentences


def restored(tree: ProjectiveTree) -> list[int]:
    originals = dict(tree.lifted)
    return [originals.get(word, head) for word, head in enumerate(tree.heads, 1)]


@pytest.mark.parametrize(("num_words", "num_crossing"), [(1, 0), (2, 0), (3, 2), (4, 34), (5, 482), (6, 7048)])
def test_all_trees_of_up_to_six_words_are_lifted_as_the_plain_twin_does(num_words: int, num_crossing: int) -> None:
    heads = all_heads(num_words)
    offsets = np.arange(0, heads.size + 1, num_words)
    fault = tag_trees(heads.ravel(), offsets, lift=False).fault
    crossing = heads[fault == TreeFault.NON_PROJECTIVE]

    lifted, num_lifted = lift_sentences(crossing.ravel(), offsets[: len(crossing) + 1])

    assert len(crossing) == num_crossing
    assert lifted.reshape(crossing.shape).tolist() == [plain.lift(row) for row in crossing.tolist()]
    assert (num_lifted >= 1).all()
    assert not tag_trees(lifted, offsets[: len(crossing) + 1], lift=False).fault.any()


@given(heads=trees(30))
@settings(deadline=None, max_examples=150)
def test_any_tree_becomes_projective_and_keeps_its_root_and_what_it_was(heads: list[int]) -> None:
    tree = projectivize(heads, [f"label{word}" for word in range(len(heads))])

    assert list(tree.heads) == plain.lift(heads)
    assert tree.heads.index(0) == heads.index(0)
    assert restored(tree) == heads
    assert tag_trees(heads, [0, len(heads)], lift=True).lifted.tolist() == [len(tree.lifted)]
    encode(tree.heads)


@given(heads=trees(15))
@settings(deadline=None, max_examples=100)
def test_labels_that_are_all_different_bring_every_tree_back(heads: list[int]) -> None:
    deprels = [f"label{word}" for word in range(len(heads))]
    tree = projectivize(heads, deprels)

    assert deprojectivize(tree.heads, tree.deprels) == (tuple(heads), tuple(deprels))


def test_the_worked_example() -> None:
    # A hearing is scheduled on the issue today .
    deprels = ["det", "nsubj", "aux", "root", "case", "det", "nmod", "obl", "punct"]

    tree = projectivize([2, 4, 4, 0, 7, 7, 2, 4, 4], deprels)

    assert tree.heads == (2, 4, 4, 0, 7, 7, 4, 4, 4)
    assert tree.deprels == ("det", "nsubj", "aux", "root", "case", "det", "nmod|nsubj", "obl", "punct")
    assert tree.lifted == ((7, 2),)
    assert deprojectivize(tree.heads, tree.deprels) == ((2, 4, 4, 0, 7, 7, 2, 4, 4), tuple(deprels))


def test_a_projective_tree_stays_as_it_is() -> None:
    tree = projectivize([2, 0, 2], ["nsubj", "root", "obj"])

    assert tree == ProjectiveTree(heads=(2, 0, 2), deprels=("nsubj", "root", "obj"), lifted=())
    assert deprojectivize(tree.heads, tree.deprels) == (tree.heads, tree.deprels)


def test_a_word_whose_label_no_other_has_stays_where_it_is() -> None:
    assert deprojectivize([0, 1, 1], ["root", "obj", "nmod|nsubj"]) == ((0, 1, 1), ("root", "obj", "nmod"))


def test_a_word_is_never_hung_below_itself() -> None:
    # Word 4 has the wanted label, but lies below word 3.
    assert deprojectivize([0, 1, 1, 3], ["root", "obj", "nmod|case", "case"])[0] == (0, 1, 1, 3)


@pytest.mark.parametrize("make", [projectivize, deprojectivize])
@pytest.mark.parametrize(
    ("heads", "message"),
    [([], "without words"), ([0, 3, 2], "words 2 and 3 go round in a cycle"), ([0, 0], "both roots")],
)
def test_what_is_no_tree_is_refused(make: Any, heads: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        make(heads, ["dep"] * len(heads))


def test_a_label_with_the_separator_is_refused() -> None:
    with pytest.raises(TreeError, match=r"word 2 has deprel 'nmod\|nsubj': '\|' marks lifted words"):
        projectivize([0, 1], ["root", "nmod|nsubj"])


def test_a_label_a_word_is_needed() -> None:
    with pytest.raises(ValueError, match="expected a deprel a head, found 2 heads and 1 deprels"):
        projectivize([0, 1], ["root"])


def test_lifting_counts_sentence_by_sentence_and_leaves_empty_ones() -> None:
    flat, offsets = flatten([[0, 1, 1, 2], [], [0, 1]])

    tagged = tag_trees(flat, offsets, lift=True)

    assert tagged.fault.tolist() == [TreeFault.NONE, TreeFault.EMPTY, TreeFault.NONE]
    assert tagged.lifted.tolist() == [1, 0, 0]


def test_one_crossing_arc_in_a_long_sentence_is_lifted() -> None:
    heads = [0, *[1] * 100_000, 2]

    tagged = tag_trees(heads, [0, len(heads)], lift=True)

    assert tagged.lifted.tolist() == [1]
    assert (tagged.terminal.tolist(), tagged.nonterminal.tolist()) == plain.encode([0, *[1] * 100_001])
