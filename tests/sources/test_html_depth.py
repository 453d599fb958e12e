"""Documents nested too deep are refused by their tags, before the parser would take minutes for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.sources.dom import Dom, NodeKind, parse_html
from lisdata.sources.html_depth import find_too_deep

PIECES = st.sampled_from(
    """
    <div> </div> <span> </span> <p> </p> <ul> <li> </ul> <b> <b_id='1'> </b> <table> <td> </table> <br> <img> </x> text
    <a_href='</div>'> <a_href=b'> </a> <button> <svg> </svg> <g/> <g_a=b/> <g> </g> <math> <h1> </h2> <!--</div>-->
    <!--> <!x> <?x> </> <dd> <object> <DIV_/> </DIV_x> < &lt; <em_a='x'b> " ' <!---> --> <script></div></script>
    """.split()  # noqa: SIM905
)
ENDED = {
    "html",
    "head",
    "body",
    "p",
    "li",
    "dd",
    "dt",
    "tr",
    "td",
    "th",
    "thead",
    "tbody",
    "tfoot",
    "colgroup",
    "option",
}


def depth_of(dom: Dom) -> int:
    """Return how many elements that need an end are open at once, those that every document has left out."""
    depths: list[int] = []
    for kind, name, parent, number in zip(dom.kinds, dom.names, dom.parents, range(len(dom)), strict=True):
        above = depths[parent] if parent >= 0 else 0
        counts = kind == NodeKind.ELEMENT and (number in dom.foreign or name not in ENDED)
        depths.append(above + counts)
    return max(depths, default=0)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25))
def test_no_tree_is_twice_as_deep_as_its_tags_tell(pieces: list[str]) -> None:
    text = "".join(pieces).replace("_", " ")

    deepest = depth_of(parse_html(text.encode()))  # <b> and the like are open again in what follows

    assert deepest < 4 or find_too_deep(text, deepest // 2 - 1) is not None


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25))
def test_elements_that_end_by_themselves_hide_no_depth(pieces: list[str]) -> None:
    text = "".join(pieces).replace("_", " ")

    dom = parse_html(text.encode())

    depths: list[int] = []
    for parent in dom.parents:
        depths.append(1 + depths[parent] if parent >= 0 else 0)
    # <tbody> and <tr> may be left out around <td>, <html> and <body> around all
    deepest = max(depths, default=0) - 3
    assert deepest < 6 or find_too_deep(text, deepest // 3 - 1) is not None


@pytest.mark.parametrize("text", ["<dl><dd>" * 50, "<select>" + "<option><div>" * 50, "<table><tbody><tr><td>" * 25])
def test_elements_that_end_by_themselves_count_where_they_are_nested(text: str) -> None:
    assert find_too_deep(text, 98) is not None


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.just(""), lambda inner: st.lists(inner, max_size=4).map(lambda i: f"<div>{''.join(i)}</div>")))
def test_well_nested_elements_are_counted_exactly(text: str) -> None:
    depth = depth_of(parse_html(text.encode()))

    assert find_too_deep(text, depth) is None
    assert depth == 0 or find_too_deep(text, depth - 1) is not None


@pytest.mark.parametrize(
    "text",
    [
        "<div><p>a<br><img src=x></div>" * 50,
        "<ul>" + "<li>x" * 50 + "</ul>",
        "<table>" + "<tr><td>a<td>b" * 50 + "</table>",
        "<svg>" + "<path d='a>b'/>" * 50 + "</svg>",
        "<!--" + "<div>" * 50 + "-->",
        "<a title='" + "<div>" * 50 + "'>x</a>",
        "<DIV></div>" * 50,
        "a < b <1> </> " * 50,
    ],
)
def test_what_is_closed_or_closes_itself_is_not_open(text: str) -> None:
    assert find_too_deep(text, 3) is None


@pytest.mark.parametrize(
    "text",
    [
        "<div></x>" * 50,
        '<div a="</div>">' * 50,
        "<div a=b'></span>" * 50 + "'",
        "<div><table><td></div></table>" * 50,
        "<div><!--</div>-->" * 50,
        "<!--><div>" * 50 + "-->",
        "<script><!--</script>" + "<div>" * 50 + "-->",
        "<svg><g a=b/>" + "<g a=b/>" * 50,
        "<svg>" + "<td>" * 50,
        "<li><ul>" * 50,
    ],
)
def test_no_markup_hides_a_depth(text: str) -> None:
    assert find_too_deep(text, 40) is not None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_tag_that_goes_too_deep_is_named(encoding: str, tmp_path: Path) -> None:
    text = "<p>é\n" + "<div>" * 5 + "\n<div></div><div><b>"
    (tmp_path / "a.html").write_bytes(text.encode(encoding))

    with pytest.raises(BadRecordError) as caught:
        convert("html", tmp_path / "a.html", tmp_path / "no", options={"max_depth": 7})
    convert("html", tmp_path / "a.html", tmp_path / "data", options={"max_depth": 8})

    assert str(caught.value) == "a.html:3:17: expected at most 7 elements open at once (--max-depth), found one more"


def test_a_document_that_is_too_deep_can_be_put_aside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/deep.html").write_bytes(b"<div>" * 100_000)
    (tmp_path / "in/flat.html").write_bytes(b"<div>a</div>" * 30_000)

    manifest = convert("html", tmp_path / "in", tmp_path / "data", on_error="quarantine")

    assert [entry["records"]["rejected"] for entry in manifest["inputs"]] == [1, 0]
    assert (tmp_path / "data/rejects/unit-00000.bin").read_bytes() == b"<div>" * 100_000


def test_a_depth_of_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"a")

    with pytest.raises(ValueError, match="a depth of at least 1"):
        convert("html", tmp_path / "a.html", tmp_path / "data", options={"max_depth": 0})
