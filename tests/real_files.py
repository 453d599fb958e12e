"""The real files of data/kg: which source reads each, with which options, and what must come back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import independent_checks as checks
from independent_checks import Check
from pyoxigraph import RdfFormat

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("LISDATA_SHARED", ROOT.parent / "shared"))

Checks = dict[str, Check]

BYTES: Checks = {"bytes equal": checks.bytes_differ}
JSON: Checks = {"JSON model equal": checks.json_differs}
HIF: Checks = {"HIF model equal": checks.hif_differs}
JSON_LINES: Checks = {"JSON model of each line equal": checks.json_lines_differ}
ENTITIES: Checks = {"entity model equal": checks.entities_differ}
HTML: Checks = {"DOM equal": checks.html_tree_differs}
XML: Checks = {"canonical XML equal": checks.canonical_xml_differs}
CELLS: Checks = {"cells equal": checks.cells_differ} | BYTES
PIXELS: Checks = {"pixels equal": checks.pixels_differ}
ARRAY: Checks = {"array equal": checks.arrays_differ}
DATABASE: Checks = {"database equal": checks.databases_differ}
DIFFERENT_TREES = "documents whose tree differs"
IMAGE_BYTES = "bytes and metadata of image files (pixels are equal)"
BASE_IRI = "http://example.org/base/"
TREE_ALONE = {"keep_document": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """One way there and back.

    `members` says what of an archive is read: a key of `real_archives.MEMBERS`. `refused_by` is a source that must
    refuse the file, which this road reads all the same as what it is besides. `may_lose` is a loss that the export may
    tell: exactly as many files as it counts may differ. A road that repeats another but for the bytes is not audited.
    """

    source: str
    checks: Checks
    options: dict[str, Any] = field(default_factory=dict)
    members: str = ""
    refused_by: str = ""
    may_lose: str = ""
    is_audited: bool = True
    note: str = ""


def graph_road(source: str, form: RdfFormat, **options: Any) -> Road:
    """Return the road of an RDF format."""
    base_iri = options.get("base_iri")
    return Road(source=source, checks={"graph equal": checks.graph_check(form, base_iri)}, options=options)


def json_roads(*, refused_by: str = "", **options: Any) -> list[Road]:
    """Return the roads of JSON: with the bytes kept, and from the tree alone."""
    model = JSON_LINES if options.get("lines") else JSON
    return [
        Road(source="json", checks=BYTES, options=options, refused_by=refused_by),
        Road(source="json", checks=model, options=options | TREE_ALONE, is_audited=False),
    ]


def tree_roads(source: str, model: Checks) -> list[Road]:
    """Return the roads of HTML or XML: with the bytes kept, and from the tree alone."""
    tree = Road(source=source, checks=model, options=TREE_ALONE, is_audited=False)
    return [Road(source=source, checks=BYTES), tree]


def triple_road(**options: Any) -> Road:
    """Return the road of benchmarks of triples: columns of a KGTK file without a header."""
    return Road(source="kgtk", checks=BYTES, options={"header": False, **options})


NTRIPLES = graph_road("ntriples", RdfFormat.N_TRIPLES)
NQUADS = graph_road("nquads", RdfFormat.N_QUADS)
TURTLE = graph_road("turtle", RdfFormat.TURTLE)
TRIG = graph_road("trig", RdfFormat.TRIG)
RDF_XML = graph_road("rdfxml", RdfFormat.RDF_XML)
JSON_LD = graph_road("jsonld", RdfFormat.JSON_LD)
WIKIDATA = Road(source="wikidata", checks=ENTITIES)
NARY = Road(source="nary", checks=BYTES)
CSV = Road(source="csv", checks=CELLS, options={"null_tokens": ("", "NA")})

# The first pattern that a path matches says how it is read; ** is not special, as * matches a slash too.
ROADS: list[tuple[str, list[Road]]] = [
    ("MANIFEST.tsv", [Road(source="csv", checks=BYTES, options={"quote": None})]),
    ("*README*.md", [Road(source="markdown", checks=BYTES, note="documentation of the collection")]),
    ("code/ts_corpus/*", [Road(source="code", checks=BYTES, members="code", note="a test's code is a file")]),
    (
        "graphs/*.zip",
        [
            Road(source="graph", checks={"graph equal": checks.gml_differs}, members="gml"),
            Road(source="networkx", checks={}, note="by the API too, which takes networkx's graph"),
        ],
    ),
    (
        "graphs/*.edgelist",
        [Road(source="graph", checks={"graph equal": checks.arcs_differ}, options={"directed": True})],
    ),
    (
        "grids/digits.csv.gz",
        [
            Road(source="csv", checks=CELLS, options={"header": False}),
            Road(source="npy", checks=ARRAY, members="digits", note="as a grid of uint8"),
        ],
    ),
    (
        "grids/*.jpg",
        [Road(source="image", checks=PIXELS, may_lose=IMAGE_BYTES, note="JPEG comes back as PNG")],
    ),
    ("hif/hif_schema.json", json_roads()),
    ("hif/*.csv", [Road(source="csv", checks=BYTES, options={"encoding": "mac_roman"})]),
    ("hif/HIF-non-compliant/*", json_roads(refused_by="hif")),
    ("hif/*.json", [Road(source="hif", checks=HIF)]),
    ("html/*.html", tree_roads("html", HTML)),
    (
        "html/*.tar.gz",
        [Road(source="html", checks=HTML, members="html5lib", options=TREE_ALONE, may_lose=DIFFERENT_TREES)],
    ),
    ("json/*.tar.gz", [Road(source="json", checks=JSON, members="JSONTestSuite", options=TREE_ALONE)]),
    ("json/*.ndjson", json_roads(lines=True)),
    ("json/*.json", json_roads()),
    ("kgtk/*.tsv", [Road(source="kgtk", checks=BYTES)]),
    ("kgtk/import-ntriples-langstrings.nt", [graph_road("ntriples", RdfFormat.N_TRIPLES, lenient=True)]),
    ("nary/*", [NARY]),
    ("rdf_real/schemaorg-context.jsonld", [*json_roads(), JSON_LD]),
    ("rdf_real/schemaorg-examples.txt", [Road(source="text", checks=BYTES)]),
    ("*-meta.json", json_roads()),
    ("*.hext", json_roads(lines=True)),
    ("*.nt", [NTRIPLES]),
    ("*.nq*", [NQUADS]),
    ("*.ttl", [TURTLE]),
    ("*.trig", [TRIG]),
    ("*.jsonld", [JSON_LD]),
    ("rdf_real/*.rdf", [RDF_XML]),
    ("rdf_real/*.xml", [RDF_XML, *tree_roads("xml", XML)]),
    ("tables/*.sqlite", [Road(source="sql", checks=DATABASE)]),
    ("tables/*.xsd", tree_roads("xml", XML)),
    ("*.csv", [CSV]),
    ("text_docs/*", [Road(source="markdown", checks=BYTES), Road(source="text", checks=BYTES)]),
    ("text_kg/*.json", json_roads()),
    ("triples/*.json", json_roads()),
    ("triples/*.txt", [triple_road()]),
    ("wikidata/json/api_missing.json", json_roads(refused_by="wikidata")),
    ("wikidata/json/*", [WIKIDATA]),
    (
        "wikidata/wikibase_oracle.tar.gz",
        [
            Road(source="wikidata", checks=ENTITIES, members="entities"),
            Road(source="ntriples", checks=NTRIPLES.checks, members="ntriples", note="what Wikibase makes of them"),
        ],
    ),
    ("xml/*.xml", tree_roads("xml", XML)),
]

W3C_FORMATS = {
    "n-triples": NTRIPLES,
    "n-quads": NQUADS,
    "turtle": graph_road("turtle", RdfFormat.TURTLE, base_iri=BASE_IRI),
    "trig": graph_road("trig", RdfFormat.TRIG, base_iri=BASE_IRI),
    "xml": graph_road("rdfxml", RdfFormat.RDF_XML, base_iri=BASE_IRI),
    "jsonld": graph_road("jsonld", RdfFormat.JSON_LD, base_iri=BASE_IRI),
}


def roads_of(name: str) -> list[Road]:
    """Return the roads of a file of data/kg by its path there; LookupError where no line of the table is for it."""
    if name.startswith("rdf_w3c/"):
        return [replace(road, members="w3c") for form, road in W3C_FORMATS.items() if form in name.split("rdf-")[-1]]
    for pattern, roads in ROADS:
        if fnmatchcase(name, pattern):
            return roads
    raise LookupError(f"{name}: expected a line in ROADS that says how it is read")


def real_names() -> list[str]:
    """Return the paths of all files below data/kg in order, none where there is no such folder."""
    folder = SHARED / "data" / "kg"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
