from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_test_suite import accepted_files, iter_suite

from lisdata.errors import ExportError
from lisdata.exporters.json import JSON
from lisdata.exporters.json_writer import tree_to_json
from lisdata.exporters.tree_columns import ShownContent, StoredTree
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind

NUMBERS = st.one_of(
    st.integers().map(str),
    st.sampled_from(["9007199254740993", "18446744073709551617", "1e400", "1.0", "-0", "-0.0", "1E+5", "0e0", "1.10"]),
    st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?\Z"),
)
STRINGS = st.text(st.characters(exclude_categories=()), max_size=8)
QUOTED = st.tuples(STRINGS, st.booleans()).map(lambda s: written_string(*s))
SPACE = st.sampled_from(["", " ", "\n", "\r\n\t"])


def written_string(text: str, is_ascii: bool) -> str:
    quoted = json.dumps(text, ensure_ascii=is_ascii)
    return quoted if is_ascii or not any("\ud800" <= c <= "\udfff" for c in text) else json.dumps(text)


def written_list(items: list[tuple[str, str]], space: str) -> str:
    return f"[{space}{f'{space},'.join(value for _, value in items)}{space}]"


def written_object(items: list[tuple[str, str]], space: str) -> str:
    return f"{{{space}{f'{space},'.join(f'{key}{space}:{space}{value}' for key, value in items)}{space}}}"


DOCUMENTS = st.recursive(
    NUMBERS | QUOTED | st.sampled_from(["true", "false", "null", "{}", "[]", '""']),
    lambda inner: st.tuples(
        st.sampled_from([written_list, written_object]),
        st.lists(st.tuples(QUOTED | st.sampled_from(['"a"', '""']), inner), max_size=4),
        SPACE,
    ).map(lambda parts: parts[0](*parts[1:])),
    max_leaves=15,
)


def model(data: bytes | str) -> Any:
    """Return a document with every member, repeated ones too, and numbers as spelled."""
    number = lambda text: ("number", text)  # noqa: E731
    return json.loads(data, object_pairs_hook=lambda pairs: ("object", pairs), parse_int=number, parse_float=number)


def test_it_is_registered() -> None:
    assert load_exporter("json") is JSON


@settings(max_examples=10, deadline=None)
@given(st.lists(DOCUMENTS, min_size=1, max_size=15))
def test_documents_that_were_kept_come_back_byte_for_byte(round_trip: Any, documents: list[str]) -> None:
    files = [document.encode() for document in documents]

    found, report = round_trip("json", files, ".json")

    assert found == files
    assert report.losses == {}


@settings(max_examples=15, deadline=None)
@given(st.lists(DOCUMENTS, min_size=1, max_size=25))
def test_documents_that_were_not_kept_come_back_as_the_same_model(round_trip: Any, documents: list[str]) -> None:
    found, report = round_trip("json", [d.encode() for d in documents], ".json", keep_document=False)

    assert [model(data) for data in found] == [model(document) for document in documents]
    assert report.losses == {}
    assert report.num_records == len(documents)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.lists(DOCUMENTS.map(lambda d: d.replace("\n", " ").replace("\r", " ")), max_size=8), min_size=1, max_size=5
    )
)
def test_lines_come_back(round_trip: Any, files: list[list[str]]) -> None:
    written = ["".join(f"{line}\n" for line in lines).encode() for lines in files]

    kept, _ = round_trip("json", written, ".ndjson")
    found, report = round_trip("json", written, ".ndjson", keep_document=False)

    assert kept == written
    assert [[model(line) for line in data.split(b"\n")[:-1]] for data in found] == [
        [model(line) for line in lines] for lines in files
    ]
    assert report.losses == {}


def real_files(shared: Path, root: Path) -> list[Path]:
    return [
        *(p for p in sorted((shared / "data/kg").rglob("*.json")) if p.stat().st_size < 1 << 20),
        *sorted((root / "sample_data/json").iterdir()),
        *sorted((shared / "data/kg/json").glob("*.ndjson")),
    ]


@pytest.mark.parametrize("keep_document", [True, False])
def test_real_documents_come_back(round_trip: Any, shared: Path, root: Path, keep_document: bool) -> None:
    for suffix in (".json", ".ndjson"):
        files = [p.read_bytes() for p in real_files(shared, root) if p.suffix == suffix and is_whole(p)]
        found, report = round_trip("json", files, suffix, keep_document=keep_document)
        assert len(files) >= (40 if suffix == ".json" else 2)
        assert report.losses == {}
        if keep_document:
            assert found == files
        elif suffix == ".json":
            assert [model(data) for data in found] == [model(data) for data in files]
        else:
            for data, origin in zip(found, files, strict=True):
                pairs = zip(data.splitlines(), origin.splitlines(), strict=True)
                assert all(model(a) == model(b) if a.strip() else a.strip() == b.strip() for a, b in pairs)


def is_whole(path: Path) -> bool:
    """Tell whether a file is one document, or has one a line; some real ones are cut on purpose."""
    try:
        model(path.read_bytes())
    except ValueError:
        return path.suffix == ".ndjson"
    return True


def test_the_accepted_files_of_the_json_test_suite_come_back(round_trip: Any, shared: Path) -> None:
    archive = shared / "data/kg/json/JSONTestSuite_parsing.tar.gz"
    accepted = accepted_files(archive)
    files = [data for name, data in iter_suite(archive) if accepted[name] and not data.startswith(b"[" * 200)]

    found, report = round_trip("json", files, ".json", keep_document=False)

    assert [model(data) for data in found] == [model(data.decode("utf-8-sig")) for data in files]
    assert report.losses == {}


def test_a_document_of_100000_levels_comes_back(round_trip: Any) -> None:
    data = b'[{"a":' * 50_000 + b"1" + b"}]" * 50_000

    found, _ = round_trip("json", [data], ".json", keep_document=False)

    assert found == [data + b"\n"]


def test_values_are_written_without_space_and_with_the_escapes_that_are_needed(round_trip: Any) -> None:
    data = rb' { "\u0061\/" : [ 1.0 , "\u00e9\ud800\n\u0001" ] } '

    (found,), _ = round_trip("json", [data], ".json", keep_document=False)

    assert found == '{"a/":[1.0,"é\\ud800\\n\\u0001"]}\n'.encode()


def test_rejected_lines_are_a_loss(round_trip: Any) -> None:
    found, report = round_trip("json", [b"[1]\n[\n[2]\n"], ".ndjson", on_error="quarantine")

    assert found == [b"[1]\n[2]\n"]
    assert report.losses == {"rejected records": 1}


def node(kind: ContentKind, text: str, datatype: str | None = None) -> ShownContent:
    return ShownContent(kind, text.encode(), datatype)


OBJECT, ARRAY = (node(ContentKind.NAME, name, "json") for name in ("object", "array"))
ONE, KEY = node(ContentKind.JSON_INT, "1"), node(ContentKind.JSON_STR, "k")


@pytest.mark.parametrize(
    ("nodes", "parents", "keys", "message"),
    [
        ([ONE, ONE], [-1, -1], {}, "one value a JSON document"),
        ([OBJECT, ONE], [-1, 0], {}, "a key for each member"),
        ([ARRAY, ONE], [-1, 0], {1: KEY}, "a key for each member"),
        ([node(ContentKind.NAME, "p")], [-1], {}, "an object or array of a JSON document, found b'p' None"),
        ([node(ContentKind.ENTITY, "p")], [-1], {}, "a value of a JSON document, found ENTITY"),
    ],
)
def test_a_tree_of_another_kind_of_data_is_refused(
    nodes: list[ShownContent], parents: list[int], keys: dict[int, ShownContent], message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        tree_to_json(StoredTree(nodes=nodes, parents=parents, keys=keys, attributes={}))
