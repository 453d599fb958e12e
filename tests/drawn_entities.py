"""Entities of Wikibase as hypothesis draws them: usual ones, and all that is odd about real ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lisdata.sources.json_text import NumberText

TEXTS = st.sampled_from(
    ["", "Douglas Adams", "東京", "a#b", 'say "hi"', "\\", "\u2028", "Q42", "e\u0301", "\ud800", "a:b"]
)
INTEGERS = st.sampled_from(list(map(NumberText, ("0", "1", "11", "-0", "-5", str(2**64 + 1)))))
FLOATS = st.sampled_from(
    list(map(NumberText, ("12.5", "12.50", "0.1", "1.0", "-0.0", "1e-5", "1.0E-5", "3E8", "1e400")))
)
NUMBERS = INTEGERS | FLOATS
LANGUAGES = st.sampled_from(["en", "en-GB", "en-gb", "de", "", "zh-Hant"])
PROPERTIES = st.sampled_from(["P31", "P569", "P18", "P2", "P1545"])
ITEMS = st.sampled_from(["Q42", "Q5", "Q183", "Q1985727"])
HASHES = st.sampled_from(["0a" * 20, "1b" * 20, "2c" * 20, "", "not a hash"])
IRIS = st.sampled_from(
    [
        "http://www.wikidata.org/entity/Q1985727",
        "http://www.wikidata.org/entity/Q199",
        "1",
        "https://example.org/a b",
        "mailto:x@example.org",
        "http://commons.wikimedia.org/wiki/Special:FilePath/X.jpg",
        "http://commons.wikimedia.org/data/main/Data:X.tab",
        "",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=3,
)


def _item_value(name: str) -> dict[str, Any]:
    return {"entity-type": "item", "numeric-id": NumberText(name[1:]), "id": name}


ENTITY_VALUES = st.one_of(
    ITEMS.map(_item_value),
    ITEMS.map(lambda q: {"entity-type": "item", "numeric-id": NumberText(q[1:])}),
    ITEMS.map(lambda q: {"entity-type": "item", "id": q}),
    PROPERTIES.map(lambda p: {"entity-type": "property", "numeric-id": NumberText(p[1:]), "id": p}),
    st.sampled_from(
        [
            {"entity-type": "lexeme", "numeric-id": NumberText("3"), "id": "L3"},
            {"entity-type": "form", "id": "L3-F1"},
            {"entity-type": "sense", "id": "L3-S2"},
            {"entity-type": "entity-schema", "id": "E10"},
            {"entity-type": "item", "numeric-id": NumberText("4"), "id": "Q5"},
            {"entity-type": "item", "numeric-id": NumberText("5"), "id": "Q5", "more": None},
            {"entity-type": "item", "numeric-id": None, "id": "Q5"},
            {"entity-type": "item", "numeric-id": NumberText("5.0"), "id": "Q5"},
            {"entity-type": "star", "id": "Q5"},
            {"id": "Q5"},
            {},
        ]
    ),
)
TIME_VALUES = st.fixed_dictionaries(
    {
        "time": st.sampled_from(["+1952-03-11T00:00:00Z", "-0200-00-00T00:00:00Z", "+2000-02-30T00:00:00Z", ""]),
        "timezone": INTEGERS,
        "before": INTEGERS | st.none(),
        "after": INTEGERS,
        "precision": NUMBERS,
        "calendarmodel": IRIS,
    }
)
AMOUNTS = st.sampled_from(["+1", "-0.50", "+19.768000000000000682121026329696178436279296875", "1e5", ""])
QUANTITIES = st.fixed_dictionaries(
    {"amount": AMOUNTS, "unit": IRIS}, optional={"upperBound": AMOUNTS, "lowerBound": AMOUNTS}
)
COORDINATES = st.fixed_dictionaries(
    {"latitude": NUMBERS, "longitude": NUMBERS, "precision": NUMBERS | st.none(), "globe": IRIS},
    optional={"altitude": NUMBERS | st.none()},
)
MONOLINGUAL = st.fixed_dictionaries({"text": TEXTS, "language": LANGUAGES}, optional={"more": TEXTS})
VALUES = {
    "wikibase-entityid": (ENTITY_VALUES, ("wikibase-item", "wikibase-property", "wikibase-form", "entity-schema")),
    "string": (
        TEXTS | IRIS | st.sampled_from(["A b/c.jpg", "Data:Berlin.map", "Data:a_b c.tab", "E = mc^2"]),
        ("string", "external-id", "url", "commonsMedia", "geo-shape", "tabular-data", "math", "musical-notation"),
    ),
    "monolingualtext": (MONOLINGUAL, ("monolingualtext",)),
    "time": (TIME_VALUES, ("time",)),
    "quantity": (QUANTITIES, ("quantity",)),
    "globecoordinate": (COORDINATES, ("globe-coordinate",)),
    "other": (JSON, ("other",)),
}


def without(members: Any) -> st.SearchStrategy[Any]:
    """An object as it is or, now and then, without one of its members."""
    if not isinstance(members, dict) or not members:
        return st.just(members)
    lacking = [{k: v for k, v in members.items() if k != name} for name in members]
    return st.sampled_from([members] * 8 + lacking)


@st.composite
def snaks(draw: Any, name: str) -> dict[str, Any]:
    kind = draw(st.sampled_from(["value"] * 6 + ["somevalue", "novalue"]))
    snak: dict[str, Any] = {"snaktype": kind, "property": name}
    type_ = draw(st.sampled_from(list(VALUES)))
    strategy, datatypes = VALUES[type_]
    if kind == "value" and draw(st.integers(0, 9)):
        value = draw(strategy.flatmap(without))
        snak["datavalue"] = {"value": value, "type": type_}
        if draw(st.integers(0, 9)) == 0:
            snak["datavalue"]["error"] = draw(JSON)
    if draw(st.booleans()):
        snak["hash"] = draw(HASHES)
    if draw(st.integers(0, 9)):
        other = st.sampled_from(["url", "wikibase-item", "", None])
        snak["datatype"] = draw(st.sampled_from(datatypes) | other)
    if draw(st.integers(0, 9)) == 0:
        snak[draw(TEXTS.filter(lambda text: text not in snak))] = draw(JSON)
    return snak


@st.composite
def snak_maps(draw: Any, member: str, order_member: str) -> dict[str, Any]:
    names = draw(st.lists(PROPERTIES, unique=True, min_size=1, max_size=3))
    found: dict[str, Any] = {member: {name: draw(st.lists(snaks(name), min_size=1, max_size=3)) for name in names}}
    order = draw(st.sampled_from([names] * 4 + [sorted(names), names + names, [], None, "absent", {}]))
    return found if order == "absent" else found | {order_member: order}


@st.composite
def references(draw: Any) -> dict[str, Any]:
    reference: dict[str, Any] = {"hash": draw(HASHES)} if draw(st.integers(0, 3)) else {}
    if draw(st.integers(0, 9)) == 0:
        reference |= {"snaks": draw(st.sampled_from([{}, []])), "snaks-order": draw(st.sampled_from([[], ["P2"]]))}
    else:
        reference |= draw(snak_maps("snaks", "snaks-order"))
    return reference | ({"allSnaks": draw(JSON)} if draw(st.integers(0, 9)) == 0 else {})


@st.composite
def statements(draw: Any, name: str, pool: list[dict[str, Any]]) -> dict[str, Any]:
    statement: dict[str, Any] = {"mainsnak": draw(snaks(name)), "type": "statement"}
    if draw(st.booleans()):
        statement |= draw(snak_maps("qualifiers", "qualifiers-order"))
    elif draw(st.integers(0, 5)) == 0:
        statement |= {"qualifiers": draw(st.sampled_from([{}, []])), "qualifiers-order": ["P2"]}
    statement["id"] = f"Q42${draw(st.integers(0, 99))}"
    statement["rank"] = draw(st.sampled_from(["preferred", "normal", "deprecated", "other"]))
    if draw(st.booleans()):
        statement["references"] = draw(st.lists(st.sampled_from(pool), max_size=3))
    if draw(st.integers(0, 9)) == 0:
        statement["type"] = draw(st.sampled_from(["claim", ""]))
        statement[draw(TEXTS)] = draw(JSON)
    kept = draw(without({k: v for k, v in statement.items() if k != "mainsnak"}))
    return {"mainsnak": statement["mainsnak"], **kept}


@st.composite
def claims(draw: Any) -> Any:
    pool = draw(st.lists(references(), min_size=1, max_size=3))
    maps = st.dictionaries(PROPERTIES, st.just(None), max_size=3)
    found = {name: draw(st.lists(statements(name, pool), max_size=3)) for name in draw(maps)}
    return found or draw(st.sampled_from([{}, []]))


@st.composite
def terms(draw: Any, *, listed: bool = False) -> Any:
    found: dict[str, Any] = {}
    for language in draw(st.lists(LANGUAGES, unique=True, max_size=4)):
        texts = [
            {"language": draw(st.sampled_from([language] * 9 + ["en"])), "value": draw(TEXTS)}
            for _ in range(draw(st.integers(0, 2)) if listed else 1)
        ]
        if texts and draw(st.integers(0, 9)) == 0:
            texts[0]["source-language"] = "en"
        found[language] = texts if listed else texts[0]
    return found or draw(st.sampled_from([{}, []]))


@st.composite
def sitelinks(draw: Any) -> Any:
    found: dict[str, Any] = {}
    for site in draw(st.lists(st.sampled_from(["enwiki", "dewiki", "frwikiquote"]), unique=True, max_size=3)):
        found[site] = {
            "site": draw(st.sampled_from([site] * 9 + ["other"])),
            "title": draw(TEXTS),
            "badges": draw(st.lists(st.sampled_from(["Q17437796", "Q17437798", "no id"]), max_size=2)),
        }
        if draw(st.booleans()):
            found[site]["url"] = draw(st.sampled_from(["https://en.wikipedia.org/wiki/Douglas_Adams", "//x", "a b"]))
    return found or draw(st.sampled_from([{}, []]))


TERM_MEMBERS = {"labels": terms(), "descriptions": terms(), "aliases": terms(listed=True)}
OTHERS = {
    "pageid": NUMBERS, "modified": TEXTS, "a#b": JSON, "\ud800": JSON, "lexicalCategory": ITEMS | TEXTS,
    "redirects": st.sampled_from([{"from": "Q4242", "to": "Q42"}, {"from": "Q4242", "to": "Q5"}]),
}  # fmt: skip


@st.composite
def parts(draw: Any, kind: str) -> Any:
    found = []
    for number in range(draw(st.integers(0, 2))):
        part = {"id": f"L3-{'F' if kind == 'forms' else 'S'}{number + 1}", "claims": draw(claims())}
        if kind == "forms":
            part |= {"representations": draw(terms()), "grammaticalFeatures": draw(st.lists(ITEMS, max_size=2))}
        else:
            part["glosses"] = draw(terms())
        found.append(draw(without(part)) | {"id": part["id"]})
    return found


@st.composite
def entities(draw: Any) -> dict[str, Any]:
    """An item, a property or a lexeme, or a redirect."""
    kind = draw(st.sampled_from(["item", "item", "item", "property", "lexeme", "redirect"]))
    if kind == "redirect":
        return {"entity": "Q4242", "redirect": "Q42"}
    names = {"item": "Q42", "property": "P31", "lexeme": "L3"}
    entity: dict[str, Any] = {"type": kind, "id": names[kind], "claims": draw(claims())}
    if kind == "lexeme":
        entity |= {"lemmas": draw(terms()), "language": "Q1860", "forms": draw(parts("forms"))}
        entity |= {"lexicalCategory": draw(ITEMS), "senses": draw(parts("senses"))}
    else:
        entity |= {member: draw(strategy) for member, strategy in TERM_MEMBERS.items()}
        entity["sitelinks"] = draw(sitelinks())
    if kind == "property":
        entity["datatype"] = "wikibase-item"
    entity |= draw(st.fixed_dictionaries({}, optional=OTHERS))
    entity = draw(without(entity)) | {"id": names[kind]}
    return dict(draw(st.permutations(list(entity.items()))))


PLAIN_NUMBERS = st.sampled_from(list(map(NumberText, ("0", "-0", "7", "12.5", "12.50", "-3", "0.1", "-0.0", "1e-5"))))
PLAIN_VALUES = st.one_of(
    st.tuples(st.just("wikibase-entityid"), st.just("wikibase-item"), ITEMS.map(_item_value)),
    st.tuples(
        st.just("time"),
        st.just("time"),
        st.fixed_dictionaries(
            {
                "time": st.just("+1952-03-11T00:00:00Z"),
                **dict.fromkeys(("timezone", "before", "after", "precision"), PLAIN_NUMBERS),
                "calendarmodel": st.just("http://www.wikidata.org/entity/Q1985727"),
            }
        ),
    ),
    st.tuples(
        st.just("globecoordinate"),
        st.just("globe-coordinate"),
        st.fixed_dictionaries(
            {
                **dict.fromkeys(("latitude", "longitude", "precision"), PLAIN_NUMBERS),
                "globe": st.just("http://www.wikidata.org/entity/Q2"),
            }
        ),
    ),
    st.tuples(st.just("string"), st.sampled_from(["external-id", "url", "string"]), TEXTS),
)


@st.composite
def plain_entities(draw: Any) -> dict[str, Any]:
    """An item as most are, but for texts and numbers: what the fast way reads, or finds out that it should not."""
    found: dict[str, Any] = {}
    for name in draw(st.lists(PROPERTIES, unique=True, max_size=3)):
        type_, datatype, value = draw(PLAIN_VALUES)
        snak = {
            "snaktype": "value",
            "property": name,
            "datavalue": {"value": value, "type": type_},
            "datatype": datatype,
        }
        hashed = snak | {"hash": draw(HASHES)}
        references = [{"hash": "0a" * 20, "snaks": {name: [snak, hashed]}, "snaks-order": [name]}] * draw(
            st.integers(0, 2)
        )
        statement = {"mainsnak": snak, "type": "statement", "id": f"Q42${name}", "rank": "normal"}
        qualified = statement | {"qualifiers": {name: [hashed]}, "qualifiers-order": [name]}
        found[name] = [statement, qualified | ({"references": references} if references else {})]
    label = {"en": {"language": "en", "value": draw(TEXTS)}}
    return {"type": "item", "id": "Q42", "labels": label, "claims": found, "sitelinks": {}}
