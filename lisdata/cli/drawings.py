"""`inspect` of sentences: arcs, words, hexatags and binary head tree, in the terminal or as SVG."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import click

from lisdata.cli.printing import print_rows
from lisdata.cli.terminal import say
from lisdata.drawing import (
    MAX_DRAWN_WORDS,
    Sentence,
    draw_binary_head_tree,
    draw_sentence,
    iter_sentences,
    svg_sentence,
)
from lisdata.drawing.display_width import cut_to_width
from lisdata.errors import LisDataError, TagError
from lisdata.printable import one_line
from lisdata.structure import Structure

NARROWEST = 24
WIDTH_ELSEWHERE = (120, 24)  # of output that goes to no terminal, unless COLUMNS says otherwise
MAX_CELL = 40


def print_drawings(structure: Structure) -> bool:
    """Draw the sentences of a structure that have a tree or tags; return whether there are any.

    One that is too long to be drawn is printed as a table, a word a row.
    """
    sentences = list(iter_sentences(structure))
    width = max(NARROWEST, shutil.get_terminal_size(fallback=WIDTH_ELSEWHERE).columns)
    if sentences:
        say(structure.record_id)
        click.echo()
    for sentence in sentences:
        if sentence.is_drawable:
            _print_drawing(sentence, width)
        else:
            say(f"{_describe_length(sentence)}; its words:")
            print_rows(("word", "form", "head", "deprel", "tags", "depth"), _word_rows(sentence))
        click.echo()
    return bool(sentences)


def _print_drawing(sentence: Sentence, width: int) -> None:
    click.echo(draw_sentence(sentence, width=width))
    if sentence.has_any_tag:
        with suppress(TagError):  # tags that spell no tree: the drawing has said so in a note
            click.echo("\n" + draw_binary_head_tree(sentence, width=width))


def _describe_length(sentence: Sentence) -> str:
    return f"a sentence of {len(sentence.words):,} words, too long to draw (at most {MAX_DRAWN_WORDS})"


def _word_rows(sentence: Sentence) -> list[tuple[str, ...]]:
    columns = zip(sentence.words, sentence.heads, sentence.deprels, sentence.stack_depths(), strict=True)
    return [
        (
            str(index + 1),
            cut_to_width(one_line(word), MAX_CELL),
            "" if head is None else str(head),
            cut_to_width(one_line(deprel or ""), MAX_CELL),
            sentence.tag_glyphs(index),
            str(depth),
        )
        for index, (word, head, deprel, depth) in enumerate(columns)
    ]


def write_svg(structures: list[Structure], path: Path) -> None:
    """Draw the first sentence that has a tree or tags and is short enough to an SVG file, and name those before it.

    Raises LisDataError where there is none.
    """
    sentences = ((structure, sentence) for structure in structures for sentence in iter_sentences(structure))
    found = "none"
    for structure, sentence in sentences:
        if sentence.is_drawable:
            path.write_text(svg_sentence(sentence), encoding="utf-8")
            say(f"drawing: {path}", err=True)
            return
        found = f"only such of over {MAX_DRAWN_WORDS} words"
        say(f"not drawn: {structure.record_id}: {_describe_length(sentence)}", err=True)
    raise LisDataError(f"{path}: expected a tree to draw among the {len(structures)} records shown, found {found}")
