"""`audit` finds one planted loss in a real file, on the command line from the file to the exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def exported(run: Run, here: Path, shared: Path) -> Callable[[str, str], Path]:
    """Convert a real file, export it and see that nothing is lost; return the export."""

    def walk(source: str, name: str) -> Path:
        back = here / f"back{Path(name).suffix}"
        for arguments in (
            ("convert", source, shared / "data/kg" / name, "--to", "real.lis"),
            ("export", "real.lis", "--to", back.name),
        ):
            result = run(*map(str, arguments))
            assert result.exit_code == 0, result.output
        assert "lossless" in result.output
        equal = run("audit", "real.lis", back.name)
        assert (equal.exit_code, equal.stdout.splitlines()[-1]) == (0, "equal")
        return back

    return walk


def lost(run: Run, back: Path) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """What is lost and added by level, and what the first incidences or instances that are lost are said to be."""
    result = run("audit", "real.lis", back.name, "--json")
    assert result.exit_code == 1
    levels: dict[str, Any] = orjson.loads(result.stdout)["levels"]
    counts = {
        name: (level["lost"], level["added"]) for name, level in levels.items() if level["lost"] or level["added"]
    }
    assert run("audit", "real.lis", back.name).stdout.splitlines()[-1] == "different"
    return counts, levels["incidences"]["lost_examples"]


def test_one_lost_qualifier_of_an_item_is_found(run: Run, exported: Callable[[str, str], Path]) -> None:
    back = exported("wikidata", "wikidata/json/Q42.json")
    item = orjson.loads(back.read_bytes())
    statements = [s for listed in item["claims"].values() for s in listed if len(s.get("qualifiers", ())) > 1]
    name, (snak, *_) = next((n, snaks) for n, snaks in statements[0]["qualifiers"].items() if len(snaks) == 1)
    del statements[0]["qualifiers"][name]
    statements[0]["qualifiers-order"].remove(name)
    back.write_bytes(orjson.dumps(item) + b"\n")

    counts, examples = lost(run, back)

    assert counts["instances"] == (1, 1)  # one statement, which now says less
    assert counts["incidences"][0] > counts["incidences"][1] == 0
    assert any(f"{name}#qualifier" in example for example in examples)
    assert snak["property"] == name


def test_one_lost_repeat_of_a_row_is_found(run: Run, exported: Callable[[str, str], Path]) -> None:
    back = exported("csv", "text_kg/e2e_devset.csv")
    lines = back.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if line in lines[:n])
    reference = lines.pop(number).decode().split(",")[-1].strip().strip('"')
    back.write_bytes(b"".join(lines))

    counts, examples = lost(run, back)

    assert counts["instances"] == (1, 0)
    assert "contents" not in counts  # each of its cells is in another row too
    assert any(reference[:20] in example for example in examples)


def test_one_lost_weight_of_a_hyperedge_is_found(run: Run, exported: Callable[[str, str], Path]) -> None:
    back = exported("hif", "hif/data/lesmis.hif.json")
    model = orjson.loads(back.read_bytes())
    edge = next(edge for edge in model["edges"] if "weight" in edge)
    del edge["weight"]
    back.write_bytes(orjson.dumps(model))

    counts, examples = lost(run, back)

    assert counts["incidences"] == (1, 0)
    assert "#weight" in examples[0]
    assert "lesmis.hif.json@" in examples[0]
