from __future__ import annotations

from pathlib import Path

import pytest
from html5lib_trees import count_trees, is_known_deviation, read_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from lisdata.sources.dom import Dom, NodeKind, parse_html


def test_trees_are_those_of_the_html5lib_tests(shared: Path) -> None:
    archive = shared / "data/kg/html/html5lib_tree_construction.tar.gz"

    different = [case for case, is_equal in read_cases(archive) if not is_equal]

    assert [case["data"] for case in different if not is_known_deviation(case)] == []
    counts = count_trees(archive)
    assert counts["document equal"] >= 824
    assert counts["document different"] <= 15
    assert counts["fragment equal"] >= 109
    assert sum(counts.values()) == len(read_cases(archive))


def names(data: bytes, encoding: str | None = None) -> list[str]:
    return parse_html(data, encoding).names


def test_missing_elements_are_there_as_html5_says() -> None:
    dom = parse_html(b"<p>x<li>y")

    assert dom.names == ["html", "head", "body", "p", "x", "li", "y"]
    assert dom.parents == [-1, 0, 0, 2, 3, 2, 5]
    assert parse_html(b"").names == ["html", "head", "body"]


def test_what_selectolax_hides_is_there() -> None:
    dom = parse_html(
        b'<!DOCTYPE html PUBLIC \'a"b\' "c"><!--  x\n -->'
        b"<template><tr><td>y<template><i></i></template></td></tr></template>"
        b"<svg viewbox=1><foreignobject><p a></p></foreignobject></svg><?go on?>"
    )

    shown = list(zip((NodeKind(k).name for k in dom.kinds), dom.names, strict=True))
    assert shown[:2] == [("DOCTYPE", 'html PUBLIC \'a"b\' "c"'), ("COMMENT", "  x\n ")]
    assert dom.names[4:10] == ["template", "tr", "td", "y", "template", "i"]
    assert [dom.names[dom.parents[n]] for n in range(5, 10)] == ["template", "tr", "td", "td", "template"]
    assert {dom.names[n]: space for n, space in dom.foreign.items()} == {"svg": "svg", "foreignObject": "svg"}
    assert list(dom.attributes.values()) == [[("viewBox", "1")], [("a", "")]]
    assert shown[-1] == ("INSTRUCTION", "go on")


@pytest.mark.parametrize(
    ("markup", "spaces"),
    [
        ("<math><mi><svg><math></math></svg></mi></math>", ["math", "math", "svg", "svg"]),
        ("<math><mi><mglyph></mglyph><b></b></mi></math>", ["math", "math", "math", None]),
        ("<math><annotation-xml><svg></svg><mo></mo></annotation-xml></math>", ["math", "math", "svg", "math"]),
        ("<math><annotation-xml encoding='Text/HTML'><b></b></annotation-xml></math>", ["math", "math", None]),
        ("<svg><desc><svg></svg><p></p></desc></svg>", ["svg", "svg", "svg", None]),
        ("<svg><a><title></title></a></svg><a></a>", ["svg", "svg", "svg", None]),
    ],
)
def test_namespaces_follow_from_names_and_parents(markup: str, spaces: list[str | None]) -> None:
    dom = parse_html(f"<!DOCTYPE html><body>{markup}".encode())

    assert [dom.foreign.get(n) for n in range(4, len(dom))] == spaces


def test_attributes_keep_their_order_and_exact_values() -> None:
    dom = parse_html(b"<p z=1 A='&amp; x' a=dropped b c=\"\" xlink:href=u #x=2 d&e='1\n2'>")

    assert dom.attributes[3] == [
        ("z", "1"), ("a", "& x"), ("b", ""), ("c", ""), ("xlink:href", "u"), ("#x", "2"), ("d&e", "1\n2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        ("é€".encode(), None, "é€"),
        (b"<meta charset=ascii>\x80\x81", None, "€\x81"),
        ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>～①".encode("cp932"), None, "～①"),
        (b"<!-- <meta charset=latin1> --><meta charset='utf-16le'>\xc3\xa9", None, "é"),
        (b"<meta charset=rot13><meta charset=utf-7><meta charset=koi8-r>\xc1", None, "а"),
        (b"<meta charset><meta content='charset=latin1'>\xc3\xa9", None, "é"),
        (b" " * 1020 + b"<meta charset=latin1>\xc3\xa9", None, "é"),
        ("<meta charset=latin1>é€".encode("cp1252"), None, "é€"),
        ("<meta charset=windows-1251>Привет".encode("cp1251"), None, "Привет"),
        (b"\xef\xbb\xbf" + "<meta charset=latin1>é".encode(), None, "é"),
        (b"\xff\xfe" + "é€".encode("utf-16-le"), None, "é€"),
        (b"\xfe\xff" + "é€".encode("utf-16-be"), None, "é€"),
        ("é".encode("latin-1"), "latin-1", "é"),
        (b"a\xe9b", None, "a\ufffdb"),
        (b"<meta charset=nope>\xc3\xa9", None, "é"),
    ],
)
def test_bytes_are_decoded_as_html5_says(data: bytes, encoding: str | None, text: str) -> None:
    assert names(data, encoding)[-1] == text


def test_every_byte_sequence_has_a_tree_whose_bad_bytes_are_replaced() -> None:
    assert names(b"<p t\xff='\xfe'>\xff<!--\xfe-->")[3:] == ["p", "\ufffd", "\ufffd"]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [b"<p>", b"</p>", b"<b>", b"</b>", b"<table>", b"<td>", b"<svg>", b"<math>", b"<mi>", b"<template>", b"x",
             b"</template>", b"<desc>", b"</svg>", b"<a href=x>", b"<!--c-->", b"<!DOCTYPE html>", b" ", b"<select>",
             b"<form>", b"&lt;", b"\xff", b"<script>", b"</script>", b"<pre>\n\n", b"<?x y?>", b"<plaintext>"]
        ),
        max_size=14,
    ).map(b"".join)
)  # fmt: skip
def test_every_node_is_found_once_in_document_order(data: bytes) -> None:
    dom = parse_html(data)

    assert len(dom.kinds) == len(dom.names) == len(dom.parents) == len(dom)
    assert all(parent < number for number, parent in enumerate(dom.parents))
    assert all(dom.kinds[parent] == NodeKind.ELEMENT for parent in dom.parents if parent >= 0)
    open_elements: list[int] = []
    for number, parent in enumerate(dom.parents):
        while open_elements and open_elements[-1] != parent:
            open_elements.pop()
        assert parent < 0 or open_elements
        open_elements.append(number)
    elements = LexborHTMLParser(data.decode(errors="replace")).css("*")
    in_templates = sum(_is_in_template(dom, n) for n, kind in enumerate(dom.kinds) if kind == NodeKind.ELEMENT)
    assert dom.kinds.count(NodeKind.ELEMENT) - in_templates == len(elements)


def _is_in_template(dom: Dom, number: int) -> bool:
    while (number := dom.parents[number]) >= 0:
        if dom.names[number] == "template" and number not in dom.foreign:
            return True
    return False
