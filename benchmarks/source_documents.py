"""Inputs that are trees and documents: generated ones, and the code of Python's standard library."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from source_draws import Draws

_TAGS = ("NN", "VB", "JJ", "DT", "IN", "PRP")
_UPOS = ("NOUN", "VERB", "ADJ", "DET", "ADP", "PRON")
_DEPRELS = ("nsubj", "obj", "det", "amod", "case", "nmod", "advmod", "obl:in")


def html(draws: Draws) -> Iterator[bytes]:
    """Yield pages of about 74 KB, as an encyclopedia has them."""
    while True:
        parts = [f"<!DOCTYPE html><html lang=en><head><title>{draws.words(3)}</title><meta charset=utf-8></head><body>"]
        for _ in range(12):
            parts.append(f'<h2 id="{draws.word()}">{draws.words(3)}</h2>')
            parts.extend(_paragraph(draws) for _ in range(10))
            cells = "".join(
                f'<tr class=row><td>{draws.words(2)}</td><td data-n="{draws.number()}">{draws.decimal()}</td></tr>'
                for _ in range(4)
            )
            parts.append(f"<table class='infobox'><tbody>{cells}</tbody></table>\n<ul>")
            parts.extend(f"<li>{draws.words(4)}" for _ in range(5))
            parts.append("</ul><!-- section -->")
        yield "\n".join([*parts, "</body></html>"]).encode()


def _paragraph(draws: Draws) -> str:
    link = f'<a href="/wiki/{draws.word()}_{draws.number()}" title="{draws.words(2)}">{draws.words(2)}</a>'
    first, second = (" ".join(draws.sentence() for _ in range(2)) for _ in range(2))
    return f"<p>{first} {link} {second} <b>{draws.word()}</b> &amp; {draws.sentence()}</p>"


def xml(draws: Draws) -> Iterator[bytes]:
    """Yield catalogues of 400 books, with namespaces and attributes."""
    while True:
        books = "".join(
            f'  <book id="b{draws.number()}" lang="en">\n    <dc:title>{draws.words(4)}</dc:title>\n'
            f"    <dc:creator>{draws.words(2)}</dc:creator>\n    <price currency='EUR'>{draws.decimal()}</price>\n"
            f"    <abstract>{draws.sentence()} &amp; {draws.sentence()}</abstract>\n  </book>\n"
            for _ in range(400)
        )
        root = '<catalogue xmlns="http://example.org/c" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        yield f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n{books}</catalogue>\n'.encode()


def markdown(draws: Draws) -> Iterator[bytes]:
    """Yield documents with sections, lists, tables and code."""
    while True:
        parts = []
        for section in range(10):
            parts.append(f"{'#' * (1 + section % 3)} {draws.words(3)}\n")
            parts.extend(f"{draws.sentence()} *{draws.word()}* {draws.sentence()}\n" for _ in range(4))
            parts.append("\n".join(f"- {draws.words(6)}" for _ in range(5)) + "\n")
            parts.append(f"| name | size |\n|---|---|\n| {draws.word()} | {draws.decimal()} |\n")
            parts.append(f"```python\n{draws.word()} = {draws.number()}\n```\n")
        yield "\n".join(parts).encode()


def code(draws: Draws) -> Iterator[bytes]:
    """Yield the modules of Python's standard library, over and over."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = [p for p in sorted(folder.rglob("*.py")) if "site-packages" not in p.parts and p.stat().st_size > 2000]
    for path in cycle(paths):
        yield path.read_bytes()


def brackets(draws: Draws) -> Iterator[bytes]:
    """Yield sentences in brackets."""
    while True:
        phrases = " ".join(_phrase(draws, 3) for _ in range(2 + draws.below(3)))
        yield f"( (S {phrases} (. .)))\n".encode()


def _phrase(draws: Draws, depth: int) -> str:
    if depth == 0 or draws.below(4) == 0:
        return f"({_TAGS[draws.below(6)]} {draws.word()})"
    inner = " ".join(_phrase(draws, depth - 1) for _ in range(1 + draws.below(3)))
    return f"({('NP', 'VP', 'PP-LOC', 'SBAR')[draws.below(4)]} {inner})"


def conllu(draws: Draws) -> Iterator[bytes]:
    """Yield sentences of 5 to 29 words with all ten columns."""
    sentence = 0
    while True:
        sentence += 1
        words = [draws.word() for _ in range(5 + draws.below(25))]
        lines = [f"# sent_id = s{sentence}", f"# text = {' '.join(words)}"]
        for number, word in enumerate(words, start=1):
            tag = draws.below(6)
            head = 0 if number == 1 else 1 + draws.below(number - 1)
            relation = "root" if head == 0 else _DEPRELS[draws.below(8)]
            lines.append(
                f"{number}\t{word}\t{word.lower()}\t{_UPOS[tag]}\t{_TAGS[tag]}\tNumber=Sing\t{head}\t{relation}\t_\t_"
            )
        yield ("\n".join(lines) + "\n\n").encode()
