"""Faults of trees and of tags, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lisdata.hexatag.arrays import Integers
from lisdata.hexatag.dependents import dependents_of, top_down
from lisdata.hexatag.glyphs import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS
from lisdata.kernels.tree_faults import TreeFault

__all__ = ["TreeFault", "describe_fault", "describe_tag_fault"]

_MAX_NAMED = 5
_MAX_SHOWN_BITS = 256


def describe_fault(fault: int | np.integer[Any], heads: Integers) -> str:
    """Say which words have the `fault` (a member of TreeFault) that was found in the heads of a sentence."""
    numbers = [int(head) for head in heads]
    num_words = len(numbers)
    match TreeFault(int(fault)):
        case TreeFault.EMPTY:
            return "a sentence without words"
        case TreeFault.OUT_OF_RANGE:
            word = next(word for word, head in enumerate(numbers, 1) if not 0 <= head <= num_words)
            return describe_far_head(word, shown_number(numbers[word - 1]), num_words)
        case TreeFault.SELF_LOOP:
            return f"word {next(word for word, head in enumerate(numbers, 1) if word == head)} is its own head"
        case TreeFault.NO_ROOT:
            return "no word is the root: none has head 0"
        case TreeFault.SEVERAL_ROOTS:
            roots = [word for word, head in enumerate(numbers, 1) if head == 0]
            return f"words {_listed(roots)} are {'both' if len(roots) == 2 else 'all'} roots"
        case TreeFault.CYCLE:
            return f"words {_listed(_cycle(numbers))} go round in a cycle"
        case TreeFault.NON_PROJECTIVE:
            head, dependent, crossed = _crossing(numbers)
            return f"the arc from {head} to {dependent} crosses word {crossed}"
        case TreeFault.NONE:
            return "a projective tree"


def describe_far_head(word: int, head: str, num_words: int) -> str:
    """Say that the head of a word, as it was written, is no word of its sentence."""
    return f"word {word} has head {head} in a sentence of {count_of_words(num_words)}"


def describe_tag_fault(terminal: Sequence[int], nonterminal: Sequence[int]) -> str:
    """Say what is wrong with tags of one sentence that cannot be decoded."""
    if not len(terminal):
        return "a sentence without words"
    depth = 0
    for word, (leaf, node) in enumerate(zip(terminal, nonterminal, strict=True), 1):
        is_last = word == len(terminal)
        if not 0 <= leaf < len(TERMINAL_GLYPHS):
            return f"word {word} has terminal tag {shown_number(leaf)}, which is none of 0 and 1"
        if leaf == 1 and depth == 0:
            return f"word {word} is tagged {TERMINAL_GLYPHS[leaf]}, but no partial tree waits for a right child"
        depth += leaf == 0
        if not 0 <= node < len(NONTERMINAL_GLYPHS):
            return f"word {word} has nonterminal tag {shown_number(node)}, which is none of 0 to 4"
        if is_last != (node == 0):
            place = "the last word" if is_last else f"word {word} of {len(terminal)}"
            return f"{place} is tagged {NONTERMINAL_GLYPHS[node]}; EOS belongs to the last word alone"
        depth -= node >= 3
        if depth == 0:
            return f"word {word} is tagged {NONTERMINAL_GLYPHS[node]}, but no partial tree waits for a right child"
    return f"{depth - 1} partial {'tree waits' if depth == 2 else 'trees wait'} for a right child after the last word"


def count_of_words(num_words: int) -> str:
    """Return "1 word", "2 words" ..."""
    return "1 word" if num_words == 1 else f"{num_words} words"


def shown_number(number: int) -> str:
    """Return the digits of a number, or how many bits it has where these would not fit a line."""
    bits = int(number).bit_length()
    return str(number) if bits <= _MAX_SHOWN_BITS else f"a number of {bits} bits"


def _listed(words: Sequence[int]) -> str:
    named = [str(word) for word in words[:_MAX_NAMED]]
    if len(words) > _MAX_NAMED:
        return f"{', '.join(named)} and {len(words) - _MAX_NAMED} more"
    return f"{', '.join(named[:-1])} and {named[-1]}"


def _cycle(heads: Sequence[int]) -> list[int]:
    """Return the words of a cycle, in order of their numbers."""
    seen = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        word = start
        while word and not seen[word]:
            seen[word] = start
            word = heads[word - 1]
        if word and seen[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return sorted(cycle)
    raise ValueError("the heads have no cycle")


def _crossing(heads: Sequence[int]) -> tuple[int, int, int]:
    """Return (head, dependent, crossed word) of an arc of a tree that is not projective."""
    dependents = dependents_of(heads)
    low, high, size = list(range(len(heads) + 1)), list(range(len(heads) + 1)), [1] * (len(heads) + 1)
    for word in reversed(top_down(dependents)):
        for dependent in dependents[word]:
            low[word], high[word] = min(low[word], low[dependent]), max(high[word], high[dependent])
            size[word] += size[dependent]
        if high[word] - low[word] + 1 == size[word]:
            continue
        # The word's subtree has a gap, those of its dependents have none: an arc to one of these passes over the gap.
        before = [d for d in reversed(dependents[word]) if d < word]
        after = [d for d in dependents[word] if d > word]
        for side, near, far, step in ((before, high, low, -1), (after, low, high, 1)):
            expected = word + step
            for dependent in side:
                if near[dependent] != expected:
                    return word, dependent, expected
                expected = far[dependent] + step
    raise ValueError("the heads are a projective tree")
