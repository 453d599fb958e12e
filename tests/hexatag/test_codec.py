"""Heads to tags and back: the reference's own tags, all small trees and tags, and whatever is wrong with either."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trees import all_heads, flatten, trees

from lisdata.errors import TagError, TreeError
from lisdata.hexatag import (
    NONTERMINAL_GLYPHS,
    TERMINAL_GLYPHS,
    TreeFault,
    binary_head_tree,
    canonicalise,
    decode,
    decode_batch,
    describe_fault,
    encode,
    encode_batch,
    tag_trees,
)
from lisdata.kernels import plain_hexatags as plain
from lisdata.kernels.hexatag_decode import decode_sentences

NUM_PROJECTIVE = {1: 1, 2: 2, 3: 7, 4: 30, 5: 143, 6: 728}
NUM_VALID = {1: 1, 2: 2, 3: 8, 4: 40, 5: 224}
NUM_SINGLE_ROOT = {1: 1, 2: 2, 3: 9, 4: 64, 5: 625, 6: 7776}
LENGTH = 100_000


def read_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def glyphs(terminal: Any, nonterminal: Any) -> str:
    pairs = zip(terminal, nonterminal, strict=True)
    return " ".join(TERMINAL_GLYPHS[leaf] + NONTERMINAL_GLYPHS[node] for leaf, node in pairs)


def lists(tags: tuple[Any, Any]) -> tuple[list[int], list[int]]:
    return tags[0].tolist(), tags[1].tolist()


def all_tags(num_words: int) -> tuple[Any, Any]:
    """Return every pair of terminal and nonterminal tag at every word, right or wrong, a row a sequence."""
    pairs = np.array(list(itertools.product(range(10), repeat=num_words)), np.int8)
    return pairs // 5, pairs % 5


def is_valid_by_depth(terminal: list[int], nonterminal: list[int]) -> bool:
    depth, lowest = 0, 1
    for leaf, node in zip(terminal, nonterminal, strict=True):
        depth += leaf == 0
        lowest = min(lowest, depth)
        depth -= node >= 3
        lowest = min(lowest, depth)
    has_eos = nonterminal[-1] == 0 and 0 not in nonterminal[:-1]
    return lowest >= 1 and depth == 1 and has_eos


def test_the_reference_s_own_tags_come_out(shared: Path) -> None:
    records = read_records(shared / "data" / "hexatag" / "golden_open.jsonl")

    assert len(records) == 110
    for record in records:
        terminal, nonterminal = encode(record["heads"])
        assert terminal.tolist() == record["terminal_id"], record["id"]
        assert nonterminal.tolist() == record["nonterminal_id"], record["id"]
        written = [a + b for a, b in zip(record["terminal"], record["nonterminal"], strict=True)]
        assert glyphs(terminal, nonterminal) == " ".join(written)
        assert decode(terminal, nonterminal).tolist() == record["heads"]
        assert str(binary_head_tree(record["heads"])) == record["bht_positions"]


def test_the_reference_s_own_trees_come_back_and_what_it_refuses_is_refused(shared: Path) -> None:
    for record in read_records(shared / "data" / "hexatag" / "golden_decode_open.jsonl"):
        terminal = [TERMINAL_GLYPHS.index(glyph) for glyph in record["terminal"]]
        nonterminal = [NONTERMINAL_GLYPHS.index(glyph) for glyph in record["nonterminal"]]
        if record["valid"]:
            assert decode(terminal, nonterminal).tolist() == record["heads"]
            is_canonical = lists(canonicalise(terminal, nonterminal)) == (terminal, nonterminal)
            assert is_canonical == record["canonical"]
        else:
            with pytest.raises(TagError):
                decode(terminal, nonterminal)


@pytest.mark.parametrize(
    ("heads", "tags"),
    [
        ([0], "↗EOS"),
        ([0, 1], "↗⇗L ↖EOS"),
        ([2, 0], "↗⇗R ↖EOS"),
        ([0, 1, 2], "↗⇗L ↗⇖L ↖EOS"),
        ([0, 1, 1], "↗⇗L ↖⇗L ↖EOS"),
        ([2, 3, 0], "↗⇗R ↖⇗R ↖EOS"),
        ([2, 0, 4, 2], "↗⇗R ↖⇗L ↗⇖R ↖EOS"),
        ([4, 4, 4, 0], "↗⇗R ↗⇖R ↗⇖R ↖EOS"),
        ([2, 0, 5, 5, 2, 8, 8, 2, 2], "↗⇗R ↖⇗L ↗⇖R ↗⇖R ↖⇗L ↗⇖R ↗⇖R ↖⇗L ↖EOS"),
        ([2, 9, 5, 5, 2, 9, 9, 9, 0, 9], "↗⇗R ↖⇗L ↗⇖R ↗⇖R ↖⇗R ↗⇖R ↗⇖R ↗⇖R ↖⇗L ↖EOS"),
    ],
)
def test_worked_examples(heads: list[int], tags: str) -> None:
    assert glyphs(*encode(heads)) == tags


def test_left_dependents_are_taken_before_right_ones() -> None:
    tree = binary_head_tree([2, 0, 2], ["Dogs", "chase", "cats"])

    assert glyphs(*encode([2, 0, 2])) == "↗⇗R ↖⇗L ↖EOS"
    assert str(tree) == "(L (R Dogs chase) cats)"
    # The tags of (R Dogs (L chase cats)), which a wrong order would give, decode to the same heads.
    assert decode([0, 0, 1], [2, 3, 0]).tolist() == [2, 0, 2]
    assert glyphs(*canonicalise([0, 0, 1], [2, 3, 0])) == "↗⇗R ↖⇗L ↖EOS"


@pytest.mark.parametrize("num_words", NUM_SINGLE_ROOT)
def test_all_heads_of_up_to_six_words_are_told_apart_and_all_trees_come_back(num_words: int) -> None:
    heads = all_heads(num_words)
    offsets = np.arange(0, heads.size + 1, num_words)

    tagged = tag_trees(heads.ravel(), offsets, lift=False)

    faults = tagged.fault.tolist()
    assert faults == [plain.find_fault(row) for row in heads.tolist()]
    assert faults.count(TreeFault.NONE) == NUM_PROJECTIVE[num_words]
    assert faults.count(TreeFault.NONE) + faults.count(TreeFault.NON_PROJECTIVE) == NUM_SINGLE_ROOT[num_words]
    is_good = tagged.fault == TreeFault.NONE
    terminal, nonterminal = (tags.reshape(heads.shape) for tags in (tagged.terminal, tagged.nonterminal))
    assert (terminal[~is_good] == -100).all()
    assert (nonterminal[~is_good] == -100).all()
    sequences = list(zip(terminal[is_good].tolist(), nonterminal[is_good].tolist(), strict=True))
    assert sequences == [plain.encode(row) for row in heads[is_good].tolist()]
    assert len({str(sequence) for sequence in sequences}) == len(sequences)
    decoded = decode_batch(terminal[is_good].ravel(), nonterminal[is_good].ravel(), offsets[: len(sequences) + 1])
    assert decoded.tolist() == heads[is_good].ravel().tolist()


@pytest.mark.parametrize("num_words", NUM_VALID)
def test_tags_are_decoded_if_and_only_if_the_depth_rule_holds(num_words: int) -> None:
    terminal, nonterminal = all_tags(num_words)

    heads, is_wrong = decode_sentences(
        terminal.ravel(), nonterminal.ravel(), np.arange(0, terminal.size + 1, num_words)
    )

    sequences = list(zip(terminal.tolist(), nonterminal.tolist(), strict=True))
    assert (~is_wrong).tolist() == [is_valid_by_depth(*sequence) for sequence in sequences]
    assert np.count_nonzero(~is_wrong) == NUM_VALID[num_words]
    rows = heads.reshape(terminal.shape)
    assert (rows[is_wrong] == -1).all()
    good = np.flatnonzero(~is_wrong)
    assert rows[good].tolist() == [plain.decode(*sequences[row]) for row in good]


@pytest.mark.parametrize("num_words", [1, 2, 3, 4])
def test_no_wrong_tags_give_a_tree(num_words: int) -> None:
    for terminal, nonterminal in zip(*(tags.tolist() for tags in all_tags(num_words)), strict=True):
        if is_valid_by_depth(terminal, nonterminal):
            assert plain.find_fault(decode(terminal, nonterminal).tolist()) == TreeFault.NONE
        else:
            with pytest.raises(TagError):
                decode(terminal, nonterminal)


@pytest.mark.parametrize(("num_words", "num_others"), [(1, 0), (2, 0), (3, 1), (4, 10), (5, 81)])
def test_every_valid_sequence_has_one_canonical_form(num_words: int, num_others: int) -> None:
    terminal, nonterminal = all_tags(num_words)
    rows = zip(terminal.tolist(), nonterminal.tolist(), strict=True)
    valid = [sequence for sequence in rows if is_valid_by_depth(*sequence)]

    canonical = [lists(canonicalise(*sequence)) for sequence in valid]

    assert sum(a != b for a, b in zip(valid, canonical, strict=True)) == num_others
    assert [decode(*tags).tolist() for tags in canonical] == [decode(*tags).tolist() for tags in valid]
    assert [lists(canonicalise(*tags)) for tags in canonical] == canonical


def test_a_batch_is_made_canonical_sentence_by_sentence() -> None:
    terminal, nonterminal = [0, 0, 1, 0, 1], [2, 3, 0, 1, 0]

    assert lists(canonicalise(terminal, nonterminal, [0, 3, 5])) == ([0, 1, 1, 0, 1], [2, 1, 0, 1, 0])


@given(heads=trees(25))
@settings(deadline=None, max_examples=100)
def test_any_lifted_tree_comes_back_and_its_beginnings_do_not(heads: list[int]) -> None:
    projective = plain.lift(heads)

    terminal, nonterminal = encode(projective)

    assert (terminal.tolist(), nonterminal.tolist()) == plain.encode(projective)
    assert decode(terminal, nonterminal).tolist() == projective
    for length in range(1, len(heads)):
        with pytest.raises(TagError):
            decode(terminal[:length], nonterminal[:length])


HEADS = st.one_of(
    trees(8),
    trees(8).map(plain.lift),
    st.lists(st.integers(-2, 7), max_size=6),
    st.sampled_from([[], [0, 1, 1, 2], [3, 4, 4, 0], [2, 1], [2, 3, 1, 0]]),
)


@given(sentences=st.lists(HEADS, min_size=1, max_size=8), lift=st.booleans(), before=st.integers(0, 3))
@settings(deadline=None, max_examples=300)
def test_a_wrong_sentence_never_touches_its_neighbours(sentences: list[list[int]], lift: bool, before: int) -> None:
    flat, offsets = flatten([[7] * before, *sentences, [9, 9]])
    offsets = offsets[1:-1]

    tagged = tag_trees(flat, offsets, lift=lift)

    assert tagged.terminal[:before].tolist() == [-100] * before
    assert tagged.nonterminal[-2:].tolist() == [-100, -100]
    for row, heads in enumerate(sentences):
        begin, end = offsets[row], offsets[row + 1]
        fault = plain.find_fault(heads)
        projective = plain.lift(heads) if fault == TreeFault.NON_PROJECTIVE and lift else heads
        is_good = fault == TreeFault.NONE or (fault == TreeFault.NON_PROJECTIVE and lift)
        untagged = [-100] * len(heads)
        expected = plain.encode(projective) if is_good else (untagged, untagged)
        assert tagged.fault[row] == (TreeFault.NONE if is_good else fault)
        assert (tagged.terminal[begin:end].tolist(), tagged.nonterminal[begin:end].tolist()) == expected
        assert tagged.lifted[row] == sum(a != b for a, b in zip(projective, heads, strict=True))


@given(
    sentences=st.lists(trees(8).map(plain.lift).map(plain.encode), min_size=1, max_size=6),
    noise=st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 7), st.booleans()), max_size=3),
)
@settings(deadline=None, max_examples=200)
def test_wrong_tags_never_touch_their_neighbours(
    sentences: list[tuple[list[int], list[int]]], noise: list[tuple[int, int, bool]]
) -> None:
    terminal, offsets = flatten([leaves for leaves, _ in sentences])
    nonterminal, _ = flatten([nodes for _, nodes in sentences])
    for place, value, is_leaf in noise:
        (terminal if is_leaf else nonterminal)[place % len(terminal)] = value

    heads, is_wrong = decode_sentences(terminal.astype(np.int8), nonterminal.astype(np.int8), offsets)

    for row in range(len(sentences)):
        words = slice(offsets[row], offsets[row + 1])
        expected = plain.decode(terminal[words].tolist(), nonterminal[words].tolist())
        assert is_wrong[row] == (expected is None)
        assert heads[words].tolist() == (expected or [-1] * len(heads[words]))


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([], "a sentence without words"),
        ([2, 0, 9, 2], "word 3 has head 9 in a sentence of 4 words"),
        ([-1], "word 1 has head -1 in a sentence of 1 word"),
        ([2**32], "word 1 has head 4294967296 in a sentence of 1 word"),
        ([2**63, 0], "word 1 has head 9223372036854775808 in a sentence of 2 words"),
        ([0, -(2**70)], "word 2 has head -1180591620717411303424 in a sentence of 2 words"),
        ([0, 10**5000], "word 2 has head a number of 16610 bits in a sentence of 2 words"),
        ([0, 2, 1], "word 2 is its own head"),
        ([2, 1], "no word is the root: none has head 0"),
        ([3, 0, 2, 3, 0], "words 2 and 5 are both roots"),
        ([0] * 8, "words 1, 2, 3, 4, 5 and 3 more are all roots"),
        ([0, 3, 4, 2], "words 2, 3 and 4 go round in a cycle"),
        ([0, 1, 1, 2], "the arc from 2 to 4 crosses word 3"),
        ([3, 4, 4, 0], "the arc from 3 to 1 crosses word 2"),
        ([2, 4, 4, 0, 7, 7, 2, 4, 4], "the arc from 2 to 7 crosses word 3"),
    ],
)
def test_heads_that_are_no_projective_tree_are_refused_by_name(heads: list[int], message: str) -> None:
    with pytest.raises(TreeError) as caught:
        encode(heads)
    assert str(caught.value) == message

    batch = [0, 1, 0, *heads]
    with pytest.raises(TreeError) as caught:
        encode_batch(batch, [0, 2, 3, len(batch)])
    assert str(caught.value) == f"sentence 2 (counted from 0): {message}"


@pytest.mark.parametrize(
    ("terminal", "nonterminal", "message"),
    [
        ([], [], "a sentence without words"),
        ([1], [0], "word 1 is tagged ↖, but no partial tree waits for a right child"),
        ([0, 0, 1], [1, 0, 0], "word 2 of 3 is tagged EOS; EOS belongs to the last word alone"),
        ([0, 1], [1, 2], "the last word is tagged ⇗R; EOS belongs to the last word alone"),
        ([0, 1], [3, 0], "word 1 is tagged ⇖L, but no partial tree waits for a right child"),
        ([0, 0], [1, 0], "1 partial tree waits for a right child after the last word"),
        ([0, 0, 0], [1, 1, 0], "2 partial trees wait for a right child after the last word"),
        ([0, 256], [1, 0], "word 2 has terminal tag 256, which is none of 0 and 1"),
        ([2**70, 1], [1, 0], "word 1 has terminal tag 1180591620717411303424, which is none of 0 and 1"),
        ([0, 1], [-100, 0], "word 1 has nonterminal tag -100, which is none of 0 to 4"),
    ],
)
def test_tags_that_stand_for_no_tree_are_refused_by_name(
    terminal: list[int], nonterminal: list[int], message: str
) -> None:
    with pytest.raises(TagError) as caught:
        decode(terminal, nonterminal)
    assert str(caught.value) == message

    with pytest.raises(TagError) as caught:
        decode_batch([0, 0, 1, *terminal], [0, 1, 0, *nonterminal], [0, 1, 3, 3 + len(terminal)])
    assert str(caught.value) == f"sentence 2 (counted from 0): {message}"


@pytest.mark.parametrize(
    "heads",
    [
        np.arange(LENGTH),
        np.append(np.arange(2, LENGTH + 1), 0),
        np.append(0, np.ones(LENGTH - 1, int)),
        np.append(np.full(LENGTH - 1, LENGTH), 0),
    ],
    ids=["right chain", "left chain", "flat right", "flat left"],
)
def test_a_hundred_thousand_words_need_no_recursion(heads: Any) -> None:
    tags = encode(heads)

    assert decode(*tags).tolist() == heads.tolist()
    assert tag_trees(heads, [0, LENGTH], lift=True).lifted.tolist() == [0]


@pytest.mark.parametrize("heads", [[*range(20_000)], [*range(2, 20_001), 0]], ids=["right chain", "left chain"])
def test_a_deep_tree_is_built_and_written_without_recursion(heads: list[int]) -> None:
    assert str(binary_head_tree(heads)).count("(") == len(heads) - 1


def test_a_long_wrong_sentence_is_refused_by_name() -> None:
    words = list(range(1, LENGTH + 1))

    with pytest.raises(TreeError, match=f"the arc from 2 to {LENGTH} crosses word 3"):
        encode([0, *[1] * (LENGTH - 2), 2])
    with pytest.raises(TreeError, match=f"words 2, 3, 4, 5, 6 and {LENGTH - 6} more go round in a cycle"):
        encode([0, *words[2:], 2])


def test_buffers_of_arrow_lists_go_in_as_they_are_slices_too() -> None:
    sentences = [[0], [2, 0, 2], [0, 1], [2, 0]]
    for type_ in (pa.list_(pa.int32()), pa.large_list(pa.int32())):
        rows = pa.array(sentences, type_).slice(1, 2)
        heads, offsets = np.asarray(rows.values), np.asarray(rows.offsets)

        terminal, nonterminal = encode_batch(heads, offsets)

        assert not heads.flags.writeable
        assert terminal.tolist() == [-100, 0, 1, 1, 0, 1, -100, -100]
        assert decode_batch(terminal, nonterminal, offsets).tolist() == [-1, 2, 0, 2, 0, 1, -1, -1]


def test_no_sentences_give_no_tags() -> None:
    terminal, nonterminal = encode_batch([], [0])

    assert (len(terminal), len(nonterminal), len(decode_batch(terminal, nonterminal, [0]))) == (0, 0, 0)


@pytest.mark.parametrize(
    ("heads", "offsets", "message"),
    [
        ([0.0, 1.0], [0, 2], "heads: expected integers in one dimension, found float64 of shape"),
        ([[0], [0]], [0, 2], "heads: expected integers in one dimension, found int64 of shape"),
        ([0, 1], [], "offsets: expected one more than sentences"),
        ([0, 1], [-1, 2], "offsets: expected one more than sentences"),
        ([0, 1], [0, 3], "offsets: expected one more than sentences, ascending, all from 0 to 2"),
        (["1", "0"], [0, 2], "heads: expected integers in one dimension, found <U1 of shape"),
        ([0, None], [0, 2], "heads: expected integers in one dimension, found object of shape"),
        ([True, False], [0, 2], "heads: expected integers in one dimension, found bool of shape"),
        ([0, 1], [0, 2**70], "offsets: expected one more than sentences, ascending, all from 0 to 2"),
        ([0, 1], [0, 2, 1, 2], "offsets: expected one more than sentences"),
    ],
)
def test_arguments_that_are_no_batch_are_refused(heads: Any, offsets: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_batch(heads, offsets)


@given(heads=st.lists(st.integers() | st.sampled_from([2**31, 2**63, 2**64, -(2**63) - 1]), max_size=5))
def test_any_whole_numbers_are_heads_of_a_tree_or_a_tree_error(heads: list[int]) -> None:
    fault = plain.find_fault(heads)
    for given_heads in (heads, np.array(heads, object)):
        if fault == TreeFault.NONE:
            assert decode(*encode(given_heads)).tolist() == heads
        else:
            with pytest.raises(TreeError, match=f"^{re.escape(describe_fault(fault, heads))}$"):
                encode(given_heads)


def test_as_many_tags_of_each_kind_are_needed() -> None:
    with pytest.raises(ValueError, match="expected as many tags of each kind, found 2 and 1"):
        decode([0, 1], [0])


def test_a_form_a_word_is_needed_to_draw_a_tree() -> None:
    with pytest.raises(ValueError, match="expected a head a word, found 2 heads and 1 words"):
        binary_head_tree([0, 1], ["one"])


def test_numba_is_not_imported_before_a_kernel_is_needed() -> None:
    check = "import sys, lisdata.hexatag; assert 'numba' not in sys.modules"

    subprocess.run([sys.executable, "-c", check], check=True)
