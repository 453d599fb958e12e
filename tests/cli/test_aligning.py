"""`align` and `audit` on the command line: tables for people, JSON for programs, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from click.testing import Result

Run = Callable[..., Result]


def test_align_prints_what_meets(run: Run) -> None:
    result = run("align", "text.lis", "table2.lis")

    assert result.exit_code == 0
    *_, line = result.stdout.splitlines()
    assert line.split("  ")[0] == "text.lis & table2.lis"
    assert "3 entity" in line
    assert "Aspirin" in line


def test_align_json_says_the_same(run: Run) -> None:
    found = orjson.loads(run("align", "text.lis", "table2.lis", "--json", "--examples", "1").stdout)

    assert [dataset["name"] for dataset in found["datasets"]] == ["text.lis", "table2.lis"]
    assert found["meetings"][0]["by_kind"] == {"entity": 3}
    assert len(found["meetings"][0]["examples"]) == 1


def test_a_table_is_written_merged_and_applied(run: Run, here: Path) -> None:
    (here / "pairs.tsv").write_text("Aspirin\tASA\n")

    written = run("align", "--same-as", "pairs.tsv", "--to", "same.lis")

    assert written.exit_code == 0, written.output
    assert written.stdout == "same.lis: 1 rows join 2 contents into 1 classes\n"
    assert run("merge", "both.lis", "same.lis", "--to", "all.lis").exit_code == 0
    assert run("verify", "all.lis").exit_code == 0
    assert run("encode", "all.lis", "--to", "all.tok", "--same-as").exit_code == 0
    assert run("encode", "both.lis", "--to", "both.tok", "--same-as").exit_code == 0
    assert run("align", "text.lis", "table2.lis", "--same-as", "same.lis").exit_code == 0
    as_json = run("align", "--same-as", "pairs.tsv", "--to", "again.lis", "--json")
    assert orjson.loads(as_json.stdout) == {"rows": 1, "contents": 2, "classes": 1}


def test_a_table_says_how_much_of_it_is_in_the_datasets(run: Run, here: Path) -> None:
    (here / "pairs.tsv").write_text("Aspirin\tASA\nCOX-2\tInflammation\n")
    (here / "other.tsv").write_text("aspirin\tASA\n")

    met = run("align", "text.lis", "graph.lis", "--same-as", "pairs.tsv")
    written = run("align", "text.lis", "--same-as", "pairs.tsv", "--to", "same.lis", "--json")
    others = (["table2.lis"], ["--to", "idle.lis"])
    idle = [run("align", "text.lis", *more, "--same-as", "other.tsv") for more in others]

    said = "same_as: of 4 contents are in text.lis 3, graph.lis 0; 1 classes join some of them"
    assert met.stdout.splitlines()[-1] == said
    assert met.stderr == ""
    assert orjson.loads(written.stdout) == {"rows": 2, "contents": 4, "classes": 2, "found": [3], "joined": 1}
    for result in idle:
        assert result.exit_code == 0
        assert "Warning: no content of the same_as table is in these datasets: names must be spelled" in result.stderr
    assert "in text.lis 0, table2.lis 0; 0 classes" in idle[0].stdout


def test_encode_says_when_same_as_changes_nothing(run: Run, here: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, pairs in (("met", "Aspirin\tASA\nCOX-2\tASA\n"), ("idle", "aspirin\tASA\n")):
        (here / f"{name}.tsv").write_text(pairs)
        run("align", "--same-as", f"{name}.tsv", "--to", f"{name}.same")
        run("merge", "text.lis", f"{name}.same", "--to", f"{name}.lis")

    names = ("met", "idle", "text")
    met, idle, none = (run("encode", f"{name}.lis", "--to", f"{name}.tok", "--same-as") for name in names)

    assert "contents shown as others: 2" in met.stdout
    assert (met.exit_code, idle.exit_code, none.exit_code) == (0, 0, 0)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert told[0].startswith("idle.lis: same_as shows no content as another: names must be spelled as in the dataset")
    assert told[1].startswith("text.lis: same_as shows no content as another: the dataset has no such table")


def test_wrong_usage_of_align_exits_with_2(run: Run, here: Path) -> None:
    assert run("align", "text.lis").exit_code == 2
    assert run("align", "text.lis", "--to", "x.lis").exit_code == 2
    assert not (here / "x.lis").exists()
    prefixed = run("align", "text.lis", "table2.lis", "--id-prefix", "Q=http://www.wikidata.org/entity/")
    assert prefixed.exit_code == 2
    assert "--same-as" in prefixed.stderr
    assert "convert again with --id-prefix" in " ".join(prefixed.stderr.split())
    assert run("align", "text.lis", "--same-as", "nothing.tsv", "--to", "x.lis").exit_code == 1


def test_audit_of_an_export_says_equal_and_exits_with_0(run: Run) -> None:
    assert run("export", "graph.lis", "--to", "graph.nt").exit_code == 0

    result = run("audit", "graph.lis", "graph.nt")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "equal"


def test_audit_names_what_is_lost_and_exits_with_1(run: Run, here: Path) -> None:
    assert run("export", "graph.lis", "--to", "graph.nt").exit_code == 0
    lines = (here / "graph.nt").read_bytes().splitlines(keepends=True)
    (here / "graph.nt").write_bytes(b"".join(lines[1:]))

    result = run("audit", "graph.lis", "graph.nt", "--examples", "1")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "different"
    assert "lost: " in result.stdout
    assert "lost: 1 more incidences" in result.stdout


def test_audit_json_is_for_programs(run: Run) -> None:
    result = run("audit", "text.lis", "table2.lis", "--json")

    assert result.exit_code == 1
    found = orjson.loads(result.stdout)
    assert found["equal"] is False
    assert found["levels"]["instances"]["facts"] == [1, 1]
    assert found["levels"]["instances"]["lost"] == 1


def test_audit_takes_options_that_a_dataset_cannot_keep(run: Run, here: Path) -> None:
    schema = here / "sample_data/tables/datapackage.json"
    assert run("convert", "csv", "sample_data/tables", "--to", "t.lis", "--schema", schema).exit_code == 0
    assert run("export", "t.lis", "--to", "t.out").exit_code == 0

    assert run("audit", "t.lis", "t.out").exit_code == 2
    assert run("audit", "t.lis", "t.out", "--option", f"schema={schema}").exit_code == 0


@pytest.mark.parametrize("option", ["schema", "=x"])
def test_an_option_without_name_or_value_is_wrong_usage(run: Run, option: str) -> None:
    assert run("audit", "text.lis", "text.lis", "--option", option).exit_code == 2
