"""The W3C suites of RDF: as good as pyoxigraph alone, and language tags as written."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load_conformance() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "conformance_rdf.py"
    spec = importlib.util.spec_from_file_location("conformance_rdf", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


conformance = load_conformance()

# What pyoxigraph 0.5 alone fails too. Of the options of JSON-LD tests only `base` is there to be given.
KNOWN_FAILURES = {
    "rdf11_rdf-xml": "xml-canon-test001 xml-canon-test002",
    "jsonld_toRdf": "t0118 t0122 t0123 tc013 tc029 tdi02 tdi04 tdi05 tdi06 tdi09 tdi10 tdi11 tdi12 te026 te062 te071 "
    "te075 te077 te091 te115 te116 te126 te127 te128 tep02 ter21 ter24 ter32 ter42 tli12 ttn01",
}
NUM_TESTS = {
    "rdf11_rdf-n-triples": 70,
    "rdf12_rdf-n-triples": 70,
    "rdf11_rdf-n-quads": 87,
    "rdf11_rdf-turtle": 313,
    "rdf12_rdf-trig": 60,
    "rdf11_rdf-xml": 166,
    "jsonld_toRdf": 466,
}


@pytest.mark.parametrize("suite", NUM_TESTS)
def test_a_suite_is_passed_as_well_as_by_pyoxigraph_alone(shared: Path, tmp_path: Path, suite: str) -> None:
    root = conformance.unpack_suite(shared / "data/kg/rdf_w3c", suite, tmp_path)

    counts = conformance.run_suite(root)

    assert counts.tests == NUM_TESTS[suite]
    assert set(counts.failed) <= set(counts.failed_by_pyoxigraph)
    assert " ".join(counts.failed) == KNOWN_FAILURES.get(suite, "")


@pytest.mark.parametrize("suite", ["rdf11_rdf-n-triples", "rdf12_rdf-n-triples", "rdf11_rdf-n-quads"])
def test_language_tags_of_a_suite_are_kept(shared: Path, tmp_path: Path, suite: str) -> None:
    root = conformance.unpack_suite(shared / "data/kg/rdf_w3c", suite, tmp_path)
    spelled = {
        test.name: conformance.spell_by_lisdata(test)
        for test in conformance.iter_tests(root)
        if test.is_valid and b'"@' in test.path.read_bytes()
    }

    assert spelled
    for test in conformance.iter_tests(root):
        for tag in conformance.tags_of(test.path.read_bytes()) if test.name in spelled else ():
            assert b'"@' + tag in (spelled[test.name] or b""), test.name


def test_a_file_that_is_not_valid_is_rejected_with_its_place(shared: Path, tmp_path: Path) -> None:
    for suite in ("rdf11_rdf-turtle", "rdf12_rdf-trig", "rdf11_rdf-xml"):
        root = conformance.unpack_suite(shared / "data/kg/rdf_w3c", suite, tmp_path)
        errors = [conformance.errors_of(test) for test in conformance.iter_tests(root) if not test.is_valid]

        assert len(errors) > 5
        for found in errors:
            assert found
            for error in found:
                assert error.place.line is not None
                assert 0 <= error.begin <= error.end
