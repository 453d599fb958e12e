"""Texts in languages and links to pages as facts, in kernels: those that are written in the usual way, no others."""

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
    label_of,
    members_of,
    number_content,
    symbol_of,
)
from lisdata.kernels.entity_tokens import REFUSED, after, first_byte, is_empty, is_word, text_of
from lisdata.kernels.entity_values import add_text, is_iri, set_of
from lisdata.kernels.json_tape import OPEN_ARRAY

_TERM = set_of(words.LANGUAGE, words.VALUE)
_LINK, _URL = set_of(words.SITE, words.TITLE, words.BADGES), set_of(words.URL)


@inner
def is_entity_id(tables: Any, begin: Any, end: Any) -> Any:
    """Tell whether data[begin:end] has the form of Q42 or L3-F1."""
    at = _after_id(tables, begin, end)
    if at >= 0 and at < end and tables.data[at] == 45:
        at = _after_id(tables, at + 1, end)
    return at == end


@inner
def _after_id(tables: Any, at: Any, end: Any) -> Any:
    """Return where a capital letter and a number above 0 end, -1 where they do not stand."""
    data = tables.data
    if end - at < 2 or not 65 <= data[at] <= 90 or not 49 <= data[at + 1] <= 57:
        return np.int64(REFUSED)
    at += 2
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


@inner
def add_entity_named(tables: Any, token: Any) -> Any:
    """Return the content of the entity that a string is the id of, -1 where it is none."""
    begin, end = text_of(tables, token)
    if begin < 0 or not is_entity_id(tables, begin, end):
        return np.int64(REFUSED)
    return number_content(tables, words.ENTITIES, begin, end)


@inner
def _symbol_once(tables: Any, name: Any, serial: Any) -> Any:
    """Return the symbol of a member's name, -1 where it comes a second time or is odd."""
    symbol = symbol_of(tables, name)
    if symbol < 0 or tables.symbols[symbol].of_others == serial:
        return np.int64(REFUSED)
    tables.symbols[symbol].of_others = serial
    return symbol


@inlined
def _add_term(tables: Any, term: Any, symbol: Any, label: Any, position: Any) -> Any:
    """Add a text of the language `symbol`; tell whether it is one."""
    if members_of(tables, term, _TERM) != _TERM or not is_word(tables, tables.members[words.LANGUAGE], symbol):
        return False
    content = add_text(tables, tables.members[words.VALUE], symbol)
    if content < 0:
        return False
    add_participant(tables, label, content, position)
    return True


@inlined
def add_terms(tables: Any, terms: Any, member: Any, subject: Any) -> Any:
    """Add the labels, descriptions or aliases (`member`) of `subject`; tell whether they could be."""
    first = words.FIRST_OF_TERMS + 3 * (member - words.LABELS)
    tables.serial += 1
    serial = tables.serial
    add_participant(tables, label_of(tables, words.GENERAL, first + words.TERMS_SUBJECT), subject, 0)
    label = label_of(tables, words.GENERAL, first + words.TERMS_OBJECT)
    name, position = terms + 1, np.int64(0)
    while name < tables.tape[terms].link:
        symbol, term = _symbol_once(tables, name, serial), name + 1
        if symbol < 0:
            return False
        end = term + 1
        if member == words.ALIASES:
            if first_byte(tables, term) != OPEN_ARRAY or is_empty(tables, term):
                return False
            end = np.int64(tables.tape[term].link)
            term += 1
        while term < end:
            if not _add_term(tables, term, symbol, label, position):
                return False
            position += 1
            term = after(tables, term)
        name = after(tables, name + 1)
    end_fact(tables, label_of(tables, words.GENERAL, first + words.SOME_TERMS), NO_HANDLE)
    return True


@inlined
def _add_sites(tables: Any, links: Any) -> Any:
    """Add the sites of links to pages; return (whether they all are such links, whether any has a URL, a badge)."""
    tables.serial += 1
    serial = tables.serial
    name, position, has_urls, has_badges = links + 1, np.int64(0), False, False
    label = label_of(tables, words.GENERAL, words.SITELINK_SITE)
    while name < tables.tape[links].link:
        symbol = _symbol_once(tables, name, serial)
        found, members = members_of(tables, name + 1, _LINK | _URL), tables.members
        if symbol < 0 or found < 0 or found & _LINK != _LINK or not is_word(tables, members[words.SITE], symbol):
            return False, has_urls, has_badges
        badges = members[words.BADGES]
        if first_byte(tables, badges) != OPEN_ARRAY:
            return False, has_urls, has_badges
        has_urls |= found & _URL != 0
        has_badges |= not is_empty(tables, badges)
        add_participant(tables, label, content_of(tables, words.NAMES, members[words.SITE]), position)
        position += 1
        name = after(tables, name + 1)
    return True, has_urls, has_badges


@inlined
def _add_titles(tables: Any, links: Any) -> Any:
    label = label_of(tables, words.GENERAL, words.SITELINK_TITLE)
    name, position = links + 1, np.int64(0)
    while name < tables.tape[links].link:
        members_of(tables, name + 1, _LINK | _URL)
        content = content_of(tables, words.TEXTS, tables.members[words.TITLE])
        if content < 0:
            return False
        add_participant(tables, label, content, position)
        position += 1
        name = after(tables, name + 1)
    return True


@inlined
def _add_urls(tables: Any, links: Any) -> Any:
    name, position = links + 1, np.int64(0)
    while name < tables.tape[links].link:
        if members_of(tables, name + 1, _LINK | _URL) & _URL:
            begin, end = text_of(tables, tables.members[words.URL])
            if begin < 0 or not is_iri(tables, begin, end):
                return False
            content = number_content(tables, words.IRIS, begin, end)
            add_participant(tables, label_of(tables, words.GENERAL, words.SITELINK_URL), content, position)
        position += 1
        name = after(tables, name + 1)
    return True


@inlined
def _add_badges(tables: Any, links: Any) -> Any:
    name, position = links + 1, np.int64(0)
    while name < tables.tape[links].link:
        members_of(tables, name + 1, _LINK | _URL)
        badge = tables.members[words.BADGES] + 1
        while badge < tables.tape[tables.members[words.BADGES]].link:
            content = add_entity_named(tables, badge)
            if content < 0:
                return False
            add_participant(tables, label_of(tables, words.GENERAL, words.SITELINK_BADGE), content, position)
            badge = after(tables, badge)
        position += 1
        name = after(tables, name + 1)
    return True


@inlined
def add_sitelinks(tables: Any, links: Any, subject: Any) -> Any:
    """Add the links of `subject` to pages; tell whether they could be."""
    add_participant(tables, label_of(tables, words.GENERAL, words.SITELINK_SUBJECT), subject, 0)
    is_good, has_urls, has_badges = _add_sites(tables, links)
    if not is_good or not _add_titles(tables, links):
        return False
    if (has_urls and not _add_urls(tables, links)) or (has_badges and not _add_badges(tables, links)):
        return False
    end_fact(tables, label_of(tables, words.GENERAL, words.A_SITELINK), NO_HANDLE)
    return True
