"""Statements, texts and links of Wikidata's entities, from tokens of JSON to flat facts, without an object a value.

What has not the shape that Wikibase writes today is refused, a member of the entity at a time, and left to code that
takes any shape and finds out what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels import wikidata_names as names
from lisdata.kernels.compiled import inner, kernel
from lisdata.kernels.grouped_texts import MARK
from lisdata.kernels.json_members import ARRAY, FOLLOWING, KIND, STRING, TOKENS, Tokens
from lisdata.kernels.wikidata_facts import (
    ENTITY_SCAN,
    FACTS_DONE,
    HASHES_LEFT_OUT,
    NO_HANDLE,
    NUM_COUNTS,
    PARTICIPANTS_DONE,
    UNKNOWNS_DONE,
    EntityScan,
    add_participant,
    content_of,
    end_fact,
    entity_of,
    label_of,
    symbol_of,
    take_back,
)
from lisdata.kernels.wikidata_names import members_of
from lisdata.kernels.wikidata_snaks import is_spelled_alike
from lisdata.kernels.wikidata_statements import add_statements
from lisdata.kernels.wikidata_values import is_id

Int64 = npt.NDArray[np.int64]


@inner
def _map_label(scan: Any, kind: Any, number: Any) -> Any:
    return label_of(scan, 0, names.FIRST_MAP + kind * names.LABELS_A_MAP + number)


@inner
def _add_term(scan: Any, term: Any, key: Any, symbol: Any, kind: Any, position: Any) -> Any:
    """Add a text in a language, listed under `key`, whose symbol is `symbol`."""
    tokens, members = scan.tokens, scan.members
    if not members_of(tokens, term, names.TERM, members):
        return False
    language, text = members[names.TERM_LANGUAGE], members[names.TERM_TEXT]
    if min(language, text) < 0 or tokens.rows[language, KIND] != STRING:
        return False
    if not is_spelled_alike(tokens, language, key):
        return False
    content = content_of(scan, names.FIRST_LANGUAGE + symbol, text)
    return add_participant(scan, content, _map_label(scan, kind, names.MAP_OBJECT), position)


@inner
def _add_terms(scan: Any, terms: Any, kind: Any, subject: Any) -> Any:
    """Add a map of texts by language (of lists of them, where they are aliases); tell whether the shape is usual."""
    tokens = scan.tokens
    add_participant(scan, subject, _map_label(scan, kind, names.MAP_SUBJECT), 0)
    key, position = np.int64(terms + 1), 0
    while key < tokens.rows[terms, FOLLOWING]:
        symbol = symbol_of(scan, names.LANGUAGES, key)
        if symbol < 0 or scan.symbols.rows[symbol, MARK] == terms:  # a language twice
            return False
        scan.symbols.rows[symbol, MARK] = terms
        term, stop = key + 1, tokens.rows[key + 1, FOLLOWING]
        if kind == names.ALIASES:
            if tokens.rows[term, KIND] != ARRAY or stop == term + 1:
                return False
            term += 1
        while term < stop:
            if not _add_term(scan, term, key, symbol, kind, position):
                return False
            term = tokens.rows[term, FOLLOWING]
            position += 1
        key = stop
    end_fact(scan, _map_label(scan, kind, names.MAP_INSTANCE), NO_HANDLE)
    return True


@inner
def _add_sites(scan: Any, links: Any, label: Any) -> Any:
    """Add the sites of links to pages; tell whether the links have the usual shape."""
    tokens, members = scan.tokens, scan.members
    key, position = np.int64(links + 1), 0
    while key < tokens.rows[links, FOLLOWING]:
        if not members_of(tokens, key + 1, names.SITELINK, members):
            return False
        site = members[names.SITE]
        if min(site, members[names.TITLE], members[names.BADGES]) < 0 or not is_spelled_alike(tokens, site, key):
            return False
        content = content_of(scan, names.NAMES, site)
        if not add_participant(scan, content, label, position) or scan.contents.rows[content, MARK] == links:  # twice
            return False
        scan.contents.rows[content, MARK] = links
        key = tokens.rows[key + 1, FOLLOWING]
        position += 1
    return True


@inner
def _add_titles(scan: Any, links: Any, label: Any) -> Any:
    """Add the titles of links to pages; tell whether they are texts."""
    tokens, members = scan.tokens, scan.members
    key, position = np.int64(links + 1), 0
    while key < tokens.rows[links, FOLLOWING]:
        members_of(tokens, key + 1, names.SITELINK, members)
        if not add_participant(scan, content_of(scan, names.TITLES, members[names.TITLE]), label, position):
            return False
        key = tokens.rows[key + 1, FOLLOWING]
        position += 1
    return True


@inner
def _add_badges(scan: Any, links: Any) -> Any:
    """Add the badges of links to pages; tell whether they are entities."""
    tokens, members = scan.tokens, scan.members
    key, position = np.int64(links + 1), 0
    while key < tokens.rows[links, FOLLOWING]:
        members_of(tokens, key + 1, names.SITELINK, members)
        badges = members[names.BADGES]
        if tokens.rows[badges, KIND] != ARRAY:
            return False
        badge = badges + 1
        while badge < tokens.rows[badges, FOLLOWING]:
            if not is_id(scan, badge):
                return False
            add_participant(scan, entity_of(scan, badge), _map_label(scan, names.SITELINKS, names.MAP_BADGE), position)
            badge = tokens.rows[badge, FOLLOWING]
        key = tokens.rows[key + 1, FOLLOWING]
        position += 1
    return True


@inner
def _add_sitelinks(scan: Any, links: Any, subject: Any) -> Any:
    """Add links to pages; tell whether the shape is usual."""
    add_participant(scan, subject, _map_label(scan, names.SITELINKS, names.MAP_SUBJECT), 0)
    if not _add_sites(scan, links, _map_label(scan, names.SITELINKS, names.MAP_SITE)):
        return False
    if not _add_titles(scan, links, _map_label(scan, names.SITELINKS, names.MAP_OBJECT)):
        return False
    if not _add_badges(scan, links):
        return False
    end_fact(scan, _map_label(scan, names.SITELINKS, names.MAP_INSTANCE), NO_HANDLE)
    return True


@inner
def _add_member(scan: Any, kind: Any, value: Any, subject: Any, place: Any, keeps_hashes: Any) -> Any:
    entity, owner = place
    if kind == names.CLAIMS:
        return add_statements(scan, value, subject, entity, owner, keeps_hashes)
    if kind == names.SITELINKS:
        return _add_sitelinks(scan, value, subject)
    return _add_terms(scan, value, kind, subject)


@kernel(types.int64(ENTITY_SCAN, types.Array(types.int64, 2, "C"), types.int64, types.int64, types.boolean))
def _add_members(scan: Any, wanted: Any, entity: Any, offset: Any, keeps_hashes: Any) -> Any:
    contents, symbols, counts = scan.contents, scan.symbols, scan.counts
    counts[0, PARTICIPANTS_DONE] = counts[0, FACTS_DONE] = counts[0, UNKNOWNS_DONE] = 0
    counts[0, HASHES_LEFT_OUT] = 0
    subject = entity_of(scan, wanted[0, 1])
    for row in range(1, len(wanted)):
        num_contents, num_symbols = contents.state[0], symbols.state[0]
        for count in range(NUM_COUNTS):
            counts[1, count] = counts[0, count]
        if not _add_member(scan, wanted[row, 0], wanted[row, 1], subject, (entity, -offset), keeps_hashes):
            take_back(scan, num_contents, num_symbols)
            return row
    return len(wanted)


def add_members(
    scan: EntityScan, entity: int, name: int, members: list[tuple[int, int]], offset: int, *, keeps_hashes: bool
) -> int:
    """Add members of an entity one after the other; return how many were added before one that is refused.

    `entity` is the entity's token, `name` that of its id, `members` are kinds (names.MAPS, names.CLAIMS) and tokens,
    objects that are not empty; unknown values are called by `offset`. The participants and facts stand in `scan` until
    the next call; a refused member has left nothing.
    """
    wanted = np.array([(0, name), *members], np.int64)
    return int(_add_members(scan, wanted, entity, offset, keeps_hashes)) - 1


@kernel(types.int64(TOKENS, types.int64, types.Array(types.int64, 1, "C")))
def _list_members(tokens: Any, token: Any, out: Any) -> Any:
    count, key = 0, np.int64(token + 1)
    while key < tokens.rows[token, FOLLOWING] and count < len(out):
        out[count] = key
        count += 1
        key = tokens.rows[key + 1, FOLLOWING]
    return count if key == tokens.rows[token, FOLLOWING] else -1


def list_members(tokens: Tokens, token: int, room: Int64) -> list[int] | None:
    """Return the keys of an object's members, each before the token of its value; None for more than there is room."""
    count = int(_list_members(tokens, token, room))
    return None if count < 0 else room[:count].tolist()
