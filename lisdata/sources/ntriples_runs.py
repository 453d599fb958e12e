"""Where N-Triples and N-Quads may be cut: between two lines of different subjects (or graphs), so runs stay whole.

A run is told by how its lines spell what they have in common.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from lisdata.errors import BadRecordError
from lisdata.inputs import MEBIBYTE, InputSlice

KeyOf = Callable[[bytes], bytes | None]
"""Returns what a line has in common with the others of its run, None for a blank line or a comment."""

MAX_RUN_BYTES = 64 * MEBIBYTE
"""A longer run is cut all the same, for it would have to be held in memory."""

BLOCK_BYTES = 8 * MEBIBYTE  # the tables of a larger block do not fit the processor's cache
_PROBE_BYTES = 64 << 10

_TERM = re.compile(
    rb'(<<\()|(\)>>)|(#.*+)|<[^>]*+>|_:[^\s<>"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?:\s*@[\w-]++|\s*\^\^\s*<[^>]*+>)?+',
    re.DOTALL,
)


def subject_of(line: bytes) -> bytes | None:
    """Return the subject as the line spells it, None for a blank line or a comment."""
    line = line.lstrip(b" \t")
    if line.startswith(b"<"):
        return line[: line.find(b">") + 1] or line
    words = line.split(None, 1)
    return None if not words or words[0].startswith(b"#") else words[0].partition(b"<")[0]


def graph_of(line: bytes) -> bytes | None:
    """Return the graph as the line spells it, empty for the default graph, None for a blank line or a comment."""
    num_terms = depth = 0
    for term in _TERM.finditer(line):
        if term[3] is not None:
            break
        depth += (term[1] is not None) - (term[2] is not None)
        num_terms += depth == 0  # a triple term counts where it ends
        if num_terms == 4:
            return term[0].rstrip(b".")
    return b"" if num_terms else None


def iter_runs(
    blocks: Iterable[tuple[int, bytes]], key_of: KeyOf = subject_of, *, begin: int = 0
) -> Iterator[tuple[int, list[memoryview]]]:
    """Yield (offset, chunks of whole lines) of about one of `blocks`, the first of which begins at `begin`.

    No run goes across what is yielded; it goes on over comments and blank lines, and ends where blocks do not follow
    each other, since a line that was left out stands between.
    """
    held: list[memoryview] = []
    length, key = 0, None
    try:
        for offset, data in blocks:
            if offset != begin + length:
                if held:
                    yield begin, held
                held, begin, length, key = [], offset, 0, None
            cut, key = _last_change(data, key, key_of)
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


def _last_change(data: bytes, key: bytes | None, key_of: KeyOf) -> tuple[int | None, bytes | None]:
    """Return where the last run of `data` begins (None: it goes on from before `data`), and its key.

    `key` is that of the lines before `data`.
    """
    last: bytes | None = None
    end = begin = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        found = key_of(data[start:end])
        if found is not None:
            if last is not None and found != last:
                return begin, last
            last, begin = found, start
        end = start
    if last is None or key is None or last == key:
        return None, key if last is None else last
    return begin, last


def find_run(piece: InputSlice, wanted: int, key_of: KeyOf = subject_of) -> int:
    """Return the first change of key after the line that holds or follows `wanted`, or the slice's end.

    A run longer than MAX_RUN_BYTES is cut at a line.
    """
    if wanted <= piece.begin:
        return piece.begin
    key: bytes | None = None
    at = wanted
    is_first = True

    def pass_over(_: int, end: int) -> None:
        nonlocal at
        at = end

    for _, data in replace(piece, begin=wanted).blocks(_PROBE_BYTES, on_long_line=pass_over):
        for line in _lines(data):
            found = None if is_first else key_of(line)
            is_first = False
            if found is not None and key is not None and (found != key or at - wanted > MAX_RUN_BYTES):
                return at
            key = key if found is None else found
            at += len(line)
    return at


def _lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of `data` with their newlines; only LF ends one."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        yield data[begin:end]
        begin = end
