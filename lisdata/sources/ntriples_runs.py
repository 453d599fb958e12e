"""Where N-Triples may be cut: between two lines of different subjects, so that a run of one subject stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lisdata.errors import BadRecordError
from lisdata.inputs import MEBIBYTE, InputSlice

MAX_RUN_BYTES = 64 * MEBIBYTE
"""A longer run of one subject is cut all the same, for it would have to be held in memory."""

BLOCK_BYTES = 8 * MEBIBYTE  # the tables of a larger block do not fit the processor's cache
_PROBE_BYTES = 64 << 10


def subject_of(line: bytes) -> bytes | None:
    """Return the subject as the line spells it, None for a blank line or a comment."""
    line = line.lstrip(b" \t")
    if line.startswith(b"<"):
        return line[: line.find(b">") + 1] or line
    words = line.split(None, 1)
    return None if not words or words[0].startswith(b"#") else words[0].partition(b"<")[0]


def iter_runs(piece: InputSlice) -> Iterator[tuple[int, list[memoryview]]]:
    """Yield (offset, chunks of whole lines) of about BLOCK_BYTES that no run of one subject goes across.

    A run goes on over comments and blank lines.
    """
    held: list[memoryview] = []
    begin, length, subject = piece.begin, 0, None
    try:
        for _, data in piece.blocks(BLOCK_BYTES):
            cut, subject = _last_change(data, subject)
            if cut is not None or length > MAX_RUN_BYTES:
                yield begin, [*held, memoryview(data)[: cut or 0]]
                begin += length + (cut or 0)
                held, length = [], 0
                data = data[cut or 0 :]
            held.append(memoryview(data))
            length += len(data)
    except BadRecordError:  # a damaged stream: what came before the damage is good
        if held:
            yield begin, held
        raise
    if held:
        yield begin, held


def _last_change(data: bytes, subject: bytes | None) -> tuple[int | None, bytes | None]:
    """Return where the last run of `data` begins (None: it goes on from before `data`), and its subject.

    `subject` is that of the lines before `data`.
    """
    last: bytes | None = None
    end = begin = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        found = subject_of(data[start:end])
        if found is not None:
            if last is not None and found != last:
                return begin, last
            last, begin = found, start
        end = start
    if last is None or subject is None or last == subject:
        return None, last or subject
    return begin, last


def find_run(piece: InputSlice, wanted: int) -> int:
    """Return the first change of subject after the line that holds or follows `wanted`, or the slice's end.

    A run longer than MAX_RUN_BYTES is cut at a line.
    """
    if wanted <= piece.begin:
        return piece.begin
    subject: bytes | None = None
    at = wanted
    is_first = True
    for _, data in replace(piece, begin=wanted).blocks(_PROBE_BYTES):
        for line in _lines(data):
            found = None if is_first else subject_of(line)
            is_first = False
            if found is not None and subject is not None and (found != subject or at - wanted > MAX_RUN_BYTES):
                return at
            subject = found or subject
            at += len(line)
    return at


def _lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of `data` with their newlines; only LF ends one."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        yield data[begin:end]
        begin = end
