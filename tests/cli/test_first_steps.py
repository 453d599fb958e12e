"""What a newcomer meets first: records before bookkeeping, errors before waiting, hints where there is a better way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from click.testing import Result

Lisdata = Callable[..., Result]


def test_inspect_shows_a_row_of_a_table_before_how_the_file_was_written(here: Path, run: Lisdata) -> None:
    assert run("convert", "csv", "data.csv", "--to", "table.lis").exit_code == 0

    first, *_, last = (
        orjson.loads(line) for line in run("inspect", "table.lis", "--json", "--limit", "99").stdout.splitlines()
    )

    assert "dialect" not in {instance["label"] for instance in first["instances"]}
    assert "dialect" in {instance["label"] for instance in last["instances"]}
    assert orjson.loads(run("inspect", "table.lis", "--json", "--limit", "1").stdout) == first


def test_encode_says_once_where_iris_are_long_and_what_makes_them_shorter(run: Lisdata) -> None:
    long, short = (
        run("encode", "graph.lis", "--to", "a.tok"),
        run("encode", "graph.lis", "--to", "b.tok", "--surface", "label"),
    )

    (hint,) = (line for line in long.stderr.splitlines() if "--surface label" in line)
    assert "IRIs take " in hint
    assert "tokens on average" in hint
    assert "IRIs take" not in short.stderr + run("encode", "text.lis", "--to", "c.tok").stderr


@pytest.mark.parametrize("parser", [(), ("--parser", "spacy"), ("--parser", "tagger")])
def test_hexatag_tells_of_a_missing_file_before_it_loads_a_parser(
    parser: tuple[str, ...], run: Lisdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lisdata.parsers.pin_parser", lambda name: pytest.fail(f"{name} was looked for"))

    result = run("hexatag", "absent.txt", "--to", "x", *parser)

    assert (result.exit_code, "'absent.txt' does not exist" in result.stderr) == (2, True)


def test_one_numbering_for_several_datasets_is_made_and_taken(run: Lisdata) -> None:
    made = run("vocabulary", "text.lis", "graph.lis", "--to", "numbers")

    assert made.exit_code == 0
    assert [line.split(":")[0] for line in made.stdout.splitlines()] == [
        "numbers/roles.json",
        "numbers/characters.json",
    ]
    frozen = ("--labels", "numbers/roles.json", "--vocabulary", "numbers/characters.json")
    for name in ("text", "graph"):
        assert run("encode", f"{name}.lis", "--to", f"{name}.own", *frozen).exit_code == 0
    assert Path("text.own/roles.json").read_bytes() == Path("graph.own/roles.json").read_bytes()


def test_audit_compares_tokens_with_their_export(run: Lisdata) -> None:
    equal, different = run("audit", "graph.tok", "graph.parquet"), run("audit", "graph.tok", "graph.megatron")

    assert (equal.exit_code, equal.stdout.splitlines()[-1]) == (0, "equal")
    assert equal.stdout.splitlines()[2].split()[0] == "rows"
    assert (different.exit_code, "lost: content" in different.stdout) == (1, True)
