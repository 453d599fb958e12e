"""Plain twins of the hexatag kernels, for one sentence: slow, short and obviously right; tests compare with them."""

from __future__ import annotations

from collections.abc import Sequence

from lisdata.kernels.tree_faults import TreeFault

Tags = tuple[list[int], list[int]]


def find_fault(heads: Sequence[int]) -> TreeFault:
    """Return what is wrong with heads by the definition of each fault."""
    num_words = len(heads)
    words = range(1, num_words + 1)
    if not heads:
        return TreeFault.EMPTY
    if not all(0 <= head <= num_words for head in heads):
        return TreeFault.OUT_OF_RANGE
    if any(heads[word - 1] == word for word in words):
        return TreeFault.SELF_LOOP
    if list(heads).count(0) != 1:
        return TreeFault.SEVERAL_ROOTS if 0 in heads else TreeFault.NO_ROOT
    if not all(is_below(heads, word, 0) for word in words):
        return TreeFault.CYCLE
    return TreeFault.NON_PROJECTIVE if any(crosses(heads, word) for word in words) else TreeFault.NONE


def is_below(heads: Sequence[int], word: int, head: int) -> bool:
    """Tell whether `head` (0: the artificial root) dominates `word`."""
    for _ in heads:
        if word in (0, head):
            break
        word = heads[word - 1]
    return word == head


def crosses(heads: Sequence[int], word: int) -> bool:
    """Tell whether the arc to `word` passes over a word that its head does not dominate."""
    head = heads[word - 1]
    return not all(is_below(heads, other, head) for other in range(min(word, head) + 1, max(word, head)))


def encode(heads: Sequence[int]) -> Tags:
    """Return the tags of a projective tree in closed form; other heads give tags too, or an IndexError."""
    num_words = len(heads)
    low, high = list(range(num_words + 1)), list(range(num_words + 1))
    for word in range(1, num_words + 1):
        if 0 < heads[word - 1] < word:
            high[heads[word - 1]] = word
    for word in range(num_words, 0, -1):
        if heads[word - 1] > word:
            low[heads[word - 1]] = word
    nearest, farthest = low.copy(), high.copy()
    for word in range(1, num_words + 1):
        low[word] = low[low[word]]
    for word in range(num_words, 0, -1):
        high[word] = high[high[word]]
    terminal, nonterminal = [0] * num_words, [0] * num_words
    for word, head in enumerate(heads, 1):
        is_right = 0 < head < word
        terminal[word - 1] = int(nearest[word] < word or (farthest[word] == word and is_right))
        if head == 0:
            continue
        is_head_right = 0 < heads[head - 1] < head
        if word < head:
            to_right = word != nearest[head] or (farthest[head] == head and is_head_right)
            nonterminal[high[word] - 1] = 4 if to_right else 2
        else:
            to_right = word == farthest[head] and is_head_right
            nonterminal[low[word] - 2] = 3 if to_right else 1
    nonterminal[-1] = 0
    return terminal, nonterminal


def decode(terminal: Sequence[int], nonterminal: Sequence[int]) -> list[int] | None:
    """Return the heads of tags, None where they are not valid: a stack of trees that wait for a right child."""
    heads = [0] * len(terminal)
    pending: list[tuple[int, bool]] = []  # head of a left child, and whether its node's head is on the right
    begins: list[int] = []  # where in `pending` each partial tree begins
    top = 0
    for word, (leaf, node) in enumerate(zip(terminal, nonterminal, strict=True), 1):
        if leaf not in (0, 1) or node not in range(5) or (node == 0) != (word == len(heads)):
            return None
        top = word
        if leaf == 1:
            if not begins:
                return None
            begin = begins.pop()
            while len(pending) > begin:
                other, is_head_right = pending.pop()
                dependent, top = (other, top) if is_head_right else (top, other)
                heads[dependent - 1] = top
        if node in (1, 2):
            begins.append(len(pending))
        elif node in (3, 4) and not begins:
            return None
        if node:
            pending.append((top, node in (2, 4)))
    return heads if heads and not begins else None


def lift(heads: Sequence[int]) -> list[int]:
    """Return the heads after lifting, arc by arc, the shortest that crosses, the leftmost dependent among equals."""
    lifted = list(heads)
    while True:
        arcs = [(abs(lifted[word - 1] - word), word) for word in range(1, len(lifted) + 1) if crosses(lifted, word)]
        if not arcs:
            return lifted
        word = min(arcs)[1]
        lifted[word - 1] = lifted[lifted[word - 1] - 1]


def best_tags(terminals: Sequence[Sequence[float]], nonterminals: Sequence[Sequence[float]], limit: int) -> Tags:
    """Return the valid tags of highest score with at most `limit` open trees, by the best way to each depth."""
    ways: dict[int, tuple[float, Tags]] = {0: (0.0, ([], []))}
    for word, (leaf_scores, node_scores) in enumerate(zip(terminals, nonterminals, strict=True), 1):
        is_last = word == len(terminals)
        after: dict[int, tuple[float, Tags]] = {}
        for before, (score, (leaves, nodes)) in ways.items():
            for leaf in (0, 1):
                for node in [0] if is_last else [1, 2, 3, 4]:
                    high, depth = before + (leaf == 0), before + (leaf == 0) - (node > 2)
                    total = score + leaf_scores[leaf] + (0.0 if is_last else node_scores[node])
                    if 1 <= high <= limit and depth >= 1 and (depth not in after or total > after[depth][0]):
                        after[depth] = total, ([*leaves, leaf], [*nodes, node])
        ways = after
    return ways[1][1]
