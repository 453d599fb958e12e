"""Entities of Wikibase for tests, and how they are read into structures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lisdata.converters.facts import FACTS, FactOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.sources.wikidata import WIKIDATA, WikidataOptions
from lisdata.structure import Structure

WD = "http://www.wikidata.org/entity/"


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=WIKIDATA.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def read_structures(
    piece: InputSlice, reject: Callable[[BadRecordError], None] = stop, **options: Any
) -> list[Structure]:
    found = []
    for records in WIKIDATA.read(piece, WikidataOptions(**options), reject):
        batch = FACTS.convert(records, FactOptions())
        found += [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]
    return found


def entity_ids(structures: list[Structure]) -> list[str]:
    return [s.occurrences[0].content.text.removeprefix(WD) for s in structures if s.instances[0].label == "entity"]


def facts(structure: Structure) -> dict[str, list[tuple[str, str, str]]]:
    """The side, kind and text of each participant in roles of the instances of a label; IRIs of entities are ids."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for incidence in structure.incidences:
        label = structure.instances[incidence.instance].label.removeprefix(WD)
        content = structure.occurrences[incidence.occurrence].content
        relation = incidence.role.relation.removeprefix(WD)
        side = incidence.role.side if relation == label else f"{relation}#{incidence.role.side}"
        found.setdefault(label, []).append((side, content.kind.name, content.text.removeprefix(WD)))
    return found


def snak(name: str, kind: str, value: Any, datatype: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"snaktype": "value", "property": name, "datavalue": {"value": value, "type": kind}}
    return found if datatype is None else found | {"datatype": datatype}


def item(*statements: dict[str, Any], **members: Any) -> dict[str, Any]:
    claims: dict[str, Any] = {}
    for statement in statements:
        claims.setdefault(statement["mainsnak"]["property"], []).append(statement)
    return {"type": "item", "id": "Q42", "claims": claims} | members


def statement(mainsnak: dict[str, Any], rank: str = "normal", **members: Any) -> dict[str, Any]:
    return {"mainsnak": mainsnak, "type": "statement", "id": "Q42$1", "rank": rank} | members


HUMAN = snak("P31", "wikibase-entityid", {"entity-type": "item", "numeric-id": 5, "id": "Q5"}, "wikibase-item")
BORN = snak(
    "P569",
    "time",
    {
        "time": "+1952-03-11T00:00:00Z", "timezone": 0, "before": 0, "after": 1, "precision": 11,
        "calendarmodel": f"{WD}Q1985727",
    },
    "time",
)  # fmt: skip
POINT = {"latitude": 12.125, "longitude": 67.25, "altitude": None, "precision": 0.0625, "globe": f"{WD}Q2"}
LINES = [json.dumps({"type": "item", "id": f"Q{n}", "claims": {}}).encode() for n in range(1, 5)]
