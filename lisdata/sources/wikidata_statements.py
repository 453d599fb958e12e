"""Statements to facts: one instance a statement, one a reference, which statements share by its handle."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.wikidata_columns import EntityColumns, InstanceLabels, RoleCodes
from lisdata.sources.wikidata_layout import (
    EXTRA,
    HASH,
    ORDER,
    QUALIFIER,
    RANK,
    REFERENCE,
    STATEMENT,
    SUBJECT,
    TYPE,
    VALUE,
    WikidataOptions,
)
from lisdata.sources.wikidata_snaks import PropertyRoles, SideRoles, SnakWriter
from lisdata.sources.wikidata_values import MalformedError, ValueReader

_MEMBERS = ("mainsnak", "type", "id", "rank", "qualifiers", "qualifiers-order", "references")
_REFERENCE_MEMBERS = ("hash", "snaks", "snaks-order")


class StatementWriter:
    """Appends the statements of entities to the columns of a batch."""

    def __init__(self, columns: EntityColumns, values: ValueReader, options: WikidataOptions, scope: str) -> None:
        self._columns, self._content, self._role = columns, columns.content, columns.role
        self._snaks, self._values, self._options = SnakWriter(columns, values, options, scope), values, options
        iri = options.entity_iri
        self._subjects = PropertyRoles(columns, iri, (SUBJECT,))
        self._mains, self._qualifiers, self._parts = (SideRoles(columns, iri, s) for s in (VALUE, QUALIFIER, REFERENCE))
        self._roles, self._reference_roles = RoleCodes(columns, STATEMENT), RoleCodes(columns, REFERENCE)
        self._labels, self._other_labels = InstanceLabels(columns, iri), InstanceLabels(columns)
        self._handles = columns.group(ContentKind.INSTANCE).number
        self._references = columns.group(ContentKind.INSTANCE, prefix=options.reference_iri)
        self._own_references = columns.group(ContentKind.INSTANCE, scope=scope)
        self._ends_structures = options.group == "statement"
        self._leaves_out = options.truthy or bool(options.property)
        self._kept_properties = frozenset(options.property)
        self._known: dict[str, dict[str, Any]] = {}  # by hash, the references of the entity in hand
        self._present: set[str] = set()  # hashes of those that the structure in hand has
        self._name, self._num_own, self._dropped = "", 0, Counter[str]()

    def begin_entity(self, name: str, dropped: Counter[str]) -> None:
        """Go on to another record: `name` is unique in the file, `dropped` counts what is left out."""
        self._name, self._num_own, self._dropped = name, 0, dropped
        self._known.clear()
        self._present.clear()
        self._snaks.unknown_name, self._snaks.num_unknown = name, 0

    def group_numbers(self) -> dict[str, int]:
        """Return the numbers of groups of contents, by the names that a compiled scan has for them."""
        return {"handles": self._handles, "references": self._references.number, **self._snaks.group_numbers()}

    def add(self, subject: int, statements: dict[str, list[dict[str, Any]]], place: tuple[int, int]) -> None:
        """Add the statements about `subject` by their property, from a place (begin, end) of the file.

        Under group=statement each is a structure.
        """
        add = self._add_best if self._options.truthy else self._add_statement
        hashes = 0
        for name, listed in statements.items():
            if type(listed) is not list:
                raise MalformedError((name,), "a list of statements", listed)
            roles, label = self._subjects[name], self._labels[name]
            for statement in self._kept(name, listed) if self._leaves_out else listed:
                self._content.append(subject)
                self._role += roles
                hashes += add(name, label, statement)
                if self._ends_structures:
                    self._columns.end_structure(*place)
                    self._present.clear()
        if hashes:
            self._dropped["hashes"] += hashes

    def _kept(self, name: str, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the statements of a property that are not to be left out."""
        kept = listed
        if self._kept_properties and name not in self._kept_properties:
            kept = []
        elif self._options.truthy:
            kept = _best(listed)
        if len(kept) < len(listed):
            self._dropped["statements"] += len(listed) - len(kept)
        return kept

    def _add_statement(self, name: str, label: int, statement: dict[str, Any]) -> int:
        """Add a statement and the references that are new in the structure; return how many hashes were left out."""
        hashes = self._snaks.add(statement["mainsnak"], name, self._mains, 0)
        num_usual, handle = 1, NO_ROW
        new_references: list[tuple[dict[str, Any], int, str | None]] = []
        if "id" in statement:
            num_usual = 2
            handle = self._columns.add(self._handles, statement["id"])
        if "rank" in statement:
            num_usual += 1
            self._content.append(self._values.names[statement["rank"]])
            self._role.append(self._roles[RANK])
        if "type" in statement and statement["type"] == "statement":
            num_usual += 1
        else:
            num_usual += self._add_type(statement)
        if "qualifiers" in statement and (qualifiers := statement["qualifiers"]):
            num_usual += 1 + ("qualifiers-order" in statement)
            hashes += self._add_snaks(qualifiers, statement, "qualifiers-order", self._roles, self._qualifiers)
        if "references" in statement and (references := statement["references"]):
            num_usual += 1
            new_references = self._link_references(references)
        if len(statement) != num_usual:
            self._add_extra(self._roles, statement, _MEMBERS)
        self._columns.end_fact(label, handle)
        for reference, own_handle, hash_ in new_references:
            hashes += self._add_reference(reference, own_handle, hash_)
        return hashes

    def _add_best(self, name: str, label: int, statement: dict[str, Any]) -> int:
        """Add only subject and value of a statement."""
        hashes = self._snaks.add(statement["mainsnak"], name, self._mains, 0)
        self._drop_details(statement)
        self._columns.end_fact(label)
        return hashes

    def _add_type(self, statement: dict[str, Any]) -> int:
        """Say what type the statement has, or that none is given; return how many members that says."""
        kind = statement.get("type")
        content = self._values.null if kind is None else self._values.names[kind]
        self._columns.add_participant(self._roles[TYPE], content)
        return kind is not None

    def _drop_details(self, statement: dict[str, Any]) -> None:
        """Count what a statement has beside its value."""
        for member, name in (("id", "ids"), ("rank", "ranks")):
            self._dropped[name] += member in statement
        self._dropped["qualifiers"] += sum(map(len, (statement.get("qualifiers") or {}).values()))
        self._dropped["references"] += len(statement.get("references") or ())

    def _add_snaks(
        self, snaks: dict[str, list[dict[str, Any]]], owner: dict[str, Any], member: str, roles: RoleCodes,
        side: SideRoles
    ) -> int:  # fmt: skip
        """Add the snaks of a statement or reference by property, in the order that its `member` says."""
        add, hashes = self._snaks.add, 0
        order = owner.get(member)
        if order != list(snaks):
            order = self._order(list(snaks), owner, member, roles)
        for name in order:
            listed = snaks[name]
            if len(listed) == 1:
                hashes += add(listed[0], name, side, 0)
                continue
            if not listed:
                raise MalformedError((name,), "a list of snaks", listed)
            for position, snak in enumerate(listed):
                hashes += add(snak, name, side, position)
        return hashes

    def _order(self, names: list[str], owner: dict[str, Any], member: str, roles: RoleCodes) -> list[str]:
        """Return the properties in the order that the owner says; where it says another thing, add that."""
        order = owner.get(member)
        if type(order) is list and len(order) == len(names) and all(name in order for name in names):
            return order
        content = self._values.json(order) if member in owner else self._values.null
        self._columns.add_participant(roles[ORDER], content)
        return names

    def _link_references(self, references: list[dict[str, Any]]) -> list[tuple[dict[str, Any], int, str | None]]:
        """Link a statement to its references; return those that are new in the structure, with handle and hash.

        The hash is None where it is the handle, or there is none.
        """
        new: list[tuple[dict[str, Any], int, str | None]] = []
        for position, reference in enumerate(references):
            hash_ = reference.get("hash")
            known = reference if hash_ is None else self._known.setdefault(hash_, reference)
            if hash_ is None or (known is not reference and known != reference):
                handle = self._own_references[f"{self._name}-{self._num_own}"]
                self._num_own += 1
                new.append((reference, handle, hash_))
            else:
                handle = self._references[hash_]
                if hash_ not in self._present:
                    self._present.add(hash_)
                    new.append((reference, handle, None))
            self._columns.add_participant(self._roles[REFERENCE], handle, position)
        return new

    def _add_reference(self, reference: dict[str, Any], handle: int, hash_: str | None) -> int:
        columns = self._columns
        snaks, own_hash = reference["snaks"], reference.get("hash")
        num_unknown = self._snaks.num_unknown
        if hash_ is not None:
            columns.add_participant(self._reference_roles[HASH], self._values.names[hash_])
        elif own_hash is not None:
            self._snaks.unknown_name, self._snaks.num_unknown = own_hash, 0
        num_members = (type(snaks) is dict) + ("snaks-order" in reference) + (own_hash is not None)
        hashes = self._add_snaks(snaks or {}, reference, "snaks-order", self._reference_roles, self._parts)
        if len(reference) != num_members:
            self._add_extra(self._reference_roles, reference, _REFERENCE_MEMBERS)
        columns.end_fact(self._other_labels[REFERENCE], handle)
        if self._snaks.unknown_name == own_hash:
            self._snaks.unknown_name, self._snaks.num_unknown = self._name, num_unknown
        return hashes

    def _add_extra(self, roles: RoleCodes, owner: dict[str, Any], known: tuple[str, ...]) -> None:
        """Add the members of a statement or reference that say nothing in the usual way, as one JSON object."""
        unsaid = () if owner.get("qualifiers") else ("qualifiers-order",)
        extra = {k: v for k, v in owner.items() if k not in known or k in unsaid or not v}
        self._columns.add_participant(roles[EXTRA], self._values.json(extra))


def _best(statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the preferred statements or, when there are none, those of normal rank."""
    preferred = [s for s in statements if s.get("rank") == "preferred"]
    return preferred or [s for s in statements if s.get("rank", "normal") == "normal"]
