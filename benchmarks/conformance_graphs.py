"""The suites of graphs, hyperedges and entities: rows of what ours and a peer get right."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conformance_rdf
import pyoxigraph
from conformance_rows import SuiteRow
from independent_checks import canonical_quads
from pyoxigraph import RdfFormat
from wikibase_oracle import FLAVOURS, NOT_IN_AN_ENTITY, iter_differences, unpack_oracle

import lisdata
from lisdata.errors import BadRecordError
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset


def w3c(kg: Path) -> Iterator[SuiteRow]:
    """Yield the rows of the W3C suites, and those of the language tags in them."""
    with tempfile.TemporaryDirectory() as folder:
        for suite in conformance_rdf.FORMATS:
            root = conformance_rdf.unpack_suite(kg / "rdf_w3c", suite, Path(folder))
            tests = list(conformance_rdf.iter_tests(root))
            yield from _w3c_kinds(suite, tests)
            if suite.endswith(("n-triples", "n-quads")):
                yield _language_tags(suite, tests)


def _w3c_kinds(suite: str, tests: list[Any]) -> Iterator[SuiteRow]:
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("positive", "negative", "eval")}
    differ: dict[str, list[str]] = {kind: [] for kind in counts}
    for test in tests:
        kind = "negative" if not test.is_valid else "eval" if test.expected else "positive"
        is_right = conformance_rdf.is_passed(test, conformance_rdf.read_by_lisdata(test))
        is_right_alone = conformance_rdf.is_passed(test, conformance_rdf.read_by_pyoxigraph(test))
        counts[kind].update(cases=1, ours=is_right, peer=is_right_alone)
        differ[kind] += [] if is_right == is_right_alone else [test.name]
    for kind, count in counts.items():
        if count["cases"]:
            both = count["cases"] - count["ours"] if count["ours"] == count["peer"] else 0
            notes = f"{both} fail in pyoxigraph's parser too" if both else ""
            yield SuiteRow(
                suite=suite,
                kind=kind,
                cases=count["cases"],
                ours=count["ours"],
                peer=count["peer"],
                peer_name="pyoxigraph",
                notes="; ".join(
                    filter(None, [notes, f"judged differently: {', '.join(differ[kind])}" if differ[kind] else ""])
                ),
            )


def _language_tags(suite: str, tests: list[Any]) -> SuiteRow:
    """Return in how many of the valid files with language tags all of these stand as they are written."""
    counts: Counter[str] = Counter()
    for test in tests:
        tags = re.findall(rb'(?m)^[^#\n]*"[ \t]*@([A-Za-z0-9-]+)', test.path.read_bytes())
        if not (test.is_valid and tags):
            continue
        found = [
            re.findall(rb'"@([A-Za-z0-9-]+)', spelled or b"")
            for spelled in (conformance_rdf.spell_by_lisdata(test), _spell_alone(test))
        ]
        counts.update(cases=1, ours=Counter(found[0]) == Counter(tags), peer=Counter(found[1]) == Counter(tags))
    return SuiteRow(suite=suite, kind="language tags kept", peer_name="pyoxigraph", **counts)


def _spell_alone(test: Any) -> bytes:
    quads = conformance_rdf.read_by_pyoxigraph(test) or []
    return b"".join(f"{quad}\n".encode() for quad in quads)


SERIALISATIONS = {
    "schemaorg-30.0": {"ntriples": ".nt", "turtle": ".ttl", "rdfxml": ".rdf"},
    "variants/diverse_triples": {"ntriples": ".nt", "turtle": ".ttl", "rdfxml": ".xml", "jsonld": ".jsonld"},
    "variants/diverse_quads": {"nquads": ".nq", "trig": ".trig", "jsonld": ".jsonld"},
    "variants/diverse_quads-variant-typed": {"nquads": "-variant-typed.nq", "jsonld": "-variant-typed.jsonld"},
    "variants/rdf11trig_eg2": {"nquads": ".nq", "trig": ".trig"},
    "variants/blank_and_base_prefix": {"ntriples": ".nt", "turtle": ".ttl", "rdfxml": ".xml"},
}
"""A graph -> the sources of its serialisations and how their names end."""


def serialisations(kg: Path) -> Iterator[SuiteRow]:
    """Yield a row a graph: how many of its serialisations have the multiset of (content key, role) of the first."""
    for name, files in SERIALISATIONS.items():
        stem = kg / "rdf_real" / name.removesuffix("-variant-typed")
        with tempfile.TemporaryDirectory() as folder:
            found = [
                keys_and_roles(source, Path(f"{stem}{end}"), Path(folder) / source) for source, end in files.items()
            ]
        yield SuiteRow(
            suite=f"serialisations of {name}",
            kind="eval",
            cases=len(files),
            ours=sum(other == found[0] for other in found),
            notes=f"{', '.join(files)}: {sum(found[0].values()):,} (content key, role), blank nodes by RDFC-1.0",
        )


def keys_and_roles(source: str, path: Path, folder: Path) -> Counter[tuple[bytes, str]]:
    """Return how often each content key is in each role in the dataset that a file is converted to.

    Blank nodes, whose keys are a file's own, get the key of their canonical name: by the N-Quads of the export.
    """
    lisdata.convert(source, path, folder / "data")
    if any(content.kind == ContentKind.BNODE for content in _contents(folder / "data")):
        lisdata.export(folder / "data", folder / "graph.nq", format="nquads")
        quads = list(pyoxigraph.parse((folder / "graph.nq").read_bytes(), RdfFormat.N_QUADS))
        (folder / "canonical.nq").write_text("".join(f"{quad} .\n" for quad in sorted(canonical_quads(quads))))
        lisdata.convert("nquads", folder / "canonical.nq", folder / "canonical")
        return _count_keys(folder / "canonical")
    return _count_keys(folder / "data")


def _contents(path: Path) -> Iterator[Any]:
    for structure in IncidenceDataset(path).iter_structures():
        yield from (occurrence.content for occurrence in structure.occurrences)


def _count_keys(path: Path) -> Counter[tuple[bytes, str]]:
    found: Counter[tuple[bytes, str]] = Counter()
    for structure in IncidenceDataset(path).iter_structures():
        for incidence in structure.incidences:
            content = structure.occurrences[incidence.occurrence].content
            key = content.lexical if content.kind == ContentKind.BNODE else content.key
            found[key, str(incidence.role)] += 1
    return found


def hif(kg: Path) -> Iterator[SuiteRow]:
    """Yield the rows of HIF; the peer is the JSON Schema of the standard."""
    import jsonschema

    schema = json.loads((kg / "hif/hif_schema.json").read_bytes())
    peer = jsonschema.validators.validator_for(schema)(schema)
    for kind, name in (("positive", "HIF-compliant"), ("negative", "HIF-non-compliant"), ("positive", "data")):
        paths = sorted((kg / "hif" / name).glob("*.json"))
        wanted = kind == "positive"
        yield SuiteRow(
            suite=f"HIF {name}",
            kind=kind,
            cases=len(paths),
            ours=sum(_converts("hif", path) == wanted for path in paths),
            peer=sum(peer.is_valid(json.loads(path.read_bytes())) == wanted for path in paths),
            peer_name="jsonschema",
            notes="" if wanted else "each refused with line, column and JSON path",
        )


def _converts(source: str, path: Path) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            lisdata.convert(source, path, Path(folder) / "data")
        except BadRecordError:
            return False
    return True


def wikibase(kg: Path) -> Iterator[SuiteRow]:
    """Yield how many flavours of Wikibase's own N-Triples we equal, and a row for what no entity says."""
    with tempfile.TemporaryDirectory() as folder:
        oracle = unpack_oracle(kg / "wikidata/wikibase_oracle.tar.gz", Path(folder) / "oracle")
        found = [not lacks and not beyond for _, lacks, beyond in iter_differences(oracle, Path(folder) / "walk")]
        num_files = len({name for flavour in FLAVOURS for name in flavour.files})
        num_all = sum(1 for _ in oracle.rglob("*.nt"))
    left_out = "; ".join(f"{what} ({len(names.split())} files)" for what, names in NOT_IN_AN_ENTITY.items())
    yield SuiteRow(
        suite="Wikibase oracle",
        kind="eval",
        cases=len(FLAVOURS),
        ours=sum(found),
        notes=f"flavours in {num_files} of {num_all} files; the others say what an entity's JSON does not: {left_out}",
    )
