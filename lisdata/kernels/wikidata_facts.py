"""Where kernels put the facts of entities: participants, facts, and the labels that they are the first to need."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import OUT_INT64S, inner
from lisdata.kernels.grouped_texts import (
    BEGINNING,
    TEXTS,
    Texts,
    add_text,
    keep_texts,
    new_texts,
    number_text,
    put_bytes,
)
from lisdata.kernels.json_members import TOKENS, Tokens, put_text
from lisdata.kernels.wikidata_names import (
    ENTITIES,
    ENTITY_IRI,
    LABELS_A_SYMBOL,
    NULL_TEXT,
    NULLS,
    NUM_MEMBERS,
    PIECES,
)

UInt32 = npt.NDArray[np.uint32]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

PARTICIPANTS_DONE, FACTS_DONE, LABELS_DONE, UNKNOWNS_DONE, HASHES_LEFT_OUT, NUM_COUNTS = range(6)
NO_HANDLE = -1


class EntityScan(NamedTuple):
    """What kernels read of entities, and what they make.

    participants (P, 3): content, label (of the role), position. facts (F, 3): label, content that is the handle or
    NO_HANDLE, and the end of its participants. labels (L, 2): symbol and number of the label; `label_of` (symbols,
    LABELS_A_SYMBOL) is where each stands there, -1 for nowhere yet. Row 0 of `counts` says how much is done, row 1 is
    what it said before the member in hand. `members` is scratch room.
    """

    tokens: Tokens
    contents: Texts
    symbols: Texts
    participants: UInt32
    facts: Int64
    labels: Int64
    label_of: Int32
    counts: Int64
    members: Int64


_INT64_ROWS = types.Array(types.int64, 2, "C")
ENTITY_SCAN: Any = types.NamedTuple(
    (
        TOKENS, TEXTS, TEXTS, types.Array(types.uint32, 2, "C"), _INT64_ROWS, _INT64_ROWS,
        types.Array(types.int32, 2, "C"), _INT64_ROWS, OUT_INT64S,
    ),
    EntityScan,
)  # fmt: skip


def new_scan(contents: Texts, num_tokens: int, num_bytes: int, pieces: tuple[bytes, ...]) -> EntityScan:
    """Return a scan with room for what so many tokens and bytes can make; `pieces` are the first symbols."""
    symbols = new_texts(num_tokens + len(pieces), num_bytes + sum(map(len, pieces)))
    for piece in pieces:
        add_text(symbols, piece, PIECES)
    scan = EntityScan(
        tokens=Tokens(np.empty(0, np.uint8), np.empty((0, 5), np.int64)),
        contents=contents,
        symbols=symbols,
        participants=np.empty((num_tokens, 3), np.uint32),
        facts=np.empty((num_tokens, 3), np.int64),
        labels=np.empty((num_tokens, 2), np.int64),
        label_of=np.empty((num_tokens + len(pieces), LABELS_A_SYMBOL), np.int32),
        counts=np.zeros((2, NUM_COUNTS), np.int64),
        members=np.empty(NUM_MEMBERS, np.int64),
    )
    scan.label_of[: len(pieces)] = -1
    return scan


@inner
def put_piece(scan: Any, piece: Any) -> None:
    """Write one of the given pieces of the next content's text."""
    rows = scan.symbols.rows
    put_bytes(scan.contents, scan.symbols.data, rows[piece, BEGINNING], rows[piece + 1, BEGINNING])


@inner
def content_of(scan: Any, group: Any, token: Any) -> Any:
    """Return the content of a group that a string spells, -1 where it is no string that UTF-8 can hold."""
    if put_text(scan.tokens, token, scan.contents):
        return number_text(scan.contents, group)
    return np.int64(-1)


@inner
def entity_of(scan: Any, token: Any) -> Any:
    """Return the content of the entity whose id a string is."""
    put_piece(scan, ENTITY_IRI)
    return content_of(scan, ENTITIES, token)


@inner
def null_of(scan: Any) -> Any:
    """Return the content that is null."""
    put_piece(scan, NULL_TEXT)
    return number_text(scan.contents, NULLS)


@inner
def symbol_of(scan: Any, group: Any, token: Any) -> Any:
    """Return the symbol of a group that a key or string spells, -1 where it is no string that UTF-8 can hold."""
    if not put_text(scan.tokens, token, scan.symbols):
        return np.int64(-1)
    count = scan.symbols.state[0]
    symbol = number_text(scan.symbols, group)
    if symbol == count:
        for number in range(LABELS_A_SYMBOL):
            scan.label_of[symbol, number] = -1
    return symbol


@inner
def label_of(scan: Any, symbol: Any, number: Any) -> Any:
    """Return where a label of a symbol stands among those that were needed so far."""
    label = np.int64(scan.label_of[symbol, number])
    if label < 0:
        label = scan.counts[0, LABELS_DONE]
        scan.labels[label, 0], scan.labels[label, 1] = symbol, number
        scan.label_of[symbol, number] = label
        scan.counts[0, LABELS_DONE] = label + 1
    return label


@inner
def add_participant(scan: Any, content: Any, label: Any, position: Any) -> Any:
    """Add a participant to the fact that is open; tell whether there is a content."""
    if content < 0:
        return False
    row = scan.counts[0, PARTICIPANTS_DONE]
    scan.participants[row, 0], scan.participants[row, 1], scan.participants[row, 2] = content, label, position
    scan.counts[0, PARTICIPANTS_DONE] = row + 1
    return True


@inner
def end_fact(scan: Any, label: Any, handle: Any) -> None:
    """Let the participants since the last call be a fact."""
    row = scan.counts[0, FACTS_DONE]
    scan.facts[row, 0], scan.facts[row, 1], scan.facts[row, 2] = label, handle, scan.counts[0, PARTICIPANTS_DONE]
    scan.counts[0, FACTS_DONE] = row + 1


@inner
def take_back(scan: Any, num_contents: Any, num_symbols: Any) -> None:
    """Take back what was added since there were so many contents and symbols, and `counts` as in their row 1."""
    for row in range(scan.counts[1, LABELS_DONE], scan.counts[0, LABELS_DONE]):
        scan.label_of[scan.labels[row, 0], scan.labels[row, 1]] = -1
    keep_texts(scan.contents, num_contents)
    keep_texts(scan.symbols, num_symbols)
    for count in range(NUM_COUNTS):
        scan.counts[0, count] = scan.counts[1, count]
