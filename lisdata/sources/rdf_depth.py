"""How deep triple terms and JSON stand in each other, told before a parser is asked: it cannot stop at any depth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from lisdata.inputs import InputFile, InputSlice
from lisdata.sources.rdf_input import error_of_whole, whole_blocks

MAX_DEPTH = 200
"""Triple terms, and values of JSON, deeper in each other than this are refused."""

_OPENING = b"<<("
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_CHANGES = np.zeros(256, np.int8)  # of the depth, by byte
_CHANGES[list(b"[{")], _CHANGES[list(b"]}")] = 1, -1
_LONGEST_STRING = 16 << 20  # the parser takes none that is longer
# Where triple terms begin and end, past all that may hide the same bytes; and last what opens a string or a comment
# that the bytes at hand do not close.
_TOKEN = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*+"""|"(?!"")(?:[^"\\\n]|\\.)*+"|'
    rb"'''(?:[^'\\]|\\.|'(?!''))*+'''|'(?!'')(?:[^'\\\n]|\\.)*+'|"
    rb"#[^\n]*+\n|<[^<>\"{}|^`\\\s]*+>|"
    rb"(<<\()|(\)>>)|([\"'#])",
    re.DOTALL,
)


def is_too_deep(data: bytes) -> bool:
    """Tell whether triple terms in `data`, N-Triples or Turtle, are more than MAX_DEPTH deep."""
    return data.count(_OPENING) > MAX_DEPTH and _exceeds([data])


def check_depth(piece: InputSlice) -> None:
    """Raise BadRecordError for an input whose triple terms are more than MAX_DEPTH deep.

    Its bytes are only counted unless there are many triple terms.
    """
    if _has_many(whole_blocks(piece.file)) and _exceeds(whole_blocks(piece.file)):
        raise error_of_whole(piece, 0, f"triple terms at most {MAX_DEPTH} deep in each other", "deeper ones")


def check_json_depth(piece: InputSlice) -> None:
    """Raise BadRecordError for a JSON document whose values are more than MAX_DEPTH deep in each other."""
    if _is_json_too_deep(piece.file):
        raise error_of_whole(piece, 0, f"values of JSON at most {MAX_DEPTH} deep in each other", "deeper ones")


def _is_json_too_deep(file: InputFile) -> bool:
    rest, depth = b"", 0
    for block in whole_blocks(file):
        data = _STRING.sub(b"", rest + block)
        begin = data.find(b'"')  # of a string that goes on in the next block
        data, rest = (data, b"") if begin < 0 else (data[:begin], data[begin:])
        depths = depth + np.cumsum(_CHANGES[np.frombuffer(data, np.uint8)], dtype=np.int64)
        if len(depths):
            depth = int(depths[-1])
            if depths.max() > MAX_DEPTH:
                return True
        if len(rest) > _LONGEST_STRING:
            return False
    return False


def _has_many(blocks: Iterable[bytes]) -> bool:
    tail, count = b"", 0
    for block in blocks:
        count += (tail + block).count(_OPENING)
        tail = block[-len(_OPENING) + 1 :]
        if count > MAX_DEPTH:
            return True
    return False


def _exceeds(blocks: Iterable[bytes]) -> bool:
    depth = 0
    for change in _iter_changes(blocks):
        depth = max(0, depth + change)
        if depth > MAX_DEPTH:
            return True
    return False


def _iter_changes(blocks: Iterable[bytes]) -> Iterator[int]:
    """Yield 1 where a triple term begins and -1 where one ends."""
    rest = b""
    for block in blocks:
        data = rest + block
        begin = max(0, len(data) - len(_OPENING) + 1)  # a mark may go on in the next block
        for token in _TOKEN.finditer(data):
            if token[3] is not None:
                begin = token.start()
                break
            if token[1] is not None or token[2] is not None:
                yield 1 if token[1] is not None else -1
            begin = max(begin, token.end())
        rest = data[begin:]
