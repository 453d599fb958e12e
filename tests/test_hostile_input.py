"""Input made to exhaust memory or to reach other files: refused, in bounded memory, and nothing is written outside."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from bad_inputs import archive, saved
from click.testing import CliRunner

import lisdata
from lisdata import inputs
from lisdata.cli import main
from lisdata.errors import BadRecordError, LisDataError, SchemaError
from lisdata.registry import SOURCES, load_source, names
from lisdata.runs import PLAN
from lisdata.shards import IncidenceDataset, verify_dataset
from lisdata.shards.manifest import MANIFEST, read_sealed, sealed

MEBIBYTE = 1 << 20
DEEP = 100_000
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
MEASURED = """
import re, sys
from pathlib import Path
from lisdata.cli import main
try:
    main(sys.argv[1:])
finally:
    print("peak", re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")


def convert_measured(*arguments: str | Path) -> tuple[str, int]:
    """Run a conversion that fails; return what was said and the peak of its memory in MiB."""
    command = [sys.executable, "-c", MEASURED, "convert", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    return done.stderr, int(done.stdout.rsplit("peak ")[-1]) >> 10


def convert(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["convert", *map(str, arguments)])
    assert isinstance(done.exception, SystemExit | None)
    return done.exit_code, done.output


# -- memory ----------------------------------------------------------------------------------------------------------


@needs_proc
@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_bomb_is_refused_in_bounded_memory(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.md.{suffix}"
    path.write_bytes(COMPRESS[suffix](bytes(16 * MEBIBYTE)) * 32)

    said, peak = convert_measured("markdown", path, "--to", tmp_path / "data")

    assert "expected at most 268435456 bytes when decompressed (--max-expansion), found more" in said
    assert peak < 700


@pytest.mark.parametrize("source", names("sources"))
def test_a_bomb_around_any_source_is_refused(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "SMALL_EXPANSION_BYTES", 1 << 16)
    path = tmp_path / f"a{load_source(source).suffixes[0]}.gz"
    path.write_bytes(gzip.compress(b" " * MEBIBYTE))

    code, said = convert(source, path, "--to", tmp_path / "data")

    assert code == 1
    assert "bytes when decompressed (--max-expansion), found more" in said
    assert not (tmp_path / "data" / MANIFEST).exists()


def test_how_far_a_file_may_expand_is_the_users_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "SMALL_EXPANSION_BYTES", 1 << 16)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a " * MEBIBYTE))

    with pytest.raises(BadRecordError, match="max-expansion"):
        lisdata.convert("text", tmp_path / "a.txt.gz", tmp_path / "refused")
    manifest = lisdata.convert("text", tmp_path / "a.txt.gz", tmp_path / "data", max_expansion=2000)

    assert manifest["counts"]["structures"] == 1
    with pytest.raises(ValueError, match="expected an expansion of at least 1"):
        lisdata.convert("text", tmp_path / "a.txt.gz", tmp_path / "none", max_expansion=0)


@needs_proc
@pytest.mark.parametrize(
    ("source", "name", "begin"),
    [
        ("text", "a.txt", b"a"),
        ("ntriples", "a.nt", b'<a:a> <a:p> "'),
        ("csv", "a.csv", b"id\n"),
        ("hif", "a.json", b"["),
    ],
)
def test_a_line_of_1500_mb_is_refused_in_bounded_memory(source: str, name: str, begin: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(begin)
    os.truncate(path, 1_500_000_000)

    said, peak = convert_measured(source, path, "--to", tmp_path / "data")

    assert re.search(rf"{re.escape(name)}(:[12]:1: expected|@)", said)  # a header stands before it in CSV
    assert "of at most 268435456 bytes" in said
    assert peak < 900


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("text", b"a\n"),
        ("jsonl", b'{"text":"a"}\n'),
        ("fact-text", b'{"facts": [], "text": "a"}\n'),
        ("json", b'{"a": 1}\n'),
        ("wikidata", b'{"type": "item", "id": "Q1"}\n'),
    ],
    ids=str,
)
def test_after_a_line_that_is_too_long_the_next_is_read(source: str, line: bytes, tmp_path: Path) -> None:
    path = tmp_path / ("a.txt" if source == "text" else "a.ndjson")
    path.write_bytes(line + b"x" * (9 * MEBIBYTE) + b"\n" + line + b"\xff\n" + line)

    code, _ = convert(
        source, path, "--to", tmp_path / "data", "--max-document-bytes", "1000000", "--on-error", "quarantine"
    )

    assert code == 0
    (entry,) = IncidenceDataset(tmp_path / "data").manifest["inputs"]
    assert entry["records"] == {"seen": 5, "converted": 3, "rejected": 2}
    rows = [json.loads(r) for r in (tmp_path / "data/rejects/unit-00000.jsonl").read_bytes().splitlines()]
    assert [row["place"].split(":")[1] for row in rows] == ["2", "4"]
    assert [row["size"] for row in rows] == [9 * MEBIBYTE + 1, 2]


# -- nesting ---------------------------------------------------------------------------------------------------------

OBJECTS, ARRAYS = b'{"a":' * DEEP + b"1" + b"}" * DEEP, b"[" * DEEP + b"]" * DEEP
RDF_XML = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="a:">%b</rdf:RDF>'
NESTED = {
    "json": ("a.json", OBJECTS),
    "jsonl": ("a.jsonl", b'{"x": ' + ARRAYS + b"}"),
    "fact-text": ("a.jsonl", b'{"facts": ' + ARRAYS + b"}"),
    "hif": ("a.json", b'{"incidences": ' + ARRAYS + b"}"),
    "wikidata": ("a.ndjson", b'{"type": "item", "id": "Q2", "claims": ' + OBJECTS + b"}"),
    "nary": ("a.json", b'{"P1_h": ' + ARRAYS + b', "N": 2}'),
    "jsonld": ("a.jsonld", b'{"a:p": ' + ARRAYS + b"}"),
    "html": ("a.html", b"<div>" * DEEP),
    "xml": ("a.xml", b"<a>" * DEEP + b"</a>" * DEEP),
    "code": ("a.py", b"(" * DEEP + b")" * DEEP),
    "brackets": ("a.mrg", b"(S " * DEEP + b"(N a)" + b")" * DEEP),
    "markdown": ("a.md", b"> " * DEEP + b"a"),
    "hext": (
        "a.hext",
        b'["a:a","a:p",' + b"[" * DEEP + b"]" * DEEP + b',"globalId","",""]\n',
    ),
    "turtle": ("a.ttl", b"<a:a> <a:p> " + b"(" * DEEP + b")" * DEEP + b" ."),
    "trig": ("a.trig", b"<a:a> <a:p> " + b"[ <a:p> " * DEEP + b"]" * DEEP + b" ."),
    "n3": ("a.n3", b"{" * DEEP + b"}" * DEEP + b" ."),
    "ntriples": ("a.nt", b"<a:a> <a:p> " + b"<<( <a:a> <a:p> " * DEEP + b"<a:o>" + b" )>>" * DEEP + b" ."),
    "nquads": ("a.nq", b"<a:a> <a:p> " + b"<<( <a:a> <a:p> " * DEEP + b"<a:o>" + b" )>>" * DEEP + b" ."),
    "graph": ("a.gml", b"graph [" + b" a [" * DEEP + b"]" * DEEP + b" ]"),
    "rdfxml": (
        "a.rdf",
        RDF_XML % (b"<rdf:Description><e:p>" * DEEP + b"</e:p></rdf:Description>" * DEEP),
    ),
}
FLAT = {"arrow", "conllu", "csv", "excel", "image", "kgtk", "npy", "npz", "parquet", "parsed", "sql", "text"}


def test_each_format_in_which_things_nest_is_tried() -> None:
    assert set(NESTED) | FLAT == set(SOURCES)


@pytest.mark.parametrize("source", NESTED)
def test_things_nested_100000_deep_are_read_or_refused(source: str, tmp_path: Path) -> None:
    name, data = NESTED[source]
    (tmp_path / name).write_bytes(data)

    code, said = convert(source, tmp_path / name, "--to", tmp_path / "data", "--on-error", "quarantine")

    assert code == 0, said
    assert verify_dataset(tmp_path / "data").problems == ()
    (entry,) = IncidenceDataset(tmp_path / "data").manifest["inputs"]
    records = entry["records"]
    assert records["seen"] == records["converted"] + records["rejected"]
    if records["rejected"]:
        assert records["converted"] == 0
        (path,) = (tmp_path / "data/rejects").glob("*.bin")
        assert path.read_bytes() == data


@pytest.mark.parametrize("text", ["[" * 300, '\\"{' * 300, "{" * (MEBIBYTE + 300), "\\\\"])
@pytest.mark.parametrize("depth", [1, 200, 201])
def test_brackets_in_strings_do_not_count_as_nesting(text: str, depth: int, tmp_path: Path) -> None:
    inner = '{"a:q": ' * (depth - 1) + "1" + "}" * (depth - 1)
    data = f'{{"a:p": "{text}", "a:q": {inner}}}'
    (tmp_path / "a.jsonld").write_text(data)

    code, said = convert("jsonld", tmp_path / "a.jsonld", "--to", tmp_path / "data")

    assert (code == 0) == (depth <= 200), said
    assert ("at most 200 deep" in said) == (depth > 200)


# -- entities of XML -------------------------------------------------------------------------------------------------

LAUGHS = b"".join(b'<!ENTITY l%d "%b">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
DOCUMENT_TYPES = {
    "a billion laughs": b'<!ENTITY l0 "lol">' + LAUGHS,
    "an external entity": b'<!ENTITY l9 SYSTEM "file:///etc/hostname">',
    "a parameter entity": b'<!ENTITY %% p SYSTEM "%b"> %%p; <!ENTITY l9 "x">' % b"file:///etc/hostname",
}


@pytest.mark.parametrize("what", DOCUMENT_TYPES)
@pytest.mark.parametrize("source", ["xml", "rdfxml", "graph"])
def test_entities_that_expand_or_read_other_files_are_refused(source: str, what: str, tmp_path: Path) -> None:
    inner = {
        "xml": b"<a>&l9;</a>",
        "rdfxml": RDF_XML % b"<rdf:Description><e:p>&l9;</e:p></rdf:Description>",
        "graph": b'<graphml><key id="d" attr.name="&l9;"/><graph/></graphml>',
    }[source]
    root = {"xml": b"a", "rdfxml": b"rdf:RDF", "graph": b"graphml"}[source]
    path = tmp_path / ("a.graphml" if source == "graph" else "a.xml")
    path.write_bytes(b"<!DOCTYPE " + root + b" [" + DOCUMENT_TYPES[what] + b"]>" + inner)

    code, said = convert(source, path, "--to", tmp_path / "data")

    assert code == 1
    assert f"{path.name}:1:" in said
    assert "entit" in said


# -- archives --------------------------------------------------------------------------------------------------------


def test_a_bomb_in_an_archive_of_arrays_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "SMALL_EXPANSION_BYTES", 1 << 16)
    (tmp_path / "a.npz").write_bytes(archive(("a.npy", saved(np.zeros(MEBIBYTE, np.uint8)))))

    code, said = convert("npz", tmp_path / "a.npz", "--to", tmp_path / "data")

    assert code == 1
    assert "(see --max-expansion), found 1048704 bytes" in said


def test_a_bomb_in_a_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(archive(("xl/worksheets/sheet1.xml", b" " * 2 * MEBIBYTE)))

    code, said = convert("excel", tmp_path / "a.xlsx", "--to", tmp_path / "data", "--max-expanded-mib", "1")

    assert code == 1
    assert "expected at most 1 MiB when decompressed (--max-expanded-mib), found 2097152 bytes" in said


# -- paths -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"one\n\xff\ntwo\n")
    lisdata.convert("text", tmp_path / "a.txt", tmp_path / "data", on_error="quarantine")
    return tmp_path / "data"


def change(path: Path, old: str, new: str) -> None:
    """Replace a text in a sealed file, and seal it again."""
    text = json.dumps(read_sealed(path))
    assert old in text
    path.write_bytes(sealed(json.loads(text.replace(old, new))))


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a/../../x", "..", "x\\u0000y", "..\\\\\\\\x"])
@pytest.mark.parametrize("old", ["rejects/unit-00000.bin", "structures/part-00000-000.arrow"])
def test_a_manifest_that_names_files_outside_is_refused(dataset: Path, old: str, name: str) -> None:
    change(dataset / MANIFEST, old, name)

    with pytest.raises((SchemaError, LisDataError), match="expected names inside the folder"):
        IncidenceDataset(dataset)


@pytest.mark.parametrize("name", ["../../x", "/x", "a\\u0000b", "..", "a\\nb", "\\u001b[2J"])
def test_an_export_never_leaves_its_folder_whatever_an_input_is_called(
    dataset: Path, tmp_path: Path, name: str
) -> None:
    change(dataset / MANIFEST, '"name": "a.txt"', f'"name": "{name}"')
    before = {path for path in tmp_path.rglob("*") if dataset not in path.parents}
    (tmp_path / "out").mkdir()

    done = CliRunner().invoke(main, ["export", str(dataset), "--to", str(tmp_path / "out")])

    assert isinstance(done.exception, SystemExit | None)
    assert "\x1b" not in done.output
    after = {path for path in tmp_path.rglob("*") if dataset not in path.parents}
    assert all(path.is_relative_to(tmp_path / "out") for path in after - before)


def test_a_plan_whose_units_lead_outside_is_refused(dataset: Path, tmp_path: Path) -> None:
    (dataset / MANIFEST).unlink()
    change(dataset / PLAN, '"name": "00000"', '"name": "../../x"')

    with pytest.raises(LisDataError, match="the run in this folder has"):
        lisdata.convert("text", tmp_path / "a.txt", dataset, on_error="quarantine")

    assert not (tmp_path.parent / "x").exists()


def test_a_pipe_in_place_of_a_shard_is_refused_and_not_waited_for(dataset: Path) -> None:
    path = dataset / "structures/part-00000-000.arrow"
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(LisDataError, match="found no file"):
        IncidenceDataset(dataset)
    assert any("structures/part-00000-000.arrow" in problem for problem in verify_dataset(dataset).problems)


def test_an_export_goes_through_no_link_that_leads_out_of_its_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "x.txt").write_bytes(name.encode() + b"\n")
    lisdata.convert("text", tmp_path / "in", tmp_path / "data")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").symlink_to(tmp_path / "elsewhere")

    done = CliRunner().invoke(main, ["export", str(tmp_path / "data"), "--to", str(tmp_path / "out")])

    assert done.exit_code == 1
    assert f"expected a folder inside {tmp_path / 'out'}, found a link to {tmp_path / 'elsewhere'}" in done.output
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["a\nb.txt", "a\x1b[2Jb.txt", "\u202ea.txt", "a b%00.txt", "-rf.txt"])
def test_a_file_of_any_name_is_read_and_none_commands_the_terminal(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"good\n\xff\n")

    code, said = convert("text", tmp_path / name, "--to", tmp_path / "data")
    lisdata.convert("text", tmp_path / name, tmp_path / "kept", on_error="quarantine")

    assert code == 1
    assert not {"\x1b", "\u202e"} & set(said)
    assert [entry["name"] for entry in IncidenceDataset(tmp_path / "kept").manifest["inputs"]] == [name]


def test_a_schema_file_can_not_name_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id\n1\n")
    package = {"resources": [{"name": "a", "path": "../../a.csv", "schema": "../../schema.json"}]}
    (tmp_path / "datapackage.json").write_text(json.dumps(package))

    code, said = convert(
        "csv", tmp_path / "a.csv", "--to", tmp_path / "data", "--schema", tmp_path / "datapackage.json"
    )

    assert code == 1
    assert "datapackage.json: " in said
