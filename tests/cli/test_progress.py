"""Progress says how long the rest takes only where what was done tells it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.cli import progress
from lisdata.engines import UnitDone
from lisdata.runs import Progress


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def lines_of(steps: Sequence[tuple[float, float]], total: float, capsys: Any, first: float = 0.0) -> list[str]:
    """Return the lines for steps of (seconds, amount), each told, with `first` done before."""
    clock, done = Clock(), first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "time", clock)
        patch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
        capsys.readouterr()
        with progress.counter("run", unit="MB") as show:
            show(done, total, "")
            for seconds, amount in steps:
                clock.now += seconds
                done += amount
                show(done, total, "")
    return list(capsys.readouterr().err.splitlines())


@given(
    weights=st.lists(st.integers(1, 1000), min_size=1, max_size=12),
    num_before=st.integers(0, 11),
    seconds=st.floats(0.5, 60.0),
)
@settings(max_examples=60, deadline=None)
def test_no_time_left_is_said_before_two_units_or_a_twentieth(
    weights: list[int], num_before: int, seconds: float
) -> None:
    before, after = weights[: num_before % len(weights)], weights[num_before % len(weights) :]
    total = float(sum(weights))
    pace = progress._Pace()
    pace._started = 0.0
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "time", clock)
        pace.note(float(sum(before)), total)
        assert pace.left is None
        for number, own in enumerate(accumulate(after), start=1):
            clock.now += seconds
            pace.note(float(sum(before) + own), total)
            is_said = (number >= 2 or own >= total / 20) and number < len(after)
            assert (pace.left is not None) == is_said
            if pace.left is not None:
                assert pace.left == pytest.approx((total - sum(before) - own) * clock.now / own)


def test_the_first_of_many_units_says_how_fast_it_was_and_no_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of([(20.0, 1.0), (0.4, 1.0)], 50.0, capsys)

    assert lines[1] == "run: 1.0/50.0 MB () in 20.0 s, 0.1 MB/s"
    assert lines[2] == "run: 2.0/50.0 MB () in 20.4 s, 0.1 MB/s, 490 s left"


def test_what_was_done_before_tells_nothing_of_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of([(10.0, 1.0), (10.0, 4.0)], 100.0, capsys, first=50.0)

    assert [re.findall(r"\d+ s left", line) for line in lines] == [[], [], ["180 s left"]]


def test_a_step_that_does_nothing_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of([(1.0, 0.0), (1.0, 0.0), (1.0, 1.0), (1.0, 0.0)], 100.0, capsys)

    assert not any("left" in line for line in lines)


def test_a_run_tells_units_and_the_last_one_s_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    start = Progress(num_units=2, num_done=0, weight=2_000_000, weight_done=0)
    with progress.run_progress("convert") as show:
        show(start)
        show(start.after(UnitDone(unit={"name": "00000", "weight": 2_000_000}, seconds=1.5)))

    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("convert: 0.0/2.0 MB (0/2 units) in ")
    assert re.fullmatch(r"convert: 2\.0/2\.0 MB \(1/2 units, 00000 took 1\.5 s\) in \d+\.\d s", last)
