"""Generated inputs that are graphs: triples, statements of a Wikibase, edges, n-ary facts, hypergraphs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from source_draws import Draws

_RESOURCE = "http://example.org/resource/Item_"
_ONTOLOGY = "http://example.org/ontology/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_PREDICATES = ("birthPlace", "isPartOf", "population", "foundingDate", "label", "description", "knows", "area")
_LANGUAGES = ("en", "de", "fr", "en-US", "ja")
_LINES = 1000
TURTLE_HEADER = f"@prefix i: <{_RESOURCE}> .\n@prefix o: <{_ONTOLOGY}> .\n@prefix xsd: <{_XSD}> .\n".encode()


def _term(draws: Draws) -> str:
    """Return an object of a triple as N-Triples writes it."""
    choice = draws.below(100)
    if choice < 45:
        return f"<{_RESOURCE}{draws.number():07d}>"
    if choice < 70:
        return f'"{draws.words(3)}"@{_LANGUAGES[choice % len(_LANGUAGES)]}'
    if choice < 80:
        return f'"{draws.number()}"^^<{_XSD}integer>'
    if choice < 87:
        return f'"{draws.date()}"^^<{_XSD}date>'
    return f'"{draws.words(4)}, \\"{draws.number()}\\""' if choice < 97 else f"_:node{draws.number()}"


def _lines(draws: Draws, end: str) -> Iterator[bytes]:
    subject = 0
    while True:
        lines: list[str] = []
        while len(lines) < _LINES:
            subject += 1
            name = f"_:node{subject}" if subject % 50 == 0 else f"<{_RESOURCE}{subject:07d}>"
            graph = f" <http://example.org/graph/{subject // 100}>" if end == "graph" else ""
            for number in range(1 + draws.below(11)):
                lines.append(f"{name} <{_ONTOLOGY}{_PREDICATES[number % 8]}> {_term(draws)}{graph} .\n")
        yield "".join(lines).encode()


def ntriples(draws: Draws) -> Iterator[bytes]:
    """Yield lines, 1 to 11 triples a subject."""
    return _lines(draws, "")


def nquads(draws: Draws) -> Iterator[bytes]:
    """Yield lines, a hundred subjects a graph."""
    return _lines(draws, "graph")


def hext(draws: Draws) -> Iterator[bytes]:
    """Yield the lines of `nquads` as Hextuples."""
    import rdflib

    for lines in nquads(draws):
        dataset = rdflib.Dataset().parse(data=lines, format="nquads")
        yield dataset.serialize(format="hext").encode()


def turtle(draws: Draws) -> Iterator[bytes]:
    """Yield subjects with 1 to 11 triples each."""
    subject = 0
    while True:
        subject += 1
        facts = [f"o:{_PREDICATES[n % 8]} {_short(_term(draws))}" for n in range(1 + draws.below(11))]
        yield (f"i:{subject:07d} " + " ;\n    ".join(facts) + " .\n").encode()


def _short(term: str) -> str:
    if term.startswith(f"<{_RESOURCE}"):
        return f"i:{term[len(_RESOURCE) + 1 : -1]}"
    head, mark, datatype = term.partition(f"^^<{_XSD}")
    return f"{head}^^xsd:{datatype[:-1]}" if mark else term


def wikidata(draws: Draws) -> Iterator[bytes]:
    """Yield the lines of a dump, an entity each, with statements, qualifiers and references."""
    entity = 0
    while True:
        entity += 1
        item = f"Q{entity}"
        labels = {code: {"language": code, "value": draws.words(2)} for code in ("en", "de", "fr", "es", "ja", "ru")}
        claims: dict[str, list[Any]] = {}
        for number in range(3 + draws.below(25)):
            name = f"P{31 + draws.below(60)}"
            claims.setdefault(name, []).append(_statement(draws, item, name, number))
        sites = {f"{code}wiki": {"site": f"{code}wiki", "title": draws.words(2), "badges": []} for code in labels}
        found = {
            "type": "item", "id": item, "labels": labels, "descriptions": labels, "aliases": {},
            "claims": claims, "sitelinks": sites, "pageid": entity, "ns": 0, "title": item, "lastrevid": 7 * entity,
            "modified": "2024-05-01T00:00:00Z",
        }  # fmt: skip
        yield json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _statement(draws: Draws, item: str, name: str, number: int) -> dict[str, Any]:
    statement = {
        "mainsnak": _snak(draws, name), "type": "statement", "rank": "normal",
        "id": f"{item}${draws.below(1 << 32):08x}-0000-4000-8000-{number:012x}",
    }  # fmt: skip
    if draws.below(3) == 0:
        statement["qualifiers"] = {"P580": [_snak(draws, "P580")], "P642": [_snak(draws, "P642")]}
        statement["qualifiers-order"] = ["P580", "P642"]
    if draws.below(2) == 0:
        snaks, order = {"P248": [_snak(draws, "P248")], "P813": [_snak(draws, "P813")]}, ["P248", "P813"]
        statement["references"] = [{"hash": f"{draws.below(1 << 48):040x}", "snaks": snaks, "snaks-order": order}]
    return statement


def _snak(draws: Draws, name: str) -> dict[str, Any]:
    choice = draws.below(10)
    if choice < 5:
        number = 1 + draws.number()
        value: Any = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
        type_, datatype = "wikibase-entityid", "wikibase-item"
    elif choice < 7:
        value, type_, datatype = f"{draws.below(1 << 40):x}", "string", "external-id"
    elif choice < 9:
        type_ = datatype = "time"
        value = {
            "time": f"+{draws.date()}T00:00:00Z", "timezone": 0, "before": 0, "after": 0, "precision": 11,
            "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
        }  # fmt: skip
    else:
        value, type_, datatype = {"amount": f"+{draws.number()}", "unit": "1"}, "quantity", "quantity"
    snak = {"snaktype": "value", "property": name, "hash": f"{draws.below(1 << 48):040x}"}
    return snak | {"datavalue": {"value": value, "type": type_}, "datatype": datatype}


KGTK_HEADER = b"id\tnode1\tlabel\tnode2\n"


def kgtk(draws: Draws) -> Iterator[bytes]:
    """Yield edges, one in four of them about the edge before it."""
    edge = 0
    while True:
        edge += 1
        about = f"E{edge - 1}" if edge % 4 == 0 else f"Q{draws.number()}"
        choice = draws.below(4)
        if choice < 2:
            value = f"Q{draws.number()}"
        elif choice == 2:
            value = f"'{draws.words(3)}'@en"
        else:
            value = f"^{draws.date()}T00:00:00Z/11"
        yield f"E{edge}\t{about}\tP{draws.below(200)}\t{value}\n".encode()


def nary(draws: Draws) -> Iterator[bytes]:
    """Yield facts in the layout of WD50K: subject, relation, object and pairs of qualifiers."""
    while True:
        pairs = "".join(f",P{draws.below(40)},Q{draws.number()}" for _ in range(draws.below(4)))
        yield f"Q{draws.number()},P{draws.below(300)},Q{draws.number()}{pairs}\n".encode()


def graph(draws: Draws) -> Iterator[bytes]:
    """Yield lists of 2,000 edges with a weight."""
    while True:
        edges = {tuple(sorted((draws.number(), draws.number()))) for _ in range(2000)}
        yield "".join(f"{source} {target} {{'weight': {source % 9}}}\n" for source, target in sorted(edges)).encode()


def hif(draws: Draws) -> Iterator[bytes]:
    """Yield hypergraphs of 2,000 incidences with weights and attributes."""
    while True:
        nodes = sorted({draws.number() for _ in range(900)})
        edges = [{"edge": f"paper {draws.number()}-{n}", "attrs": {"year": 1990 + n % 30}} for n in range(500)]
        incidences = [
            {"edge": edges[n // 4]["edge"], "node": f"author {nodes[draws.below(len(nodes))]}", "weight": n % 7 + 0.5}
            for n in range(2000)
        ]
        graph = {
            "network-type": "undirected", "metadata": {"name": draws.words(3)}, "edges": edges,
            "nodes": [{"node": f"author {n}", "attrs": {"group": f"group {n % 97}"}} for n in nodes],
            "incidences": incidences,
        }  # fmt: skip
        yield json.dumps(graph).encode()
