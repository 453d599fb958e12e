"""The W3C suites of RDF, read by lisdata and by pyoxigraph alone: what each gets right, a line a suite.

python benchmarks/conformance_rdf.py FOLDER, which holds the suites as .tar.gz (rdf11_rdf-turtle.tar.gz and so on)
"""

from __future__ import annotations

import argparse
import json
import re
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph
from pyoxigraph import RdfFormat

from lisdata.errors import BadRecordError
from lisdata.exporters.ntriples_lines import join_lines, spell_terms
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import TripleRecords
from lisdata.registry import load_source
from lisdata.schema import NO_ROW

FORMATS = {
    "rdf11_rdf-n-triples": ("ntriples", RdfFormat.N_TRIPLES),
    "rdf12_rdf-n-triples": ("ntriples", RdfFormat.N_TRIPLES),
    "rdf11_rdf-n-quads": ("nquads", RdfFormat.N_QUADS),
    "rdf11_rdf-turtle": ("turtle", RdfFormat.TURTLE),
    "rdf12_rdf-trig": ("trig", RdfFormat.TRIG),
    "rdf11_rdf-xml": ("rdfxml", RdfFormat.RDF_XML),
    "jsonld_toRdf": ("jsonld", RdfFormat.JSON_LD),
}
"""Suite -> its source in lisdata and its format in pyoxigraph."""

_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_RDFT = "http://www.w3.org/ns/rdftest#"
_W3C = "https://w3c.github.io/rdf-tests/rdf/"
_TAG = re.compile(rb'(?m)^[^#\n]*"@([A-Za-z0-9-]+)')
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTest:
    """One test: `is_valid` says whether `path` must be read, `expected` which graph it then must be (if it says)."""

    suite: str
    name: str
    path: Path
    is_valid: bool
    expected: Path | None
    base_iri: str
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCounts:
    """How many tests of a suite there are, how many pass, and the names of those that do not."""

    suite: str
    tests: int
    failed: tuple[str, ...]
    failed_by_pyoxigraph: tuple[str, ...]


Quads = list[Any] | None


def unpack_suite(folder: Path, suite: str, target: Path) -> Path:
    """Unpack a suite below `target` and return its folder."""
    with tarfile.open(folder / f"{suite}.tar.gz") as archive:
        archive.extractall(target / suite, filter="data")
    return target / suite


def iter_tests(root: Path) -> Iterator[SuiteTest]:
    """Yield the tests of an unpacked suite."""
    manifest = root / "toRdf-manifest.jsonld"
    if manifest.exists():
        yield from _iter_jsonld_tests(root, json.loads(manifest.read_text()))
    for path in sorted(root.rglob("manifest.ttl")):
        yield from _iter_rdf_tests(root, path)


def _iter_rdf_tests(root: Path, manifest: Path) -> Iterator[SuiteTest]:
    folder = manifest.parent.relative_to(root).as_posix()
    version, _, name = root.name.partition("_")
    base = f"{_W3C}{version}/{name}/" + ("" if folder == "." else f"{folder}/")
    store = pyoxigraph.Store()
    store.load(manifest.read_bytes(), format=RdfFormat.TURTLE, base_iri=base + "manifest.ttl")

    def value(test: Any, name: str) -> Any:
        found = [q.object.value for q in store.quads_for_pattern(test, pyoxigraph.NamedNode(name), None, None)]
        return found[0] if found else None

    for quad in store.quads_for_pattern(None, pyoxigraph.NamedNode(_RDF + "type"), None, None):
        kind = quad.object.value.removeprefix(_RDFT)
        action, result = (value(quad.subject, _MF + part) for part in ("action", "result"))
        if not quad.object.value.startswith(_RDFT + "Test") or action is None:
            continue
        yield SuiteTest(
            suite=root.name,
            name=quad.subject.value.rpartition("#")[2],
            path=manifest.parent / action.removeprefix(base),
            is_valid="Negative" not in kind,
            expected=None if result is None or "Negative" in kind else manifest.parent / result.removeprefix(base),
            base_iri=action,
        )


def _iter_jsonld_tests(root: Path, manifest: dict[str, Any]) -> Iterator[SuiteTest]:
    base = manifest["baseIri"]
    contexts = [path for path in sorted(root.rglob("*.jsonld")) if "context" in path.name or path.parent.name == "c031"]
    given = tuple(f"{base}{path.relative_to(root).as_posix()}={path}" for path in contexts)
    for test in manifest["sequence"]:
        if not (root / test["input"]).exists():  # one that stands in another suite
            continue
        yield SuiteTest(
            suite=root.name,
            name=test["@id"].removeprefix("#"),
            path=root / test["input"],
            is_valid="jld:NegativeEvaluationTest" not in test["@type"],
            expected=root / test["expect"] if "expect" in test else None,
            base_iri=test.get("option", {}).get("base", base + test["input"]),
            contexts=given,
        )


def read_by_pyoxigraph(test: SuiteTest) -> Quads:
    """Return the quads that pyoxigraph reads, None where it refuses."""
    form = FORMATS[test.suite][1]
    base_iri = None if form in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS) else test.base_iri
    try:
        return list(pyoxigraph.parse(test.path.read_bytes(), format=form, base_iri=base_iri))
    except SyntaxError:
        return None


def read_by_lisdata(test: SuiteTest) -> Quads:
    """Return the quads that lisdata reads, as pyoxigraph has them; None where it refuses."""
    spelled = spell_by_lisdata(test)
    return None if spelled is None else list(pyoxigraph.parse(spelled, format=RdfFormat.N_QUADS, lenient=True))


def spell_by_lisdata(test: SuiteTest) -> bytes | None:
    """Return the N-Quads of what lisdata reads, None where it refuses."""
    spelled, errors = _read(test)
    return None if errors else spelled


def errors_of(test: SuiteTest) -> list[BadRecordError]:
    """Return what lisdata rejects."""
    return _read(test)[1]


def _read(test: SuiteTest) -> tuple[bytes, list[BadRecordError]]:
    source = load_source(FORMATS[test.suite][0])
    given: dict[str, Any] = {"base_iri": test.base_iri, "context": test.contexts}
    known = source.options_type.__dataclass_fields__
    options = source.options_type(**{name: value for name, value in given.items() if name in known})
    bad: list[BadRecordError] = []
    piece = InputSlice(file=find_inputs([str(test.path)], suffixes=source.suffixes)[0])
    lines: list[bytes] = []
    try:
        lines += [spell_records(records) for records in source.read(piece, options, bad.append)]
    except BadRecordError as error:
        bad.append(error)
    return b"".join(lines), bad


def tags_of(data: bytes) -> list[bytes]:
    """Return the language tags in N-Triples or N-Quads."""
    return _TAG.findall(data)


def spell_records(records: TripleRecords) -> bytes:
    """Return the N-Quads of a batch."""
    import pyarrow as pa

    terms = spell_terms(pa.Table.from_batches([records.contents]), pa.Table.from_batches([records.labels]))
    columns = [records.subject_content, records.predicate_content, records.object_content]
    spelled = [terms.take(pa.array(column)) for column in columns]
    if records.graph_content is None:
        return bytes(join_lines(*spelled))
    return bytes(
        join_lines(*spelled, terms.take(pa.array(records.graph_content, mask=records.graph_content == NO_ROW)))
    )


def is_passed(test: SuiteTest, found: Quads) -> bool:
    """Tell whether what was read is what the test asks for."""
    if not test.is_valid:
        return found is None
    if found is None or test.expected is None:
        return found is not None
    form = RdfFormat.N_TRIPLES if test.expected.suffix == ".nt" else RdfFormat.N_QUADS
    try:
        expected = list(pyoxigraph.parse(test.expected.read_bytes(), format=form, lenient=True))
    except SyntaxError:  # blank nodes as predicates: generalised RDF
        return False
    return canonical(found) == canonical(expected)


def canonical(quads: list[Any]) -> pyoxigraph.Dataset:
    """Return the quads as a set whose blank nodes have canonical names (RDFC-1.0)."""
    dataset = pyoxigraph.Dataset(quads)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


def run_suite(root: Path) -> SuiteCounts:
    """Run the tests of an unpacked suite."""
    tests = list(iter_tests(root))
    failed = [t.name for t in tests if not is_passed(t, read_by_lisdata(t))]
    alone = [t.name for t in tests if not is_passed(t, read_by_pyoxigraph(t))]
    return SuiteCounts(
        suite=root.name, tests=len(tests), failed=tuple(sorted(failed)), failed_by_pyoxigraph=tuple(sorted(alone))
    )


def run_suites(folder: Path) -> list[SuiteCounts]:
    """Run all suites whose archives are in `folder`."""
    with tempfile.TemporaryDirectory() as target:
        return [run_suite(unpack_suite(folder, suite, Path(target))) for suite in FORMATS]


def main() -> None:
    """Print a line a suite, and the tests that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for counts in run_suites(parser.parse_args().folder):
        passed, alone = (counts.tests - len(names) for names in (counts.failed, counts.failed_by_pyoxigraph))
        print(f"{counts.suite}: {counts.tests} tests, lisdata {passed}, pyoxigraph alone {alone}")
        print(f"  failed: {', '.join(counts.failed) or 'none'}")


if __name__ == "__main__":
    main()
