"""Figures as people read them: one row, two rows; progress in whole steps."""

from __future__ import annotations

import pytest

from lisdata.cli.printing import counted
from lisdata.cli.progress import counter


@pytest.mark.parametrize(
    ("count", "name", "said"),
    [
        (0, "rows", "0 rows"),
        (1, "rows", "1 row"),
        (2, "rows", "2 rows"),
        (12345, "more tokens", "12,345 more tokens"),
        (1, "more tokens", "1 more token"),
    ],
)
def test_one_is_singular(count: int, name: str, said: str) -> None:
    assert counted(count, name) == said


def test_steps_are_whole_and_megabytes_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    with counter("train", unit="steps") as show:
        show(200, 200, "loss 1.0")
    with counter("train", unit="steps") as show:
        show(1, 1, "loss 1.0")
    with counter("verify", unit="MB") as show:
        show(1.25, 1.25, "a.arrow")

    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("train: 200/200 steps (loss 1.0) in ")
    assert second.startswith("train: 1/1 step (loss 1.0) in ")
    assert third.startswith("verify: 1.2/1.2 MB (a.arrow) in ")
