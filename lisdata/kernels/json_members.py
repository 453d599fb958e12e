"""Known members of JSON objects, and texts of strings, taken from tokens inside a kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import BYTES, inner, load_u64
from lisdata.kernels.grouped_texts import put_bytes
from lisdata.kernels.json_escapes import ESCAPED, code_point, put_utf8, utf8_length
from lisdata.kernels.json_scan import JsonToken, JsonTokens
from lisdata.kernels.spans import first_bytes

UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]

# Kernels compare plain numbers: enum members are slow there.
OBJECT, ARRAY, STRING, INTEGER, NUMBER, TRUE, FALSE, NULL, NAME = map(int, JsonToken)


class Tokens(NamedTuple):
    """Tokens as kernels take them: rows (T, 5) are KIND, BEGIN, END, SIZE and FOLLOWING as in `JsonTokens`.

    `data` is readable for 16 bytes past the last token.
    """

    data: UInt8
    rows: Int64


TOKENS: Any = types.NamedTuple((BYTES, types.Array(types.int64, 2, "C")), Tokens)
KIND, BEGIN, END, SIZE, FOLLOWING = range(5)


def tokens_for_kernels(data: UInt8, tokens: JsonTokens) -> Tokens:
    """Return the tokens of `data`."""
    rows = np.empty((len(tokens.kind), 5), np.int64)
    columns = (tokens.kind, tokens.begin, tokens.end, tokens.size, tokens.following)
    for number, column in enumerate(columns):
        rows[:, number] = column
    return Tokens(data, rows)


def packed_names(names: tuple[str, ...]) -> tuple[UInt64, Int64]:
    """Return names as words of 8 bytes, (N, W) with zeros behind, and their sizes in bytes."""
    width = -(-max(map(len, names)) // 8)
    data = b"".join(name.encode().ljust(8 * width, b"\0") for name in names)
    return np.frombuffer(data, np.uint64).reshape(-1, width).copy(), np.array([len(n) for n in names], np.int64)


@inner
def is_name(tokens: Any, token: Any, words: Any, sizes: Any, name: Any) -> Any:
    """Tell whether a key or string is spelled, without escapes, as name number `name`."""
    size, begin = tokens.rows[token, SIZE], tokens.rows[token, BEGIN] + 1
    if size != sizes[name] or tokens.rows[token, END] - begin - 1 != size:
        return False
    word = 0
    while size >= 8:
        if load_u64(tokens.data, begin) != words[name, word]:
            return False
        begin += 8
        size -= 8
        word += 1
    return size == 0 or first_bytes(load_u64(tokens.data, begin), size) == words[name, word]


@inner
def take_members(tokens: Any, token: Any, words: Any, sizes: Any, first: Any, last: Any, members: Any) -> Any:
    """Put the value of each member of an object at members[number of its name], -1 for those that it has not.

    Tells whether the token is an object all of whose members, none twice, are called by a name of first .. last - 1.
    """
    for name in range(first, last):
        members[name] = -1
    if tokens.rows[token, KIND] != OBJECT:
        return False
    child, name = np.int64(token + 1), first
    while child < tokens.rows[token, FOLLOWING]:
        for _ in range(last - first):  # they mostly come in the order of the names
            if is_name(tokens, child, words, sizes, name):
                break
            name = name + 1 if name + 1 < last else first
        else:
            return False
        if members[name] >= 0:
            return False
        members[name] = child + 1
        child = tokens.rows[child + 1, FOLLOWING]
        name = name + 1 if name + 1 < last else first
    return True


@inner
def put_text(tokens: Any, token: Any, texts: Any) -> Any:
    """Write the text of a string as a piece of the next text; tell whether it is a string that UTF-8 can hold."""
    data, begin, stop = tokens.data, tokens.rows[token, BEGIN] + 1, tokens.rows[token, END] - 1
    if tokens.rows[token, KIND] not in (STRING, NAME):
        return False
    if stop - begin == tokens.rows[token, SIZE]:
        put_bytes(texts, data, begin, stop)
        return True
    out, target, at = texts.data, texts.state[1], begin
    while at < stop:
        if data[at] != 92:
            out[target] = data[at]
            at += 1
            target += 1
        elif data[at + 1] == 117:
            value, length = code_point(data, at, stop)
            if 0xD800 <= value <= 0xDFFF:
                return False
            size = utf8_length(value)
            put_utf8(out, target, value, size)
            at += length
            target += size
        else:
            out[target] = ESCAPED[data[at + 1]]
            at += 2
            target += 1
    texts.state[1] = target
    return True
