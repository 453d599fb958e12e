"""Snaks to participants: a value, its details, and how the snak is written where that is not the usual way."""

from __future__ import annotations

from typing import Any

from lisdata.contents import Role
from lisdata.schema import ContentKind
from lisdata.sources.wikidata_columns import EntityColumns
from lisdata.sources.wikidata_layout import DATATYPE, EXTRA, HASH, WikidataOptions, is_property_id
from lisdata.sources.wikidata_values import MalformedError, Value, ValueReader

_MEMBERS = ("snaktype", "property", "datavalue", "datatype", "hash")


class PropertyRoles(dict[str, tuple[int, ...]]):
    """The codes of the roles that a value and its details are in, by the id of the property."""

    __slots__ = ("_columns", "_prefix", "_sides")

    def __init__(self, columns: EntityColumns, prefix: str, sides: tuple[str, ...]) -> None:
        super().__init__()
        self._columns, self._prefix, self._sides = columns, prefix, sides

    def __missing__(self, name: str) -> tuple[int, ...]:
        if not is_property_id(name):
            raise MalformedError((), "a property such as P31", name)
        roles = (Role(self._prefix + name, side) for side in self._sides)
        codes = self[name] = tuple(map(self._columns.labels.role, roles))
        return codes


class SideRoles(dict[str, PropertyRoles]):
    """The roles of one side (value, qualifier, reference), by the names of details."""

    __slots__ = ("_columns", "_prefix", "_side", "datatypes", "extras", "hashes")

    def __init__(self, columns: EntityColumns, prefix: str, side: str) -> None:
        super().__init__()
        self._columns, self._prefix, self._side = columns, prefix, side
        self.hashes, self.datatypes, self.extras = map(self._detail, (HASH, DATATYPE, EXTRA))

    def __missing__(self, details: str) -> PropertyRoles:
        sides = (self._side, *(f"{self._side}.{detail}" for detail in details.split()))
        found = self[details] = PropertyRoles(self._columns, self._prefix, sides)
        return found

    def _detail(self, name: str) -> PropertyRoles:
        return PropertyRoles(self._columns, self._prefix, (f"{self._side}.{name}",))


class SnakWriter:
    """Appends snaks to the columns of a batch.

    Unknown values are called by `unknown_name`, which no two records or references share, and a number that goes on
    from `num_unknown`.
    """

    def __init__(self, columns: EntityColumns, values: ValueReader, options: WikidataOptions, scope: str) -> None:
        self.unknown_name, self.num_unknown = "", 0
        self._columns, self._content, self._role = columns, columns.content, columns.role
        self._lexicals, self._groups = columns.lexicals, columns.groups
        self._values, self._readers = values, values.readers
        self._keeps_hashes = options.hashes and not options.truthy
        self._hashes = values.names.number
        self._novalues = columns.group(ContentKind.NOVALUE)
        self._unknowns = columns.group(ContentKind.SOMEVALUE, scope=scope)

    def group_numbers(self) -> dict[str, int]:
        """Return the numbers of groups of contents, by the names that a compiled scan has for them."""
        return {"unknowns": self._unknowns.number, "novalues": self._novalues.number}

    def add(self, snak: dict[str, Any], name: str, side: SideRoles, position: int) -> int:
        """Add a snak of property `name`, and return how many hashes were left out."""
        if snak["property"] != name:
            raise MalformedError(("property",), f"{name}, the property that this is listed under", snak["property"])
        content = self._content
        first = len(content)
        datatype = snak.get("datatype")
        if snak["snaktype"] == "value" and "datavalue" in snak:
            num_usual, datavalue = 3, snak["datavalue"]
            reader = self._readers.get(datavalue["type"])
            try:
                found = reader(datavalue["value"], datatype) if reader is not None and len(datavalue) == 2 else None
            except KeyError:
                found = None
            contents, details, usual = found or ((self._values.json(datavalue),), "", "")
        else:
            num_usual = 2
            contents, details, usual = self._without_value(snak["snaktype"])
        content += contents
        self._role += side[details][name]
        if datatype == usual != "":
            num_usual += 1
        else:
            num_usual += self._add_datatype(datatype, side.datatypes[name])
        hashes = 0
        if "hash" in snak:
            num_usual += 1
            if self._keeps_hashes:
                hash_ = snak["hash"]
                if type(hash_) is not str:
                    raise TypeError(f"expected a hash, got {hash_!r}")
                content.append(len(self._lexicals))  # what `add` of the columns does, which would double the time
                self._lexicals.append(hash_)
                self._groups.append(self._hashes)
                self._role += side.hashes[name]
            else:
                hashes = 1
        if len(snak) != num_usual:
            self._add_extra(snak, side.extras[name])
        if position:
            self._columns.place(first, len(content), position)
        return hashes

    def _without_value(self, kind: str) -> Value:
        if kind == "somevalue":
            self.num_unknown += 1
            return (self._unknowns[f"{self.unknown_name}-{self.num_unknown}"],), "", ""
        if kind == "novalue":
            return (self._novalues[""],), "", ""
        if kind == "value":
            return (self._values.null,), "", ""
        raise MalformedError(("snaktype",), "value, somevalue or novalue", kind)

    def _add_datatype(self, datatype: str | None, roles: tuple[int, ...]) -> int:
        """Say which datatype it is, or that none is given; return how many members of the snak that says."""
        self._content.append(self._values.null if datatype is None else self._values.names[datatype])
        self._role += roles
        return datatype is not None

    def _add_extra(self, snak: dict[str, Any], roles: tuple[int, ...]) -> None:
        """Add the members that say nothing in the usual way, as one JSON object."""
        extra = {k: v for k, v in snak.items() if k not in _MEMBERS or (k == "datatype" and v is None)}
        if snak["snaktype"] != "value" and "datavalue" in snak:
            extra["datavalue"] = snak["datavalue"]
        self._content.append(self._values.json(extra))
        self._role += roles
