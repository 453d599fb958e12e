"""Entities to facts: what kind of entity it is, its texts in languages, links to pages and to other entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import repeat
from typing import Any

from lisdata.contents import Role
from lisdata.schema import ContentKind
from lisdata.sources.json_contents import is_side, json_to_content
from lisdata.sources.json_text import NumberText, write_json
from lisdata.sources.layouts import layout_to_text
from lisdata.sources.wikidata_columns import EntityColumns, InstanceLabels, RoleCodes
from lisdata.sources.wikidata_layout import (
    BADGE,
    BADGES,
    DATATYPE,
    DOCUMENT,
    DROPPED,
    ENTITY,
    FORM,
    KEY,
    LAYOUT,
    LINKS,
    MEMBER,
    MEMBERS,
    OBJECT,
    PARTS,
    SAME_AS,
    SHAPES,
    SINGLE_LINKS,
    SITE,
    SITELINK,
    STATEMENT_MAPS,
    SUBJECT,
    TERMS,
    TITLE,
    TYPE,
    URL,
    EntityLayout,
    WikidataOptions,
    iri_of_string,
    is_entity_id,
)
from lisdata.sources.wikidata_statements import StatementWriter
from lisdata.sources.wikidata_values import MalformedError, ValueReader

_HEADER = ("id", "type", "datatype")
_TEXTS = {str}
_FLAGS = {"lemmas": "labels", "representations": "labels", "glosses": "descriptions"}
_TERM_SIZES = {2}
_SCALARS = (ContentKind.JSON_STR, ContentKind.JSON_INT, ContentKind.NUMBER, ContentKind.BOOL, ContentKind.NULL)


class EntityWriter:
    """Appends entities to the columns of a batch."""

    def __init__(self, options: WikidataOptions, scope: str) -> None:
        self.columns = columns = EntityColumns()
        self.values = ValueReader(columns, options)
        self._statements = StatementWriter(columns, self.values, options, scope)
        self.options = options
        self._languages = frozenset(options.language)
        self._texts = columns.group(ContentKind.TEXT).number
        self._json = columns.group(ContentKind.JSON)
        self._labels = InstanceLabels(columns)
        relations = {**TERMS, **LINKS, "redirects": SAME_AS}
        self._roles = {relation: RoleCodes(columns, relation) for relation in relations.values()}
        self._relations = relations
        self._sides, self._link_roles = RoleCodes(columns, ENTITY), RoleCodes(columns, SITELINK)
        self._scalars = {kind: columns.group(kind) for kind in _SCALARS}
        self._dropped: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    def add(self, entity: dict[str, Any], begin: int, end: int, key: str | None = None) -> None:
        """Add an entity from bytes [begin, end) of the file; `key`: what an answer of the API lists it under, if given.

        Raises MalformedError, or another ValueError, TypeError, LookupError or AttributeError, where it is none that
        can be kept as it is read: then `columns.undo_entity` has to be called.
        """
        self.columns.begin_entity()
        self._dropped = Counter()
        self._statements.begin_entity(str(begin), self._dropped)
        if "redirect" in entity:
            self._add_redirect(entity)
        else:
            self._add_entity(entity, (begin, end), key)
        self.columns.end_structure(begin, end)
        self.dropped += self._dropped

    def add_document(self, form: str, members: dict[str, Any], begin: int, end: int) -> None:
        """Add a structure that says how the file's entities stand together: the form, and members beside them."""
        columns = self.columns
        columns.begin_entity()
        columns.add_participant(columns.labels.role(Role(DOCUMENT, FORM)), self.values.names[form])
        self._add_others(DOCUMENT, members)
        columns.end_fact(self._labels[DOCUMENT])
        columns.end_structure(begin, end)

    def group_numbers(self) -> dict[str, int]:
        """Return the numbers of groups of contents, by the names that a compiled scan has for them."""
        kinds = {
            "json_strings": ContentKind.JSON_STR,
            "json_integers": ContentKind.JSON_INT,
            "booleans": ContentKind.BOOL,
        }
        scalars = {name: self._scalars[kind].number for name, kind in kinds.items()}
        own = {"texts": self._texts, "json": self._json.number}
        return scalars | own | self.values.group_numbers() | self._statements.group_numbers()

    def counts(self) -> dict[str, int]:
        """Return how much was left out, by name."""
        return {f"{name} left out": number for name, number in sorted(self.dropped.items())}

    def _add_redirect(self, entity: dict[str, Any]) -> None:
        name, target = entity["entity"], entity["redirect"]
        if not (is_entity_id(name) and is_entity_id(target) and len(entity) == 2):
            raise MalformedError((), "a redirect from one entity to another", entity)
        self._link("redirects", self.values.entities[name], [target])

    def _add_entity(
        self, entity: dict[str, Any], place: tuple[int, int], key: str | None = None, *, is_part: bool = False
    ) -> None:
        """Add an entity, or a part of one: its statements, its parts, its texts and links, and a header."""
        name = entity["id"]
        if not is_entity_id(name):
            raise MalformedError(("id",), "the id of an entity, such as Q42", name)
        subject = self.values.entities[name]
        members = {m: v for m, v in entity.items() if m not in _HEADER}
        layout = _find_layout(members)
        for member in (*layout.empty, *layout.lists):
            del members[member]
        if statements := members.pop(layout.statements, None):
            self._statements.add(subject, statements, place)
        for member in PARTS:
            if parts := members.pop(member, None):
                for part in parts:
                    self._add_entity(part, place, is_part=True)
                    if self.options.group == "statement":
                        self.columns.end_structure(*place)
                self._link(member, subject, [part["id"] for part in parts])
        others = {m: v for m, v in members.items() if not self._add_member(m, subject, v)}
        self._add_header(entity, subject, key, others, layout, is_part=is_part)

    def _add_member(self, member: str, subject: int, value: Any) -> bool:
        """Add what a member says; tell whether all of it could be said."""
        if member in TERMS:
            return self._add_terms(member, subject, value)
        if member == "sitelinks":
            return self._add_sitelinks(subject, value)
        if member in SINGLE_LINKS:
            value = [value]
        elif member not in LINKS:
            return member == "redirects" and self._add_redirects(subject, value)
        if not all(map(is_entity_id, value)):
            return False
        self._link(member, subject, value)
        return True

    def _link(self, member: str, subject: int, names: list[str]) -> None:
        """Add a fact that links `subject` to other entities, in order."""
        relation = self._relations[member]
        self.columns.add_participant(self._roles[relation][SUBJECT], subject)
        self.columns.add_range(self._roles[relation][OBJECT], [self.values.entities[name] for name in names])
        self.columns.end_fact(self._labels[relation])

    def _add_redirects(self, subject: int, value: dict[str, Any]) -> bool:
        source, target = value["from"], value["to"]
        is_usual = len(value) == 2 and is_entity_id(source) and self.values.entities.get(target) == subject
        if is_usual:
            self._link("redirects", self.values.entities[source], [target])
        return is_usual

    def _add_terms(self, member: str, subject: int, terms: Mapping[str, Any]) -> bool:
        flag = _FLAGS.get(member, member)
        if not getattr(self.options, flag):
            self._dropped[member] += _num_texts(terms)
            return True
        if self._languages:
            kept = {language: text for language, text in terms.items() if language in self._languages}
            if len(kept) < len(terms):
                self._dropped[member] += _num_texts(terms) - _num_texts(kept)
                if not kept:
                    return True
                terms = kept
        if member == "aliases":
            values = [value for listed in terms.values() for value in listed]
            keys = [language for language, listed in terms.items() for _ in listed]
            is_usual = all(terms.values())
        else:
            values, keys, is_usual = list(terms.values()), list(terms), True
        texts, languages = [v["value"] for v in values], [v["language"] for v in values]
        if not set(map(type, texts)) <= _TEXTS:
            raise MalformedError((member,), "texts in languages", terms)
        if not is_usual or languages != keys or set(map(len, values)) != _TERM_SIZES:
            return False
        relation = self._relations[member]
        self.columns.add_participant(self._roles[relation][SUBJECT], subject)
        contents = self.columns.add_all(map(self.values.languages.__getitem__, languages), texts)
        self.columns.add_range(self._roles[relation][OBJECT], contents)
        self.columns.end_fact(self._labels[relation])
        return True

    def _add_sitelinks(self, subject: int, links: Mapping[str, Any]) -> bool:
        if not self.options.sitelinks:
            self._dropped["sitelinks"] += len(links)
            return True
        values = list(links.values())
        sites, titles, badges = ([v[member] for v in values] for member in (SITE, TITLE, BADGES))
        sizes = set(map(len, values))
        if set(map(type, titles)) != _TEXTS:
            raise MalformedError(("sitelinks",), "links with a title", links)
        urls = [(n, v.get(URL)) for n, v in enumerate(values) if len(v) > 3] if sizes != {3} and sizes <= {3, 4} else []
        listed = [(n, names) for n, names in enumerate(badges) if names] if any(badges) else []
        are_usual = all(is_entity_id(name) for _, names in listed for name in names)
        are_usual = are_usual and all(type(url) is str and iri_of_string("url", url) == url for _, url in urls)
        if sites != list(links) or not sizes <= {3, 4} or not are_usual:
            return False
        columns, roles = self.columns, self._link_roles
        columns.add_participant(roles[SUBJECT], subject)
        columns.add_range(roles[SITE], [self.values.names[site] for site in sites])
        columns.add_range(roles[TITLE], columns.add_all(repeat(self._texts, len(titles)), titles))
        for number, url in urls:
            columns.add_participant(roles[URL], self.values.iris[url], number)
        for number, names in listed:
            for name in names:
                columns.add_participant(roles[BADGE], self.values.entities[name], number)
        columns.end_fact(self._labels[SITELINK])
        return True

    def _add_header(
        self, entity: dict[str, Any], subject: int, key: str | None, others: dict[str, Any], layout: EntityLayout,
        *, is_part: bool
    ) -> None:  # fmt: skip
        add, sides = self.columns.add_participant, self._sides
        add(sides[SUBJECT], subject)
        for member in (TYPE, DATATYPE):
            if member in entity:
                add(sides[member], self.values.names[entity[member]])
        if key is not None and key != entity["id"]:
            add(sides[KEY], self.values.names[key])
        self._add_others(ENTITY, others)
        written = layout_to_text(layout)
        if written is not None:
            add(sides[LAYOUT], self._json[written])
        if not is_part and (dropped := +self._dropped):
            counts = {name: NumberText(number) for name, number in sorted(dropped.items())}
            add(sides[DROPPED], self._json[write_json(counts)])
        self.columns.end_fact(self._labels[ENTITY])

    def _add_others(self, relation: str, members: dict[str, Any]) -> None:
        """Add members that mean nothing to this source."""
        sides = self._sides if relation == ENTITY else RoleCodes(self.columns, relation)
        for name, value in members.items():
            if is_side(name):
                self.columns.add_participant(sides[MEMBER + name], self._scalar(value))
            else:
                self.columns.add_participant(sides[MEMBERS], self.values.json({name: value}))

    def _scalar(self, value: Any) -> int:
        """Return the content that a JSON value is, whatever it means."""
        if type(value) is str:
            return self._scalars[ContentKind.JSON_STR][value]
        if type(value) is int:
            return self._scalars[ContentKind.JSON_INT][str(value)]
        if isinstance(value, float | dict | list):
            return self.values.json(value)
        kind, lexical = json_to_content(value)
        return self._scalars[kind][lexical.decode()]


def _find_layout(members: dict[str, Any]) -> EntityLayout:
    """Return how empty members, in an order of ours, and the statements' one are written."""
    bare = {member: type(value) for member, value in members.items() if not value and member in SHAPES}
    empty = [m for m, shape in SHAPES.items() if bare.get(m) is shape] if bare else []
    lists = [m for m, shape in SHAPES.items() if shape is dict and bare.get(m) is list] if bare else []
    name = next((m for m in STATEMENT_MAPS if m in members), STATEMENT_MAPS[0])
    statements = members.get(name) or {}
    return EntityLayout(
        empty=tuple(empty),
        lists=tuple(lists),
        statements=name,
        no_statements=tuple(property_ for property_, listed in statements.items() if not listed),
    )


def _num_texts(terms: Mapping[str, Any]) -> int:
    """Return how many texts there are, of one or a list of them a language."""
    return sum(len(text) if type(text) is list else 1 for text in terms.values())
