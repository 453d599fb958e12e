"""`lisdata reproduce`: what it prints, what it refuses, and what its help does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result

from lisdata.cli import main
from lisdata.cli.progress import counter
from lisdata.cli.reproduce import reproduce

TINY = ["width=8", "num_layers=1", "window=8", "batch_size=2", "context_lengths=[8, 16]"]


def invoke(folder: Path, *arguments: str) -> Result:
    text = folder / "input.txt"
    text.write_text("a line\nand another\n" * 20, encoding="utf-8")
    settings = [part for change in TINY for part in ("--set", change)]
    command = ["lis-table-3", "--data", str(text), "--to", str(folder / "out"), "--seeds", "1", *settings, *arguments]
    return CliRunner().invoke(reproduce, command)


def test_the_table_goes_to_stdout_and_the_rest_to_stderr(tmp_path: Path) -> None:
    result = invoke(tmp_path, "--steps", "2", "--only", "own-line", "--only", "alibi")

    assert result.exit_code == 0
    assert result.stdout == (tmp_path / "out" / "table.txt").read_text(encoding="utf-8")
    assert "num_steps 2," in result.stdout
    assert "2/2 runs (own-line-seed-0 done)" in result.stderr
    assert f"records and plot: {tmp_path / 'out'}" in result.stderr


def test_the_making_of_the_data_is_shown_step_by_step(tmp_path: Path) -> None:
    result = invoke(tmp_path, "--steps", "2", "--only", "alibi")

    told = [line.split(":")[0] for line in result.stderr.splitlines()]
    assert list(dict.fromkeys(told))[:3] == ["convert text", "encode", "reproduce lis-table-3"]
    assert "0/1 run (alibi-seed-0 begins)" in result.stderr


def test_a_run_half_done_is_not_counted_as_done(capsys: pytest.CaptureFixture[str]) -> None:
    with counter("reproduce", unit="runs") as show:
        show(0.99, 1, "step 99 of 100")

    assert "reproduce: 0/1 run (step 99 of 100)" in capsys.readouterr().err


def test_ctrl_c_while_data_is_made_says_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("lisdata.reproduce.lis_table_3.make_data", interrupt)
    text = tmp_path / "input.txt"
    text.write_text("a line\n", encoding="utf-8")

    result = CliRunner().invoke(main, ["reproduce", "lis-table-3", "--data", str(text), "--to", str(tmp_path / "out")])

    assert result.exit_code == 130
    assert "Interrupted: of the data being prepared, units that are done are kept" in result.stderr


def test_an_unknown_experiment_is_refused_with_those_that_exist(tmp_path: Path) -> None:
    result = CliRunner().invoke(reproduce, ["lis-table-0", "--data", __file__, "--to", str(tmp_path)])

    assert result.exit_code == 2
    assert "is not one of 'lis-table-1'" in result.stderr


def test_help_says_what_the_scales_are_and_does_not_load_torch() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from lisdata.cli.reproduce import reproduce; "
        "result = CliRunner().invoke(reproduce, ['--help']); print(result.stdout); "
        "sys.exit(result.exit_code or 'torch' in sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert result.returncode == 0
    assert "lis-table-3" in result.stdout
    assert "windows of 128 characters" in " ".join(result.stdout.split())
