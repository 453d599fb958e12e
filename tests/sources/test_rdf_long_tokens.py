"""A token that the parser of Turtle will not hold: what was converted before it is told apart from what was not."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph
import pytest
from rdf_reading import FORMATS

from lisdata.conversion import convert
from lisdata.sources.rdf_converted_end import LONGEST_TOKEN

HEAD = b"@prefix a: <a:> .\na:b a:c a:d .\n"
LONG = b'"' + b"z" * (LONGEST_TOKEN + 1000) + b'"'
BEFORE = {
    "nothing": b"",
    "a statement": HEAD,
    "a part of one": HEAD + b'a:b a:c "1", ',
    "a statement on its line": HEAD + b"a:x a:y 1 ." + b"a:x a:y ",
    "a long comment": HEAD + b"# c\n" * 50_000 + b"a:x a:y ",
    "a bad line": HEAD + b'a:x a:y a:z .\na:x "bad" a:z .\na:x a:y ',
}


def num_statements(source: str, data: bytes) -> int:
    statements, count = pyoxigraph.parse(data, FORMATS[source]), 0
    while True:
        try:
            for _ in statements:
                count += 1
            return count
        except SyntaxError:
            continue


@pytest.mark.parametrize(
    ("source", "before"), [*(("turtle", name) for name in BEFORE), ("trig", "a statement"), ("n3", "a part of one")]
)
def test_all_bytes_behind_the_last_statement_are_kept(source: str, before: str, tmp_path: Path) -> None:
    data = BEFORE[before] + LONG + b" .\na:b a:c a:e .\n"
    (tmp_path / "a").write_bytes(data)

    manifest = convert(source, tmp_path / "a", tmp_path / "d", on_error="quarantine")

    (notes,) = (tmp_path / "d/rejects").glob("*.jsonl")
    note = json.loads(notes.read_text(encoding="utf-8").splitlines()[-1])
    kept = notes.with_suffix(".bin").read_bytes()[note["at"] : note["at"] + note["size"]]
    assert kept == data[note["begin"] :]
    assert note["end"] == len(data)
    good = num_statements(source, data[: len(BEFORE[before])])
    assert manifest["inputs"][0]["records"]["converted"] == good
    assert num_statements(source, data[: note["begin"]]) == good
    if before != "a bad line":  # there it begins behind that line, which is kept by itself
        assert not good or num_statements(source, data[: note["begin"] - 2]) < good  # "a:d" cut to "a:" is a name too
