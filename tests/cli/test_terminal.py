"""No data, name or argument commands a terminal: whatever is printed is shown, by every command, in one line a name."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from small_treebanks import write_row

import lisdata
from lisdata.cli import main
from lisdata.cli.printing import print_rows
from lisdata.printable import PrintableStream, escape_commands, one_line, printable_streams
from lisdata.registry import names
from lisdata.shards.manifest import MANIFEST, file_entry, read_manifest, sealed

RED = "\x1b[31mred\x1b]0;owned\x07\x9b2J\x7f\u202e\u2066\u200f\r\b\x85\u2028"
SPOOF = f"{RED}\nINJECTED: a line"
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = {"\u061c", "\u200e", "\u200f"}


def commands_in(text: str) -> set[str]:
    """Return the characters of a text that a terminal might obey, in the words of Unicode."""
    return {
        c
        for c in set(text) - {"\n"}
        if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}
        or unicodedata.bidirectional(c) in DIRECTIONS
        or c in MARKS
    }


def check_shown(result: Result) -> None:
    for text in (result.stdout, result.stderr):
        assert commands_in(text) == set()
        assert not any(line.startswith("INJECTED") for line in text.split("\n")), text


# -- the stream ------------------------------------------------------------------------------------------------------


@given(st.text())
def test_only_what_a_terminal_shows_is_left_of_any_text(text: str) -> None:
    shown = escape_commands(text)

    assert commands_in(shown) == set()
    assert "\n" not in one_line(text)
    assert escape_commands(shown) == shown
    assert shown == text or commands_in(text)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)))
def test_json_says_the_same_when_it_is_escaped(value: Any) -> None:
    assert json.loads(escape_commands(json.dumps(value, ensure_ascii=False))) == value


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_what_the_encoding_of_a_stream_cannot_hold_is_escaped_too(encoding: str) -> None:
    target = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    stream = PrintableStream(target)

    assert stream.write("a│\x1b\udcff\n") == 5
    stream.flush()

    bar = "│" if encoding == "utf-8" else "\\u2502"
    assert target.buffer.getvalue().decode(encoding) == f"a{bar}\\u001b\\udcff\n"  # type: ignore[attr-defined]


def test_the_streams_are_given_back_but_for_one_that_was_put_in_meanwhile() -> None:
    before, other = (sys.stdout, sys.stderr), io.StringIO()

    with printable_streams():
        assert isinstance(sys.stdout, PrintableStream)
        sys.stderr = other

    assert sys.stdout is before[0]
    assert sys.stderr is other
    sys.stderr = before[1]


def test_a_closed_stream_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    with printable_streams():
        assert sys.stdout is None


def test_a_row_of_a_table_is_one_line_and_columns_stay_under_one_another(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("name", "count"), [("a\nb", "1"), ("\x1b", "2"), ("漢字", "3"), ("e\u0301", "4")])

    assert capsys.readouterr().out.splitlines() == [
        "name    count",
        "------  -----",
        "a\\nb    1",
        "\\u001b  2",
        "漢字    3",
        "e\u0301       4",
    ]


# -- every command ---------------------------------------------------------------------------------------------------


def write_inputs(folder: Path) -> dict[str, Path]:
    """Write an input of each source whose names and values are hostile wherever its format allows it."""
    folder.mkdir()
    cell = f'"{SPOOF}"'
    entity = {"start": 0, "end": 3, "id": SPOOF}
    quoted = json.dumps(RED)[1:-1].replace("\\b", "\\u0008")
    row = write_row("1", "a\x1b\x9b", 0, f"root{RED.replace(chr(13), '')}", "A=\x9b")
    files = {
        "conllu": (".conllu", f"# \x1b\x9b\n{row}\n\n{write_row('1', 'b', 0, 'root')}\n\n"),
        "csv": (".csv", f"{cell},b\n{cell},1\n"),
        "hif": (".hif.json", json.dumps({"incidences": [{"edge": SPOOF, "node": SPOOF, "attrs": {SPOOF: SPOOF}}]})),
        "html": (".html", f"<p class='{SPOOF}' title{RED[1:4]}='x'>{SPOOF}<!--{SPOOF}--></p>"),
        "jsonl": (".jsonl", json.dumps({"text": f"abc {SPOOF}", "entities": [entity], SPOOF: SPOOF}) + "\n"),
        "ntriples": (".nt", f'<http://a/\u202e> <http://b/\u202e> "{quoted}" .\n'),
        "text": (".txt", f"a {RED} line\n"),
    }
    paths = {name: folder / f"{RED}{suffix}" for name, (suffix, _) in files.items()}
    for name, (_, text) in files.items():
        paths[name].write_bytes(text.encode())
    paths["npy"] = folder / f"{RED}.npy"
    np.save(paths["npy"], np.zeros(3), allow_pickle=False)
    return paths


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The inputs, and a dataset of each at a place of hostile name."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = write_inputs(folder / "in")
    for source, path in list(paths.items()):
        paths[f"{source}.lis"] = folder / f"{source}{RED}.lis"
        lisdata.convert(source, path, paths[f"{source}.lis"])
    return paths


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call `lisdata` with arguments in an empty folder; what it prints must be harmless."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Result:
        result = CliRunner().invoke(main, list(map(str, arguments)))
        check_shown(result)
        return result

    return call


SOURCES = ("conllu", "csv", "hif", "html", "jsonl", "npy", "ntriples", "text")
each_source = pytest.mark.parametrize("source", SOURCES)


@each_source
def test_what_is_converted_is_shown_and_not_obeyed(
    source: str, hostile: dict[str, Path], call: Callable[..., Result]
) -> None:
    path, to = hostile[source], f"d{SPOOF}"

    for more in (["--dry-run"], [], ["--fresh", "--on-error", "quarantine"]):
        assert call("convert", source, path, "--to", to, *more).exit_code == 0
    assert call("convert", source, path, hostile["text"].parent, "--to", f"d{SPOOF}").exit_code in (1, 2)
    assert call("convert", source, f"absent{RED}", "--to", "x").exit_code == 1
    assert call("convert", source, f"absent{SPOOF}*", "--to", "x").exit_code == 1


@each_source
def test_what_a_dataset_holds_is_shown_and_not_obeyed(
    source: str, hostile: dict[str, Path], call: Callable[..., Result]
) -> None:
    dataset = hostile[f"{source}.lis"]
    (record, *_) = (s.record_id for s in lisdata.open(dataset).iter_structures())

    for more in ([], ["--table"], ["--shared"], ["--record", record], ["--json"]):
        assert call("inspect", dataset, *more).exit_code == 0
    assert call("inspect", dataset, "--record", SPOOF).exit_code == 1
    assert call("inspect", dataset, "--svg", f"{RED}.svg").exit_code == (0 if source == "conllu" else 1)
    for more in ([], ["--json"], ["--plot", f"{RED}.svg"]):
        assert call("stats", dataset, *more).exit_code == 0
    assert call("verify", dataset).exit_code == 0


@each_source
def test_what_is_written_is_told_and_not_obeyed(
    source: str, hostile: dict[str, Path], call: Callable[..., Result], tmp_path: Path
) -> None:
    dataset = hostile[f"{source}.lis"]
    (tmp_path / "out").mkdir()

    for format_ in ([], ["--format", "structures"]):
        assert call("export", dataset, "--to", "out", *format_).exit_code == 0
    assert call("export", dataset, "--to", "out").exit_code == 1
    assert call("export", dataset, "--to", SPOOF, "--input", SPOOF).exit_code == 2
    for name in names("exporters"):
        call("export", dataset, "--to", f"{SPOOF}/{name}", "--format", name)
    assert call("merge", dataset, dataset, "--to", f"m{SPOOF}").exit_code == 1
    assert call("merge", dataset, "--to", f"m{SPOOF}").exit_code == 0


@each_source
def test_tokens_and_their_roles_are_shown_and_not_obeyed(
    source: str, hostile: dict[str, Path], call: Callable[..., Result]
) -> None:
    tokens = f"t{SPOOF}"

    assert call("encode", hostile[f"{source}.lis"], "--to", tokens, "--context", "64").exit_code == 0

    for command in (["inspect", tokens], ["inspect", tokens, "--json"], ["stats", tokens], ["stats", tokens, "--json"]):
        assert call(*command).exit_code == 0
    assert call("inspect", tokens, "--record", SPOOF).exit_code == 1
    assert call("verify", tokens).exit_code == 0


@pytest.mark.parametrize("source", names("sources"))
def test_an_error_of_any_source_shows_what_it_found(source: str, call: Callable[..., Result], tmp_path: Path) -> None:
    suffix = next(iter(getattr(lisdata.registry.load_source(source), "suffixes", ())), ".x")
    for number, data in enumerate((f"{SPOOF}\t{RED}\n", f'{{"{RED}": <{RED}> ("{SPOOF}\n')):
        path = tmp_path / f"{RED}{number}{suffix}"
        path.write_bytes(data.encode())
        call("convert", source, path, "--to", f"d{number}")
        call("convert", source, path, "--to", f"e{number}", "--dry-run")


def test_json_has_what_the_data_has(hostile: dict[str, Path], call: Callable[..., Result]) -> None:
    summary = json.loads(call("stats", hostile["conllu.lis"], "--json").stdout)
    (first, *_) = (json.loads(line) for line in call("inspect", hostile["conllu.lis"], "--json").stdout.splitlines())

    deprel = f"root{RED.replace(chr(13), '')}"
    assert deprel in summary["deprels"]
    assert deprel in texts_in(first)


def texts_in(value: Any) -> set[str]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return set().union(*map(texts_in, inner))
    return {value} if isinstance(value, str) else set()


def test_arguments_are_shown_and_not_obeyed(call: Callable[..., Result]) -> None:
    wrong = ([f"sing{RED}"], [f"--{RED}"], ["convert", RED], ["list", RED], ["convert", "text", ".", "--to", "x", RED])
    for arguments in (
        *wrong,
        ["encode", RED, "--to", "x"],
        ["inspect", ".", "--limit", RED],
        ["run", RED, "--to", "x"],
    ):
        assert call(*arguments).exit_code in (1, 2)


def test_a_recipe_is_shown_and_not_obeyed(
    hostile: dict[str, Path], call: Callable[..., Result], tmp_path: Path
) -> None:
    recipe = tmp_path / f"{RED}.toml"
    toml = json.dumps(str(hostile["text"].parent))
    recipe.write_text(f'name = "a"\n[[source]]\nname = "one"\nsource = "text"\npath = {toml}\n', encoding="utf-8")

    assert call("run", recipe, "--to", f"o{SPOOF}", "--dry-run").exit_code == 0
    assert call("run", recipe, "--to", f"o{SPOOF}").exit_code == 0
    assert call("run", recipe, "--to", "o", "--set", f"{SPOOF}=1").exit_code != 0
    recipe.write_text(f"name = {json.dumps(SPOOF)}\n{json.dumps(SPOOF)} = 1\n", encoding="utf-8")
    assert call("run", recipe, "--to", f"o{SPOOF}").exit_code != 0


def test_warnings_of_the_library_are_shown_and_not_obeyed(call: Callable[..., Result], tmp_path: Path) -> None:
    """Two inputs want one name; the warning goes by way of logging."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"{RED}.txt").write_text("a\n")
    (tmp_path / "in" / f"{RED}.txt.gz").write_bytes(gzip.compress(b"b\n"))
    call("convert", "text", "in", "--to", "d")

    result = call("export", "d", "--to", "out/")

    assert result.exit_code == 0
    assert (tmp_path / "out" / "2" / f"{RED}.txt").is_file()


def with_hostile_file(dataset: Path, to: Path) -> Path:
    """Copy a dataset; a file of hostile name is part of the copy, another one is not."""
    shutil.copytree(dataset, to)
    name = f"z/{RED}[/red].bin"  # the last one, which a bar of progress shows to the end
    (to / name).parent.mkdir(parents=True)
    (to / name).write_bytes(b"x")
    (to / f"stray{SPOOF}").write_bytes(b"y")
    body = read_manifest(to)
    body["files"][name] = file_entry(to / name)
    (to / MANIFEST).write_bytes(sealed(body))
    return to


def test_names_of_files_are_shown_by_verify_and_not_obeyed(
    hostile: dict[str, Path], call: Callable[..., Result], tmp_path: Path
) -> None:
    dataset = with_hostile_file(hostile["text.lis"], tmp_path / "d")

    good = call("verify", dataset)
    for path in dataset.glob("z/*/*"):
        path.write_bytes(b"other")
    bad = call("verify", dataset)

    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert "[/red].bin: expected 1 bytes" in bad.stdout


# -- a terminal ------------------------------------------------------------------------------------------------------


def read_terminal(*arguments: str | Path) -> bytes:
    """Return what a terminal is sent by `lisdata`."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from lisdata.cli import main; main()", *map(str, arguments)]
    process = subprocess.Popen(program, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    process.wait()
    return shown


def test_a_terminal_is_sent_no_command_of_the_data(hostile: dict[str, Path]) -> None:
    shown = read_terminal("stats", hostile["conllu.lis"]).decode().replace("\r\n", "\n")

    assert commands_in(shown) == set()
    assert "\\u001b[31mred" in shown


def test_a_bar_of_progress_shows_names_as_they_are(hostile: dict[str, Path], tmp_path: Path) -> None:
    dataset = with_hostile_file(hostile["text.lis"], tmp_path / "d")

    shown = read_terminal("verify", dataset)

    assert b"Traceback" not in shown
    assert b"\\u001b[31mred" in shown
    for command in (b"\x1b[31mred", b"\x1b]0;", "\x9b".encode(), "\u202e".encode(), b"\x7f"):
        assert command not in shown


# -- what nothing caught, and other processes ------------------------------------------------------------------------

UNCAUGHT = """
from lisdata.cli import main

def fail(**_):
    raise RuntimeError({text!r})

main.commands["verify"].callback = fail
main(["verify", "."])
"""

LOUD_WORKERS = """
import logging, sys, threading, traceback, warnings
from lisdata.engines import run_units
from lisdata.printable import printable_streams

TEXT = {text!r}

def fail():
    raise RuntimeError(TEXT)

def work(unit):
    print(TEXT)
    print(TEXT, file=sys.stderr)
    warnings.warn(TEXT)
    logging.getLogger("worker").warning(TEXT)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    if unit["name"] == "last":
        raise KeyError(TEXT)

if __name__ == "__main__":
    units = [{{"name": name, "weight": 1}} for name in ("first", "second", "last")]
    with printable_streams():
        try:
            list(run_units(work, units, workers=2))
        except KeyError:
            traceback.print_exc()
"""


def run_program(path: Path, text: str) -> subprocess.CompletedProcess[bytes]:
    path.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, str(path)], capture_output=True, check=False)


def test_a_traceback_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    result = run_program(tmp_path / "uncaught.py", UNCAUGHT.format(text=RED))

    assert result.returncode == 1
    assert b"Traceback" in result.stderr
    assert b"RuntimeError: \\u001b[31mred" in result.stderr
    assert commands_in(result.stderr.decode()) == set()


def test_what_worker_processes_print_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    result = run_program(tmp_path / "loud.py", LOUD_WORKERS.format(text=RED))

    assert result.stderr.count(b"\\u001b[31mred") >= 2 * 4  # printed, warned of, logged, raised by a thread
    assert b"\\u001b[31mred" in result.stdout
    for shown in (result.stdout, result.stderr):
        assert commands_in(shown.decode()) == set()
