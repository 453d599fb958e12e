"""Documents whose unclosed formatting elements would be made again in every block are refused before parsing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.kernels.html_tags import weigh_tags
from lisdata.sources.dom import NodeKind, parse_html
from lisdata.sources.html_depth import find_too_many_reopened, iter_tags
from lisdata.sources.html_formatting import Reopened, may_reopen_too_many, weighs_too_much

PIECES = st.sampled_from(
    """
    <div> </div> <p> </p> <p>x <ul> <li>x </ul> <b> </b> <b_id=> <i_id='>'> <i> </i> <font_a=b> </font> <nobr> </nobr>
    <a_href=1> <a_href=2> </a> <table> <td> </td> <tr> </table> <button> </button> <h1> </h1> <object> </object> <span>
    <select> </select> <svg> </svg> <desc> </desc> <!--</b>--> <script></b></script> <script> </script> x x x <caption>
    <template> </template> <title></b></title> <marquee> </marquee> <style> </style> <math> </math> <mi> </mi>
    """.split()  # noqa: SIM905
)


def estimate(text: str) -> int:
    reopened = Reopened()
    for tag in iter_tags(text):
        if tag.is_end:
            reopened.end(tag.name, is_sure=tag.is_sure)
        else:
            reopened.start(tag.name, tag.attributes)
    return reopened.total


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=5), st.lists(PIECES, min_size=1, max_size=4))
def test_no_tree_has_many_more_elements_than_its_tags_tell(head: list[str], block: list[str]) -> None:
    heads = ["".join(head).replace("id=", f"id={number}") for number in range(100)]
    text = "".join([*heads, *block * 100]).replace("_", " ")

    num_elements = parse_html(text.encode()).kinds.count(NodeKind.ELEMENT)

    assert num_elements <= 20 + 4 * text.count("<") + estimate(text)


def bomb(size: int, tag: str = "<b id={}>", block: str = "<div>x</div>") -> str:
    return "<div>" + "".join(tag.format(i) for i in range(size)) + "</div>" + block * size


@pytest.mark.parametrize(
    "text",
    [
        bomb(2000),
        bomb(2000, "<B Id='>{}'>"),
        bomb(2000, '<font a=x" b=">{}">'),
        bomb(2000, "<table><b id={}><td></b></td>"),
        bomb(2000, "<i id={}><object></i></object>"),
        bomb(2000, "<i id={}><!--</i>-->"),
        bomb(2000, "<i id={}><script></i></script>"),
        bomb(2000, block="<p>x"),
        "<a id='" + "x" * 100_000 + "'>" + "<button>x" * 2000,
        "<b id='" + "x" * 100_000 + "'>" + "<div></div>" * 2000,
        "<b id<='" + "x" * 100_000 + "'>" + "<div></div>" * 2000,
    ],
)
def test_no_markup_hides_what_is_made_again(text: str) -> None:
    assert find_too_many_reopened(text) is not None
    assert weighs_too_much(weigh_tags(text.encode()), text.count("<"), text)


@pytest.mark.parametrize(
    "text",
    [
        "<p><b id={}>x</b></p>" * 20_000,
        "".join(f"<p><b id={i}>x<i>y</i></b></p>" for i in range(20_000)),
        "".join(f"<p><a name={i}>x</p>" for i in range(20_000)),
        "<p><font color=red>x</p>" * 20_000,
        "<table>" + "".join(f"<tr><td><b id={i}>x</b><td>y" for i in range(20_000)) + "</table>",
    ],
)
def test_what_is_closed_or_of_few_kinds_is_let_through(text: str) -> None:
    assert find_too_many_reopened(text) is None


def test_few_kinds_are_told_without_a_look_at_the_tags() -> None:
    assert not may_reopen_too_many("<p><a href=x><b class='c'>x" * 20_000)


def test_usual_documents_are_told_by_what_their_tags_weigh() -> None:
    text = "<p><a href=x>x</a><b>y</b><i class='c'>z</i></p>" * 200

    assert not weighs_too_much(weigh_tags(text.encode()), text.count("<"), text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_place_is_named_and_the_document_can_be_put_aside(encoding: str, tmp_path: Path) -> None:
    data = bomb(2000, block="<div>x</div>\n").encode(encoding)
    (tmp_path / "a.html").write_bytes(data)

    with pytest.raises(BadRecordError, match=r"a\.html:\d+:\d+: expected an end tag for each <b>, <font> and the like"):
        convert("html", tmp_path / "a.html", tmp_path / "no")
    manifest = convert("html", tmp_path / "a.html", tmp_path / "data", on_error="quarantine")

    assert manifest["inputs"][0]["records"]["rejected"] == 1
    assert (tmp_path / "data/rejects/unit-00000.bin").read_bytes() == data
