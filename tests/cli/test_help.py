"""Every help page ends with a line that can be copied and run; every option of the library says what it does."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from sample_files import INLINE, SAMPLES

from lisdata.cli import main
from lisdata.encoding import EncodeConfig
from lisdata.registry import load_converter, load_source, names

HEAVY = (
    "torch",
    "spacy",
    "rdflib",
    "polars",
    "numba",
    "ray",
    "pyarrow",
    "pyoxigraph",
    "matplotlib",
    "networkx",
    "numpy",
)
TRAINING = {
    "run",
    "train",
    "evaluate",
    "reproduce",
    "benchmark",
    "tagger",
    "generate",
}  # other tests run the like of their examples


def iter_commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words that call each command, `main` itself with none."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from iter_commands(command, *path, name)
        else:
            yield (*path, name)


COMMANDS = list(iter_commands(main))


def find_command(command: tuple[str, ...]) -> click.Command:
    """Return the command that some words call."""
    shown: click.Command = main
    for word in command:
        assert isinstance(shown, click.Group)
        found = shown.get_command(click.Context(shown), word)
        assert found is not None
        shown = found
    return shown


def options_of(command: tuple[str, ...]) -> list[click.Option]:
    shown = find_command(command)
    return [p for p in shown.get_params(click.Context(shown)) if isinstance(p, click.Option)]


def help_of(command: tuple[str, ...]) -> str:
    result = CliRunner().invoke(main, [*command, "--help"])
    assert result.exit_code == 0, result.output
    return result.stdout


def example_of(command: tuple[str, ...]) -> list[str]:
    """Return the arguments of the example at the end of a help page."""
    *_, title, line = help_of(command).rstrip().splitlines()
    assert title.strip() == "Example:"
    program, *arguments = shlex.split(line)
    assert program == "lisdata"
    return arguments


def put_sample(source: str, root: Path, path: Path) -> None:
    """Put a file of a source where its example expects one."""
    if path.exists() and source == "parsed":
        return
    data = INLINE[source] if source in INLINE else (root / "sample_data" / SAMPLES[source]).read_bytes()
    path.write_bytes(data)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_example_of_every_help_page_runs(
    command: tuple[str, ...], root: Path, here: Path, run: Callable[..., Result]
) -> None:
    arguments = example_of(command)
    assert tuple(arguments[: len(command)]) == command
    if arguments[0] in TRAINING:
        main.commands[arguments[0]].make_context(arguments[0], arguments[1:])  # parsed, paths and all
        return
    if "--to" in arguments:
        shutil.rmtree(here / arguments[arguments.index("--to") + 1], ignore_errors=True)
    if command[:1] == ("convert",) and command[1:]:
        put_sample(command[1], root, here / arguments[2])

    result = run(*arguments)

    assert result.exit_code == 0, result.output
    assert result.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_option_and_command_says_what_it_does(command: tuple[str, ...]) -> None:
    assert (find_command(command).help or "").strip().endswith(".")
    for option in options_of(command):
        assert option.help, f"{' '.join(command)} {option.opts[0]}"


@pytest.mark.parametrize(
    "settings",
    [
        EncodeConfig,
        *(load_source(name).options_type for name in names("sources")),
        *(load_converter(name).options_type for name in names("converters")),
    ],
    ids=lambda settings: settings.__name__,
)
def test_every_setting_of_the_library_has_a_help_text(settings: type) -> None:
    for field in fields(settings):
        assert len(field.metadata.get("help", "")) > 10, field.name


@pytest.mark.parametrize("source", names("sources"))
def test_a_source_s_command_has_an_option_for_each_of_its_settings(source: str) -> None:
    loaded = load_source(source)
    wanted = {f.name for t in (loaded.options_type, load_converter(loaded.converter).options_type) for f in fields(t)}

    page = help_of(("convert", source))

    assert all(f"--{name.replace('_', '-')}" in page for name in wanted)


@pytest.mark.parametrize("command", [(), ("convert",), ("benchmark",)], ids=str)
def test_lists_of_commands_cut_no_summary(command: tuple[str, ...]) -> None:
    listed = help_of(command).split("\nCommands:\n")[1]

    assert "..." not in listed


def test_options_that_may_be_repeated_say_so() -> None:
    for command in (("convert", "csv"), ("encode",)):
        repeatable = [option for option in options_of(command) if option.multiple]
        assert len(repeatable) >= 3
        assert all("may be given several times" in (option.help or "") for option in repeatable)


def test_encode_has_an_option_for_each_setting_of_the_library() -> None:
    page = help_of(("encode",))

    assert all(f"--{field.name.replace('_', '-')}" in page for field in fields(EncodeConfig))


def test_help_imports_nothing_heavy() -> None:
    code = f"""
import sys
from lisdata.cli import main
main(["--help"], standalone_mode=False)
print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "Usage:" in done.stdout
    assert done.stderr.strip() == "[]"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, lisdata; print([name for name in {HEAVY} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_version_is_the_package_s() -> None:
    import lisdata

    result = CliRunner().invoke(main, ["--version"])

    assert result.output.strip().endswith(lisdata.__version__)
