"""Values of snaks to participants in a kernel, where they have the usual shapes; others are refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels import wikidata_names as names
from lisdata.kernels.compiled import inner
from lisdata.kernels.grouped_texts import BEGINNING, number_text, put_byte, put_bytes
from lisdata.kernels.json_members import BEGIN, END, INTEGER, KIND, NULL, NUMBER, SIZE, STRING, put_text
from lisdata.kernels.spans import is_equal
from lisdata.kernels.wikidata_facts import (
    add_participant,
    content_of,
    entity_of,
    label_of,
    null_of,
    put_piece,
    symbol_of,
)
from lisdata.kernels.wikidata_names import REFUSED, is_word, members_of

_LETTERS = np.frombuffer(b"QPLME", np.uint8)  # of the ids of the first kinds of entities

_IN_IRI, _IN_SCHEME, _IN_FILE, _IN_TABLE = 1, 2, 4, 8
_CLASSES = np.zeros(256, np.uint8)
"""Where a byte may stand in: an IRI, the scheme of one, and unescaped in the names of files and of tables."""
_CLASSES[33:] |= _IN_IRI
_CLASSES[list(b'<>"{}|^`\\')] &= ~np.uint8(_IN_IRI)
_ALPHANUMERIC = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_CLASSES[list(_ALPHANUMERIC + b"+.-")] |= _IN_SCHEME
_CLASSES[list(_ALPHANUMERIC + b"_.-~")] |= _IN_FILE | _IN_TABLE
_CLASSES[list(b";@$!*(),/~:")] |= _IN_TABLE  # MediaWiki's way to write titles in URLs
_HEX_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8)


@inner
def _after_id(data: Any, at: Any, end: Any) -> Any:
    """Return where an id such as Q42 that begins at `at` ends, -1 where there is none."""
    if at + 2 > end or not 65 <= data[at] <= 90 or not 49 <= data[at + 1] <= 57:
        return np.int64(-1)
    at += 2
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return np.int64(at)


@inner
def is_id(scan: Any, token: Any) -> Any:
    """Tell whether a string is the id of an entity, as Q42 and L3-F1 are."""
    return _kind_of_id(scan.tokens, token) >= 0


@inner
def _kind_of_id(tokens: Any, token: Any) -> Any:
    """Return the kind of entity (0: KIND_ITEM) whose id a string is; 99 for an unknown one, -1 where it is no id."""
    if tokens.rows[token, KIND] != STRING:
        return -1
    data, begin, end = tokens.data, tokens.rows[token, BEGIN] + 1, tokens.rows[token, END] - 1
    at = _after_id(data, begin, end)
    if at == end:
        for kind in range(len(_LETTERS)):
            if data[begin] == _LETTERS[kind]:
                return kind
        return 99
    if at < 0 or data[at] != 45 or _after_id(data, at + 1, end) != end:
        return -1
    if data[begin] == 76 and data[at + 1] == 70:
        return names.KIND_FORM - names.KIND_ITEM
    if data[begin] == 76 and data[at + 1] == 83:
        return names.KIND_SENSE - names.KIND_ITEM
    return 99


@inner
def _is_numeric_id(tokens: Any, number: Any, token: Any) -> Any:
    """Tell whether a token is the number in an id."""
    size = tokens.rows[number, SIZE]
    if tokens.rows[number, KIND] != INTEGER or size != tokens.rows[token, SIZE] - 1:
        return False
    first, second = tokens.rows[number, BEGIN], tokens.rows[token, BEGIN] + 2
    return is_equal(tokens.data, first, second, size)


@inner
def _detail(scan: Any, place: Any, detail: Any, content: Any) -> Any:
    """Add a value or a detail of one; `place`: symbol of the property, side, position."""
    symbol, side, position = place
    label = label_of(scan, symbol, side * len(names.DETAILS) + detail)
    return add_participant(scan, content, label, position)


@inner
def _number_of(scan: Any, token: Any) -> Any:
    """Return the content that is a number as it is written, or null; -1 for anything else."""
    kind, data = scan.tokens.rows[token, KIND], scan.tokens.data
    begin, end = scan.tokens.rows[token, BEGIN], scan.tokens.rows[token, END]
    if kind == NULL:
        return null_of(scan)
    if not _is_number(scan, token):
        return np.int64(-1)
    put_bytes(scan.contents, data, begin, end)
    return number_text(scan.contents, names.NUMBERS)


@inner
def _is_number(scan: Any, token: Any) -> Any:
    """Tell whether a token is a number other than -0, which may mean that something was lost."""
    kind, begin = scan.tokens.rows[token, KIND], scan.tokens.rows[token, BEGIN]
    if kind == INTEGER:
        return scan.tokens.data[begin] != 45 or scan.tokens.data[begin + 1] != 48
    return kind == NUMBER


@inner
def _add_entity(scan: Any, value: Any, place: Any) -> Any:
    tokens, members = scan.tokens, scan.members
    if not members_of(tokens, value, names.ENTITY_VALUE, members):
        return REFUSED
    name, kind, number = members[names.ENTITY_ID], members[names.ENTITY_TYPE], members[names.NUMERIC_ID]
    if name < 0 or kind < 0:
        return REFUSED
    found = _kind_of_id(tokens, name)
    if found < 0 or found > names.KIND_SENSE - names.KIND_ITEM or not is_word(tokens, kind, names.KIND_ITEM + found):
        return REFUSED
    if found < names.KIND_SCHEMA - names.KIND_ITEM:
        if number < 0 or not _is_numeric_id(tokens, number, name):
            return REFUSED
    elif number >= 0:
        return REFUSED
    _detail(scan, place, names.THE_VALUE, entity_of(scan, name))
    return names.OF_ITEM + found


@inner
def _is_iri(texts: Any, begin: Any, end: Any) -> Any:
    data = texts.data
    if begin == end or not _CLASSES[data[begin]] & _IN_SCHEME or data[begin] < 65:  # no digit, plus, dot, minus
        return False
    at = begin
    while at < end and _CLASSES[data[at]] & _IN_SCHEME:
        at += 1
    if at == end or data[at] != 58:
        return False
    while at < end and _CLASSES[data[at]] & _IN_IRI:
        at += 1
    return at == end


@inner
def _starts_with_piece(scan: Any, begin: Any, end: Any, piece: Any) -> Any:
    first = scan.symbols.rows[piece, BEGINNING]
    size = scan.symbols.rows[piece + 1, BEGINNING] - first
    if end - begin < size:
        return False
    same = 0
    while same < size and scan.contents.data[begin + same] == scan.symbols.data[first + same]:
        same += 1
    return same == size


@inner
def _add_url(scan: Any, value: Any, place: Any) -> Any:
    texts = scan.contents
    begin = texts.rows[texts.state[0], BEGINNING]
    if not put_text(scan.tokens, value, texts):
        return REFUSED
    end = texts.state[1]
    is_iri = _is_iri(texts, begin, end)
    if is_iri:  # one that looks like the value of another datatype
        for piece in (names.ENTITY_IRI, names.FILE_IRI, names.TABLE_IRI):
            if _starts_with_piece(scan, begin, end, piece):
                return REFUSED
    _detail(scan, place, names.THE_VALUE, number_text(texts, names.IRIS if is_iri else names.URIS))
    return names.OF_URL


@inner
def _escape(texts: Any, begin: Any, kept: Any) -> None:
    """Escape the bytes from `begin` on that are not `kept`, as in IRIs; a space that is not becomes _ in tables."""
    data, end = texts.data, texts.state[1]
    more = 0
    for at in range(begin, end):
        if not (_CLASSES[data[at]] & kept or (data[at] == 32 and kept == _IN_TABLE)):
            more += 2
    target = end + more
    texts.state[1] = target
    for at in range(end - 1, begin - 1, -1):  # from behind: nothing is overwritten before it was read
        byte = data[at]
        if _CLASSES[byte] & kept or (byte == 32 and kept == _IN_TABLE):
            target -= 1
            data[target] = 95 if byte == 32 else byte
        else:
            target -= 3
            data[target], data[target + 1], data[target + 2] = 37, _HEX_DIGITS[byte >> 4], _HEX_DIGITS[byte & 15]


@inner
def _add_file(scan: Any, value: Any, place: Any) -> Any:
    texts = scan.contents
    put_piece(scan, names.FILE_IRI)
    begin = texts.state[1]
    if not put_text(scan.tokens, value, texts):
        return REFUSED
    _escape(texts, begin, _IN_FILE)
    _detail(scan, place, names.THE_VALUE, number_text(texts, names.IRIS))
    return names.OF_FILE


@inner
def _add_table(scan: Any, value: Any, place: Any) -> Any:
    """Add the name of tabular data or of a map on Commons."""
    texts = scan.contents
    put_piece(scan, names.TABLE_IRI)
    begin = texts.state[1]
    if not put_text(scan.tokens, value, texts):
        return REFUSED
    for at in range(begin, texts.state[1]):
        if texts.data[at] == 95:  # would come back as a space
            return REFUSED
    _escape(texts, begin, _IN_TABLE)
    data, end = texts.data, texts.state[1]
    is_table = end >= 4 and data[end - 4] == 46 and data[end - 3] == 116 and data[end - 2] == 97 and data[end - 1] == 98
    _detail(scan, place, names.THE_VALUE, number_text(texts, names.IRIS))
    return names.OF_TABLE if is_table else names.OF_SHAPE


@inner
def _add_string(scan: Any, value: Any, datatype: Any, place: Any) -> Any:
    tokens = scan.tokens
    if is_word(tokens, datatype, names.OF_URL):
        return _add_url(scan, value, place)
    if is_word(tokens, datatype, names.OF_FILE):
        return _add_file(scan, value, place)
    if is_word(tokens, datatype, names.OF_SHAPE) or is_word(tokens, datatype, names.OF_TABLE):
        return _add_table(scan, value, place)
    is_math = is_word(tokens, datatype, names.OF_MATH)
    content = content_of(scan, names.FORMULAS if is_math else names.STRINGS, value)
    if not _detail(scan, place, names.THE_VALUE, content):
        return REFUSED
    return names.OF_MATH if is_math else names.OF_STRING


@inner
def _add_text(scan: Any, value: Any, place: Any) -> Any:
    members = scan.members
    if not members_of(scan.tokens, value, names.TEXT_VALUE, members):
        return REFUSED
    text, language = members[names.TEXT], members[names.TEXT_LANGUAGE]
    if text < 0 or language < 0:
        return REFUSED
    symbol = symbol_of(scan, names.LANGUAGES, language)
    if symbol < 0 or not _detail(scan, place, names.THE_VALUE, content_of(scan, names.FIRST_LANGUAGE + symbol, text)):
        return REFUSED
    return names.OF_TEXT


@inner
def _add_time(scan: Any, value: Any, place: Any) -> Any:
    tokens, members = scan.tokens, scan.members
    if not members_of(tokens, value, names.TIME_VALUE, members):
        return REFUSED
    for member in range(names.TIME, names.CALENDAR + 1):
        if members[member] < 0:
            return REFUSED
    for member in range(names.TIMEZONE, names.TIME_PRECISION + 1):
        if tokens.rows[members[member], KIND] != INTEGER or not _is_number(scan, members[member]):
            return REFUSED
    if not _detail(scan, place, names.THE_VALUE, content_of(scan, names.TIMES, members[names.TIME])):
        return REFUSED
    _detail(scan, place, names.ITS_PRECISION, _number_of(scan, members[names.TIME_PRECISION]))
    if not _detail(scan, place, names.ITS_CALENDAR, content_of(scan, names.IRIS, members[names.CALENDAR])):
        return REFUSED
    for index in range(3):
        number = members[names.TIMEZONE + index]
        if tokens.rows[number, SIZE] != 1 or tokens.data[tokens.rows[number, BEGIN]] != 48:
            _detail(scan, place, names.ITS_TIMEZONE + index, _number_of(scan, number))
    return names.OF_TIME


@inner
def _add_quantity(scan: Any, value: Any, place: Any) -> Any:
    tokens, members = scan.tokens, scan.members
    if not members_of(tokens, value, names.QUANTITY_VALUE, members):
        return REFUSED
    amount, unit = members[names.AMOUNT], members[names.UNIT]
    if amount < 0 or unit < 0:
        return REFUSED
    if not _detail(scan, place, names.THE_VALUE, content_of(scan, names.DECIMALS, amount)):
        return REFUSED
    if tokens.rows[unit, KIND] != STRING:
        return REFUSED
    if not is_word(tokens, unit, names.WORD_ONE) and not _detail(
        scan, place, names.ITS_UNIT, content_of(scan, names.IRIS, unit)
    ):
        return REFUSED
    for index in range(2):
        bound = members[names.UPPER + index]
        if bound >= 0 and not _detail(scan, place, names.ITS_UPPER + index, content_of(scan, names.DECIMALS, bound)):
            return REFUSED
    return names.OF_QUANTITY


@inner
def _add_coordinate(scan: Any, value: Any, place: Any) -> Any:
    tokens, members, texts = scan.tokens, scan.members, scan.contents
    if not members_of(tokens, value, names.COORDINATE_VALUE, members):
        return REFUSED
    globe, precision, altitude = (
        members[names.GLOBE], members[names.COORDINATE_PRECISION], members[names.ALTITUDE]
    )  # fmt: skip
    latitude, longitude = members[names.LATITUDE], members[names.LONGITUDE]
    if min(globe, precision, latitude, longitude) < 0 or tokens.rows[globe, KIND] != STRING:
        return REFUSED
    if not (_is_number(scan, latitude) and _is_number(scan, longitude)):
        return REFUSED
    if not is_word(tokens, globe, names.WORD_EARTH):
        put_byte(texts, 60)
        if not put_text(tokens, globe, texts):
            return REFUSED
        put_byte(texts, 62)
        put_byte(texts, 32)
    put_piece(scan, names.POINT_TEXT)
    put_bytes(texts, tokens.data, tokens.rows[longitude, BEGIN], tokens.rows[longitude, END])
    put_byte(texts, 32)
    put_bytes(texts, tokens.data, tokens.rows[latitude, BEGIN], tokens.rows[latitude, END])
    put_byte(texts, 41)
    _detail(scan, place, names.THE_VALUE, number_text(texts, names.POINTS))
    is_good = _detail(scan, place, names.ITS_PRECISION, _number_of(scan, precision))
    if altitude >= 0:
        is_good &= _detail(scan, place, names.ITS_ALTITUDE, _number_of(scan, altitude))
    is_good &= _detail(scan, place, names.ITS_GLOBE, content_of(scan, names.IRIS, globe))
    return names.OF_COORDINATE if is_good else REFUSED


@inner
def add_value(scan: Any, datavalue: Any, datatype: Any, place: Any) -> Any:
    """Add a value and its details; return the datatype that such a value usually has, or REFUSED.

    `place`: symbol of the property, side, position.
    """
    tokens, members = scan.tokens, scan.members
    if not members_of(tokens, datavalue, names.DATAVALUE, members):
        return REFUSED
    value, kind = members[names.VALUE], members[names.VALUE_TYPE]
    if value < 0 or kind < 0:
        return REFUSED
    if is_word(tokens, kind, names.TYPE_STRING):
        return _add_string(scan, value, datatype, place)
    if is_word(tokens, kind, names.TYPE_ENTITY):
        for other in range(names.OF_URL, names.OF_TABLE + 1):  # strings that RDF has IRIs for
            if is_word(tokens, datatype, other):
                return REFUSED
        return _add_entity(scan, value, place)
    if is_word(tokens, kind, names.TYPE_TIME):
        return _add_time(scan, value, place)
    if is_word(tokens, kind, names.TYPE_QUANTITY):
        return _add_quantity(scan, value, place)
    if is_word(tokens, kind, names.TYPE_TEXT):
        return _add_text(scan, value, place)
    if is_word(tokens, kind, names.TYPE_COORDINATE):
        return _add_coordinate(scan, value, place)
    return REFUSED
