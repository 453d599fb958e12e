"""Token rows go out to other loaders' formats and come in from them, by command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from lisdata.token_formats import EXPORTED

Lisdata = Callable[..., Result]


def test_what_a_format_cannot_hold_is_printed_by_name(here: Path, run: Lisdata) -> None:
    result = run("export", "graph.tok", "--format", "megatron", "--to", "out")

    assert result.exit_code == 0
    assert "out/tokens.bin" in result.stdout
    assert "not lossless: column role: " in result.stdout


def test_an_import_tells_what_it_left_out(here: Path, run: Lisdata) -> None:
    result = run("import", "parquet", "graph.parquet", "--to", "again.tok", "--column", "role")

    assert result.exit_code == 0
    assert "rows" in result.stdout.splitlines()[0]
    assert "left out column position: " in result.stdout


def test_rows_of_tokens_without_a_format_are_refused_with_all_there_are(here: Path, run: Lisdata) -> None:
    result = run("export", "graph.tok", "--to", "out")

    assert result.exit_code == 1
    assert all(name in result.stderr for name in EXPORTED)


def test_every_format_is_listed(here: Path, run: Lisdata) -> None:
    assert all(name in run("list", "token-formats").stdout for name in EXPORTED)


def test_an_unknown_format_is_wrong_usage(here: Path, run: Lisdata) -> None:
    result = run("import", "parqet", "graph.parquet", "--to", "again.tok")

    assert result.exit_code == 2
    assert "did you mean parquet?" in result.stderr


def test_a_copy_says_what_was_there(here: Path, run: Lisdata) -> None:
    first, second = (run("copy", "graph.lis", f"{here.as_uri()}/back.lis") for _ in range(2))

    assert first.exit_code == second.exit_code == 0
    assert "there already" not in first.stdout
    assert "of them there already" in second.stdout
    assert run("verify", "back.lis").exit_code == 0


def test_an_archive_is_told_by_the_commands_that_cannot_read_it(here: Path, run: Lisdata) -> None:
    assert run("archive", "graph.tok", "--to", "small").exit_code == 0

    refused = run("stats", "small")

    assert refused.exit_code == 1
    assert "lisdata archive --unpack" in refused.stderr
    assert run("archive", "small", "--unpack", "--to", "again.tok").exit_code == 0
    assert run("stats", "again.tok").stdout == run("stats", "graph.tok").stdout
