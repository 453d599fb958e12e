"""Values of snaks as contents and their details, in kernels: those that are written in the usual way, no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels import entity_words as words
from lisdata.kernels.compiled import inlined, inner
from lisdata.kernels.entity_tables import (
    add_participant,
    content_of,
    find_symbol,
    integer_content,
    label_of,
    members_of,
    number_content,
    symbol_of,
    word_content,
    written_content,
)
from lisdata.kernels.entity_tokens import (
    REFUSED,
    begins_with,
    first_byte,
    integer_of,
    is_text,
    is_word,
    put_byte,
    put_bytes,
    put_word,
    text_of,
)
from lisdata.kernels.json_tape import MINUS, QUOTE
from lisdata.kernels.spans import is_equal

NO_USUAL = -2
"""Instead of a datatype: the value does not tell what that usually is."""


def set_of(*members: int) -> np.int64:
    """Return the set of names that `members_of` takes and gives."""
    return np.int64(sum(1 << member for member in members))


_DATAVALUE = set_of(words.VALUE, words.TYPE)
_ENTITY = set_of(words.ENTITY_TYPE, words.NUMERIC_ID, words.ID)
_MONOLINGUAL = set_of(words.TEXT, words.LANGUAGE)
_TIME = set_of(
    words.TIME, words.TIMEZONE, words.BEFORE, words.AFTER, words.PRECISION, words.CALENDARMODEL
)  # fmt: skip
_QUANTITY = set_of(words.AMOUNT, words.UNIT)
_BOUNDS = set_of(words.UPPER_BOUND, words.LOWER_BOUND)
_COORDINATE = set_of(words.GLOBE, words.LATITUDE, words.LONGITUDE, words.PRECISION)
_ALTITUDE = set_of(words.ALTITUDE)

_HEX_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8).copy()
_MAX_NUMBER, _MAX_EXPONENT = 32, 4  # bytes: no double is too small for them
_BLANK, _UNDERSCORE = b" _"
_TABLE_SIZE = len(words.WORDS[words.TABLE])
_LETTER, _SCHEME, _IRI, _UNRESERVED, _TITLE = 1, 2, 4, 8, 16
_CLASSES = np.zeros(256, np.uint8)  # of bytes: where in an IRI they may stand
for _byte in range(256):
    _is_letter = chr(_byte).isalpha() and _byte < 128
    _is_alphanumeric = _is_letter or chr(_byte) in "0123456789"
    _CLASSES[_byte] |= _LETTER * _is_letter
    _CLASSES[_byte] |= _SCHEME * (_is_alphanumeric or chr(_byte) in "+.-")
    _CLASSES[_byte] |= _IRI * (_byte > 32 and chr(_byte) not in '<>"{}|^`\\')
    _CLASSES[_byte] |= _UNRESERVED * (_is_alphanumeric or chr(_byte) in "_.-~")
    _CLASSES[_byte] |= _TITLE * (chr(_byte) in ";@$!*(),/~:")  # of pages, by MediaWiki's way to write them


@inner
def add_detail(tables: Any, place: Any, detail: Any, content: Any) -> Any:
    """Add what a value or a detail of it is, False for no content; `place`: symbol of the property, side, position."""
    if content < 0:
        return False
    symbol, side, position = place
    label = label_of(tables, symbol, words.FIRST_DETAIL + side * len(words.DETAILS) + detail)
    add_participant(tables, label, content, position)
    return True


@inner
def is_iri(tables: Any, begin: Any, end: Any) -> Any:
    """Tell whether data[begin:end] has the form of an IRI: a scheme, a colon, and nothing that an IRI must not have."""
    data, at = tables.data, begin
    if begin >= end or _CLASSES[data[begin]] & _LETTER == 0:
        return False
    while at < end and _CLASSES[data[at]] & _SCHEME:
        at += 1
    if at >= end or data[at] != 58:
        return False
    while at < end and _CLASSES[data[at]] & _IRI:
        at += 1
    return at == end


@inlined
def _add_url(tables: Any, begin: Any, end: Any, place: Any) -> Any:
    if not is_iri(tables, begin, end):
        content = number_content(tables, words.ANY_URIS, begin, end)
    elif (
        begins_with(tables, begin, end, words.ENTITY_IRI)
        or begins_with(tables, begin, end, words.FILE_IRI)
        or begins_with(tables, begin, end, words.DATA_IRI)
    ):
        return REFUSED
    else:
        content = number_content(tables, words.IRIS, begin, end)
    add_detail(tables, place, words.ITS_VALUE, content)
    return words.URL


@inner
def _put_encoded(tables: Any, begin: Any, end: Any, kept: Any) -> None:
    """Write data[begin:end] with percent signs for bytes that are not of the classes `kept`."""
    for at in range(begin, end):
        byte = tables.data[at]
        if _CLASSES[byte] & kept:
            put_byte(tables, byte)
        elif byte == _BLANK and kept & _TITLE:
            put_byte(tables, _UNDERSCORE)
        else:
            put_word(tables, words.PERCENT)
            put_byte(tables, _HEX_DIGITS[byte >> 4])
            put_byte(tables, _HEX_DIGITS[byte & 15])


@inlined
def _add_media(tables: Any, begin: Any, end: Any, place: Any) -> Any:
    """Add the name of a file as the IRI that RDF has for it."""
    first = tables.spare
    put_word(tables, words.FILE_IRI)
    _put_encoded(tables, begin, end, _UNRESERVED)
    add_detail(tables, place, words.ITS_VALUE, written_content(tables, words.IRIS, first))
    return words.MEDIA


@inlined
def _add_data(tables: Any, begin: Any, end: Any, place: Any) -> Any:
    """Add the name of a page of data as the IRI that RDF has for it, if the name comes back from that."""
    at = begin
    while at < end and tables.data[at] != _UNDERSCORE:
        at += 1
    if at < end:
        add_detail(tables, place, words.ITS_VALUE, number_content(tables, words.STRINGS, begin, end))
        return words.OF_STRING
    first = tables.spare
    put_word(tables, words.DATA_IRI)
    _put_encoded(tables, begin, end, _UNRESERVED | _TITLE)
    add_detail(tables, place, words.ITS_VALUE, written_content(tables, words.IRIS, first))
    is_table = begins_with(tables, max(begin, end - _TABLE_SIZE), end, words.TABLE)
    return words.TABULAR_DATA if is_table else words.GEO_SHAPE


@inlined
def _add_string(tables: Any, value: Any, datatype: Any, place: Any) -> Any:
    begin, end = text_of(tables, value)
    if begin < 0:
        return REFUSED
    if datatype == words.URL:
        return _add_url(tables, begin, end, place)
    if datatype == words.MEDIA:
        return _add_media(tables, begin, end, place)
    if datatype in (words.GEO_SHAPE, words.TABULAR_DATA):
        return _add_data(tables, begin, end, place)
    group, usual = words.STRINGS, words.OF_STRING
    if datatype == words.MATH:
        group, usual = words.MATHS, words.MATH
    add_detail(tables, place, words.ITS_VALUE, number_content(tables, group, begin, end))
    return usual


@inlined
def _add_entity(tables: Any, value: Any, datatype: Any, place: Any) -> Any:
    """Add an entity whose type, number and id say the same."""
    if members_of(tables, value, _ENTITY) != _ENTITY:
        return REFUSED
    for other in (words.URL, words.MEDIA, words.GEO_SHAPE, words.TABULAR_DATA):  # strings that RDF has IRIs for
        if datatype == other:
            return REFUSED
    kind, name = tables.members[words.ENTITY_TYPE], tables.members[words.ID]
    letter, usual = 76, words.OF_LEXEME
    if is_word(tables, kind, words.ITEM):
        letter, usual = 81, words.OF_ITEM
    elif is_word(tables, kind, words.PROPERTY):
        letter, usual = 80, words.OF_PROPERTY
    elif not is_word(tables, kind, words.LEXEME):
        return REFUSED
    begin, end = text_of(tables, name)
    first, last = integer_of(tables, tables.members[words.NUMERIC_ID])
    if begin < 0 or first < 0 or end - begin != last - first + 1:
        return REFUSED
    data = tables.data
    if data[begin] != letter or not 49 <= data[first] <= 57 or not is_equal(data, begin + 1, first, last - first):
        return REFUSED
    add_detail(tables, place, words.ITS_VALUE, number_content(tables, words.ENTITIES, begin, end))
    return usual


@inner
def add_text(tables: Any, token: Any, language: Any) -> Any:
    """Return the content of a text in the language that is symbol `language`, -1 where it is none."""
    begin, end = text_of(tables, token)
    if begin < 0:
        return np.int64(REFUSED)
    group = words.FIRST_LANGUAGE + label_of(tables, language, words.GROUP_OF)
    return number_content(tables, group, begin, end)


@inlined
def _add_monolingual(tables: Any, value: Any, place: Any) -> Any:
    if members_of(tables, value, _MONOLINGUAL) != _MONOLINGUAL:
        return REFUSED
    language = tables.members[words.LANGUAGE]
    symbol = symbol_of(tables, language) if first_byte(tables, language) == QUOTE else np.int64(REFUSED)
    if symbol < 0:
        return REFUSED
    content = add_text(tables, tables.members[words.TEXT], symbol)
    return words.A_TEXT if add_detail(tables, place, words.ITS_VALUE, content) else REFUSED


@inlined
def _add_time(tables: Any, value: Any, place: Any) -> Any:
    if members_of(tables, value, _TIME) != _TIME:
        return REFUSED
    members, data = tables.members, tables.data
    is_good = add_detail(tables, place, words.ITS_VALUE, content_of(tables, words.TIMES, members[words.TIME]))
    precision = integer_content(tables, words.NUMBERS, members[words.PRECISION])
    is_good &= add_detail(tables, place, words.ITS_PRECISION, precision)
    calendar = content_of(tables, words.IRIS, members[words.CALENDARMODEL])
    is_good &= add_detail(tables, place, words.ITS_CALENDAR, calendar)
    for member, detail in (
        (words.TIMEZONE, words.ITS_TIMEZONE), (words.BEFORE, words.ITS_BEFORE), (words.AFTER, words.ITS_AFTER)
    ):  # fmt: skip
        begin, end = integer_of(tables, members[member])
        if begin < 0:
            return REFUSED
        if end - begin > 1 or data[begin] != 48:
            add_detail(tables, place, detail, number_content(tables, words.NUMBERS, begin, end))
    return words.TIME if is_good else REFUSED


@inlined
def _add_quantity(tables: Any, value: Any, place: Any) -> Any:
    found, members = members_of(tables, value, _QUANTITY | _BOUNDS), tables.members
    if found < 0 or found & _QUANTITY != _QUANTITY:
        return REFUSED
    is_good = add_detail(tables, place, words.ITS_VALUE, content_of(tables, words.DECIMALS, members[words.AMOUNT]))
    begin, end = text_of(tables, members[words.UNIT])
    if begin < 0:
        return REFUSED
    if not is_text(tables, begin, end, words.ONE):
        is_good &= add_detail(tables, place, words.ITS_UNIT, number_content(tables, words.IRIS, begin, end))
    for member, detail in ((words.UPPER_BOUND, words.ITS_UPPER), (words.LOWER_BOUND, words.ITS_LOWER)):
        if found & (1 << member):
            is_good &= add_detail(tables, place, detail, content_of(tables, words.DECIMALS, members[member]))
    return words.A_QUANTITY if is_good else REFUSED


@inner
def is_literal_null(tables: Any, token: Any) -> Any:
    """Tell whether a value is null."""
    return first_byte(tables, token) == 110


@inner
def _coordinate_number(tables: Any, token: Any) -> Any:
    """Return (begin, end) of a number that is neither an odd integer nor too large for a double; -1 for others."""
    data, begin, end = tables.data, np.int64(tables.tape[token].begin), np.int64(tables.tape[token].link)
    if data[begin] != MINUS and not 48 <= data[begin] <= 57:
        return np.int64(REFUSED), np.int64(REFUSED)
    exponent: Any = end
    is_integer = True
    for at in range(begin, end):
        if data[at] == 46:
            is_integer = False
        elif (data[at] | 32) == 101:
            is_integer, exponent = False, at
    if is_integer:
        return integer_of(tables, token)
    is_small = end - begin <= _MAX_NUMBER and end - exponent <= _MAX_EXPONENT
    return (begin, end) if is_small else (np.int64(REFUSED), np.int64(REFUSED))


@inner
def _coordinate_content(tables: Any, token: Any) -> Any:
    if is_literal_null(tables, token):
        return word_content(tables, words.NULLS, words.NULL)
    begin, end = _coordinate_number(tables, token)
    return np.int64(REFUSED) if begin < 0 else number_content(tables, words.NUMBERS, begin, end)


@inlined
def _add_coordinate(tables: Any, value: Any, place: Any) -> Any:
    found, members = members_of(tables, value, _COORDINATE | _ALTITUDE), tables.members
    if found < 0 or found & _COORDINATE != _COORDINATE:
        return REFUSED
    globe, globe_end = text_of(tables, members[words.GLOBE])
    longitude, longitude_end = _coordinate_number(tables, members[words.LONGITUDE])
    latitude, latitude_end = _coordinate_number(tables, members[words.LATITUDE])
    if globe < 0 or longitude < 0 or latitude < 0:
        return REFUSED
    first = tables.spare
    if not is_text(tables, globe, globe_end, words.EARTH):
        put_word(tables, words.MARKED_IRI)
        put_bytes(tables, globe, globe_end)
        put_word(tables, words.MARKED_IRI_END)
    put_word(tables, words.POINT)
    put_bytes(tables, longitude, longitude_end)
    put_word(tables, words.SPACE)
    put_bytes(tables, latitude, latitude_end)
    put_word(tables, words.CLOSED)
    add_detail(tables, place, words.ITS_VALUE, written_content(tables, words.POINTS, first))
    precision = _coordinate_content(tables, members[words.PRECISION])
    is_good = add_detail(tables, place, words.ITS_PRECISION, precision)
    if found & _ALTITUDE:
        altitude = _coordinate_content(tables, members[words.ALTITUDE])
        is_good &= add_detail(tables, place, words.ITS_ALTITUDE, altitude)
    add_detail(tables, place, words.ITS_GLOBE, number_content(tables, words.IRIS, globe, globe_end))
    return words.OF_COORDINATE if is_good else REFUSED


@inlined
def add_value(tables: Any, datavalue: Any, datatype: Any, place: Any) -> Any:
    """Add a value and its details; return the word of the datatype that it usually has, NO_USUAL or REFUSED.

    `datatype` is the symbol of the snak's datatype, -1 where it has none or that is no symbol.
    """
    if members_of(tables, datavalue, _DATAVALUE) != _DATAVALUE:
        return REFUSED
    value, kind = tables.members[words.VALUE], find_symbol(tables, tables.members[words.TYPE])
    if kind == words.A_STRING:
        return _add_string(tables, value, datatype, place)
    if kind == words.AN_ENTITY:
        return _add_entity(tables, value, datatype, place)
    if kind == words.TIME:
        return _add_time(tables, value, place)
    if kind == words.A_QUANTITY:
        return _add_quantity(tables, value, place)
    if kind == words.A_TEXT:
        return _add_monolingual(tables, value, place)
    if kind == words.A_COORDINATE:
        return _add_coordinate(tables, value, place)
    return REFUSED
