from __future__ import annotations

import ctypes
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from html5lib_trees import html5lib_cases
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.sources import html_encoding, lexbor
from lisdata.sources.dom import parse_text
from lisdata.sources.dom_columns import DomColumns
from lisdata.sources.html_encoding import decode_html, encoding_of, html_to_utf8
from lisdata.sources.lexbor import parse_columns

PIECES = [
    "<p>", "</p>", "<b>", "</b>", "<table>", "<td>", "<svg>", "</svg>", "<math>", "<mi>", "</mi>", "<desc>", "<title>",
    "</title>", "<br>", "</br>", "<image>", "<select>", "<form>", "<script>", "</script>", "<style>", "</style>",
    "<plaintext>", "<frameset>", "<option>", "<selectedcontent>", "<button>", "<noscript>", "<!--c-->", "<!-->",
    "<?go?>", "&lt;", "&nbsp;", "&#xD800;", "\0", "x", " ", "é京", "<a href=x>", "<a href=x c='a&amp;b' d>",
    "<html a=1>", "<body b=2 a=3>", "<svg xlink:href=1 href=2 viewbox=3>", "<annotation-xml encoding=text/html>",
    "<x#y z#w=1 ===>", "<!DOCTYPE html>", "<!DOCTYPE a SYSTEM 'x'>", "<!DOCTYPE html PUBLIC \"a\" 'b'>",
]  # fmt: skip
RARE = ["<template>", "</template>", "<template><i>", "<?x y?>", "<!DOCTYPE html SYSTEM 'a\"b'>"]


def assert_same(found: DomColumns, expected: DomColumns) -> None:
    for field in fields(DomColumns):
        left, right = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right, err_msg=field.name)
        else:
            assert left == right, field.name


def columns_of(text: str) -> DomColumns:
    return DomColumns.from_dom(parse_text(text))


def test_trees_of_the_html5lib_tests_are_the_same_either_way(shared: Path) -> None:
    cases = html5lib_cases(shared / "data/kg/html/html5lib_tree_construction.tar.gz")

    for text in {case["data"] for case in cases}:
        assert_same(parse_columns(text.encode()), columns_of(text))


@settings(deadline=None, max_examples=400)
@given(st.lists(st.sampled_from([*PIECES, *PIECES, *RARE]), max_size=25).map("".join))
def test_any_document_has_the_same_tree_either_way(text: str) -> None:
    assert_same(parse_columns(text.encode()), columns_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "<b>" * 400 + "x",
        "<p>&#0;" * 400,
        "<a " + " ".join(f"a{n}" for n in range(400)) + ">",
        "<body " + "b=1 ".join(f"a{n}" for n in range(400)) + "><body c=3>",
        "<font color=red size=1 face=serif>" * 3 + "<p>" * 100,
    ],
)
def test_room_is_made_where_a_document_has_more_than_usual(text: str) -> None:
    assert_same(parse_columns(text.encode()), columns_of(text))


@pytest.mark.skipif(lexbor._library() is None, reason="this build of selectolax does not show lexbor's functions")
@pytest.mark.parametrize(
    ("text", "is_read"),
    [("<p>x", True), ("<svg><a/></svg>", True), *((text, False) for text in RARE if text != "</template>")],
)
def test_the_functions_read_all_but_rare_nodes(text: str, is_read: bool) -> None:
    assert (lexbor._parse(lexbor._library(), text.encode()) is not None) == is_read


def test_a_build_that_does_not_show_the_functions_gives_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "<!DOCTYPE html><p id=a b><svg><a/></svg>x"
    monkeypatch.setattr(ctypes, "CDLL", lambda path: SimpleNamespace(lxb_html_document_create=None))
    monkeypatch.setattr(lexbor, "_library", lexbor._library.__wrapped__)

    assert lexbor._library() is None
    assert_same(parse_columns(text.encode()), columns_of(text))


@pytest.mark.parametrize("failing", ["lxb_html_document_create", "lxb_html_document_parse"])
def test_what_lexbor_cannot_take_is_left_to_selectolax(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = None if failing.endswith("create") else 1
    functions = {
        "lxb_html_document_create": lambda: 1,
        "lxb_html_document_parse": lambda document, data, size: 0,
        "lxb_html_document_destroy": lambda document: None,
        failing: lambda *arguments: result,
    }
    monkeypatch.setattr(lexbor, "_library", lambda: SimpleNamespace(**functions))

    assert_same(parse_columns(b"<p>x"), columns_of("<p>x"))


def test_joined_trees_are_one_after_another() -> None:
    texts = ["<p a=1 b>x", "", "<svg><a c=2/></svg>"]
    parts = [columns_of(text) for text in texts]

    joined = DomColumns.joined(parts)

    assert len(joined) == sum(map(len, parts))
    assert joined.names == pa.concat_arrays([part.names for part in parts])
    assert list(joined.foreign) == [len(parts[0]) + len(parts[1]) + number for number in parts[2].foreign]
    assert np.diff(joined.attribute_offsets).tolist() == [n for p in parts for n in np.diff(p.attribute_offsets)]
    assert joined.attribute_names.to_pylist() == [b"a", b"b", b"c"]
    assert joined.parents.tolist() == [parent for part in parts for parent in part.parents]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [b"<meta ", b"charset", b"CHARSET=", b"=", b"utf-8", b"UTF-8'", b'"', b"latin1", b">", b" ", b"<!--",
             b"-->", b"content='text/html; charset=", b"'", b"http-equiv=content-type ", b"&#99;", b"<title>",
             b"\xe9", b"/"]
        ),
        max_size=16,
    ).map(b"".join)
)  # fmt: skip
def test_a_document_that_tells_utf8_alone_is_known_without_its_tags(data: bytes) -> None:
    found, as_utf8 = encoding_of(data), html_to_utf8(data)

    assert as_utf8 == decode_html(data).encode("utf-8", "ignore")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html_encoding, "_tells_utf8", lambda head: False)
        assert encoding_of(data) == found


@pytest.mark.parametrize(
    ("data", "encoding", "utf8"),
    [
        (b"\xef\xbb\xbf<p>\xc3\xa9", None, b"<p>\xc3\xa9"),
        (b"<p>\xe9", None, b"<p>\xef\xbf\xbd"),
        (b"<p>\xed\xa0\x80", None, b"<p>" + 3 * b"\xef\xbf\xbd"),
        (b"<p>\xe9", "latin-1", b"<p>\xc3\xa9"),
        (b"", None, b""),
    ],
)
def test_documents_become_utf8(data: bytes, encoding: str | None, utf8: bytes) -> None:
    assert html_to_utf8(data, encoding) == utf8
