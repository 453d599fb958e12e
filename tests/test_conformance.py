"""The public suites that are no suite of RDF: as good as the peers, and the counts that the table of them gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

# suite and kind -> cases, right; the suites of the W3C are counted in sources/test_rdf_w3c.py
EXPECTED = {
    "hif": {
        ("HIF HIF-compliant", "positive"): (15, 15),
        ("HIF HIF-non-compliant", "negative"): (16, 16),
        ("HIF data", "positive"): (4, 4),
    },
    "html5lib": {
        ("html5lib trees, documents", "eval"): (839, 824),
        ("html5lib trees, fragments", "eval"): (112, 109),
        ("html5lib trees, fragments of SVG and MathML", "eval"): (64, 0),
    },
    "json": {
        ("JSONTestSuite", "positive"): (95, 95),
        ("JSONTestSuite", "negative"): (188, 188),
        ("JSONTestSuite", "free"): (35, 35),
    },
    "tree-sitter": {
        ("tree-sitter corpus, errors", "eval"): (2, 2),
        ("tree-sitter corpus, expressions", "eval"): (33, 33),
        ("tree-sitter corpus, literals", "eval"): (21, 21),
    },
    "wikibase": {("Wikibase oracle", "eval"): (20, 20)},
}


@pytest.mark.parametrize("suite", EXPECTED)
def test_a_suite_is_passed_as_well_as_by_its_peer(root: Path, shared: Path, suite: str) -> None:
    done = run(root, shared, "--json", suite)

    assert done.returncode == 0, done.stderr
    rows = orjson.loads(done.stdout)
    assert {(row["suite"], row["kind"]): (row["cases"], row["ours"]) for row in rows} == EXPECTED[suite]
    assert all(row["peer"] is None or row["ours"] >= row["peer"] for row in rows)


def test_serialisations_of_one_graph_have_equal_keys_and_roles(root: Path, shared: Path) -> None:
    rows = orjson.loads(run(root, shared, "--json", "serialisations").stdout)

    assert [(row["cases"], row["ours"]) for row in rows] == [(n, n) for n in (3, 4, 3, 2, 2, 3)]
    assert "35,898 (content key, role)" in rows[0]["notes"]  # 17,949 triples


def test_the_table_is_markdown_where_that_is_asked_for(root: Path, shared: Path) -> None:
    lines = run(root, shared, "--markdown", "tree-*").stdout.splitlines()

    assert lines[:2] == ["| suite | kind | cases | ours | peer | notes |", "|---|---|---|---|---|---|"]
    assert lines[2] == "| tree-sitter corpus, errors | eval | 2 | 2 | 2 (tree-sitter) |  |"


def run(root: Path, shared: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "benchmarks/conformance.py"), "--shared", str(shared), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"})
