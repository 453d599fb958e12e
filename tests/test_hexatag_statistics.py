"""Counts of hexatags against the trees they were made from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lisdata.hexatag import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS, encode, tag_trees
from lisdata.schema import UNTAGGED
from lisdata.statistics.hexatags import HexatagTally


def test_tags_and_depths_are_those_of_the_golden_sentences(shared: Path) -> None:
    lines = (shared / "data" / "hexatag" / "golden_open.jsonl").read_text(encoding="utf-8").splitlines()
    golden = [json.loads(line) for line in lines]
    terminal, nonterminal, heads = (
        np.array([value for g in golden for value in g[name]]) for name in ("terminal_id", "nonterminal_id", "heads")
    )
    tally = HexatagTally()

    tally.add(terminal, nonterminal, heads)

    found = tally.to_dict()
    assert found["tagged_sentences"] == len(golden)
    depths = [g["max_stack_depth"] for g in golden]
    assert found["sentences_by_stack_depth"] == {str(d): depths.count(d) for d in sorted(set(depths))}
    assert found["terminal_tags"] == dict(zip(TERMINAL_GLYPHS, np.bincount(terminal).tolist(), strict=True))
    assert found["nonterminal_tags"][NONTERMINAL_GLYPHS[0]] == len(golden)
    assert "lifted_arcs" not in found
    assert "sentences_whose_tags_spell_no_tree" not in found


@given(st.lists(st.sampled_from([[0], [2, 0], [0, 1, 1, 2], [2, 4, 4, 0, 7, 7, 2, 4, 4]]), max_size=6), st.data())
def test_lifted_arcs_are_found_by_heads_and_batches_do_not_matter(trees: list[list[int]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(trees)))
    lifted = sum(int(tag_trees(tree, [0, len(tree)], lift=True).lifted[0]) for tree in trees)
    whole, halves = HexatagTally(), HexatagTally()
    for tally, batches in ((whole, [trees]), (halves, [trees[:cut], trees[cut:]])):
        for batch in batches:
            heads = np.array([UNTAGGED, *(h for tree in batch for h in [*tree, -1])])  # a note between sentences
            offsets = np.cumsum([0, *map(len, batch)])
            tags = tag_trees(heads[heads >= 0], offsets, lift=True)
            terminal, nonterminal = np.full((2, len(heads)), UNTAGGED, np.int8)
            terminal[heads >= 0], nonterminal[heads >= 0] = tags.terminal, tags.nonterminal
            tally.add(terminal, nonterminal, heads)

    assert whole.to_dict() == halves.to_dict()
    assert whole.to_dict().get("lifted_arcs", 0) == lifted
    assert whole.to_dict().get("tagged_sentences", 0) == len(trees)


def test_tags_that_spell_no_tree_are_counted_as_such() -> None:
    terminal, nonterminal = encode([2, 0, 2])
    tally = HexatagTally()

    tally.add(np.append(terminal, 1), np.append(nonterminal, 0), np.array([2, 0, 2, 0]))

    assert tally.to_dict()["sentences_whose_tags_spell_no_tree"] == 1


@given(st.lists(st.sampled_from([[0], [2, 0], [2, 0, 2], [4, 4, 4, 0]]), min_size=1, max_size=6), st.data())
def test_a_row_ends_a_sentence_whose_eos_was_lost(trees: list[list[int]], data: st.DataObject) -> None:
    tags = [encode(tree) for tree in trees]
    terminal, nonterminal = (np.concatenate([pair[side] for pair in tags]) for side in (0, 1))
    rows = np.repeat(np.arange(len(trees)), [len(tree) for tree in trees])
    ends = np.cumsum([len(tree) for tree in trees]) - 1
    whole, cut = HexatagTally(), HexatagTally()
    whole.add(terminal, nonterminal)
    is_lost = np.array([data.draw(st.booleans()) and len(tree) > 1 for tree in trees])
    lost = ends[is_lost]
    cut.add(np.delete(terminal, lost), np.delete(nonterminal, lost), rows=np.delete(rows, lost))

    assert cut.to_dict()["tagged_sentences"] == len(trees)
    assert max(map(int, cut.to_dict()["sentences_by_stack_depth"])) <= max(
        map(int, whole.to_dict()["sentences_by_stack_depth"])
    )
