"""Cuts a paragraph into sentences by one plain rule, the same for every language.

A sentence ends behind . ! ? or an ellipsis, closing quotes and brackets included, where white space and then no
lower-case letter follow; not behind a point that ends an initial ("J. Smith") or one of a few abbreviations ("Dr.",
"e.g."). Behind the full stops of Chinese and Japanese it ends whatever follows.
"""

from __future__ import annotations

import re

# Only where a run of stops begins, and without going back: a million dots are read once.
_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]}]*+(?=(\s+))|[。！？｡]++["'”’」』）】]*+""")
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“‘«]*$")
_LONGEST_ABBREVIATION = 8
_ABBREVIATIONS = frozenset(
    (
        "al", "approx", "ca", "cf", "co", "dr", "e.g", "ed", "eds", "eq", "esp", "fig", "figs", "i.e", "inc", "jr",
        "ltd", "mr", "mrs", "ms", "mt", "no", "nos", "p", "pp", "prof", "resp", "rev", "sec", "sr", "st", "vol", "vs",
        "viz",
    )
)  # fmt: skip


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return begin and end, in characters, of each sentence without the white space around it."""
    begin, found = 0, []
    for match in _END.finditer(text):
        if _ends_sentence(text, match):
            found.append(_trimmed(text, begin, match.end()))
            begin = match.end()
    if text[begin:].strip():
        found.append(_trimmed(text, begin, len(text)))
    return found


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    space = match.end(1)
    if space < 0:
        return True  # of Chinese or Japanese
    if text[space : space + 1].islower():
        return False
    if match[0] != ".":
        return True
    before = _WORD_BEFORE.search(text, max(0, match.start() - _LONGEST_ABBREVIATION), match.start())
    word = "" if before is None else before[0]
    is_initial = len(word) == 1 and word.isupper()
    return not is_initial and word.lower() not in _ABBREVIATIONS


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    piece = text[begin:end]
    return begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())
