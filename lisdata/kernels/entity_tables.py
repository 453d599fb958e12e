"""What kernels make of entities: numbered contents and labels, participants, facts, structures; line by line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype, types

from lisdata.kernels import entity_words as words
from lisdata.kernels.compiled import INT64S, inner, kernel
from lisdata.kernels.entity_tokens import REFUSED, after, first_byte, integer_of, text_of
from lisdata.kernels.json_tape import ESCAPED_TEXT, OPEN_OBJECT, QUOTE, TOKEN
from lisdata.kernels.spans import hash_of, is_equal, number_in, slot_of, take_slot

SYMBOL = np.dtype(
    [("begin", "i4"), ("end", "i4"), ("token", "i8"), ("of_claims", "i8"), ("of_snaks", "i8"), ("of_others", "i8")],
    align=True,
)
"""A name of a member. `of_*` say in which map of each kind it was seen last, `token` is its value in one of snaks."""
CONTENT = np.dtype(
    [
        ("begin", "i4"), ("end", "i4"), ("group", "i4"),
        ("entity", "i4"), ("token", "i4"), ("pending", "i4"), ("structure", "i8"),
    ],
    align=True,
)  # fmt: skip
"""What is spelled by bytes [begin, end) behind the group's prefix. Of a reference also: the entity and the structure
seen last that has it, the token that it is there, and the token of the one of which no fact is made yet."""
LABEL = np.dtype([("symbol", "i4"), ("number", "i4")], align=True)
PARTICIPANT = np.dtype([("content", "u4"), ("label", "u4"), ("position", "i4")], align=True)
FACT = np.dtype([("label", "i4"), ("handle", "i4"), ("ordinal", "i4"), ("end", "i4")], align=True)
STRUCTURE = np.dtype([("begin", "i8"), ("end", "i8"), ("fact_end", "i8")], align=True)
LINE = np.dtype(
    [
        ("begin", "i8"), ("end", "i8"), ("is_taken", "i8"), ("has_comma", "i8"), ("ends_array", "i8"),
        ("is_behind", "i8"), ("contents", "i8"), ("labels", "i8"), ("participants", "i8"), ("facts", "i8"),
        ("structures", "i8"), ("spare", "i8"),
    ],
    align=True,
)  # fmt: skip
"""Bytes [begin, end) of the input; whether its entity was taken and has a comma behind it; whether it ends an array, or
is behind one that does; and how much there is of all at its end."""

NO_HANDLE = -1
_GROUP_STEP = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_FREE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

WINDOW_BYTES = 4 << 20
"""The most bytes that are scanned at once."""
_MAX_SYMBOLS = 1 << 13
_MAX_CONTENTS = WINDOW_BYTES // 8
_FIRST_SLOTS = 1 << 14

TABLES = np.dtype(
    [
        *((name, "i8") for name in (
            "num_symbols", "num_contents", "num_labels", "num_participants", "num_facts", "num_structures",
            "spare", "serial", "num_slots", "first_fact", "entity", "structure_number",
            "unknown_begin", "unknown_end", "num_unknown",
        )),
        ("members", "i8", (words.NUM_NAMES,)),
        ("symbols", SYMBOL, (_MAX_SYMBOLS,)),
        ("symbol_slots", "u8", (2 * _MAX_SYMBOLS,)),
        ("label_of", "i4", (_MAX_SYMBOLS, words.LABELS_A_SYMBOL)),
        ("labels", LABEL, (WINDOW_BYTES // 16,)),
        ("contents", CONTENT, (_MAX_CONTENTS,)),
        ("content_slots", "u8", (2 * _MAX_CONTENTS,)),
        ("participants", PARTICIPANT, (WINDOW_BYTES // 4,)),
        ("facts", FACT, (WINDOW_BYTES // 8,)),
        ("structures", STRUCTURE, (WINDOW_BYTES // 8,)),
        ("tape", TOKEN, (WINDOW_BYTES + 1,)),
        ("data", "u1", (6 * WINDOW_BYTES,)),  # words, a window, and what one line makes of it at most
    ],
    align=True,
)  # fmt: skip
"""All that kernels read and write, in one record, since a pointer is all that is handed on then.

`data` holds the words, lines and, up to `spare`, texts that are no part of a line. `label_of` is 1 more than the row in
`labels`, 0 for none. `members` has the values of the members of the object in hand. `serial` numbers maps and
structures. Unknown values are called by data[unknown_begin:unknown_end] and a number. Memory that is not used is not
touched.
"""


def rows_of(dtype: np.dtype[Any]) -> Any:
    """Return the type of an array of records as kernels take it."""
    return types.Array(from_dtype(dtype), 1, "C")


# -- symbols, labels -------------------------------------------------------------------------------------------------


@inner
def _find(tables: Any, token: Any) -> Any:
    """Return (hash, slot) of a name or string without escapes."""
    begin, end = np.int64(tables.tape[token].begin) + 1, np.int64(tables.tape[token].link) - 1
    hashed = hash_of(tables.data, begin, end)
    return hashed, slot_of(tables.symbol_slots, tables.data, tables.symbols, begin, end, hashed)


@inner
def find_symbol(tables: Any, token: Any) -> Any:
    """Return the number of a symbol, -1 where the token spells none."""
    if tables.tape[token].link & ESCAPED_TEXT or first_byte(tables, token) != QUOTE:
        return np.int64(REFUSED)
    _, slot = _find(tables, token)
    return number_in(tables.symbol_slots, slot)


@inner
def symbol_of(tables: Any, token: Any) -> Any:
    """Return the number of a symbol, adding it when new; -1 where it has escapes, or there is no more room."""
    if tables.tape[token].link & ESCAPED_TEXT:
        return np.int64(REFUSED)
    hashed, slot = _find(tables, token)
    number = number_in(tables.symbol_slots, slot)
    if number < 0 and tables.num_symbols < len(tables.symbols):
        number = tables.num_symbols
        symbol = tables.symbols[number]
        symbol.begin, symbol.end = tables.tape[token].begin + 1, tables.tape[token].link - 1
        symbol.of_claims = symbol.of_snaks = symbol.of_others = 0
        take_slot(tables.symbol_slots, slot, hashed, number)
        tables.num_symbols = number + 1
    return number


@inner
def members_of(tables: Any, token: Any, allowed: Any) -> Any:
    """Put the value of each member of an object at members[word]; return the set of words.

    -1 where it is no object, has a member that is none of the `allowed`, or has one twice.
    """
    if first_byte(tables, token) != OPEN_OBJECT:
        return np.int64(REFUSED)
    found, child, end = np.int64(0), token + 1, np.int64(tables.tape[token].link)
    while child < end:
        word = find_symbol(tables, child)
        if word < 0 or word >= words.NUM_NAMES:
            return np.int64(REFUSED)
        bit = np.int64(1) << word
        if allowed & bit == 0 or found & bit:
            return np.int64(REFUSED)
        found |= bit
        tables.members[word] = child + 1
        child = after(tables, child + 1)
    return found


@inner
def label_of(tables: Any, symbol: Any, number: Any) -> Any:
    """Return the row of a label, adding it when it is the first time."""
    row = np.int64(tables.label_of[symbol, number]) - 1
    if row < 0:
        row = tables.num_labels
        tables.labels[row].symbol, tables.labels[row].number = symbol, number
        tables.num_labels = row + 1
        tables.label_of[symbol, number] = row + 1
    return row


# -- contents --------------------------------------------------------------------------------------------------------


@inner
def _hash(tables: Any, group: Any, begin: Any, end: Any) -> Any:
    # The upper half tells spans apart in a slot, the lower half chooses it: the group has to move both.
    return hash_of(tables.data, begin, end) ^ (np.uint64(group + 1) * _GROUP_STEP)


@inner
def _is_content(tables: Any, number: Any, group: Any, begin: Any, end: Any) -> Any:
    known, size = tables.contents[number], end - begin
    if known.group != group or known.end - known.begin != size:
        return False
    return is_equal(tables.data, np.int64(known.begin), begin, size)


@inner
def number_content(tables: Any, group: Any, begin: Any, end: Any) -> Any:
    """Return the number of the content spelled by data[begin:end], adding it when new; there must be a free slot."""
    slots = tables.content_slots
    mask, hashed = np.uint64(tables.num_slots - 1), _hash(tables, group, begin, end)
    slot = hashed & mask
    number = number_in(slots, slot)
    while number >= 0:
        if slots[slot] >> _HALF == hashed >> _HALF and _is_content(tables, number, group, begin, end):
            return number
        slot = (slot + np.uint64(1)) & mask
        number = number_in(slots, slot)
    number = tables.num_contents
    content = tables.contents[number]
    content.begin, content.end, content.group = begin, end, group
    content.entity = content.structure = content.pending = -1
    take_slot(slots, slot, hashed, number)
    tables.num_contents = number + 1
    return number


@inner
def forget_contents(tables: Any, count: Any) -> None:
    """Take back all contents but the first `count`."""
    slots = tables.content_slots
    mask = np.uint64(tables.num_slots - 1)
    for number in range(tables.num_contents - 1, count - 1, -1):
        content = tables.contents[number]
        slot = _hash(tables, content.group, np.int64(content.begin), np.int64(content.end)) & mask
        while number_in(slots, slot) != number:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = _FREE  # no other content was put behind it: the last one goes first
    tables.num_contents = count


@inner
def content_of(tables: Any, group: Any, token: Any) -> Any:
    """Return the number of the content that a string is; -1 where it is no string."""
    begin, end = text_of(tables, token)
    return np.int64(REFUSED) if begin < 0 else number_content(tables, group, begin, end)


@inner
def integer_content(tables: Any, group: Any, token: Any) -> Any:
    """Return the number of the content that an integer is; -1 where it is none."""
    begin, end = integer_of(tables, token)
    return np.int64(REFUSED) if begin < 0 else number_content(tables, group, begin, end)


@inner
def word_content(tables: Any, group: Any, word: Any) -> Any:
    """Return the number of the content that a word is."""
    known = tables.symbols[word]
    return number_content(tables, group, np.int64(known.begin), np.int64(known.end))


@inner
def make_room(tables: Any, more: Any) -> None:
    """Have free slots for so many further contents; there must be room for that many."""
    size = tables.num_slots
    while size < 2 * (tables.num_contents + more):
        size *= 2
    if size > tables.num_slots:
        _free_slots(tables, size)
        mask = np.uint64(size - 1)
        for number in range(tables.num_contents):
            content = tables.contents[number]
            hashed = _hash(tables, content.group, np.int64(content.begin), np.int64(content.end))
            slot = hashed & mask
            while number_in(tables.content_slots, slot) >= 0:
                slot = (slot + np.uint64(1)) & mask
            take_slot(tables.content_slots, slot, hashed, number)


@inner
def _free_slots(tables: Any, size: Any) -> None:
    for slot in range(size):
        tables.content_slots[slot] = _FREE
    tables.num_slots = size


@inner
def written_content(tables: Any, group: Any, begin: Any) -> Any:
    """Return the number of the content that was written from `begin` on."""
    return number_content(tables, group, begin, tables.spare)


# -- facts -----------------------------------------------------------------------------------------------------------


@inner
def add_participant(tables: Any, label: Any, content: Any, position: Any) -> None:
    """Add a participant to the fact that is open."""
    number = tables.num_participants
    participant = tables.participants[number]
    participant.content, participant.label, participant.position = content, label, position
    tables.num_participants = number + 1


@inner
def end_fact(tables: Any, label: Any, handle: Any) -> None:
    """Let the participants since the last call be a fact."""
    fact = tables.facts[tables.num_facts]
    fact.label, fact.handle, fact.end = label, handle, tables.num_participants
    fact.ordinal = tables.num_facts - tables.first_fact
    tables.num_facts += 1


@inner
def end_structure(tables: Any, line: Any) -> None:
    """Let the facts since the last call be a structure."""
    structure = tables.structures[tables.num_structures]
    structure.begin, structure.end, structure.fact_end = line.begin, line.end, tables.num_facts
    tables.num_structures += 1
    begin_structure(tables)


@inner
def begin_structure(tables: Any) -> None:
    """Go on to another structure, which has no reference yet."""
    tables.serial += 1
    tables.structure_number = tables.serial


@kernel(types.void(rows_of(TABLES), INT64S, types.int64))
def begin_window(rows: Any, words_at: Any, end: Any) -> None:
    """Empty all tables; data[:end] are words, which the first symbols are, and lines.

    Of equal words the first is found.
    """
    tables = rows[0]
    for row in range(tables.num_labels):
        tables.label_of[tables.labels[row].symbol, tables.labels[row].number] = 0
    for slot in range(2 * _MAX_SYMBOLS):
        tables.symbol_slots[slot] = _FREE
    _free_slots(tables, _FIRST_SLOTS)
    for number in range(len(words_at) - 1):
        begin, stop = words_at[number], words_at[number + 1]
        tables.symbols[number].begin, tables.symbols[number].end = begin, stop
        hashed = hash_of(tables.data, begin, stop)
        slot = slot_of(tables.symbol_slots, tables.data, tables.symbols, begin, stop, hashed)
        if number_in(tables.symbol_slots, slot) < 0:
            take_slot(tables.symbol_slots, slot, hashed, number)
    tables.num_symbols, tables.spare = len(words_at) - 1, end
    tables.num_contents = tables.num_labels = tables.num_participants = tables.num_facts = tables.num_structures = 0
