"""What the README says can be run, is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def blocks(readme: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """Return a folder that looks like the root to the README's commands."""
    for name in ("sample_data", "pipelines"):
        (tmp_path / name).symlink_to(root / name)
    return tmp_path


@pytest.fixture
def environment() -> dict[str, str]:
    """Return variables under which `lisdata` is this interpreter's."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def test_the_commands_run(root: Path, copy: Path, environment: dict[str, str]) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    commands = [block for block in blocks(readme, "sh") if block.startswith("lisdata ") and "shakespeare" not in block]

    assert len(commands) >= 2
    for block in commands:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"


def test_the_python_runs(root: Path, copy: Path, environment: dict[str, str]) -> None:
    code = "\n".join(blocks((root / "README.md").read_text(encoding="utf-8"), "python"))

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_table_2_stands_in_the_readme_as_it_is_printed(root: Path, copy: Path, environment: dict[str, str]) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    block = next(b for b in blocks(readme, "sh") if "inspect out/table2.lis" in b)

    printed = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], cwd=copy, env=environment, capture_output=True, text=True, check=True
    ).stdout

    table = printed[printed.index("occurrence  ") :]
    assert len(table.strip().splitlines()) == 2 + 6  # header, line, six rows
    assert f"```\n{table}```" in readme


def test_ci_runs_the_readme_s_test_command(root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")

    assert "-m pytest" in readme.split("<!-- tests -->")[1].split("```")[1]
    assert "<!-- tests -->" in (root / ".ci" / "run").read_text(encoding="utf-8")
