"""Text to columns of a terminal: what takes none, one or two, and what has to be replaced before it is shown."""

from __future__ import annotations

import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS = "…"
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
_DOTTED_CIRCLE = "\N{DOTTED CIRCLE}"


def character_width(character: str) -> int:
    """Return the columns of one character: 0, 1 or 2; East Asian ambiguous ones (box drawing, arrows) count as 1."""
    if unicodedata.category(character) in {"Mn", "Me", "Cf"} or "\u1160" <= character <= "\u11ff":
        return 0  # marks, joiners, and the vowels and final consonants that join a Hangul syllable
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def display_width(text: str) -> int:
    """Return the columns that `text` takes in a terminal."""
    return sum(map(character_width, text))


def to_printable(text: str) -> str:
    """Return `text` with a visible character for each one that a terminal or XML would not show or not survive.

    C0 controls become their pictures (U+2400..); other controls, format characters save joiners, line separators, lone
    surrogates and noncharacters become U+FFFD. A leading mark gets a dotted circle to stand on.
    """
    shown = "".join(map(_visible, text))
    return _DOTTED_CIRCLE + shown if shown and character_width(shown[0]) == 0 else shown


def _visible(character: str) -> str:
    code, category = ord(character), unicodedata.category(character)
    if category == "Cc":
        return chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}" if code == 0x7F else REPLACEMENT
    if category == "Cf" and character in _JOINERS:
        return character
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return REPLACEMENT if is_noncharacter or category in {"Cf", "Cs", "Zl", "Zp"} else character


def cut_to_width(text: str, width: int) -> str:
    """Return `text`, or its beginning and an ellipsis, in at most `width` columns (nothing in none)."""
    if display_width(text) <= width:
        return text
    return _prefix(text, width - 1) + ELLIPSIS if width > 0 else ""


def center(text: str, width: int) -> str:
    """Return `text` with spaces on both sides to fill `width` columns; it must fit."""
    free = width - display_width(text)
    return " " * (free // 2) + text + " " * (free - free // 2)


def wrap_to_width(text: str, width: int | None) -> list[str]:
    """Return `text` in lines of at most `width` columns (2 or more), broken at spaces, else inside a word."""
    if width is None:
        return [text]
    lines, line = [], ""
    for part in text.split(" "):
        if line and display_width(line) + 1 + display_width(part) <= width:
            line += " " + part
            continue
        if line:
            lines.append(line)
        rest = part
        while display_width(rest) > width:
            lines.append(_prefix(rest, width))
            rest = rest[len(lines[-1]) :]
        line = rest
    return [*lines, line] if line else lines


def _prefix(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += character_width(character)
        if taken > width:
            return text[:index]
    return text
