"""What a folder gives by the endings of names, and what is said of the rest."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.cli import main
from lisdata.input_paths import expand_path

SUFFIXES = (".txt", ".text")
STEMS = st.text("ab", min_size=1, max_size=3)
ENDINGS = st.sampled_from([".txt", ".TEXT", ".txt.gz", ".md", ".tar.gz", ""])
NAMES = st.sets(
    st.tuples(st.sampled_from(["", "in/", ".git/"]), st.sampled_from(["", "."]), STEMS, ENDINGS), max_size=9
)


def write_tree(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    return folder


def told(records: list[logging.LogRecord]) -> list[str]:
    return [record.getMessage() for record in records if record.name == "lisdata.inputs"]


@given(NAMES)
@settings(max_examples=40, deadline=None)
def test_each_file_of_a_folder_that_is_not_hidden_is_read_or_counted(drawn: set[tuple[str, str, str, str]]) -> None:
    names = {"".join(parts) for parts in drawn}
    shown = {name for name in names if not any(part.startswith(".") for part in name.split("/"))}
    taken = {name for name in shown if name.lower().removesuffix(".gz").endswith(SUFFIXES)}
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("lisdata.inputs")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = expand_path(str(write_tree(Path(folder), *names)), SUFFIXES, None)
    finally:
        logger.removeHandler(handler)

    assert {name for name, _ in found} == taken
    left = sorted(shown - taken)
    assert len(messages) == bool(left)
    if left:
        count = "1 file is" if len(left) == 1 else f"{len(left)} files are"
        assert f"{count} left out, for the name does not end in .txt or .text: {', '.join(left[:3])}" in messages[0]
        assert messages[0].endswith(f" and {len(left) - 3} more") == (len(left) > 3)


def test_what_lies_in_the_output_folder_or_a_dataset_is_not_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_tree(tmp_path, "a.txt", "out/b.md", "old/shards/c.arrow")
    (tmp_path / "old/plan.json").write_text('{"format": "lisdata-incidence"}')

    with caplog.at_level(logging.INFO, "lisdata.inputs"):
        found = expand_path(str(tmp_path), SUFFIXES, str(tmp_path / "out"))

    assert ([name for name, _ in found], told(caplog.records)) == (["a.txt"], [])


@pytest.mark.parametrize("path", ["README.md", "*.md"])
def test_a_file_that_is_named_is_read_whatever_its_ending(
    path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_tree(tmp_path, "README.md", "other.csv")

    with caplog.at_level(logging.INFO, "lisdata.inputs"):
        found = expand_path(str(tmp_path / path), SUFFIXES, None)

    assert ([name for name, _ in found], told(caplog.records)) == (["README.md"], [])


@pytest.mark.parametrize("option", [(), ("--dry-run",)])
def test_a_conversion_says_first_which_files_it_leaves_out(option: tuple[str, ...], tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "docs", "a.txt", "README.md", "page.html", "data.tar.gz", "x.csv", ".hidden")

    result = CliRunner().invoke(main, ["convert", "text", str(folder), "--to", str(tmp_path / "o.lis"), *option])

    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == (
        f"{folder}: 4 files are left out, for the name does not end in .txt or .text: "
        "README.md, data.tar.gz, page.html and 1 more"
    )
    assert result.stderr.count("left out") == 1
