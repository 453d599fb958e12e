"""Small documents share tables: what each becomes does not depend on the others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.conversion import convert, unit
from lisdata.errors import BadRecordError
from lisdata.inputs import MEBIBYTE
from lisdata.shards.verifying import verify_dataset
from lisdata.structure import Structure

DOCUMENTS: dict[str, list[bytes]] = {
    "code": [b"def f(a, b=1):\n    return a + b  # sum\n", b"x = f(1)\n", b"", b"\n", b"class A(:\n", b"x = 'a'\n"],
    "html": [b"<p id=a b>x", b"<svg><path d=M0></svg><p>x</p>", b"", b"<!-- x --><math><mi>x</math>", b"<p id=b>y"],
    "hif": [
        b'{"incidences": [{"edge": "e", "node": "a"}, {"edge": "e", "node": "b"}, {"edge": 2, "node": "a"}]}',
        b'{"network-type": "directed", "incidences": [{"edge": "e", "node": 1, "direction": "head", "weight": 2.50}]}',
        b'{"incidences": [], "nodes": [{"node": "a", "attrs": {"x#": 1}}], "edges": [{"edge": "e"}, {"edge": "e"}]}',
        b' {"incidences": []}',
    ],
    "json": [b'{"a": [1, 2.50, "x"], "a": null}', b"\xef\xbb\xbf[true]", b" 7\n", b'"a"', b'{"\\u00e9": {}}\n'],
    "markdown": [b"# Title\n\nOne. Two.\n", b"", b"* a\n* b\n", "\ufeffé é\n".encode(), b"# Title\n# Title\n\n> x\n"],
    "xml": [
        b"<a x='1'>t</a>",
        b"<a xmlns='urn:x'><b/></a>",
        b"<!--c--><r><![CDATA[x]]></r>",
        b'<?xml version="1.0"?><a/>',
    ],
}
SUFFIXES = {
    "code": (".py", ".js", ".c"),
    "hif": (".json",),
    "html": (".html",),
    "json": (".json",),
    "markdown": (".md",),
    "xml": (".xml",),
}
each_source = pytest.mark.parametrize("source", sorted(DOCUMENTS))


def write_documents(folder: Path, source: str, documents: list[bytes]) -> list[Path]:
    suffixes = SUFFIXES[source]
    paths = [folder / f"{number:04d}{suffixes[number % len(suffixes)]}" for number in range(len(documents))]
    for path, data in zip(paths, documents, strict=True):
        path.write_bytes(data)
    return paths


def structures_of(source: str, paths: list[Path], folder: Path, **settings_: Any) -> list[Structure]:
    convert(source, paths, folder, fresh=True, **settings_)
    verify_dataset(folder).raise_for_problems()
    return [s for number in range(len(paths)) for s in lisdata.open(folder).iter_structures(number)]


def without_origin(structure: Structure) -> dict[str, Any]:
    """The structure but for the number of its input, its id and scopes, which the order of the inputs decides."""
    shown: dict[str, Any] = json.loads(
        re.sub(r'("scope": ?"[0-9a-f]+)~[0-9]+"', r'\1"', json.dumps(structure.to_dict()))
    )
    return {name: value for name, value in shown.items() if name not in ("record_id", "source")}


@each_source
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_documents_become_together_what_they_become_alone(
    tmp_path_factory: pytest.TempPathFactory, source: str, data: st.DataObject
) -> None:
    documents = data.draw(st.lists(st.sampled_from(DOCUMENTS[source]), min_size=2, max_size=6))
    folder = tmp_path_factory.mktemp("documents")
    paths = write_documents(folder, source, documents)

    together = structures_of(source, paths, folder / "together")

    alone = [structures_of(source, [path], folder / f"alone-{path.stem}") for path in paths]
    assert list(map(without_origin, together)) == [without_origin(one) for found in alone for one in found]
    assert len({structure.record_id for structure in together}) == sum(map(len, alone))
    assert [structure.source[0] for structure in together] == [n for n, found in enumerate(alone) for _ in found]


@each_source
def test_the_tables_that_documents_share_are_bounded(
    tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_documents(tmp_path, source, DOCUMENTS[source] * 3)
    assert unit._JOINED_BYTES <= MEBIBYTE
    whole = structures_of(source, paths, tmp_path / "whole")

    monkeypatch.setattr(unit, "_JOINED_BYTES", 60)

    assert structures_of(source, paths, tmp_path / "cut") == whole


def test_a_rejected_document_between_good_ones_is_counted_and_leaves_them_whole(tmp_path: Path) -> None:
    paths = write_documents(tmp_path, "html", [b"<p>a", b"<p>" + b"b" * 200, b"<p>c"])
    options = {"max_document_bytes": 100}

    manifest = convert("html", paths, tmp_path / "to", on_error="quarantine", options=options)

    records = [entry["records"] for entry in manifest["inputs"]]
    good, bad = {"seen": 1, "converted": 1, "rejected": 0}, {"seen": 1, "converted": 0, "rejected": 1}
    assert records == [good, bad, good]
    dataset = lisdata.open(tmp_path / "to")
    texts = [[o.content.text for o in s.occurrences][-1] for n in (0, 2) for s in dataset.iter_structures(n)]
    assert texts == ["a", "c"]
    with pytest.raises(BadRecordError, match=r"0001\.html.*at most 100 bytes"):
        convert("html", paths, tmp_path / "stopped", options=options)


def test_what_is_counted_of_a_file_is_not_counted_of_its_neighbours(tmp_path: Path) -> None:
    paths = write_documents(tmp_path, "code", [b"x = 1\n", b"int f( {", b"int x;"])

    manifest = convert("code", paths, tmp_path / "to", options={"language": "c"})

    counted = [bool(entry["report"]) for entry in manifest["inputs"]]
    assert counted == [True, True, False]


def test_documents_and_files_that_are_none_keep_their_order(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.json", "b.jsonl", "c.json")]
    for path, data in zip(paths, (b"1", b"2\n3\n", b"4"), strict=True):
        path.write_bytes(data)

    convert("json", paths, tmp_path / "to")

    assert [s.occurrences[0].content.text for s in lisdata.open(tmp_path / "to").iter_structures()] == list("1234")


@pytest.mark.parametrize("source", ["hif", "json", "markdown", "xml"])
def test_a_bad_document_between_good_ones_is_one_bad_record(tmp_path: Path, source: str) -> None:
    bad = b"\xff" if source == "markdown" else b"{<"
    paths = write_documents(tmp_path, source, [DOCUMENTS[source][0], bad, DOCUMENTS[source][1]])

    manifest = convert(source, paths, tmp_path / "to", on_error="quarantine")
    lisdata.export(tmp_path / "to", tmp_path / "back")

    assert [entry["records"]["rejected"] for entry in manifest["inputs"]] == [0, 1, 0]
    assert (tmp_path / "to/rejects/unit-00000.bin").read_bytes() == bad
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == [paths[0].name, paths[2].name]
