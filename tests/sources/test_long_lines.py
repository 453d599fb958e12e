"""A line too long to be held is one bad record: what comes before and after it is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.datasets import export
from lisdata.errors import BadRecordError
from lisdata.sources import (
    brackets_blocks,
    conllu,
    conllu_blocks,
    delimited_rows,
    kgtk_rows,
    nary,
    nary_sniffing,
    ntriples_lines,
)

LIMIT, BLOCK = 300, 64
LIMITS_OF_LINES = (("MAX_LINE_BYTES", LIMIT), ("_BLOCK_BYTES", BLOCK))
LONG = b"x" * (LIMIT + 2 * BLOCK)
Patch = tuple[Any, str, int]


@dataclass(frozen=True)
class Format:
    """A format whose files are a header and records; `long` is a record that is one line, too long to be held."""

    suffix: str
    records: tuple[bytes, ...]
    long: bytes
    patches: tuple[Patch, ...]
    header: bytes = b""


ROW = b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
FORMATS = {
    "csv": Format(
        ".csv",
        (b"1,a\n", b'2,"b\nc"\n', b"3,d\n"),
        LONG + b",1\n",
        ((delimited_rows, "MAX_LINE_BYTES", LIMIT), (delimited_rows, "_BLOCK_BYTES", BLOCK)),
        b"id,name\n",
    ),
    "kgtk": Format(
        ".tsv",
        (b"e1\ta\tp\tb\n", b"e2\ta\tp\te1\n", b"e3\tc\tp\td\n"),
        b"e9\ta\tp\t" + LONG + b"\n",
        ((kgtk_rows, "MAX_LINE_BYTES", LIMIT), (kgtk_rows, "_BLOCK_BYTES", BLOCK)),
        b"id\tnode1\tlabel\tnode2\n",
    ),
    "nary": Format(
        ".txt",
        (b"a,p,b\n", b"a,p,c,q,d\n", b"e,p,f\n"),
        b"a,p," + LONG + b"\n",
        tuple((m, name, value) for m in (nary, nary_sniffing) for name, value in LIMITS_OF_LINES),
    ),
    "ntriples": Format(
        ".nt",
        (b'<a:a> <a:p> "b" .\n', b"<a:a> <a:p> <a:c> .\n", b"_:x <a:p> _:y .\n"),
        b'<a:a> <a:p> "' + LONG + b'" .\n',
        ((ntriples_lines, "MAX_LINE_BYTES", LIMIT), (ntriples_lines, "BLOCK_BYTES", BLOCK)),
    ),
    "nquads": Format(
        ".nq",
        (b'<a:a> <a:p> "b" <a:g> .\n', b"<a:a> <a:p> <a:c> .\n", b"_:x <a:p> _:y <a:g> .\n"),
        b'<a:a> <a:p> "' + LONG + b'" <a:g> .\n',
        ((ntriples_lines, "MAX_LINE_BYTES", LIMIT), (ntriples_lines, "BLOCK_BYTES", BLOCK)),
    ),
    "hext": Format(
        ".hext",
        (
            b'["a:a","a:p","b","a:t","",""]\n',
            b'["a:a","a:p","a:c","globalId","",""]\n',
            b'["_:x","a:p","d","a:t","","a:g"]\n',
        ),
        b'["a:a","a:p","' + LONG + b'","a:t","",""]\n',
        ((ntriples_lines, "MAX_LINE_BYTES", LIMIT), (ntriples_lines, "BLOCK_BYTES", BLOCK)),
    ),
    "conllu": Format(
        ".conllu",
        (ROW, ROW.replace(b"a", b"b"), b"# text = c\n" + ROW.replace(b"a", b"c")),
        b"# " + LONG + b"\n" + ROW,
        ((conllu_blocks, "MAX_SENTENCE_BYTES", LIMIT), (conllu, "_BLOCK_BYTES", BLOCK)),
    ),
    "brackets": Format(
        ".mrg",
        (b"(S (N a))\n", b"(S (N b)\n   (N c))\n", b"(S (N d))\n"),
        b"(S (N " + LONG + b"))\n",
        ((brackets_blocks, "_LONGEST_LINE", LIMIT), (brackets_blocks, "_BLOCK_BYTES", BLOCK)),
    ),
}
each_format = pytest.mark.parametrize("source", FORMATS)


def run(folder: Path, source: str, data: bytes, on_error: str = "quarantine") -> dict[str, Any]:
    """Convert `data` with small limits."""
    (folder / f"a{FORMATS[source].suffix}").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in FORMATS[source].patches:
            patch.setattr(module, name, value)
        return convert(source, folder / f"a{FORMATS[source].suffix}", folder / "data", on_error=on_error)


@each_format
@given(st.lists(st.integers(0, 3), max_size=7))
@example([3]).via("alone")
@example([3, 0, 1]).via("first")
@example([0, 1, 3]).via("last")
@example([1, 3, 3, 2, 3, 0]).via("several")
@settings(deadline=None, max_examples=6)
def test_what_stands_around_lines_that_are_too_long_comes_back(
    tmp_path_factory: pytest.TempPathFactory, source: str, chosen: list[int]
) -> None:
    folder, format_ = tmp_path_factory.mktemp("long"), FORMATS[source]
    records = [format_.long if n == 3 else format_.records[n] for n in chosen]
    good = [record for record in records if record is not format_.long]
    num_long = len(records) - len(good)

    manifest = run(folder, source, format_.header + b"".join(records))

    assert manifest["inputs"][0]["records"] == {"seen": len(chosen), "converted": len(good), "rejected": num_long}
    if num_long:
        assert (folder / "data/rejects/unit-00000.bin").read_bytes() == format_.long * num_long
        rows = [json.loads(row) for row in (folder / "data/rejects/unit-00000.jsonl").read_bytes().splitlines()]
        before = [format_.header + b"".join(records[:n]) for n, record in enumerate(records) if record is format_.long]
        places = [(len(text), int(text.count(b"\n")) + 1) for text in before]
        assert sorted((row["begin"], int(row["place"].split(":")[1])) for row in rows) == places
    if good:
        export(folder / "data", folder / "back")
        assert (folder / "back").read_bytes() == format_.header + b"".join(good)


@each_format
def test_a_line_that_is_too_long_stops_a_run_that_is_to_stop(source: str, tmp_path: Path) -> None:
    format_ = FORMATS[source]

    with pytest.raises(BadRecordError, match=rf"a\{format_.suffix}:\d+:1: expected .* {LIMIT} bytes, found "):
        run(tmp_path, source, format_.header + format_.records[0] + format_.long, on_error="stop")


@pytest.mark.parametrize("source", ["csv", "kgtk"])
def test_a_header_that_is_too_long_makes_the_file_one_bad_record(source: str, tmp_path: Path) -> None:
    data = LONG + FORMATS[source].header + b"".join(FORMATS[source].records)

    manifest = run(tmp_path, source, data)

    assert manifest["inputs"][0]["records"] == {"seen": 1, "converted": 0, "rejected": 1}
    assert (tmp_path / "data/rejects/unit-00000.bin").read_bytes() == data
    assert b":1:1" in (tmp_path / "data/rejects/unit-00000.jsonl").read_bytes()


def test_a_row_that_goes_on_into_a_line_that_is_too_long_is_bad_with_it(tmp_path: Path) -> None:
    bad = b'2,"b\n' + LONG + b'"\n'

    manifest = run(tmp_path, "csv", b"id,name\n1,a\n" + bad + b"3,c\n4,d,e\n")

    assert manifest["inputs"][0]["records"] == {"seen": 4, "converted": 2, "rejected": 2}
    assert (tmp_path / "data/rejects/unit-00000.bin").read_bytes() == bad + b"4,d,e\n"
    rows = [json.loads(row) for row in (tmp_path / "data/rejects/unit-00000.jsonl").read_bytes().splitlines()]
    assert [row["place"] for row in rows] == ["a.csv:3:1", "a.csv:6:1"]


def test_a_tree_that_goes_on_into_a_line_that_is_too_long_ends_before_it(tmp_path: Path) -> None:
    begun, rest = b"(S (N a)\n", b"(N " + LONG + b"))\n"

    manifest = run(tmp_path, "brackets", begun + rest + b"(S (N b))\n")

    assert manifest["inputs"][0]["records"] == {"seen": 3, "converted": 1, "rejected": 2}
    assert (tmp_path / "data/rejects/unit-00000.bin").read_bytes() == begun + rest


def test_bad_lines_behind_one_that_is_too_long_have_their_numbers(tmp_path: Path) -> None:
    good, long = FORMATS["ntriples"].records[0], FORMATS["ntriples"].long

    run(tmp_path, "ntriples", good + b"<bad\n" + good * 4 + long + good + b"<bad\n" + good * 9 + b"<bad\n")

    rows = [json.loads(row) for row in (tmp_path / "data/rejects/unit-00000.jsonl").read_bytes().splitlines()]
    assert sorted(int(row["place"].split(":")[1]) for row in rows) == [2, 7, 9, 19]
