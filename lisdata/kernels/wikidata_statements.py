"""Statements and their references to facts in a kernel; what is not of the usual shape is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels import wikidata_names as names
from lisdata.kernels.compiled import inner
from lisdata.kernels.grouped_texts import MARK
from lisdata.kernels.json_members import ARRAY, FOLLOWING, KIND
from lisdata.kernels.wikidata_facts import (
    FACTS_DONE,
    NO_HANDLE,
    UNKNOWNS_DONE,
    add_participant,
    content_of,
    end_fact,
    label_of,
    put_piece,
)
from lisdata.kernels.wikidata_names import is_word, members_of
from lisdata.kernels.wikidata_snaks import add_snak, add_snaks, is_spelled_alike, num_items, property_of


@inner
def _reference_of(scan: Any, reference: Any, entity: Any) -> Any:
    """Return the content that is the handle of a reference; its mark is the first token of the entity with its hash.

    It is -1 for a reference without a hash, and one that is not written as the one before with its hash.
    """
    tokens, members = scan.tokens, scan.members
    if not members_of(tokens, reference, names.REFERENCE, members) or members[names.REFERENCE_HASH] < 0:
        return np.int64(-1)
    put_piece(scan, names.REFERENCE_IRI)
    handle = content_of(scan, names.REFERENCE_HASHES, members[names.REFERENCE_HASH])
    if handle < 0:
        return handle
    known = scan.contents.rows[handle, MARK]
    if known < entity:
        scan.contents.rows[handle, MARK] = reference
        return handle
    return handle if is_spelled_alike(tokens, known, reference) else np.int64(-1)


@inner
def _add_reference(scan: Any, reference: Any, handle: Any, keeps_hashes: Any) -> Any:
    members, num_unknown = scan.members, scan.counts[0, UNKNOWNS_DONE]
    members_of(scan.tokens, reference, names.REFERENCE, members)
    snaks, order, own_hash = members[names.SNAKS], members[names.SNAKS_ORDER], members[names.REFERENCE_HASH]
    scan.counts[0, UNKNOWNS_DONE] = 0
    if not add_snaks(scan, snaks, order, own_hash, names.OF_REFERENCE, keeps_hashes):
        return False
    scan.counts[0, UNKNOWNS_DONE] = num_unknown
    end_fact(scan, label_of(scan, 0, names.A_REFERENCE), handle)
    return True


@inner
def _link_references(scan: Any, references: Any, entity: Any) -> Any:
    """Link a statement to its references; tell whether they have the usual shape."""
    tokens = scan.tokens
    if tokens.rows[references, KIND] != ARRAY or tokens.rows[references, FOLLOWING] == references + 1:
        return False
    reference, position = np.int64(references + 1), 0
    while reference < tokens.rows[references, FOLLOWING]:
        handle = _reference_of(scan, reference, entity)
        if not add_participant(scan, handle, label_of(scan, 0, names.ITS_REFERENCE), position):
            return False
        reference = tokens.rows[reference, FOLLOWING]
        position += 1
    return True


@inner
def _add_new_references(scan: Any, references: Any, row: Any, keeps_hashes: Any) -> Any:
    """Add the references that the entity has not had before; the participants that link to them begin at `row`."""
    tokens = scan.tokens
    reference = np.int64(references + 1)
    while reference < tokens.rows[references, FOLLOWING]:
        handle = np.int64(scan.participants[row, 0])
        if scan.contents.rows[handle, MARK] == reference and not _add_reference(scan, reference, handle, keeps_hashes):
            return False
        reference = tokens.rows[reference, FOLLOWING]
        row += 1
    return True


@inner
def _add_details(scan: Any, details: Any, entity: Any, owner: Any, keeps_hashes: Any) -> Any:
    """Add rank, qualifiers and links to references of a statement; tell whether they have the usual shape."""
    tokens = scan.tokens
    rank, kind, qualifiers, order, references = details
    if rank >= 0 and not add_participant(
        scan, content_of(scan, names.NAMES, rank), label_of(scan, 0, names.ITS_RANK), 0
    ):
        return False
    if kind < 0 or not is_word(tokens, kind, names.WORD_STATEMENT):
        return False
    if qualifiers >= 0:
        if tokens.rows[qualifiers, FOLLOWING] == qualifiers + 1:
            return False
        if not add_snaks(scan, qualifiers, order, owner, names.OF_QUALIFIER, keeps_hashes):
            return False
    elif order >= 0:
        return False
    return references < 0 or _link_references(scan, references, entity)


@inner
def _add_statement(scan: Any, statement: Any, key: Any, entity: Any, owner: Any, keeps_hashes: Any) -> Any:
    members = scan.members
    if not members_of(scan.tokens, statement, names.STATEMENT, members):
        return False
    snak, name, references = members[names.MAINSNAK], members[names.STATEMENT_ID], members[names.REFERENCES]
    order = members[names.QUALIFIERS_ORDER]
    details = (members[names.RANK], members[names.STATEMENT_TYPE], members[names.QUALIFIERS], order, references)
    symbol = property_of(scan, key)
    if snak < 0 or not add_snak(scan, snak, key, owner, (symbol, names.MAIN, 0), keeps_hashes):
        return False
    handle = np.int64(NO_HANDLE)
    if name >= 0:
        handle = content_of(scan, names.STATEMENTS, name)
        if handle < 0:
            return False
    if not _add_details(scan, details, entity, owner, keeps_hashes):
        return False
    end_fact(scan, label_of(scan, symbol, names.INSTANCE_OF), handle)
    if references < 0:
        return True
    facts, done = scan.facts, scan.counts[0, FACTS_DONE]
    num_references = num_items(scan.tokens, references, 0)
    return _add_new_references(scan, references, facts[done - 1, 2] - num_references, keeps_hashes)


@inner
def add_statements(scan: Any, claims: Any, subject: Any, entity: Any, owner: Any, keeps_hashes: Any) -> Any:
    """Add the statements of a map; tell whether all have the usual shape.

    `entity` is the entity's token, `owner` what its unknown values are called by.
    """
    tokens = scan.tokens
    key = np.int64(claims + 1)
    while key < tokens.rows[claims, FOLLOWING]:
        symbol = property_of(scan, key)
        if symbol < 0 or scan.symbols.rows[symbol, MARK] == claims:  # a property twice
            return False
        scan.symbols.rows[symbol, MARK] = claims
        key = tokens.rows[key + 1, FOLLOWING]
    key = np.int64(claims + 1)
    while key < tokens.rows[claims, FOLLOWING]:
        listed, symbol = key + 1, property_of(scan, key)
        if tokens.rows[listed, KIND] != ARRAY or tokens.rows[listed, FOLLOWING] == listed + 1:
            return False
        role = label_of(scan, symbol, names.SUBJECT_OF)
        label_of(scan, symbol, names.INSTANCE_OF)  # labels are numbered in this order
        statement = listed + 1
        while statement < tokens.rows[listed, FOLLOWING]:
            add_participant(scan, subject, role, 0)
            if not _add_statement(scan, statement, key, entity, owner, keeps_hashes):
                return False
            statement = tokens.rows[statement, FOLLOWING]
        key = tokens.rows[listed, FOLLOWING]
    return True
