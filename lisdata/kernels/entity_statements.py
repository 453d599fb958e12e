"""Statements and references as facts, in kernels: those that are written in the usual way, no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels import entity_words as words
from lisdata.kernels.compiled import inlined, inner
from lisdata.kernels.entity_tables import (
    NO_HANDLE,
    add_participant,
    content_of,
    end_fact,
    end_structure,
    find_symbol,
    label_of,
    members_of,
    number_content,
    symbol_of,
    word_content,
    written_content,
)
from lisdata.kernels.entity_tokens import (
    REFUSED,
    after,
    first_byte,
    is_empty,
    is_word,
    put_bytes,
    put_decimal,
    put_word,
    text_of,
)
from lisdata.kernels.entity_values import NO_USUAL, add_detail, add_value, set_of
from lisdata.kernels.json_tape import ESCAPED_TEXT, OPEN_ARRAY, OPEN_OBJECT
from lisdata.kernels.spans import is_equal

_SNAK = set_of(words.SNAKTYPE, words.PROPERTY)
_SNAK_OPTIONS = set_of(words.DATAVALUE, words.DATATYPE, words.HASH)
_DATAVALUE, _DATATYPE, _HASH = set_of(words.DATAVALUE), set_of(words.DATATYPE), set_of(words.HASH)
_REFERENCE = set_of(words.HASH, words.SNAKS, words.SNAKS_ORDER)
_STATEMENT = set_of(words.MAINSNAK, words.TYPE)
_RANK, _ID, _REFERENCES = set_of(words.RANK), set_of(words.ID), set_of(words.REFERENCES)
_QUALIFIERS = set_of(words.QUALIFIERS, words.QUALIFIERS_ORDER)
_MAX_HASH = 64


@inner
def is_property(tables: Any, symbol: Any) -> Any:
    """Tell whether a symbol is a P and digits."""
    begin, end = np.int64(tables.symbols[symbol].begin), np.int64(tables.symbols[symbol].end)
    if end - begin < 2 or tables.data[begin] != 80:
        return False
    at = begin + 1
    while at < end and 48 <= tables.data[at] <= 57:
        at += 1
    return at == end


@inlined
def _add_unvalued(tables: Any, kind: Any, place: Any) -> Any:
    """Add an unknown value, by the name that unknown ones have here and a number, or no value."""
    if is_word(tables, kind, words.NOVALUE):
        content = number_content(tables, words.NOVALUES, np.int64(0), np.int64(0))
    elif is_word(tables, kind, words.SOMEVALUE):
        tables.num_unknown += 1
        first = tables.spare
        put_bytes(tables, tables.unknown_begin, tables.unknown_end)
        put_word(tables, words.HYPHEN)
        put_decimal(tables, tables.num_unknown)
        content = written_content(tables, words.UNKNOWNS, first)
    else:
        return REFUSED
    add_detail(tables, place, words.ITS_VALUE, content)
    return NO_USUAL


@inner
def _add_snak(tables: Any, snak: Any, place: Any) -> Any:
    """Add a snak of the property and side of `place`; tell whether it could be."""
    found = members_of(tables, snak, _SNAK | _SNAK_OPTIONS)
    if found < 0 or found & _SNAK != _SNAK:
        return False
    members, symbol = tables.members, place[0]
    if not is_word(tables, members[words.PROPERTY], symbol):
        return False
    datatype_token, hash_token, kind = members[words.DATATYPE], members[words.HASH], members[words.SNAKTYPE]
    datatype = np.int64(REFUSED)
    if found & _DATATYPE:
        if first_byte(tables, datatype_token) != 34 or tables.tape[datatype_token].link & ESCAPED_TEXT:
            return False
        datatype = find_symbol(tables, datatype_token)
    if found & _DATAVALUE == 0:
        usual = _add_unvalued(tables, kind, place)
    elif is_word(tables, kind, words.VALUE):
        usual = add_value(tables, members[words.DATAVALUE], datatype, place)
    else:
        return False
    if usual == REFUSED:
        return False
    if datatype != usual:
        if found & _DATATYPE:
            content = content_of(tables, words.NAMES, datatype_token)
        else:
            content = word_content(tables, words.NULLS, words.NULL)
        add_detail(tables, place, words.ITS_DATATYPE, content)
    if found & _HASH:
        return add_detail(tables, place, words.ITS_HASH, content_of(tables, words.NAMES, hash_token))
    return True


@inlined
def _note_names(tables: Any, snaks: Any) -> Any:
    """Note in the symbols of properties where their snaks are; return how many there are, -1 for none or odd ones."""
    if first_byte(tables, snaks) != OPEN_OBJECT or is_empty(tables, snaks):
        return np.int64(REFUSED)
    tables.serial += 1
    number, child, end = np.int64(0), snaks + 1, np.int64(tables.tape[snaks].link)
    while child < end:
        symbol = symbol_of(tables, child)
        if symbol < 0 or not is_property(tables, symbol) or tables.symbols[symbol].of_snaks == tables.serial:
            return np.int64(REFUSED)
        tables.symbols[symbol].of_snaks, tables.symbols[symbol].token = tables.serial, child + 1
        number += 1
        child = after(tables, child + 1)
    return number


@inner
def _add_snaks(tables: Any, snaks: Any, order: Any, side: Any) -> Any:
    """Add the snaks of a statement or reference by property, in the order that is given; tell whether they could be."""
    left, serial = _note_names(tables, snaks), tables.serial
    if left < 0 or first_byte(tables, order) != OPEN_ARRAY:
        return False
    name, end = order + 1, np.int64(tables.tape[order].link)
    while name < end:
        number = find_symbol(tables, name)
        if number < 0 or tables.symbols[number].of_snaks != serial:
            return False
        tables.symbols[number].of_snaks = 0
        left -= 1
        listed = np.int64(tables.symbols[number].token)
        if first_byte(tables, listed) != OPEN_ARRAY or is_empty(tables, listed):
            return False
        snak, position = listed + 1, np.int64(0)
        while snak < tables.tape[listed].link:
            if not _add_snak(tables, snak, (number, side, position)):
                return False
            snak = after(tables, snak)
            position += 1
        name += 1
    return left == 0


@inner
def _is_same(tables: Any, left: Any, right: Any) -> Any:
    """Tell whether two values are made of the same tokens."""
    if left == right:
        return True
    tape, data = tables.tape, tables.data
    size = after(tables, left) - left
    if after(tables, right) - right != size:
        return False
    for index in range(size):
        one, other = tape[left + index], tape[right + index]
        byte = data[one.begin]
        if byte != data[other.begin]:
            return False
        if byte in (OPEN_OBJECT, OPEN_ARRAY):
            if one.link - left != other.link - right:
                return False
        else:
            length = np.int64(one.link) - one.begin
            if other.link - other.begin != length:
                return False
            if not is_equal(data, np.int64(one.begin), np.int64(other.begin), length & ~ESCAPED_TEXT):
                return False
    return True


@inlined
def _link_references(tables: Any, references: Any) -> Any:
    """Link a statement to its references, and note those that are new in the structure; tell whether they could be."""
    if first_byte(tables, references) != OPEN_ARRAY or is_empty(tables, references):
        return False
    reference, position = references + 1, np.int64(0)
    while reference < tables.tape[references].link:
        if members_of(tables, reference, _REFERENCE) != _REFERENCE:
            return False
        begin, end = text_of(tables, tables.members[words.HASH])
        if begin < 0 or end - begin > _MAX_HASH:
            return False
        handle = number_content(tables, words.OWN_REFERENCES, begin, end)
        known = tables.contents[handle]
        if known.entity != tables.entity:
            known.entity, known.token = tables.entity, reference
        elif not _is_same(tables, np.int64(known.token), reference):
            return False
        if known.structure != tables.structure_number:
            known.structure, known.pending = tables.structure_number, reference
        add_participant(tables, label_of(tables, words.GENERAL, words.STATEMENT_REFERENCE), handle, position)
        position += 1
        reference = after(tables, reference)
    return True


@inlined
def _add_reference(tables: Any, reference: Any, handle: Any) -> Any:
    """Add the fact that a reference is; tell whether it could be."""
    if members_of(tables, reference, _REFERENCE) != _REFERENCE:
        return False
    members = tables.members
    snaks, order = members[words.SNAKS], members[words.SNAKS_ORDER]
    begin, end, number = tables.unknown_begin, tables.unknown_end, tables.num_unknown
    known = tables.contents[handle]
    tables.unknown_begin, tables.unknown_end, tables.num_unknown = known.begin, known.end, 0
    if not _add_snaks(tables, snaks, order, words.AS_REFERENCE):
        return False
    tables.unknown_begin, tables.unknown_end, tables.num_unknown = begin, end, number
    end_fact(tables, label_of(tables, words.GENERAL, words.A_REFERENCE), handle)
    return True


@inlined
def _add_references(tables: Any, references: Any, first: Any) -> Any:
    """Add the references that are new; participants from `first` on are their handles. Tell whether they could be."""
    reference = references + 1
    while reference < tables.tape[references].link:
        handle = np.int64(tables.participants[first].content)
        if tables.contents[handle].pending == reference:
            tables.contents[handle].pending = -1
            if not _add_reference(tables, reference, handle):
                return False
        first += 1
        reference = after(tables, reference)
    return True


@inlined
def _add_statement(tables: Any, statement: Any, subject: Any, symbol: Any) -> Any:
    """Add a statement of a property, and the references that are new in the structure; tell whether they could be."""
    found = members_of(tables, statement, _STATEMENT | _RANK | _ID | _QUALIFIERS | _REFERENCES)
    if found < 0 or found & _STATEMENT != _STATEMENT:
        return False
    members = tables.members
    mainsnak, name, rank = members[words.MAINSNAK], members[words.ID], members[words.RANK]
    qualifiers, order = members[words.QUALIFIERS], members[words.QUALIFIERS_ORDER]
    references, type_ = members[words.REFERENCES], members[words.TYPE]
    add_participant(tables, label_of(tables, symbol, words.SUBJECT_OF), subject, 0)
    instance = label_of(tables, symbol, words.INSTANCE_OF)
    zero = np.int64(0)
    if not is_word(tables, type_, words.STATEMENT):
        return False
    if not _add_snak(tables, mainsnak, (symbol, np.int64(words.AS_VALUE), zero)):
        return False
    handle = content_of(tables, words.HANDLES, name) if found & _ID else np.int64(NO_HANDLE)
    if found & _ID and handle < 0:
        return False
    if found & _RANK:
        content = content_of(tables, words.NAMES, rank)
        if content < 0:
            return False
        add_participant(tables, label_of(tables, words.GENERAL, words.STATEMENT_RANK), content, 0)
    has_qualifiers = found & _QUALIFIERS == _QUALIFIERS
    if found & _QUALIFIERS and not has_qualifiers:
        return False
    if has_qualifiers and not _add_snaks(tables, qualifiers, order, words.AS_QUALIFIER):
        return False
    first = tables.num_participants
    if found & _REFERENCES and not _link_references(tables, references):
        return False
    end_fact(tables, instance, handle)
    return found & _REFERENCES == 0 or _add_references(tables, references, first)


@inlined
def add_statements(tables: Any, claims: Any, subject: Any, line: Any, ends_structures: Any) -> Any:
    """Add the statements about `subject`, each a structure if `ends_structures`; tell whether they could be."""
    tables.serial += 1
    serial = tables.serial
    child, end = claims + 1, np.int64(tables.tape[claims].link)
    while child < end:
        symbol, listed = symbol_of(tables, child), child + 1
        if symbol < 0 or not is_property(tables, symbol) or tables.symbols[symbol].of_claims == serial:
            return False
        tables.symbols[symbol].of_claims = serial
        if first_byte(tables, listed) != OPEN_ARRAY or is_empty(tables, listed):
            return False
        statement = listed + 1
        while statement < tables.tape[listed].link:
            if not _add_statement(tables, statement, subject, symbol):
                return False
            if ends_structures:
                end_structure(tables, line)
            statement = after(tables, statement)
        child = after(tables, listed)
    return True
