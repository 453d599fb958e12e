"""`split`, `sample`, `filter`, `dedup`, `reshard` from the command line: what they count, say and refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from lisdata.shards import IncidenceDataset

Run = Callable[..., Result]


@pytest.mark.parametrize(
    "command",
    [
        ("split", "graph.lis", "--share", "a=0.5", "--share", "b=0.3", "--by", "content"),
        ("sample", "graph.lis", "--num", "3"),
        ("filter", "graph.lis", "--where", "num_instances > 3"),
        ("dedup", "graph.lis"),
    ],
    ids=lambda command: str(command[0]),
)
def test_a_dry_run_counts_and_writes_nothing(run: Run, here: Path, command: tuple[str, ...]) -> None:
    before = sorted(path.name for path in here.iterdir())
    result = run(*command, "--to", "chosen", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "structures" in result.stdout
    assert sorted(path.name for path in here.iterdir()) == before


def test_a_dry_run_of_a_split_counts_what_the_split_writes(run: Run, here: Path) -> None:
    command = ("split", "graph.lis", "--share", "a=0.5", "--share", "b=0.5", "--to", "shares")
    counted = run(*command, "--dry-run").stdout.split()
    assert run(*command).exit_code == 0
    sizes = [len(IncidenceDataset(here / "shares" / name)) for name in "ab"]
    assert [int(counted[counted.index(name) + 1]) for name in "ab"] == sizes
    assert counted[counted.index("none") + 1] == "0"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("split", "graph.lis", "--share", "a"), "expected NAME=WEIGHT"),
        (("split", "graph.lis", "--share", "a=x"), "expected NAME=WEIGHT"),
        (("split", "graph.lis", "--share", "a=1", "--share", "a=2"), "each share once"),
        (("split", "graph.lis", "--share", "../a=1"), "name of a folder"),
        (("split", "graph.lis", "--share", "a=1", "--by", "content", "--kind", "colour"), "kinds of content"),
        (("sample", "graph.lis"), "either a fraction or a number"),
        (("sample", "graph.lis", "--num", "1000000"), "as many as there are"),
        (("filter", "graph.lis", "--where", "colour = 1"), "no column colour"),
        (("filter", "graph.lis", "--where", "begin > AVG(begin)"), "by itself"),
        (("reshard", "graph.tok", "--tokens-per-part", "0"), "0 is not in the range"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_was_expected(
    run: Run, here: Path, command: tuple[str, ...], message: str
) -> None:
    result = run(*command, "--to", "chosen")
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert not (here / "chosen").exists()


def test_what_is_left_of_nothing_is_an_empty_dataset(run: Run, here: Path) -> None:
    assert run("filter", "graph.lis", "--where", "num_instances > 1000000", "--to", "none.lis").exit_code == 0
    assert run("verify", "none.lis").exit_code == 0
    assert len(IncidenceDataset(here / "none.lis")) == 0
