from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import TreeRecords
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources.html import HTML, HtmlOptions


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def run(data: bytes, **options: Any) -> TreeRecords:
        (tmp_path / "a.html").write_bytes(data)
        piece = InputSlice(file=find_inputs([str(tmp_path / "a.html")], suffixes=HTML.suffixes)[0])
        (records,) = HTML.read(piece, HtmlOptions(**options), lambda error: pytest.fail(str(error)))
        return records

    return run


def contents(records: TreeRecords, rows: Any) -> list[tuple[str, str, str | None]]:
    """Kind, text and datatype of content rows."""
    labels = records.labels["label"].to_pylist()
    table = records.contents.to_pylist()
    return [
        (
            ContentKind(table[r]["kind"]).name,
            table[r]["lexical"].decode(),
            None if table[r]["datatype"] is None else labels[table[r]["datatype"]],
        )
        for r in rows.tolist()
    ]


def test_it_is_registered() -> None:
    assert load_source("html") is HTML


def test_a_file_is_one_tree_of_typed_nodes(read: Any) -> None:
    records = read(b"<!DOCTYPE html><!--c--><body>x<svg><a></a></svg><math></math><?p q?>")

    assert records.num_records == 1
    assert records.node_offsets.tolist() == [0, 10]
    assert records.node_parent.tolist() == [-1, -1, -1, 2, 2, 4, 4, 6, 4, 4]
    assert contents(records, records.node_content) == [
        ("TEXT", "html", "doctype"), ("TEXT", "c", "comment"), ("NAME", "html", None), ("NAME", "head", None),
        ("NAME", "body", None), ("TEXT", "x", None), ("NAME", "svg", "svg"), ("NAME", "a", "svg"),
        ("NAME", "math", "math"), ("TEXT", "p q", "instruction"),
    ]  # fmt: skip


def test_equal_texts_and_attribute_values_are_one_content(read: Any) -> None:
    records = read(b"<p title=x>x</p><i class=x>p</i>")

    values = set(records.attribute_content.tolist())
    assert values == {records.node_content[4]}
    assert len({records.node_content[3], records.node_content[6]}) == 2  # the element p and the text p


def test_attributes_are_roles_in_order(read: Any) -> None:
    records = read(b"<p b=2 a=1><i b>")

    labels = records.labels["label"].to_pylist()
    assert [labels[code] for code in records.attribute_role] == ["node#attr:b", "node#attr:a", "node#attr:b"]
    assert contents(records, records.attribute_content) == [("TEXT", t, None) for t in ("2", "1", "")]
    assert records.attribute_offsets.tolist() == [0, 0, 0, 0, 2, 3]


def test_an_attribute_whose_name_is_no_side_of_a_role_is_a_name_and_a_value(read: Any) -> None:
    records = read(b"<p a#b=1 c=2>")

    labels = records.labels["label"].to_pylist()
    assert [labels[code] for code in records.attribute_role] == ["node#attr.name", "node#attr.value", "node#attr:c"]
    assert contents(records, records.attribute_content)[:2] == [("NAME", "a#b", "attribute"), ("TEXT", "1", None)]


def test_the_document_is_kept_to_the_byte_unless_it_is_not_wanted(read: Any) -> None:
    data = b"\xef\xbb\xbf<p>\r\n\xff\0<P>"

    assert read(data).documents.to_pylist() == [data]
    assert read(data, keep_document=False).documents.to_pylist() == [None]
    assert (read(data).begin.tolist(), read(data).end.tolist()) == ([0], [len(data)])


@pytest.mark.parametrize("encoding", ["latin1", "ISO-8859-1", "windows-1252"])
def test_latin_1_is_read_as_windows_1252_as_the_standard_says(read: Any, encoding: str) -> None:
    records = read(b"<p>\x80", encoding=encoding)

    assert contents(records, records.node_content)[-1] == ("TEXT", "€", None)


def test_an_unknown_encoding_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="unknown encoding 'nope'"):
        HtmlOptions(encoding="nope")


@pytest.mark.parametrize("limit", [0, 2_000_000_001])
def test_a_limit_that_no_document_can_have_is_a_wrong_argument(limit: int) -> None:
    with pytest.raises(ValueError, match="expected a limit of 1 to 2000000000 bytes"):
        HtmlOptions(max_document_bytes=limit)


def test_a_document_above_the_limit_is_a_bad_record(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"<p>" * 5)
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.html")], suffixes=HTML.suffixes)[0])
    errors: list[BadRecordError] = []

    assert list(HTML.read(piece, HtmlOptions(max_document_bytes=10), errors.append)) == []
    wanted = "a document of at most 10 bytes (max_document_bytes)"
    assert str(errors[0]) == f"a.html@10: expected {wanted}, found 15 bytes"
    assert (errors[0].begin, errors[0].end) == (0, 15)


def test_a_document_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"<p>")
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.html")], suffixes=HTML.suffixes)[0])

    assert not HTML.splits
    with pytest.raises(ValueError, match="read whole"):
        HTML.find_cut(piece, 1, HtmlOptions())
