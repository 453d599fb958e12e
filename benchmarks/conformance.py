"""Conformance: the public suites of each format, read by lisdata and by another parser, in one table.

python benchmarks/conformance.py --shared ../shared [--markdown | --json] [SUITE ...]

A row a suite and kind of test: "positive" must be read, "negative" refused, "eval" read as what the suite says. Exit 1
when ours gets fewer right than the peer.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path

from conformance_rows import SuiteRow

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

HEADER = ("suite", "kind", "cases", "ours", "peer", "notes")


def run_suites(kg: Path, patterns: list[str]) -> list[SuiteRow]:
    """Run the suites whose name matches one of the patterns, all when there is none; `kg` is the folder data/kg."""
    from conformance_graphs import hif, serialisations, w3c, wikibase
    from conformance_trees import html5lib, json_suite, tree_sitter

    suites: dict[str, Callable[[Path], Iterator[SuiteRow]]] = {
        "w3c": w3c,
        "serialisations": serialisations,
        "hif": hif,
        "wikibase": wikibase,
        "html5lib": html5lib,
        "json": json_suite,
        "tree-sitter": tree_sitter,
    }
    chosen = {name: run for name, run in suites.items() if not patterns or any(fnmatch(name, p) for p in patterns)}
    rows: list[SuiteRow] = []
    for name, run in chosen.items():
        print(f"{name} ...", file=sys.stderr)
        rows += run(kg)
    return rows


def main() -> None:
    """Print the table."""
    from round_trips import table_lines

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="only suites whose name matches one (patterns)")
    parser.add_argument("--shared", type=Path, default=None, help="the folder that has data/kg with the suites")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.shared is not None:
        os.environ["LISDATA_SHARED"] = str(arguments.shared.resolve())
    from real_files import SHARED

    rows = run_suites(SHARED / "data" / "kg", arguments.suites)
    if not rows:
        parser.error("no suite is called so")
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print("\n".join(table_lines(HEADER, (row.cells() for row in rows), markdown=arguments.markdown)))
        cases, ours = (sum(getattr(row, name) for row in rows) for name in ("cases", "ours"))
        behind = sum(not row.ok for row in rows)
        print(f"\n{len(rows)} rows, {cases:,} cases, {ours:,} right; rows behind the peer: {behind}")
    sys.exit(not all(row.ok for row in rows))


if __name__ == "__main__":
    main()
