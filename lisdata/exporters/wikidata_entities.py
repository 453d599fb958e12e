"""Entities of Wikibase's JSON from the facts about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from lisdata.contents import Content, decode_text
from lisdata.exporters.wikidata_facts import Fact, Participant
from lisdata.exporters.wikidata_values import SnakReader
from lisdata.schema import ContentKind
from lisdata.sources.json_contents import json_from_content
from lisdata.sources.json_text import read_json
from lisdata.sources.layouts import layout_from_text
from lisdata.sources.wikidata_layout import (
    BADGE,
    BADGES,
    DATATYPE,
    DROPPED,
    ENTITY,
    EXTRA,
    HASH,
    KEY,
    LAYOUT,
    LINKS,
    MEMBER,
    MEMBERS,
    OBJECT,
    ORDER,
    PARTS,
    QUALIFIER,
    RANK,
    REFERENCE,
    SAME_AS,
    SHAPES,
    SINGLE_LINKS,
    SITE,
    SITELINK,
    STATEMENT,
    STATEMENT_MAPS,
    SUBJECT,
    TERMS,
    TITLE,
    TYPE,
    URL,
    VALUE,
    EntityLayout,
    WikidataOptions,
    is_property_id,
)

_MEMBERS_OF = {iri: member for member, iri in {**TERMS, **LINKS}.items()}
_ORDER = (
    "type", "datatype", "id", "labels", "descriptions", "aliases", "lemmas", "lexicalCategory", "language",
    "representations", "grammaticalFeatures", "glosses", *STATEMENT_MAPS, "forms", "senses", "sitelinks",
)  # fmt: skip
Json = dict[str, Any]


class EntityReader:
    """Makes the JSON of one entity, or of a redirect, of all facts that came from one record."""

    def __init__(self, options: WikidataOptions) -> None:
        self._options = options
        self._snaks = SnakReader(options.entity_iri)

    def read(self, facts: list[Fact], losses: Counter[str]) -> tuple[Json, str | None] | None:
        """Return the entity, and the name that an answer lists it under; None, and losses, where there is none."""
        parts = _Parts(self._snaks, self._options)
        for fact in sorted(facts, key=_ordinal):
            parts.add(fact, losses)
        return parts.whole(losses)


def _ordinal(fact: Fact) -> int:
    return fact.ordinal


class _Parts:
    """Gathers facts by their subjects: an entity, and its forms and senses."""

    def __init__(self, snaks: SnakReader, options: WikidataOptions) -> None:
        self._snaks, self._options = snaks, options
        self._entities: dict[str, Json] = {}
        self._layouts: dict[str, EntityLayout] = {}
        self._statements: dict[str, list[Fact]] = {}
        self._references: dict[Content, Fact] = {}
        self._redirects: list[tuple[str, str]] = []
        self._main: str | None = None  # the entity whose header came last: those of parts come first
        self._key: str | None = None

    def add(self, fact: Fact, losses: Counter[str]) -> None:
        """Take in a fact; the first one called by a handle stands for all."""
        if fact.label == REFERENCE and fact.handle is not None:
            self._references.setdefault(fact.handle, fact)
            return
        name = next((self._name(p.content) for p in fact.participants if p.side == SUBJECT), "")
        member = _MEMBERS_OF.get(fact.label)
        if not name:
            losses["facts that are about no entity"] += 1
        elif fact.label == SAME_AS:
            self._redirects += [(name, self._name(p.content)) for p in fact.participants if p.side == OBJECT]
        elif fact.label == ENTITY:
            self._add_header(name, fact, losses)
        elif fact.label == SITELINK:
            self._entity(name)["sitelinks"] = _sitelinks(fact, self._name)
        elif member in TERMS:
            self._entity(name)[member] = _terms(fact, is_listed=member == "aliases")
        elif member is not None:
            names = [self._name(p.content) for p in _in_order(fact, OBJECT)]
            self._entity(name)[member] = names[0] if member in SINGLE_LINKS else names
        elif is_property_id(fact.label.removeprefix(self._options.entity_iri)):
            self._entity(name)
            self._statements.setdefault(name, []).append(fact)
        else:
            losses["facts that are no part of an entity"] += 1

    def whole(self, losses: Counter[str]) -> tuple[Json, str | None] | None:
        """Return what was gathered as one entity or redirect."""
        for name, facts in self._statements.items():
            statements: dict[str, list[Json]] = {}
            for fact in facts:
                name_of_property = fact.label.removeprefix(self._options.entity_iri)
                statements.setdefault(name_of_property, []).append(self._statement(fact, losses))
            self._entities[name][self._layout(name).statements] = statements
        for name, entity in self._entities.items():
            _apply_layout(entity, self._layout(name))
        main = self._main or next(iter(self._entities), None)
        if main is None:
            redirect = next(iter(self._redirects), None)
            return None if redirect is None else ({"entity": redirect[0], "redirect": redirect[1]}, None)
        entity = self._entities[main]
        for source, target in self._redirects:
            entity["redirects"] = {"from": source, "to": target}
        for member in PARTS:
            if names := entity.get(member):
                entity[member] = [_sorted(self._entities.get(name, {"id": name})) for name in names]
        return _sorted(entity), self._key

    def _entity(self, name: str) -> Json:
        return self._entities.setdefault(name, {"id": name})

    def _layout(self, name: str) -> EntityLayout:
        return self._layouts.get(name, EntityLayout())

    def _name(self, content: Content) -> str:
        """Return the id of an entity."""
        return decode_text(content.lexical).removeprefix(self._options.entity_iri)

    def _add_header(self, name: str, fact: Fact, losses: Counter[str]) -> None:
        self._main, entity = name, self._entity(name)
        for participant in fact.participants:
            side, text = participant.side, decode_text(participant.content.lexical)
            if side in (TYPE, DATATYPE):
                entity[side] = text
            elif side == KEY:
                self._key = text
            elif side == LAYOUT:
                self._layouts[name] = layout_from_text(EntityLayout, text)
            elif side == DROPPED:
                losses.update({f"{what} left out": int(number) for what, number in read_json(text).items()})
            elif side != SUBJECT:
                entity |= other_member(participant)

    def _statement(self, fact: Fact, losses: Counter[str]) -> Json:
        own = [p for p in fact.participants if p.relation == fact.label]
        main = self._snaks.snaks(own, VALUE)
        if len(main) != 1:
            losses["statements without one value"] += 1
        statement: Json = {"mainsnak": main[0][1]} if main else {}
        sides = {p.side: p.content for p in fact.participants if p.relation == STATEMENT}
        if TYPE not in sides:
            statement["type"] = STATEMENT
        elif sides[TYPE].kind != ContentKind.NULL:
            statement["type"] = decode_text(sides[TYPE].lexical)
        qualifiers = self._snaks.snaks(fact.participants, QUALIFIER)
        if qualifiers:
            statement |= _ordered(qualifiers, sides.get(ORDER), "qualifiers", "qualifiers-order")
        if fact.handle is not None:
            statement["id"] = decode_text(fact.handle.lexical)
        if RANK in sides:
            statement["rank"] = decode_text(sides[RANK].lexical)
        links = [p.content for p in _in_order(fact, REFERENCE) if p.relation == STATEMENT]
        if links:
            statement["references"] = [self._reference(link, losses) for link in links]
        return statement | _extra(sides)

    def _reference(self, handle: Content, losses: Counter[str]) -> Json:
        fact = self._references.get(handle)
        if fact is None:
            losses["references that are not there"] += 1
        participants = [] if fact is None else fact.participants
        sides = {p.side: p.content for p in participants if p.relation == REFERENCE}
        reference: Json = {}
        iri, text = self._options.reference_iri, decode_text(handle.lexical)
        if HASH in sides:
            reference["hash"] = decode_text(sides[HASH].lexical)
        elif handle.scope is None and text.startswith(iri):
            reference["hash"] = text.removeprefix(iri)
        own = [p for p in participants if p.relation != REFERENCE]
        reference |= _ordered(self._snaks.snaks(own, REFERENCE), sides.get(ORDER), "snaks", "snaks-order")
        return reference | _extra(sides)


def other_member(participant: Participant) -> Json:
    """Return the member, or the members, that a participant holds as JSON."""
    value = json_from_content(participant.content.kind, participant.content.lexical)
    return value if participant.side == MEMBERS else {participant.side.removeprefix(MEMBER): value}


def _in_order(fact: Fact, side: str) -> list[Participant]:
    return sorted((p for p in fact.participants if p.side == side), key=_position)


def _position(participant: Participant) -> int:
    return participant.position


def _terms(fact: Fact, *, is_listed: bool) -> Json:
    terms: Json = {}
    for participant in _in_order(fact, OBJECT):
        language = participant.content.language or ""
        term = {"language": language, "value": decode_text(participant.content.lexical)}
        if is_listed:
            terms.setdefault(language, []).append(term)
        else:
            terms[language] = term
    return terms


def _sitelinks(fact: Fact, name: Callable[[Content], str]) -> Json:
    links: dict[int, Json] = {}
    for participant in fact.participants:
        link = links.setdefault(participant.position, {SITE: "", TITLE: "", BADGES: []})
        if participant.side == BADGE:
            link[BADGES].append(name(participant.content))
        elif participant.side in (SITE, TITLE, URL):
            link[participant.side] = decode_text(participant.content.lexical)
    return {links[position][SITE]: links[position] for position in sorted(links)}


def _ordered(snaks: list[tuple[str, Json]], order: Content | None, member: str, order_member: str) -> Json:
    """Return snaks by property, and the order of these as it was said."""
    by_property: dict[str, list[Json]] = {}
    for name, snak in snaks:
        by_property.setdefault(name, []).append(snak)
    if order is None:
        return {member: by_property, order_member: list(by_property)}
    if order.kind == ContentKind.NULL:
        return {member: by_property}
    return {member: by_property, order_member: read_json(decode_text(order.lexical))}


def _extra(sides: dict[str, Content]) -> Json:
    """Return the unusual members of a statement or reference."""
    return read_json(decode_text(sides[EXTRA].lexical)) if EXTRA in sides else {}


def _apply_layout(entity: Json, layout: EntityLayout) -> None:
    for member in layout.empty:
        entity.setdefault(member, SHAPES[member]())
    for member in layout.lists:
        entity.setdefault(member, [])
    if layout.no_statements:
        entity.setdefault(layout.statements, {}).update({name: [] for name in layout.no_statements})


def _sorted(entity: Json) -> Json:
    """Return the members in the order that Wikibase writes them in, others behind."""
    order = (*(member for member in _ORDER if member in entity), *(m for m in entity if m not in _ORDER))
    return {member: entity[member] for member in order}
