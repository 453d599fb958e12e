"""Whole treebanks: what is projective comes back, what is not is refused or lifted, in the numbers that are known."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from small_trees import flatten, read_trees, treebank_paths

from lisdata.errors import TreeError
from lisdata.hexatag import TreeFault, decode_batch, deprojectivize, encode, projectivize, tag_trees
from lisdata.kernels import plain_hexatags as plain

# (sentences that are not projective, arcs lifted, sentences that their labels bring back)
KNOWN = {"en_ewt": (57, 63, 56), "de_gsd": (141, 172, 133), "nl_alpino": (153, 217, 147)}
NUM_FILES = 15


def known_crossings(shared: Path) -> dict[str, int]:
    """Return the number of sentences that are not projective in each file, as the table of the README has it."""
    readme = (shared / "data" / "ud" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", readme, re.MULTILINE)
    return {name: int(cells.split("|")[6]) for name, cells in rows}


def test_every_treebank_comes_back_and_its_crossing_trees_are_found(shared: Path) -> None:
    counts = {}
    for path in treebank_paths(shared):
        sentences = [heads for heads, _ in read_trees(path)]
        flat, offsets = flatten(sentences)

        tagged = tag_trees(flat, offsets, lift=False)

        assert set(tagged.fault.tolist()) <= {TreeFault.NONE, TreeFault.NON_PROJECTIVE}
        counts[path.relative_to(shared / "data" / "ud").as_posix()] = int(np.count_nonzero(tagged.fault))
        is_good = np.repeat(tagged.fault == TreeFault.NONE, np.diff(offsets))
        good_offsets = np.append(0, np.cumsum(np.diff(offsets)[tagged.fault == TreeFault.NONE]))
        decoded = decode_batch(tagged.terminal[is_good], tagged.nonterminal[is_good], good_offsets)
        assert (decoded == flat[is_good]).all()
        assert (tagged.terminal[~is_good] == -100).all()
    assert counts == known_crossings(shared)
    assert len(counts) == NUM_FILES


@pytest.mark.parametrize("part", range(3))
def test_crossing_trees_are_refused_and_tagged_as_their_lifted_tree(shared: Path, part: int) -> None:
    for path in treebank_paths(shared)[part::3]:
        sentences = list(read_trees(path))
        flat, offsets = flatten([heads for heads, _ in sentences])

        tagged = tag_trees(flat, offsets, lift=True)

        assert not tagged.fault.any()
        for row, (heads, deprels) in enumerate(sentences):
            tree = projectivize(heads, deprels)
            assert tagged.lifted[row] == len(tree.lifted)
            if tree.lifted:
                assert list(tree.heads) == plain.lift(heads)
                with pytest.raises(TreeError, match=r"the arc from \d+ to \d+ crosses word \d+"):
                    encode(heads)
                terminal, nonterminal = encode(tree.heads)
                words = slice(offsets[row], offsets[row + 1])
                assert tagged.terminal[words].tolist() == terminal.tolist()
                assert tagged.nonterminal[words].tolist() == nonterminal.tolist()


def test_lifted_arcs_and_sentences_brought_back_are_as_many_as_are_known(shared: Path) -> None:
    crossing, arcs, recovered = Counter[str](), Counter[str](), Counter[str]()
    for name, path in ((path.name.partition("-")[0], path) for path in treebank_paths(shared)):
        for heads, deprels in read_trees(path) if name in KNOWN else ():
            tree = projectivize(heads, deprels)
            if tree.lifted:
                crossing[name] += 1
                arcs[name] += len(tree.lifted)
                recovered[name] += deprojectivize(tree.heads, tree.deprels) == (tuple(heads), tuple(deprels))

    assert {name: (crossing[name], arcs[name], recovered[name]) for name in KNOWN} == KNOWN


def test_ancient_greek_is_brought_back_as_far_as_is_known(shared: Path) -> None:
    sentences = list(read_trees(shared / "data" / "ud" / "nc" / "grc_perseus-ud-dev.conllu"))
    lifted = [(tree, heads) for heads, deprels in sentences if (tree := projectivize(heads, deprels)).lifted]

    num_recovered = sum(list(deprojectivize(tree.heads, tree.deprels)[0]) == heads for tree, heads in lifted)

    assert (len(lifted), sum(len(tree.lifted) for tree, _ in lifted), num_recovered) == (819, 2018, 691)
