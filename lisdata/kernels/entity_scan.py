"""Entities of Wikibase's JSON, one a line, to facts: compiled, for those that are written in the usual way.

A line with anything unusual is left as it is, for the reader that knows all of them and tells what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from lisdata.kernels import entity_words as words
from lisdata.kernels.compiled import inlined, inner, kernel
from lisdata.kernels.entity_statements import add_statements
from lisdata.kernels.entity_tables import (
    LINE,
    NO_HANDLE,
    TABLES,
    add_participant,
    begin_structure,
    content_of,
    end_fact,
    end_structure,
    forget_contents,
    integer_content,
    label_of,
    make_room,
    number_content,
    rows_of,
    symbol_of,
    word_content,
    written_content,
)
from lisdata.kernels.entity_texts import add_entity_named, add_sitelinks, add_terms
from lisdata.kernels.entity_tokens import REFUSED, after, first_byte, is_empty, put_decimal, put_word
from lisdata.kernels.entity_values import set_of
from lisdata.kernels.json_lexemes import after_space
from lisdata.kernels.json_tape import COMMA, END_ARRAY, OPEN_ARRAY, OPEN_OBJECT, write_tape

_ID, _TYPE, _DATATYPE = set_of(words.ID), set_of(words.TYPE), set_of(words.DATATYPE)
_CLAIMS = set_of(words.CLAIMS)
_STATEMENT_MAPS = set_of(words.CLAIMS, words.STATEMENTS)
_ROOM = 16  # contents and the like of an entity beyond one a token
_ROOM_FOR_TEXTS = 512
_MOST_WRITTEN = 4  # bytes a byte: a file's name without its escapes, and percent-encoded


@inner
def _has_hash(tables: Any, symbol: Any) -> Any:
    """Tell whether a name has a hash sign, which no side of a role has."""
    at, end = tables.symbols[symbol].begin, tables.symbols[symbol].end
    while at < end and tables.data[at] != 35:
        at += 1
    return at < end


@inlined
def _find_members(tables: Any, entity: Any) -> Any:
    """Put the values of an entity's members at members[word]; return the words of those not empty, of {} and of [].

    The first is -1 where a member comes twice or has to be read otherwise.
    """
    tables.serial += 1
    found, empty, lists, child = np.int64(0), np.int64(0), np.int64(0), entity + 1
    refused = np.int64(REFUSED), empty, lists
    while child < tables.tape[entity].link:
        symbol, value = symbol_of(tables, child), child + 1
        if symbol < 0 or tables.symbols[symbol].of_others == tables.serial:
            return refused
        tables.symbols[symbol].of_others = tables.serial
        byte = first_byte(tables, value)
        is_container = byte in (OPEN_OBJECT, OPEN_ARRAY)
        if words.FIRST_LEFT_TO_OTHERS <= symbol < words.FIRST_INNER:
            return refused
        if words.LABELS <= symbol < words.FIRST_LEFT_TO_OTHERS:
            bit = np.int64(1) << symbol
            if not is_container or (byte == OPEN_ARRAY and not is_empty(tables, value)):
                return refused
            if not is_empty(tables, value):
                found |= bit
            elif byte == OPEN_OBJECT:
                empty |= bit
            else:
                lists |= bit
        elif is_container or (symbol >= words.FIRST_INNER and _has_hash(tables, symbol)):
            return refused
        if symbol < words.FIRST_INNER:
            tables.members[symbol] = value
            found |= np.int64(1) << symbol if symbol < words.LABELS else 0
        child = after(tables, value)
    return found, empty, lists


@inlined
def _add_scalar(tables: Any, name: Any) -> Any:
    """Add what a member that means nothing here says; tell whether it could be."""
    value, symbol = name + 1, symbol_of(tables, name)
    byte = first_byte(tables, value)
    if byte == 34:
        content = content_of(tables, words.JSON_STRINGS, value)
    elif byte == 110:
        content = word_content(tables, words.NULLS, words.NULL)
    elif byte == 116 or byte == 102:
        token = tables.tape[value]
        content = number_content(tables, words.BOOLEANS, np.int64(token.begin), np.int64(token.link))
    else:
        content = integer_content(tables, words.JSON_INTEGERS, value)
    if content < 0:
        return False
    add_participant(tables, label_of(tables, symbol, words.MEMBER_OF), content, 0)
    return True


@inner
def _put_names(tables: Any, intro: Any, names: Any) -> None:
    """Write the names of a set as a JSON array, behind an opening that ends with a bracket."""
    put_word(tables, intro)
    is_first = True
    for word in range(words.LABELS, words.FIRST_LEFT_TO_OTHERS):
        if names & (np.int64(1) << word):
            if not is_first:
                put_word(tables, words.AND)
            is_first = False
            put_word(tables, words.MARK)
            put_word(tables, word)
            put_word(tables, words.MARK)
    put_word(tables, words.LIST_END)


@inlined
def _layout(tables: Any, empty: Any, lists: Any, has_statements: Any) -> Any:
    """Return the content that says which members are empty and how, as `EntityLayout` is written."""
    first = tables.spare
    put_word(tables, words.LAYOUT_BEGIN)
    if empty:
        _put_names(tables, words.LAYOUT_EMPTY, empty)
        if lists or has_statements:
            put_word(tables, words.AND)
    if lists:
        _put_names(tables, words.LAYOUT_LISTS, lists)
        if has_statements:
            put_word(tables, words.AND)
    if has_statements:
        put_word(tables, words.LAYOUT_STATEMENTS)
    put_word(tables, words.LAYOUT_END)
    return written_content(tables, words.JSON, first)


@inlined
def _add_header(tables: Any, entity: Any, subject: Any, found: Any, type_: Any, datatype: Any) -> Any:
    """Add subject, type, datatype and members that mean nothing here to the fact that the entity is."""
    add_participant(tables, label_of(tables, words.GENERAL, words.ENTITY_SUBJECT), subject, 0)
    for bit, token, number in ((_TYPE, type_, words.ENTITY_TYPED), (_DATATYPE, datatype, words.ENTITY_DATATYPE)):
        if found & bit:
            content = content_of(tables, words.NAMES, token)
            if content < 0:
                return False
            add_participant(tables, label_of(tables, words.GENERAL, number), content, 0)
    name = entity + 1
    while name < tables.tape[entity].link:
        if symbol_of(tables, name) >= words.FIRST_INNER and not _add_scalar(tables, name):
            return False
        name = after(tables, name + 1)
    return True


@inlined
def _add_entity(tables: Any, entity: Any, line: Any, ends_structures: Any) -> Any:
    """Add all facts of an entity; tell whether it could be."""
    found, empty, lists = _find_members(tables, entity)
    maps = (found | empty | lists) & _STATEMENT_MAPS
    if found < 0 or found & _ID == 0 or maps == _STATEMENT_MAPS:
        return False
    members = tables.members
    type_, datatype = members[words.TYPE], members[words.DATATYPE]
    subject = add_entity_named(tables, members[words.ID])
    if subject < 0:
        return False
    if found & _STATEMENT_MAPS:
        claims = members[words.CLAIMS] if found & _CLAIMS else members[words.STATEMENTS]
        if not add_statements(tables, claims, subject, line, ends_structures):
            return False
    name = entity + 1
    while name < tables.tape[entity].link:
        member, value = symbol_of(tables, name), name + 1
        if words.LABELS <= member <= words.SITELINKS and not is_empty(tables, value):
            if member == words.SITELINKS:
                is_good = add_sitelinks(tables, value, subject)
            else:
                is_good = add_terms(tables, value, member, subject)
            if not is_good:
                return False
        name = after(tables, value)
    if not _add_header(tables, entity, subject, found, type_, datatype):
        return False
    has_statements = maps & ~_CLAIMS != 0
    if empty or lists or has_statements:
        content = _layout(tables, empty, lists, has_statements)
        add_participant(tables, label_of(tables, words.GENERAL, words.ENTITY_LAYOUT), content, 0)
    end_fact(tables, label_of(tables, words.GENERAL, words.THE_ENTITY), NO_HANDLE)
    end_structure(tables, line)
    return True


@inlined
def _begin_entity(tables: Any, line: Any, number: Any) -> None:
    """Go on to the entity of a line; unknown values are called by where that begins."""
    tables.entity = number
    tables.first_fact = tables.num_facts
    tables.unknown_begin, tables.num_unknown = tables.spare, 0
    put_decimal(tables, line.begin)
    tables.unknown_end = tables.spare
    begin_structure(tables)


@inlined
def _forget(tables: Any, line: Any) -> None:
    """Take back what was made since the end of a line."""
    forget_contents(tables, line.contents)
    for row in range(line.labels, tables.num_labels):
        tables.label_of[tables.labels[row].symbol, tables.labels[row].number] = 0
    tables.num_labels, tables.num_participants = line.labels, line.participants
    tables.num_facts, tables.num_structures, tables.spare = line.facts, line.structures, line.spare


@inlined
def _note(tables: Any, line: Any) -> None:
    line.contents, line.labels, line.participants = tables.num_contents, tables.num_labels, tables.num_participants
    line.facts, line.structures, line.spare = tables.num_facts, tables.num_structures, tables.spare


@inlined
def _end_of_line(data: Any, at: Any, stop: Any) -> Any:
    """Return (whether only white space and at most one comma follow, whether a comma does)."""
    at = after_space(data, at, stop)
    has_comma = at < stop and data[at] == COMMA
    if has_comma:
        at = after_space(data, at + 1, stop)
    return at == stop, has_comma


@inlined
def _has_room(tables: Any, size: Any, num_bytes: Any) -> Any:
    """Tell whether the tables have room for what an entity of so many tokens and bytes can make."""
    more = size + _ROOM
    return (
        tables.num_contents + more <= len(tables.contents)
        and tables.num_participants + more <= len(tables.participants)
        and tables.num_labels + more <= len(tables.labels)
        and tables.num_facts + more <= len(tables.facts)
        and tables.spare + _MOST_WRITTEN * num_bytes + _ROOM_FOR_TEXTS <= len(tables.data)
    )


@inlined
def _ends_array(data: Any, first: Any, stop: Any) -> Any:
    """Tell whether a line ends with a bracket: it may close the array, also one that it opened itself."""
    while stop > first and (data[stop - 1] == 32 or 9 <= data[stop - 1] <= 13):
        stop -= 1
    return stop > first and data[stop - 1] == END_ARRAY


@kernel(types.int64(rows_of(TABLES), rows_of(LINE), types.int64, types.int64, types.boolean))
def scan_lines(rows: Any, lines: Any, base: Any, max_bytes: Any, ends_structures: Any) -> Any:
    """Add the entities of a window's lines; return the line for which there was no more room, or the end.

    Lines are at `begin` and `end` less `base` in the data. Row 0 of `lines` is none: what it says is so before them.
    Once a line has closed an array, none is taken, nor is one of more than `max_bytes`.
    """
    tables = rows[0]
    data, number = tables.data, 1
    while number < len(lines):
        line, before = lines[number], lines[number - 1]
        stop, size = line.end - base, 0
        at = first = after_space(data, line.begin - base, stop)
        line.is_taken = line.has_comma = 0
        line.is_behind = before.is_behind | before.ends_array
        if first < stop and data[first] == OPEN_OBJECT and line.end - line.begin <= max_bytes and not line.is_behind:
            size, at = write_tape(data, first, stop, tables.tape)
        if size and not _has_room(tables, size, stop - first):
            if number > 1:
                return number
            size = 0
        if size:
            make_room(tables, size + _ROOM)
            is_line, has_comma = _end_of_line(data, at, stop)
            _begin_entity(tables, line, number)
            if is_line and _add_entity(tables, np.int64(0), line, ends_structures):
                line.is_taken, line.has_comma = 1, has_comma
            else:
                _forget(tables, before)
        line.ends_array = line.is_taken == 0 and _ends_array(data, first, stop)
        _note(tables, line)
        number += 1
    return number
