"""`inspect` of sentences: arcs, words, hexatags and binary head tree, in the terminal or as SVG."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import click

from lisdata.drawing import draw_binary_head_tree, draw_sentence, iter_sentences, svg_sentence
from lisdata.errors import LisDataError, TagError
from lisdata.structure import Structure

NARROWEST = 24
WIDTH_ELSEWHERE = (120, 24)  # of output that goes to no terminal, unless COLUMNS says otherwise


def print_drawings(structure: Structure) -> bool:
    """Draw the sentences of a structure that have a tree or tags; return whether there are any."""
    sentences = list(iter_sentences(structure))
    width = max(NARROWEST, shutil.get_terminal_size(fallback=WIDTH_ELSEWHERE).columns)
    if sentences:
        click.echo(f"{structure.record_id}\n")
    for sentence in sentences:
        click.echo(draw_sentence(sentence, width=width))
        if sentence.has_any_tag:
            with suppress(TagError):  # tags that spell no tree: the drawing has said so in a note
                click.echo("\n" + draw_binary_head_tree(sentence, width=width))
        click.echo()
    return bool(sentences)


def write_svg(structures: list[Structure], path: Path) -> None:
    """Draw the first sentence that has a tree or tags to an SVG file; raise LisDataError where there is none."""
    sentence = next((sentence for structure in structures for sentence in iter_sentences(structure)), None)
    if sentence is None:
        raise LisDataError(f"{path}: none of the {len(structures)} records shown has a dependency tree to draw")
    path.write_text(svg_sentence(sentence), encoding="utf-8")
    click.echo(f"drawing: {path}", err=True)
