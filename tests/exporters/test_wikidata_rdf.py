from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, NamedNode, Quad, RdfFormat, Triple, parse

from lisdata.conversion import convert
from lisdata.datasets import export
from lisdata.exporters.wikidata_dates import JULIAN, to_date_time
from lisdata.exporters.wikidata_rdf import WIKIDATA_RDF
from lisdata.registry import ExportReport, load_exporter

ACME = "http://acme.test/"
IRIS = {"entity_iri": ACME, "reference_iri": f"{ACME}reference/"}
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
Select = Callable[[Triple], bool]


@pytest.fixture(scope="module")
def oracle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wikibase's own fixtures: entities and the N-Triples that it makes of them, by flavour."""
    folder = tmp_path_factory.mktemp("oracle")
    with tarfile.open(shared / "data/kg/wikidata/wikibase_oracle.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def triples(data: bytes) -> set[Triple]:
    return {quad.triple for quad in parse(data, format=RdfFormat.N_TRIPLES, lenient=True)}


def canonical(found: set[Triple]) -> set[str]:
    """The graph up to the names of blank nodes, and of values and references: Wikibase hashes these in PHP."""

    def unnamed(term: Any) -> Any:
        is_node = isinstance(term, NamedNode) and term.value.startswith((f"{ACME}value/", f"{ACME}reference/"))
        return BlankNode(term.value.replace("/", "").replace(":", "").replace(".", "")) if is_node else term

    dataset = Dataset(Quad(unnamed(t.subject), t.predicate, unnamed(t.object)) for t in found)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in dataset}


def is_class(triple: Triple) -> bool:
    return triple.predicate.value == TYPE and str(triple.object).startswith("<http://wikiba.se/ontology#")


def is_term(*names: str) -> Select:
    return lambda triple: triple.predicate.value.rsplit("/")[-1].rsplit("#")[-1] in names


def is_direct(triple: Triple) -> bool:
    is_none = str(triple.object).startswith(f"<{ACME}prop/novalue/") and str(triple.subject).startswith(f"<{ACME}Q")
    return is_none or triple.predicate.value.startswith(f"{ACME}prop/direct/")


def is_about_statement(triple: Triple) -> bool:
    is_full = "/value/" not in triple.predicate.value and "Value" not in str(triple)
    return is_full and not is_direct(triple) and f"<{ACME}statement/" in str(triple) and "prov#" not in str(triple)


def is_about_reference(triple: Triple) -> bool:
    return str(triple.subject).startswith(f"<{ACME}reference/") and "/value/" not in triple.predicate.value


def is_whole(triple: Triple) -> bool:
    return not (is_class(triple) and str(triple.subject).startswith((f"<{ACME}Q", f"<{ACME}P")))


LABELS = is_term("label", "prefLabel", "name")
FLAVOURS: list[tuple[str, tuple[str, ...], Select]] = [
    ("Q2", ("TermsRdfBuilder/Q2_terms",), is_whole),
    ("Q2", ("TermsRdfBuilder/Q2_terms_labels",), LABELS),
    ("Q2", ("TermsRdfBuilder/Q2_terms_descriptions",), is_term("description")),
    ("Q2", ("TermsRdfBuilder/Q2_terms_aliases",), is_term("altLabel")),
    ("Q2", ("RdfBuilder/Q2_aliases",), is_term("altLabel")),
    ("Q2", ("RdfBuilder/Q2_stub",), lambda triple: not is_term("altLabel")(triple)),
    ("Q4", ("RdfBuilder/Q4_direct",), is_direct),
    ("Q4", ("RdfBuilder/Q4_statements",), is_about_statement),
    ("Q4", ("RdfBuilder/Q4_direct", "RdfBuilder/Q4_statements", "RdfBuilder/Q4_values"), is_whole),
    ("Q7", ("RdfBuilder/Q7_references",), is_about_reference),
    (
        "Q7",
        tuple(f"RdfBuilder/Q7_{flavour}" for flavour in ("statements", "references", "reference_refs", "values")),
        is_whole,
    ),
    ("Q7 Q9", ("RdfBuilder/Q7_Q9_dedup",), lambda triple: True),
    ("P2", ("PropertyRdfBuilder/P2_all", "PropertyRdfBuilder/P2_terms"),
     lambda triple: is_whole(triple) and not is_term("altLabel")(triple)),
]  # fmt: skip


def export_rdf(folder: Path, data: list[bytes], **options: Any) -> tuple[bytes, ExportReport]:
    """The triples of all the files, and the report."""
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    for number, entity in enumerate(data):
        (folder / f"in/{number}.json").write_bytes(entity)
    convert("wikidata", [str(folder / "in")], folder / "data", options=options)
    (report,) = export(folder / "data", folder / "out", format="wikidata-rdf")
    assert sorted(path.name for path in report.files) == [f"{number}.json.nt" for number in range(len(data))]
    return b"".join(path.read_bytes() for path in report.files), report


@pytest.mark.parametrize(
    ("entities", "files", "select"), FLAVOURS, ids=lambda found: None if callable(found) else str(found)[:60]
)
def test_the_graph_is_wikibase_s_own(
    tmp_path: Path, oracle: Path, entities: str, files: tuple[str, ...], select: Select
) -> None:
    read = [json.loads((oracle / f"entities/{name}.json").read_bytes()) for name in entities.split()]
    expected = set().union(*(triples((oracle / f"{name}.nt").read_bytes()) for name in files))

    found, report = export_rdf(tmp_path, ["\n".join(map(json.dumps, read)).encode()], **IRIS)

    assert canonical(set(filter(select, triples(found)))) == canonical(expected)
    assert report.losses == {}
    assert report.num_records == len(read)


def test_it_is_registered() -> None:
    assert load_exporter("wikidata-rdf") is WIKIDATA_RDF


STATEMENT = {"mainsnak": {"snaktype": "somevalue", "property": "P1", "hash": "x"}, "id": "Q1$A-b", "rank": "normal"}
LOST = [
    ({"sitelinks": {"enwiki": {"site": "enwiki", "title": "x", "badges": []}}}, {"links to pages": 1}),
    ({"pageid": 5}, {"members that RDF has not": 1}),
    ({"claims": {"P1": [STATEMENT]}}, {"hashes of snaks": 1}),
    (
        {"claims": {"P1": [{"mainsnak": STATEMENT["mainsnak"]}]}},
        {"statements without an id (but for their truthy triple)": 1},
    ),
]


@pytest.mark.parametrize(("members", "losses"), LOST)
def test_what_rdf_does_not_say_is_a_loss(tmp_path: Path, members: dict[str, Any], losses: dict[str, int]) -> None:
    entity = {"type": "item", "id": "Q1"} | members

    _, report = export_rdf(tmp_path, [json.dumps(entity).encode()])

    assert report.losses == losses


def snak(kind: str, value: Any, datatype: str) -> dict[str, Any]:
    datavalue = {"type": kind, "value": value}
    return {"snaktype": "value", "property": "P1", "datavalue": datavalue, "datatype": datatype}


@pytest.mark.parametrize(
    ("mainsnak", "loss"),
    [
        (snak("string", "x^2", "math"), "formulas"),
        (snak("new", 5, "new"), "values of no known form"),
        (snak("time", {"time": "+1"}, "time"), "values of no known form"),
        (
            snak(
                "globecoordinate",
                {"latitude": 1, "longitude": 2, "altitude": 3, "precision": None, "globe": "x:y"},
                "x",
            ),
            "before, after and altitude of values",
        ),
    ],
)
def test_values_that_rdf_does_not_have_are_losses(tmp_path: Path, mainsnak: dict[str, Any], loss: str) -> None:
    entity = {"id": "Q1", "claims": {"P1": [{"mainsnak": mainsnak, "id": "Q1$1", "rank": "normal"}]}}

    found, report = export_rdf(tmp_path, [json.dumps(entity).encode()])

    assert report.losses == {loss: 1}
    assert triples(found)


def test_a_lexeme_and_a_redirect_have_triples(tmp_path: Path, shared: Path) -> None:
    lexeme = (shared / "data/kg/wikidata/json/L3354.json").read_bytes()

    found, _ = export_rdf(tmp_path, [lexeme, b'{"entity": "Q4242", "redirect": "Q42"}'])

    wd, ontolex = "http://www.wikidata.org/entity/", "http://www.w3.org/ns/lemon/ontolex#"
    for line in (
        f"<{wd}L3354> <{ontolex}lexicalForm> <{wd}L3354-F2> .",
        f'<{wd}L3354-F2> <{ontolex}representation> "banks"@en .',
        f"<{wd}L3354-F2> <http://wikiba.se/ontology#grammaticalFeature> <{wd}Q146786> .",
        f'<{wd}L3354-S1> <http://www.w3.org/2004/02/skos/core#definition> "financial institution"@en .',
        f"<{wd}L3354> <http://purl.org/dc/terms/language> <{wd}Q1860> .",
        f"<{wd}Q4242> <http://www.w3.org/2002/07/owl#sameAs> <{wd}Q42> .",
    ):
        assert f"{line}\n".encode() in found


@pytest.mark.parametrize(
    ("time", "precision", "calendar", "expected"),
    [
        ("+1952-03-11T00:00:00Z", 11, "", "1952-03-11T00:00:00Z"),
        ("+1952-03-11T00:00:00Z", 10, "", "1952-03-01T00:00:00Z"),
        ("+1952-03-11T00:00:00Z", 9, "", "1952-01-01T00:00:00Z"),
        ("+1952-00-00T00:00:00Z", 11, "", "1952-01-01T00:00:00Z"),
        ("+2015-02-30T00:00:00Z", 11, "", "2015-02-28T00:00:00Z"),
        ("+2000-02-30T00:00:00Z", 11, "", "2000-02-29T00:00:00Z"),
        ("+2001-04-31T00:00:00Z", 11, "", "2001-04-30T00:00:00Z"),
        ("+2001-13-31T00:00:00Z", 11, "", "2001-12-31T00:00:00Z"),
        ("-0200-00-00T00:00:00Z", 9, "", "-0199-01-01T00:00:00Z"),
        ("-0001-02-29T00:00:00Z", 11, "", "0000-02-29T00:00:00Z"),
        ("-13798000000-00-00T00:00:00Z", 3, "", "-13798000000-01-01T00:00:00Z"),
        ("+1582-10-04T00:00:00Z", 11, JULIAN, "1582-10-14T00:00:00Z"),
        ("+1616-04-23T00:00:00Z", 11, JULIAN, "1616-05-03T00:00:00Z"),
        ("+1616-04-23T00:00:00Z", 10, JULIAN, "1616-04-01T00:00:00Z"),
        ("-0044-03-15T00:00:00Z", 11, JULIAN, "-0043-03-13T00:00:00Z"),
        ("-99999-03-15T00:00:00Z", 11, JULIAN, "-99998-03-15T00:00:00Z"),
        ("+0000-01-01T00:00:00Z", 11, "", None),
        ("yesterday", 11, "", None),
    ],
)
def test_times_become_dates_as_in_wikibase(time: str, precision: int, calendar: str, expected: str | None) -> None:
    assert to_date_time(time, precision, calendar) == expected


def test_julian_days_follow_one_another() -> None:
    days = [to_date_time(f"+1600-02-{day}T", 11, JULIAN) for day in (27, 28, 29)]

    assert [*days, to_date_time("+1600-03-01T", 11, JULIAN)] == [f"1600-03-{day}T" for day in ("08", "09", "10", "11")]
