"""Sentences that the tests of drawings share: the papers' own, and any that hypothesis can think of."""

from __future__ import annotations

from hypothesis import strategies as st

from lisdata.drawing import Sentence
from lisdata.hexatag import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS


def make_sentence(words: str, heads: str, deprels: str, tags: str) -> Sentence:
    """Return a sentence from columns as people write them; tags as ↗⇗R."""
    glyphs = tags.split()
    return Sentence(
        words=tuple(words.split()),
        heads=tuple(map(int, heads.split())),
        deprels=tuple(deprels.split()),
        terminal=tuple(TERMINAL_GLYPHS.index(pair[0]) for pair in glyphs),
        nonterminal=tuple(NONTERMINAL_GLYPHS.index(pair[1:]) for pair in glyphs),
    )


PAPER_SENTENCES = {
    "she_reads_interesting_books": make_sentence(
        "She reads interesting books", "2 0 4 2", "nsubj root amod obj", "↗⇗R ↖⇗L ↗⇖R ↖EOS"
    ),
    "this_is_a_test": make_sentence("this is a test", "4 4 4 0", "nsubj cop det root", "↗⇗R ↗⇖R ↗⇖R ↖EOS"),
    "a_hearing_is_scheduled": make_sentence(
        "A hearing is scheduled on the issue today .",
        "2 4 4 0 7 7 2 4 4",
        "det nsubj:pass aux:pass root case det nmod obl:tmod punct",
        "↗⇗R ↖⇗R ↗⇖R ↖⇗L ↗⇖R ↗⇖R ↖⇗L ↖⇗L ↖EOS",
    ),
}
LIFTED = PAPER_SENTENCES["a_hearing_is_scheduled"]


def untagged(words: list[str], heads: list[int | None], deprels: list[str] | None = None) -> Sentence:
    """Return a sentence with a tree and no tags; deprels are d01, d02 ... unless given."""
    absent = (None,) * len(words)
    names = deprels if deprels is not None else [f"d{number:02}" for number in range(1, len(words) + 1)]
    return Sentence(words=tuple(words), heads=tuple(heads), deprels=tuple(names), terminal=absent, nonterminal=absent)


@st.composite
def trees(draw: st.DrawFn, max_words: int = 14) -> list[int]:
    """Any tree with one root: words are attached in some order to one that is there already."""
    number = draw(st.integers(1, max_words))
    order = draw(st.permutations(range(1, number + 1)))
    heads = [0] * number
    for place in range(1, number):
        heads[order[place] - 1] = order[draw(st.integers(0, place - 1))]
    return heads


HOSTILE = "<script>]]>&\"'\x00\x07\t\n\x1b\x7f\x9f\ud800\udfff\u202e\u200d\u00ad\ufffe\uffff\u0301漢ㅏ😀(ab "


@st.composite
def sentences(draw: st.DrawFn, max_words: int = 8) -> Sentence:
    """Anything that can be asked to be drawn: hostile words, heads that point nowhere, tags of no tree."""
    number = draw(st.integers(0, max_words))

    def each(strategy: st.SearchStrategy[object]) -> tuple[object, ...]:
        return tuple(draw(st.lists(strategy, min_size=number, max_size=number)))

    text = st.text(HOSTILE, max_size=40)
    return Sentence(
        words=each(text),
        heads=each(st.none() | st.integers(-1, number + 1)),
        deprels=each(st.none() | st.text(HOSTILE, max_size=8)),
        terminal=each(st.integers(0, 1)) if draw(st.booleans()) else each(st.none() | st.integers(0, 1)),
        nonterminal=each(st.none() | st.integers(0, 4)),
    )
