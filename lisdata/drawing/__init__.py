"""Sentences drawn for people: dependency arcs, hexatags and the binary head tree, in a terminal and as SVG."""

from lisdata.drawing.head_tree import to_bracket_string
from lisdata.drawing.head_tree_text import draw_binary_head_tree
from lisdata.drawing.sentence import MAX_DRAWN_WORDS, Sentence, iter_sentences
from lisdata.drawing.svg import svg_sentence
from lisdata.drawing.text import draw_sentence

__all__ = [
    "MAX_DRAWN_WORDS",
    "Sentence",
    "draw_binary_head_tree",
    "draw_sentence",
    "iter_sentences",
    "svg_sentence",
    "to_bracket_string",
]
