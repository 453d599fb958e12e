"""Plain twin of the scanner of CoNLL-U: slow, short and obviously right; the tests compare the kernels with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lisdata.kernels.conllu_notes import Note
from lisdata.kernels.conllu_scan import Column, SentenceFault

_NUMBERS = re.compile(rb"([0-9]+)(?:([-.])([0-9]+))?")
_COLUMN_NOTES = [(note, Column[note.name]) for note in Note if note.name in Column.__members__]
_IS_USUAL = re.compile(rb"0|[1-9][0-9]*|_")


@dataclass(slots=True)
class PlainSentence:
    """A sentence: its bytes, and what is wrong with it or else its words and notes."""

    data: bytes
    fault: SentenceFault = SentenceFault.NONE
    fault_line: bytes | None = None
    forms: list[bytes] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    deprels: list[bytes | None] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    surface: bytes = b""
    notes: list[tuple[Note, int, bytes]] = field(default_factory=list)


def iter_sentences(data: bytes) -> Iterator[PlainSentence]:
    """Yield the sentences of `data`, blank lines before the first and after each included."""
    lines = data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+", data)
    begin = 0
    for number in range(1, len(lines) + 1):
        is_begin = number == len(lines) or (
            _is_blank(lines[number - 1])
            and not _is_blank(lines[number])
            and any(not _is_blank(x) for x in lines[:number])
        )
        if is_begin:
            yield _read(lines[begin:number])
            begin = number


def _is_blank(line: bytes) -> bool:
    return line.removesuffix(b"\n").removesuffix(b"\r").strip(b" ") == b""


def _read(lines: list[bytes]) -> PlainSentence:
    sentence = PlainSentence(b"".join(lines))
    rows = [line.removesuffix(b"\n").removesuffix(b"\r").split(b"\t") for line in lines if not _is_blank(line)]
    sentence.fault, sentence.fault_line = _find_fault(rows)
    if sentence.fault == SentenceFault.NONE:
        _fill(sentence, rows)
        numbers = [value for row in rows if row[0].isdigit() for value in (row[0], row[6])]
        is_plain = all(map(_IS_USUAL.fullmatch, numbers))
        if not is_plain or sentence.data != b"".join(b"\t".join(row) + b"\n" for row in rows) + b"\n":
            sentence.notes.append((Note.CONLLU, 0, sentence.data))
    return sentence


def _find_fault(rows: list[list[bytes]]) -> tuple[SentenceFault, bytes | None]:
    count = reach = 0
    ranged = headless = None
    has_heads = False
    for row in rows:
        line = b"\t".join(row)
        if line.startswith(b"#"):
            continue
        numbers = _NUMBERS.fullmatch(row[0])
        if len(row) != 10:
            return SentenceFault.NUM_COLUMNS, line
        if not numbers:
            return SentenceFault.BAD_ID, line
        if not row[1]:
            return SentenceFault.NO_FORM, line
        first, sign, last = numbers.groups()
        if sign != b"." and int(first) != count + 1:
            return SentenceFault.ID_ORDER, line
        if sign == b"-":
            if not reach < int(first) <= int(last):
                return SentenceFault.RANGE, line
            reach, ranged = int(last), line
        if sign is None:
            if not row[6].isdigit() and row[6] != b"_":
                return SentenceFault.BAD_HEAD, line
            count += 1
            has_heads |= row[6] != b"_"
            headless = headless or (line if row[6] == b"_" else None)
    if not count:
        return SentenceFault.NO_WORDS, b"\t".join(rows[0]) if rows else None
    if reach > count:
        return SentenceFault.RANGE, ranged
    return (SentenceFault.SOME_HEADS, headless) if has_heads and headless else (SentenceFault.NONE, None)


def _span_in_token(shown: tuple[int, int], parts: list[bytes], number: int) -> tuple[int, int]:
    """Return the span of a token's word: its own part where the words spell the token, else all of it."""
    if not parts:
        return shown
    begin = shown[0] + sum(map(len, parts[:number]))
    return begin, begin + len(parts[number])


def _fill(sentence: PlainSentence, rows: list[list[bytes]]) -> None:
    columns: list[tuple[Note, int, bytes]] = []
    reach, space, shown = 0, b"", (0, 0)
    ranged: tuple[int, list[bytes]] = (0, [])
    for row in rows:
        word = len(sentence.forms)
        is_comment, (first, _, last) = row[0].startswith(b"#"), row[0].partition(b"-")
        is_word = not is_comment and first.isdigit() and not last
        if not is_word:
            sentence.notes.append((Note.COMMENT if is_comment else Note.LINE, word, b"\t".join(row)))
        if not is_comment and (last or (is_word and word >= reach)):
            sentence.surface += space + row[1]
            shown = (len(sentence.surface) - len(row[1]), len(sentence.surface))
            space = b"" if b"SpaceAfter=No" in row[9].split(b"|") else b" "
            if last:
                reach, parts = (
                    int(last),
                    [r[1] for r in rows if r[0].isdigit() and int(first) <= int(r[0]) <= int(last)],
                )
                ranged = (word, parts if b"".join(parts) == row[1] else [])
        if is_word:
            sentence.forms.append(row[1])
            sentence.heads.append(-1 if row[6] == b"_" else int(row[6]))
            sentence.deprels.append(None if row[7] == b"_" else row[7])
            sentence.spans.append(shown if word >= reach else _span_in_token(shown, ranged[1], word - ranged[0]))
            columns += [(n, word, row[c]) for n, c in _COLUMN_NOTES if row[c] != b"_"]
    sentence.notes = sorted(columns, key=lambda note: note[0]) + sentence.notes
