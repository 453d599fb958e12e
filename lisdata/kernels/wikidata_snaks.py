"""Snaks and maps of snaks to participants in a kernel; what is not of the usual shape is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels import wikidata_names as names
from lisdata.kernels.compiled import inner
from lisdata.kernels.grouped_texts import MARK, number_text, put_byte, put_decimal
from lisdata.kernels.json_members import ARRAY, BEGIN, END, FOLLOWING, KIND, OBJECT, STRING, put_text
from lisdata.kernels.spans import is_equal
from lisdata.kernels.wikidata_facts import (
    HASHES_LEFT_OUT,
    UNKNOWNS_DONE,
    add_participant,
    content_of,
    label_of,
    symbol_of,
)
from lisdata.kernels.wikidata_names import REFUSED, is_word, members_of
from lisdata.kernels.wikidata_values import add_value

NO_DATATYPE = -2
"""Instead of the datatype that a value usually has: nothing is usual."""


@inner
def property_of(scan: Any, key: Any) -> Any:
    """Return the symbol of the property that a member is called by, -1 where it is not called so."""
    data, rows = scan.tokens.data, scan.tokens.rows
    begin, end = rows[key, BEGIN] + 1, rows[key, END] - 1
    if end - begin < 2 or data[begin] != 80:
        return np.int64(-1)
    for at in range(begin + 1, end):
        if not 48 <= data[at] <= 57:
            return np.int64(-1)
    return symbol_of(scan, names.PROPERTIES, key)


@inner
def is_spelled_alike(tokens: Any, left: Any, right: Any) -> Any:
    """Tell whether two tokens are the same bytes."""
    first, second = tokens.rows[left, BEGIN], tokens.rows[right, BEGIN]
    size = tokens.rows[left, END] - first
    if tokens.rows[right, END] - second != size:
        return False
    return is_equal(tokens.data, first, second, size)


@inner
def _add_unknown(scan: Any, owner: Any, place: Any) -> Any:
    """Add an unknown value, called by its owner: minus the number of an entity, or the string that is a hash."""
    texts = scan.contents
    if owner > 0:
        if not put_text(scan.tokens, owner, texts):
            return False
    else:
        put_decimal(texts, -owner)
    scan.counts[0, UNKNOWNS_DONE] += 1
    put_byte(texts, 45)
    put_decimal(texts, scan.counts[0, UNKNOWNS_DONE])
    symbol, side, position = place
    label = label_of(scan, symbol, side * len(names.DETAILS) + names.THE_VALUE)
    return add_participant(scan, number_text(texts, names.UNKNOWNS), label, position)


@inner
def _add_said(scan: Any, snaktype: Any, datavalue: Any, datatype: Any, owner: Any, place: Any) -> Any:
    """Add what a snak says; return the datatype that would be usual with it, NO_DATATYPE or REFUSED."""
    symbol, side, position = place
    if is_word(scan.tokens, snaktype, names.WORD_VALUE):
        return add_value(scan, datavalue, datatype, place) if datavalue >= 0 else REFUSED
    if datavalue >= 0:
        return REFUSED
    if is_word(scan.tokens, snaktype, names.WORD_SOMEVALUE):
        return NO_DATATYPE if _add_unknown(scan, owner, place) else REFUSED
    if not is_word(scan.tokens, snaktype, names.WORD_NOVALUE):
        return REFUSED
    label = label_of(scan, symbol, side * len(names.DETAILS) + names.THE_VALUE)
    add_participant(scan, number_text(scan.contents, names.NOVALUES), label, position)
    return NO_DATATYPE


@inner
def add_snak(scan: Any, snak: Any, key: Any, owner: Any, place: Any, keeps_hashes: Any) -> Any:
    """Add a snak that is listed under `key`; tell whether it has the usual shape.

    `owner` is what unknown values are called by; `place`: symbol of the property, side, position.
    """
    tokens, members = scan.tokens, scan.members
    if not members_of(tokens, snak, names.SNAK, members):
        return False
    snaktype, listed, datatype = members[names.SNAKTYPE], members[names.PROPERTY], members[names.DATATYPE]
    if min(snaktype, listed, datatype) < 0 or tokens.rows[datatype, KIND] != STRING:
        return False
    if tokens.rows[listed, KIND] != STRING or not is_spelled_alike(tokens, listed, key):
        return False
    usual = _add_said(scan, snaktype, members[names.SNAK_DATAVALUE], datatype, owner, place)
    if usual == REFUSED:
        return False
    symbol, side, position = place
    first = side * len(names.DETAILS)
    if usual == NO_DATATYPE or usual == names.OF_MEDIAINFO or not is_word(tokens, datatype, usual):
        content = content_of(scan, names.NAMES, datatype)
        if not add_participant(scan, content, label_of(scan, symbol, first + names.ITS_DATATYPE), position):
            return False
    if members[names.SNAK_HASH] < 0:
        return True
    if not keeps_hashes:
        scan.counts[0, HASHES_LEFT_OUT] += 1
        return True
    content = content_of(scan, names.NAMES, members[names.SNAK_HASH])
    return add_participant(scan, content, label_of(scan, symbol, first + names.ITS_HASH), position)


@inner
def _find_key(tokens: Any, snaks: Any, wanted: Any, at: Any) -> Any:
    """Return the key of a map that is spelled as string `wanted`, looked for from key `at` on; -1 for none."""
    for stop in (tokens.rows[snaks, FOLLOWING], at):  # then from the first one on
        while at < stop:
            if is_spelled_alike(tokens, at, wanted):
                return np.int64(at)
            at = tokens.rows[at + 1, FOLLOWING]
        at = np.int64(snaks + 1)
    return np.int64(-1)


@inner
def num_items(tokens: Any, token: Any, step: Any) -> Any:
    """Return how many items a list has (step 0) or members a map (step 1)."""
    count, at = 0, np.int64(token + 1)
    while at < tokens.rows[token, FOLLOWING]:
        at = tokens.rows[at + step, FOLLOWING]
        count += 1
    return count


@inner
def add_snaks(scan: Any, snaks: Any, order: Any, owner: Any, side: Any, keeps_hashes: Any) -> Any:
    """Add a map of snaks in the order that a list of its properties says; tell whether all have the usual shape."""
    tokens = scan.tokens
    if min(snaks, order) < 0 or tokens.rows[snaks, KIND] != OBJECT or tokens.rows[order, KIND] != ARRAY:
        return False
    if num_items(tokens, order, 0) != num_items(tokens, snaks, 1):
        return False
    wanted, key = np.int64(order + 1), np.int64(snaks + 1)
    while wanted < tokens.rows[order, FOLLOWING]:
        key = _find_key(tokens, snaks, wanted, key)
        if key < 0 or tokens.rows[key + 1, KIND] != ARRAY or tokens.rows[key + 1, FOLLOWING] == key + 2:
            return False
        symbol = property_of(scan, key)
        if symbol < 0 or scan.symbols.rows[symbol, MARK] == order:  # the order names it twice
            return False
        scan.symbols.rows[symbol, MARK] = order
        snak, position = key + 2, 0
        while snak < tokens.rows[key + 1, FOLLOWING]:
            if not add_snak(scan, snak, key, owner, (symbol, side, position), keeps_hashes):
                return False
            snak = tokens.rows[snak, FOLLOWING]
            position += 1
        key = snak
        wanted = tokens.rows[wanted, FOLLOWING]
    return True
