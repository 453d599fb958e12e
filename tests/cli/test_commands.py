"""Results on stdout, progress on stderr, exit codes 0, 1, 2: each command, called as people call it."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from lisdata.cli import main
from lisdata.conversion import convert
from lisdata.encoding.counts import EncodeCounts
from lisdata.shards.manifest import read_manifest

Lisdata = Callable[..., Result]


# -- exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert"],
        ["convert", "text"],
        ["convert", "text", "data.txt"],
        ["convert", "prose", "data.txt", "--to", "x"],
        ["convert", "text", "absent.txt", "--to", "x"],
        ["convert", "text", "data.txt", "--to", "x", "--workers", "0"],
        ["convert", "text", "data.txt", "--to", "x", "--unit", "chapter"],
        ["convert", "text", "data.txt", "--to", "x", "--max-document-bytes", "0"],
        ["convert", "text", "data.txt", "--to", "data.txt"],
        ["convert", "text", "", "--to", "x"],
        ["convert", "text", "data.txt", "", "--to", "x"],
        ["convert", "csv", "data.csv", "--to", "x", "--schema", "absent.json"],
        ["convert", "csv", "data.csv", "--to", "x", "--encoding", "rot13"],
        ["convert", "html", "data.html", "--to", "x", "--encoding", "hex"],
        ["encode", "graph.lis", "--to", "x", "--tokenizer", "absent.json"],
        ["encode", "graph.lis", "--to", "x", "--vocabulary", "absent.json"],
        ["encode", "graph.lis", "--to", "x", "--labels", "absent.json"],
        ["encode", "graph.lis", "--to", "x", "--surface", "label", "--label-table", "absent.tsv"],
        ["encode", "graph.lis", "--to", "x", "--label-language", "de"],
        ["encode", "absent.lis", "--to", "x"],
        ["encode", "graph.lis", "--to", "x", "--view", "sideways"],
        ["merge", "--to", "x"],
        ["merge", "absent.lis", "--to", "x"],
        ["export", "graph.lis"],
        ["export", "graph.lis", "--to", "x", "--format", "word"],
        ["inspect"],
        ["inspect", "graph.lis", "--limit", "0"],
        ["stats", "graph.lis", "--plot", "figure.doc"],
        ["verify", "data.txt"],
        ["list", "songs"],
        ["run", "absent.toml", "--to", "x"],
        ["sing"],
        ["--loud"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_says_so_on_stderr(arguments: list[str], run: Lisdata) -> None:
    result = run(*arguments)

    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Usage: " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "ntriple", "x"], "No such source 'ntriple'; did you mean ntriples? Sources: "),
        (["convert", "data.txt"], "No such source 'data.txt'; did you mean nary or parsed or text? Sources: "),
        (["convert", "graph.ttl"], "No such source 'graph.ttl'; did you mean turtle? Sources: "),
        (["convert", "sqlite"], "No such source 'sqlite'; did you mean sql? Sources: "),
        (["convert", "qqq"], "No such source 'qqq'. Sources: "),
        (["export", "graph.lis", "--format", "ttl", "--to", "x"], "no exporter is called 'ttl': did you mean turtle? "),
        (["verfy", "graph.lis"], "No such command 'verfy'; did you mean verify? Commands: align, "),
        (["sing"], "No such command 'sing'. Commands: align, "),
    ],
)
def test_an_unknown_name_is_answered_with_one_like_it_and_with_all(
    arguments: list[str], message: str, run: Lisdata
) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert f"Error: {message}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (["encode", "graph.lis", "--to", "x", "--context", "0"], "lisdata encode [OPTIONS] DATASET"),
        (["convert", "npy", "data.npy", "--to", "x", "--name", "a:b"], "lisdata convert npy [OPTIONS] PATH..."),
        (["export", "graph.lis", "--to", "x", "--format", "word"], "lisdata export [OPTIONS] DATASET"),
    ],
)
def test_the_usage_line_is_that_of_the_command_that_failed(arguments: list[str], usage: str, run: Lisdata) -> None:
    result = CliRunner().invoke(main, arguments, prog_name="lisdata")

    assert result.exit_code == 2
    assert f"Usage: {usage}\n" in result.stderr


@pytest.mark.parametrize("command", ["export", "inspect", "stats", "verify", "encode", "merge"])
def test_a_damaged_dataset_exits_with_1_and_names_the_file(command: str, here: Path, run: Lisdata) -> None:
    path = here / "graph.lis" / "contents" / "part-00000-000.arrow"
    os.truncate(path, path.stat().st_size - 1)
    to = ["--to", "new"] if command in ("export", "encode", "merge") else []

    result = run(command, "graph.lis", *to)

    assert result.exit_code == 1
    said = result.stdout if command == "verify" else result.stderr
    assert "graph.lis/contents/part-00000-000.arrow: expected " in said
    assert not (here / "new" / "manifest.json").exists()


@pytest.mark.parametrize("command", ["inspect", "stats", "verify"])
def test_an_unfinished_run_exits_with_1_and_says_what_to_do(command: str, here: Path, run: Lisdata) -> None:
    (here / "graph.lis" / "manifest.json").unlink()

    result = run(command, "graph.lis")

    assert result.exit_code == 1
    assert "has not finished (no manifest.json): run it again" in result.output


def test_a_file_that_is_not_what_its_library_expects_exits_with_1(here: Path, run: Lisdata) -> None:
    (here / "graph.lis" / "structures" / "part-00000-000.arrow").write_bytes(b"")
    (here / "page.html").write_bytes(b"\xff\xfe")

    assert run("stats", "graph.lis").exit_code == 1
    assert run("convert", "npy", "page.html", "--to", "x").exit_code == 1


def test_damage_that_opening_does_not_see_exits_with_1_too(here: Path, run: Lisdata) -> None:
    path = here / "graph.lis" / "structures" / "part-00000-000.arrow"
    data = bytearray(path.read_bytes())
    data[200 : len(data) // 2] = bytes(len(data) // 2 - 200)
    path.write_bytes(data)

    for arguments in (["inspect", "graph.lis"], ["inspect", "graph.lis", "--record", "x"], ["stats", "graph.lis"]):
        result = run(*arguments)
        assert result.exit_code == 1, result.output
        assert "graph.lis/structures/part-00000-000.arrow" in result.stderr


# -- convert ---------------------------------------------------------------------------------------------------------


def test_convert_prints_counts_on_stdout_and_progress_on_stderr(here: Path, run: Lisdata) -> None:
    result = run("convert", "text", "data.txt", "--to", "new.lis")

    assert result.exit_code == 0
    assert result.stdout.startswith("new.lis: ")
    assert " structures" in result.stdout
    assert "convert text: " in result.stderr
    assert "(1/1 unit, " in result.stderr
    assert run("verify", "new.lis").exit_code == 0


def test_a_bad_record_is_named_by_file_line_and_column_with_expected_and_found(here: Path, run: Lisdata) -> None:
    (here / "bad.txt").write_bytes(b"one\ntwo\xff\n")

    result = run("convert", "text", "bad.txt", "--to", "new.lis")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "Error: bad.txt:2:4: expected UTF-8, found byte 0xff" in result.stderr


def test_the_way_on_past_a_bad_record_is_told_and_works(here: Path, run: Lisdata) -> None:
    (here / "bad.txt").write_bytes(b"one\ntwo\xff\n")

    stopped = run("convert", "text", "bad.txt", "--to", "new.lis")
    gone_on = run("convert", "text", "bad.txt", "--to", "new.lis", "--on-error", "quarantine", "--fresh")

    *_, last = stopped.stderr.splitlines()
    assert last.startswith("To go on without bad records: --on-error quarantine --fresh (keeps them byte for byte")
    assert gone_on.exit_code == 0


@pytest.mark.parametrize(
    ("on_error", "said"), [("skip", "rejected: 1 record, skipped"), ("quarantine", "rejected: 1 record, kept in new")]
)
def test_rejected_records_are_reported(on_error: str, said: str, here: Path, run: Lisdata) -> None:
    (here / "bad.txt").write_bytes(b"one\ntwo\xff\n")

    result = run("convert", "text", "bad.txt", "--to", "new.lis", "--on-error", on_error)

    assert result.exit_code == 0
    assert said in result.stdout


@pytest.mark.parametrize(
    ("on_error", "where", "remedy"),
    [
        ("skip", "skipped", "with --on-error stop the first says why"),
        ("quarantine", "kept in new.lis/rejects", "the .jsonl files in new.lis/rejects say why"),
    ],
)
@pytest.mark.parametrize("number", [1, 3])
def test_a_conversion_in_which_no_record_was_good_warns_and_says_where_they_are(
    number: int, on_error: str, where: str, remedy: str, here: Path, run: Lisdata
) -> None:
    (here / "bad.txt").write_bytes(b"\xff\n" * number)

    result = run("convert", "text", "bad.txt", "--to", "new.lis", "--on-error", on_error)

    assert result.exit_code == 0
    records = "1 record" if number == 1 else "3 records"
    assert result.stdout == f"new.lis: empty\nrejected: {records}, {where}\n"
    whole = "the only record was" if number == 1 else "all 3 records were"
    assert result.stderr.splitlines()[-1] == f"Warning: new.lis is empty, since {whole} rejected: {remedy}."
    assert run("convert", "text", "bad.txt", "--to", "new.lis", "--on-error", on_error).stdout == result.stdout


def test_where_a_record_was_good_or_there_was_none_nothing_is_warned_of(here: Path, run: Lisdata) -> None:
    (here / "mixed.txt").write_bytes(b"a\n\xff\n")
    (here / "empty.txt").write_bytes(b"")

    for name in ("mixed", "empty"):
        result = run("convert", "text", f"{name}.txt", "--to", f"{name}.lis", "--on-error", "quarantine")
        assert "Warning" not in result.stderr


def test_a_merged_dataset_of_rejected_records_says_where_they_are(here: Path, run: Lisdata) -> None:
    for name in ("a", "b"):
        (here / f"{name}.txt").write_bytes(name.encode() + b"\xff\n")
        run("convert", "text", f"{name}.txt", "--to", f"{name}.lis", "--on-error", "quarantine")

    result = run("merge", "a.lis", "b.lis", "--to", "ab.lis")

    assert "rejected: 2 records, kept in ab.lis/rejects" in result.stdout
    assert "Warning: ab.lis is empty, since all 2 records were rejected" in result.stderr


def test_a_recipe_tells_what_each_source_rejected(here: Path, run: Lisdata) -> None:
    (here / "bad.txt").write_bytes(b"\xff\n")
    (here / "mixed.txt").write_bytes(b"a\n\xff\n")
    sources = [
        f'[[source]]\nname = "{name}"\nsource = "text"\npath = "{name}.txt"\non_error = "quarantine"\n'
        for name in ("bad", "mixed", "data")
    ]
    (here / "recipe.toml").write_text("".join(['name = "r"\n', *sources, "[encode]\ncontext = 64\n"]))

    result = run("run", "recipe.toml", "--to", "out")

    assert result.exit_code == 0, result.output
    assert [line for line in result.stdout.splitlines() if line.startswith("rejected")] == [
        "rejected: 1 record, kept in out/incidence/bad/rejects",
        "rejected: 1 record, kept in out/incidence/mixed/rejects",
    ]
    assert "Warning: out/incidence/bad is empty, since the only record was rejected" in result.stderr
    assert result.stderr.count("Warning") == 1


def test_a_dry_run_prints_the_plan_and_writes_nothing(here: Path, run: Lisdata) -> None:
    result = run("convert", "ntriples", "graph.nt.gz", "--to", "new.lis", "--dry-run")

    assert result.exit_code == 0
    assert "input 0: graph.nt.gz (" in result.stdout
    assert "gzip" in result.stdout
    assert "1 unit of about 64 MiB; nothing was written" in result.stdout
    assert result.stderr == ""
    assert not (here / "new.lis").exists()


def test_a_dry_run_says_when_there_are_more_workers_than_units_and_what_gives_more(here: Path, run: Lisdata) -> None:
    (here / "large.txt").write_bytes(b"a line of a text\n" * 150_000)

    def hint(*arguments: str) -> str:
        return run("convert", *arguments, "--to", "new.lis", "--dry-run", "--workers", "2").stderr

    assert hint("text", "large.txt") == "2 workers but 1 unit: smaller --unit-mib gives more\n"
    assert hint("text", "large.txt", "--unit-mib", "1") == ""
    assert hint("text", "data.txt") == "2 workers but 1 unit: no more can be made of these files\n"
    assert hint("csv", "large.txt", "--no-header") == "2 workers but 1 unit: no more can be made of these files\n"


def test_the_options_of_a_source_reach_it(here: Path, run: Lisdata) -> None:
    run("convert", "text", "data.txt", "--to", "new.lis", "--unit", "document", "--compression", "none")

    manifest = read_manifest(here / "new.lis")
    assert manifest["origins"][0]["options"]["unit"] == "document"
    assert manifest["counts"]["structures"] == 1


def test_another_run_s_folder_is_refused_until_fresh(here: Path, run: Lisdata) -> None:
    arguments = ["convert", "text", "data.txt", "--to", "graph.lis"]

    refused, fresh = run(*arguments), run(*arguments, "--fresh")

    assert refused.exit_code == 1
    assert "choose another folder, or --fresh to start over" in refused.stderr
    assert fresh.exit_code == 0
    assert read_manifest(here / "graph.lis")["kinds"] == {
        "text": read_manifest(here / "graph.lis")["counts"]["structures"]
    }


def test_a_glob_and_a_folder_are_inputs(here: Path, run: Lisdata) -> None:
    folder, glob = (
        run("convert", "text", path, "--to", to)
        for path, to in (("sample_data/text", "f"), ("sample_data/text/*.txt", "g"))
    )

    assert folder.exit_code == glob.exit_code == 0
    assert read_manifest(here / "f")["counts"] == read_manifest(here / "g")["counts"]
    assert run("convert", "text", "sample_data/*.none", "--to", "x").exit_code == 1


# -- the other commands ----------------------------------------------------------------------------------------------


def test_export_lists_the_files_and_says_when_it_is_lossless(here: Path, run: Lisdata) -> None:
    result = run("export", "graph.lis", "--to", "back.nt")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "back.nt"
    assert "lossless: " in result.stdout
    assert (here / "back.nt").read_bytes() == gzip.decompress((here / "graph.nt.gz").read_bytes())


def test_export_lists_what_is_not_lossless(here: Path, run: Lisdata) -> None:
    result = run("export", "graph.lis", "--to", "back.jsonl", "--format", "structures")

    assert result.exit_code == 0
    assert ("lossless" in result.stdout) or ("not lossless: " in result.stdout)


def test_inspect_prints_table_2_from_the_merged_shards(run: Lisdata) -> None:
    result = run("inspect", "both.lis", "--shared")

    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()[2:]]
    assert [line[1] for line in lines] == ["Aspirin", "COX-2", "inflammation", "Aspirin", "COX-2", "Inflammation"]
    assert [line[2] for line in lines] == ["Aspirin", "COX-2", "Inflammation"] * 2


def _write_values(folder: Path, source: str) -> Path:
    """Write a file of the values NULL, empty text, and the text NULL."""
    path = folder / f"values.{ {'sql': 'db'}.get(source, source) }"
    if source == "csv":
        path.write_text('a,b,c\nNA,"",NULL\n')
    elif source == "json":
        path.write_text('[null, "", "NULL"]')
    elif source == "sql":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (a TEXT, b TEXT, c TEXT)")
            connection.execute("INSERT INTO t VALUES (NULL, '', 'NULL')")
    else:
        pq.write_table(pa.table({"a": pa.array([None], pa.string()), "b": [""], "c": ["NULL"]}), path)
    return path


@pytest.mark.parametrize("source", ["csv", "json", "parquet", "sql"])
def test_inspect_tells_null_from_empty_text_and_from_the_text_null(source: str, here: Path, run: Lisdata) -> None:
    options = ("--null-tokens", "NA") if source == "csv" else ()
    run("convert", source, _write_values(here, source), "--to", "values.lis", *options)

    lines = run("inspect", "values.lis", "--limit", "1").stdout.splitlines()
    table = [re.split(r"  +", line) for line in lines]

    assert table[0][2] == "tau(v)"
    assert [row[2] for row in table if row[2] in ("(NULL)", "(empty)", "NULL")] == ["(NULL)", "(empty)", "NULL"]


def test_a_summary_says_that_each_part_counts_its_contents(run: Lisdata) -> None:
    one = run("convert", "jsonl", "data.jsonl", "--to", "one.lis")
    two = run("merge", "text.lis", "table2.lis", "--to", "d")

    assert " contents, " in one.stdout
    assert re.match(r"d: \d+ contents by part, .* \d+ labels by part, ", two.stdout)


def test_inspect_shows_one_record_by_its_id_and_refuses_an_unknown_one(run: Lisdata) -> None:
    (first, *_) = (orjson.loads(line) for line in run("inspect", "graph.lis", "--json").stdout.splitlines())

    found = run("inspect", "graph.lis", "--json", "--record", first["record_id"])

    assert orjson.loads(found.stdout) == first
    unknown = run("inspect", "graph.lis", "--record", "nowhere#7")
    assert unknown.exit_code == 1
    assert "no record is called 'nowhere#7'" in unknown.stderr


def test_inspect_shows_token_rows_decoded(run: Lisdata) -> None:
    run("encode", "text.lis", "--to", "text.tok")

    table, lines = run("inspect", "text.tok"), run("inspect", "text.tok", "--json")

    header, _, first, *_ = table.stdout.splitlines()
    assert header.split()[:5] == ["row", "kind", "id", "token", "role"]
    assert first.split()[3] == "'A'"
    row = orjson.loads(lines.stdout)
    assert row["text"].startswith("Aspirin inhibits COX-2")
    assert len(row["role"]) == len(row["input_ids"]) == len(row["text"])
    found = run("inspect", "text.tok", "--record", row["record_id"], "--json")
    assert found.stdout == lines.stdout
    unknown = run("inspect", "text.tok", "--record", "nowhere#7")
    assert (unknown.exit_code, "no row is of a record called 'nowhere#7'" in unknown.stderr) == (1, True)


def test_encode_says_of_each_count_what_it_is_and_calls_no_continued_text_lost(here: Path, run: Lisdata) -> None:
    result = run("encode", "text.lis", "--to", "new.tok", "--context", "4")

    assert result.exit_code == 0
    assert "structures continued in next row: 1" in result.stdout
    page = " ".join(run("encode", "--help").stdout.split())
    for field in fields(EncodeCounts):
        assert f"{field.name.replace('_', ' ')} {field.metadata['help']}" in page


def test_encode_tells_nothing_of_arcs_that_running_text_has_no_place_for(here: Path, run: Lisdata) -> None:
    """They are in the report all the same."""
    run("convert", "conllu", "data.conllu", "--to", "trees.lis")

    result = run("encode", "trees.lis", "--to", "trees.tok")
    summary = orjson.loads(run("stats", "trees.tok", "--json").stdout)

    assert result.exit_code == 0
    assert "left out" not in result.output
    assert summary["report"]["incidences_left_out"] > 0


def test_inspect_says_where_a_long_row_goes_on(here: Path, run: Lisdata) -> None:
    (here / "long.txt").write_text("word " * 100)
    convert("text", "long.txt", "long.lis")
    run("encode", "long.lis", "--to", "long.tok", "--no-record-ids")

    result = run("inspect", "long.tok")

    assert "436 more tokens" in result.stdout
    unknown = run("inspect", "long.tok", "--record", "x#0")
    assert (unknown.exit_code, "its rows have no record ids" in unknown.stderr) == (1, True)


@pytest.mark.parametrize("dataset", ["graph.lis", "both.lis", "text.tok"])
def test_stats_prints_figures_or_json_and_draws(dataset: str, here: Path, run: Lisdata) -> None:
    run("encode", "text.lis", "--to", "text.tok")

    people, machines = run("stats", dataset, "--plot", "figure.png"), run("stats", dataset, "--json")

    assert people.exit_code == machines.exit_code == 0
    assert (here / "figure.png").read_bytes().startswith(b"\x89PNG")
    summary = orjson.loads(machines.stdout)
    assert all(name.replace("_", " ") in people.stdout for name in summary)
    assert "figure.png" in people.stderr


def test_verify_prints_every_problem_and_the_verdict(here: Path, run: Lisdata) -> None:
    good = run("verify", "graph.lis")
    path = here / "graph.lis" / "labels" / "part-00000-000.arrow"
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    bad = run("verify", "graph.lis")

    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert good.stdout.startswith("graph.lis: good, 6 files")
    assert "BAD graph.lis/labels/part-00000-000.arrow: expected sha256 " in bad.stdout
    assert bad.stdout.rstrip().splitlines()[-1].startswith("graph.lis: bad, 6 files")


def test_verify_notes_files_that_are_not_of_the_dataset(here: Path, run: Lisdata) -> None:
    (here / "graph.lis" / "notes.txt").write_text("mine")

    result = run("verify", "graph.lis")

    assert result.exit_code == 0
    assert "graph.lis/notes.txt is not part of the dataset" in result.stderr


def test_merge_refuses_what_would_be_there_twice(run: Lisdata) -> None:
    result = run("merge", "both.lis", "text.lis", "--to", "new.lis")

    assert result.exit_code == 1
    assert "again: its facts would be in the merged dataset twice" in result.stderr


def test_list_names_everything_that_is_registered(run: Lisdata) -> None:
    from lisdata.models import MODELS
    from lisdata.registry import names

    result = run("list")

    for group in ("sources", "converters", "exporters"):
        assert run("list", group).exit_code == 0
        assert all(name in result.stdout for name in names(group))
    assert all(name in result.stdout for name in MODELS)


def test_export_schema_writes_the_published_files(here: Path, run: Lisdata) -> None:
    result = run("export-schema", "schemas")

    assert result.exit_code == 0
    assert [Path(line).is_file() for line in result.stdout.split()] == [True] * len(list((here / "schemas").iterdir()))


def test_an_error_of_a_store_s_own_library_is_told_in_one_line(run: Lisdata, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCredentialsError(Exception):
        __module__ = "botocore.exceptions"

    def fail(*_: object, **__: object) -> None:
        raise NoCredentialsError("Unable to locate credentials")

    monkeypatch.setattr("lisdata.datasets.verify", fail)
    result = run("verify", "graph.lis")
    assert result.exit_code == 1
    assert result.stderr == "Error: NoCredentialsError: Unable to locate credentials\n"


def test_the_commands_are_those_that_were_promised() -> None:
    data = {"convert", "hexatag", "tokenizer", "encode", "freeze-tags", "merge", "export", "inspect", "stats", "verify"}
    runs = {"finish", "run-report"}
    whole = {
        "align",
        "audit",
        "dedup",
        "filter",
        "regroup",
        "reshard",
        "sample",
        "shuffle-report",
        "split",
        "vocabulary",
    }
    places = {"archive", "copy", "import"}
    models = {"run", "train", "evaluate", "benchmark", "reproduce", "tagger", "generate"}

    assert data | runs | whole | places | models | {"list", "export-schema"} == set(main.commands)


def test_no_output_has_a_trace_when_the_reader_goes_away(here: Path) -> None:
    import subprocess
    import sys

    program = [sys.executable, "-c", "from lisdata.cli import main; main()", "inspect", "graph.lis", "--limit", "1000"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=here)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    process.wait()

    assert "Traceback" not in said


def test_the_working_folder_is_left_as_it_was_by_commands_that_only_read(here: Path, run: Lisdata) -> None:
    before = {p: p.read_bytes() for p in here.rglob("*") if p.is_file()}

    for arguments in (["verify", "graph.lis"], ["inspect", "both.lis"], ["stats", "graph.lis"], ["list"]):
        assert run(*arguments).exit_code == 0

    assert {p: p.read_bytes() for p in here.rglob("*") if p.is_file()} == before
    shutil.rmtree(here)
