from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from json_test_suite import REFUSED, accepted_files, count_suite

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import TreeRecords
from lisdata.registry import load_source
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources import lines
from lisdata.sources.json_document import JSON, JsonOptions, has_lines


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def run(data: bytes, name: str = "a.json", **options: Any) -> tuple[list[TreeRecords], list[BadRecordError]]:
        (tmp_path / name).write_bytes(data)
        piece = InputSlice(file=find_inputs([str(tmp_path / name)], suffixes=JSON.suffixes)[0])
        errors: list[BadRecordError] = []
        return list(JSON.read(piece, JsonOptions(**options), errors.append)), errors

    return run


def shown(records: TreeRecords, rows: Any) -> list[tuple[str, str] | None]:
    """Kind and text of content rows, None where there is none."""
    table = records.contents.to_pylist()
    return [
        None if r == NO_ROW else (ContentKind(table[r]["kind"]).name, table[r]["lexical"].decode())
        for r in rows.tolist()
    ]


def test_it_is_registered() -> None:
    assert load_source("json") is JSON


def test_a_document_is_a_tree_with_keys(read: Any) -> None:
    ((records,), errors) = read(b' {"a": [1, "a", null], "a": {"": true}} ')

    assert errors == []
    assert records.node_offsets.tolist() == [0, 7]
    assert records.node_parent.tolist() == [-1, 0, 1, 1, 1, 0, 5]
    assert shown(records, records.node_content) == [
        ("NAME", "object"), ("NAME", "array"), ("JSON_INT", "1"), ("JSON_STR", "a"), ("NULL", "null"),
        ("NAME", "object"), ("BOOL", "true"),
    ]  # fmt: skip
    assert records.node_key is not None
    keys = shown(records, records.node_key)
    assert keys == [None, ("JSON_STR", "a"), None, None, None, ("JSON_STR", "a"), ("JSON_STR", "")]


def test_numbers_are_contents_as_they_are_spelled(read: Any) -> None:
    spelled = ["9007199254740993", "18446744073709551617", "1e400", "1.0", "1", "-0", "1.00", "1E5", "1e5", "0.1e-7"]

    ((records,), _) = read(f"[{','.join(spelled)}]".encode())

    found = shown(records, records.node_content)[1:]
    assert [text for _, text in found] == spelled
    assert [kind for kind, _ in found] == ["NUMBER" if set(s) & set(".eE") else "JSON_INT" for s in spelled]
    assert len(set(records.node_content.tolist())) == len(spelled) + 1


def test_strings_that_are_equal_are_one_content_however_they_are_escaped(read: Any) -> None:
    ((records,), _) = read(rb'["/", "\/", "\u002F", "null", null, "1", 1, ""]')

    assert len(set(records.node_content[1:4].tolist())) == 1
    assert len(set(records.node_content.tolist())) == 7


def test_lone_surrogates_are_kept(read: Any) -> None:
    ((records,), _) = read(rb'["\ud800", "\udc00\ud800", "\ud83d\ude00"]')

    lexicals = [records.contents["lexical"][r].as_py() for r in records.node_content[1:].tolist()]
    assert lexicals == [b"\xed\xa0\x80", b"\xed\xb0\x80\xed\xa0\x80", "😀".encode()]


@pytest.mark.parametrize("document", [b"1", b'""', b"null", b" true\n", b"[]", b"{}", b"\xef\xbb\xbf{}"])
def test_a_document_may_be_any_value(read: Any, document: bytes) -> None:
    ((records,), errors) = read(document)

    assert errors == []
    assert records.num_records == 1
    assert records.node_parent.tolist() == [-1]
    assert records.documents.to_pylist() == [document]
    assert (records.begin.tolist(), records.end.tolist()) == ([0], [len(document)])


def test_each_line_of_a_file_named_so_is_a_document(read: Any) -> None:
    data = b'{"a":1}\n\n[2]\r\n "x"\n'

    ((records,), errors) = read(data, "a.ndjson", keep_document=True)

    assert errors == []
    assert records.documents.to_pylist() == data.splitlines(keepends=True)
    assert records.node_offsets.tolist() == [0, 2, 2, 4, 5]
    assert records.node_parent.tolist() == [-1, 0, -1, 0, -1]
    assert records.begin.tolist() == [0, 8, 9, 14]


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("a.json", None, False), ("a.NDJSON", None, True), ("a.jsonl.gz", None, True), ("a.json.gz", None, False),
        ("a.json", True, True), ("a.ndjson", False, False),
    ],
)  # fmt: skip
def test_lines_are_read_by_name_or_when_asked(tmp_path: Path, name: str, lines: bool | None, expected: bool) -> None:
    (tmp_path / name).write_bytes(b"1")
    (file,) = find_inputs([str(tmp_path / name)], suffixes=JSON.suffixes)

    assert has_lines(file, JsonOptions(lines=lines)) is expected


def test_lines_are_cut_at_lines_and_a_document_never(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(b"1\n22\n333\n")
    whole = InputSlice(file=find_inputs([str(tmp_path)], suffixes=JSON.suffixes)[0])

    assert JSON.find_cut(whole, 3, JsonOptions()) == 5
    assert JSON.find_cut(whole, 3, JsonOptions(lines=False)) == 9


FAULTS = {
    "nothing": (b"", "a.json:1:1: expected a value, found the end of the file"),
    "an open array": (b"[1,\n2", "a.json:2:2: expected , or ], found the end of the file"),
    "an open object": (b'{"a": 1', "a.json:1:8: expected , or }, found the end of the file"),
    "a comma at the end": (b'{"a": 1,}', 'a.json:1:9: expected the name of a member, in double quotes, found "}"'),
    "a name without quotes": (b"{a: 1}", 'expected the name of a member, in double quotes, or }, found "a: 1}"'),
    "no colon": (b'{"a" 1}', 'a.json:1:6: expected : after the name of a member, found "1}"'),
    "no value": (b"[,]", 'a.json:1:2: expected a value or ], found ",]"'),
    "two values": (b"1\n2", 'a.json:2:1: expected nothing after the value, found "2"'),
    "a leading zero": (b"[01]", 'a.json:1:3: expected , or ], found "1]"'),
    "a bare fraction": (b"[1.]", 'a.json:1:4: expected a digit, found "]"'),
    "NaN": (b"[NaN]", 'a.json:1:2: expected a value or ], found "NaN]"'),
    "an open string": (b'["a]', "a.json:1:5: expected a double quote that ends the string, found the end of the file"),
    "a raw newline": (b'["a\n"]', 'expected a control character to be written as an escape, found "\\n\\"]"'),
    "a wrong escape": (rb'"\q"', 'a.json:1:2: expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u, found "\\\\q\\""'),
    "a short escape": (rb'"\u12"', 'a.json:1:2: expected \\u with four hexadecimal digits, found "\\\\u12\\""'),
    "no UTF-8": (b'["\xff"]', "a.json:1:3: expected UTF-8, found byte 0xff (invalid start byte)"),
    "UTF-16": ('["a"]'.encode("utf-16"), "a.json:1:1: expected UTF-8, found byte 0xff (invalid start byte)"),
    "single quotes": (b"['a']", "a.json:1:2: expected a value or ], found \"'a']\""),
    "a comment": (b"[1 // one\n]", 'a.json:1:4: expected , or ], found "// one\\n]"'),
    "100,000 open arrays": (b"[" * 100_000, "a.json:1:100001: expected a value or ], found the end of the file"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_what_is_no_json_is_refused_with_its_place(read: Any, what: str) -> None:
    data, message = FAULTS[what]

    (found, (error,)) = read(data)

    assert found == []
    assert message in str(error)
    assert (error.begin, error.end) == (0, len(data))


def test_a_bad_line_is_refused_and_the_others_are_kept(read: Any) -> None:
    data = b'{"a": 1}\n{"a": \n["\xff"]\n[2]\n"x\n'

    ((records,), errors) = read(data, "a.ndjson")

    assert records.documents.to_pylist() == [b'{"a": 1}\n', b"[2]\n"]
    assert [str(e) for e in errors] == [
        "a.ndjson:2:7: expected a value, found the end of the line",
        "a.ndjson:3:3: expected UTF-8, found byte 0xff (invalid start byte)",
        "a.ndjson:5:3: expected a double quote that ends the string, found the end of the line",
    ]
    assert [e.data for e in errors] == [b'{"a": \n', b'["\xff"]\n', b'"x\n']
    assert [data[e.begin : e.end] for e in errors] == [e.data for e in errors]


def test_errors_name_the_line_in_later_blocks_too(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines.LineBlocks.__init__, "__defaults__", (16,))

    (found, (error,)) = read(b"[1]\n" * 100 + b"[1\n" + b"[1]\n" * 3, "a.ndjson")

    assert sum(r.num_records for r in found) == 103
    assert str(error) == "a.ndjson:101:3: expected , or ], found the end of the line"


def test_documents_and_lines_above_the_limit_are_refused(read: Any) -> None:
    (found, (error,)) = read(b"[1, 2, 3]", max_document_bytes=8)
    assert found == []
    assert str(error) == "a.json@8: expected a document of at most 8 bytes (max_document_bytes), found 9 bytes"

    ((records,), (error,)) = read(b"[1]\n[1, 2, 3]\n[4]\n", "a.ndjson", max_document_bytes=8)
    assert records.documents.to_pylist() == [b"[1]\n", b"[4]\n"]
    assert "a.ndjson:2:1: expected a document of at most 8 bytes" in str(error)


@pytest.mark.parametrize("limit", [0, 1 << 31])
def test_a_limit_that_cannot_be_is_a_wrong_argument(limit: int) -> None:
    with pytest.raises(ValueError, match="expected a limit of 1 to"):
        JsonOptions(max_document_bytes=limit)


def test_a_document_of_100000_levels_is_a_tree(read: Any) -> None:
    ((records,), errors) = read(b'[{"a":' * 50_000 + b"1" + b"}]" * 50_000)

    assert errors == []
    assert records.node_parent.tolist() == list(range(-1, 100_000))


def test_the_json_test_suite_is_read_as_it_says(shared: Path) -> None:
    archive = shared / "data/kg/json/JSONTestSuite_parsing.tar.gz"

    accepted = accepted_files(archive)

    assert {n for n, ok in accepted.items() if n[0] == "y" and not ok} == set()
    assert {n for n, ok in accepted.items() if n[0] == "n" and ok} == set()
    assert {n for n, ok in accepted.items() if n[0] == "i" and not ok} == REFUSED
    assert count_suite(archive) == {"y accepted": 95, "n refused": 188, "i accepted": 22, "i refused": 13}


def test_real_documents_hold_the_values_that_python_reads(read: Any, shared: Path) -> None:
    for path in sorted((shared / "data/kg/json").glob("*.json")):
        ((records,), _) = read(path.read_bytes())
        names = {"str": "JSON_STR", "NoneType": "NULL", "bool": "BOOL", "dict": "NAME", "list": "NAME"}
        expected: Counter[str] = Counter()
        waiting = [json.loads(path.read_bytes(), parse_int=float)]
        while waiting:
            value = waiting.pop()
            expected[names.get(type(value).__name__, "number")] += 1
            if isinstance(value, dict | list):
                waiting.extend(value.values() if isinstance(value, dict) else value)
        found = Counter(kind for kind, _ in filter(None, shown(records, records.node_content)))
        found["number"] += found.pop("NUMBER", 0) + found.pop("JSON_INT", 0)
        assert +found == expected
