from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role
from lisdata.errors import ExportError
from lisdata.exporters.html import HTML, dom_to_bytes
from lisdata.exporters.html_text import dom_to_html
from lisdata.exporters.tree_columns import TreeColumns
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.sources.dom import parse_html
from lisdata.structure import Incidence, Instance, Occurrence, Structure

PIECES = st.sampled_from(
    [
        "<p>", "</p>", "<b>", "</b>", "<div title='a&quot;b'>", "</div>", "<ul><li>", "<td>", "<table><tr>", "</table>",
        "<svg>", "</svg>", "<desc>", "<math><mi>", "</math>", "<template>", "</template>", "<!-- c -->", "<?a b?>", "x",
        "<pre>\n\n", "</pre>", "<textarea>\n\n", "</textarea>", "<script>1<2</script>", "<style>", "</style>", "&#13;",
        "<br>", "<img a#b=1 c>", "\n", "é", "<noscript><i></i></noscript>", "<iframe><b></iframe>", "<h1>", "<button>",
        "&amp;lt;", "\u00a0", " ",
    ]
)  # fmt: skip
DOCUMENTS = st.tuples(st.sampled_from(["", "<!DOCTYPE html>"]), st.lists(PIECES, max_size=12)).map(
    lambda d: (d[0] + "".join(d[1])).encode()
)


def test_it_is_registered() -> None:
    assert load_exporter("html") is HTML


@settings(max_examples=10, deadline=None)
@given(st.lists(DOCUMENTS | st.binary(max_size=30), min_size=1, max_size=5))
def test_documents_that_were_kept_come_back_byte_for_byte(round_trip: Any, files: list[bytes]) -> None:
    found, report = round_trip("html", files, ".html")

    assert found == files
    assert report.losses == {}


@settings(max_examples=10, deadline=None)
@given(st.lists(DOCUMENTS, min_size=1, max_size=8))
def test_documents_that_were_not_kept_come_back_with_an_equal_tree_or_are_counted(
    round_trip: Any, files: list[bytes]
) -> None:
    found, report = round_trip("html", files, ".html", keep_document=False)

    different = sum(parse_html(data) != parse_html(origin) for data, origin in zip(found, files, strict=True))
    assert different == report.losses.get("documents whose tree differs", 0)
    assert report.num_records == len(files)


@pytest.mark.parametrize("keep_document", [True, False])
def test_real_documents_come_back(round_trip: Any, shared: Path, root: Path, keep_document: bool) -> None:
    paths = [*sorted((shared / "data/kg/html").glob("*.html")), root / "sample_data/html/page.html"]
    files = [path.read_bytes() for path in paths]

    found, report = round_trip("html", files, ".html", keep_document=keep_document)

    assert len(files) == 7
    assert [parse_html(data) for data in found] == [parse_html(data) for data in files]
    assert report.losses == {}
    assert (found == files) == keep_document


EXACT = {
    "doctypes keep their identifiers": b'<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://x/y\'z.dtd"><p><table>',
    "carriage returns": b"<p title='a&#13;b'>&#13;\n",
    "newlines that a parser would eat": b"<pre>\n\nx</pre><textarea>\n\ny</textarea><listing>\n\n\nz</listing>",
    "text that is not escaped": b"<script>a<b&&c</script><style>a>b</style><xmp><i></xmp><iframe><p></iframe>",
    "plaintext": b"<p>x<plaintext>a</plaintext><b>",
    "an empty plaintext": b"<div><plaintext>",
    "comments anywhere": b"<!--a--><html><!--b--><head><!--c--></head><!--d--><body>x</body><!--f--></html><!--g-->",
    "odd comments": b"<!----><!--a--!><!-x><!--<!---><p><!-- > -- ->",
    "spaces around body": b"<html> <head> <title> x </title> </head> <body> y </body> </html> ",
    "templates": b"<template><tr><td>x</td></tr><template>y</template></template><table><template><td>z</template>",
    "svg and math": b"<svg viewbox='0' xlink:href=a><path/><foreignObject><p>x</foreignObject></svg><math><mi>y<b>z",
    "odd names": b"<a\"b x\"y=1 #z=2><x<y>",
    "framesets": b"<frameset><frame src=a><noframes><p></noframes></frameset>",
    "misnested elements": b"<b><p>x</b>y</p><a>1<div>2<a>3</div>4",
    "a form of noscript": b"<head><noscript><link rel=x></noscript></head>",
    "select": b"<select><button><selectedcontent></selectedcontent></button><option>a<option selected>b</select>",
    "another encoding": "<meta charset=windows-1251><p>Привет".encode("cp1251"),
    "no-break spaces": b"<p title='&nbsp;'>&nbsp;\xc2\xa0",
}  # fmt: skip


@pytest.mark.parametrize("what", EXACT)
def test_written_text_parses_to_an_equal_tree(what: str) -> None:
    dom = parse_html(EXACT[what])

    data, is_equal = dom_to_bytes(dom)

    assert is_equal
    assert parse_html(data) == dom


@pytest.mark.parametrize(
    "data", [b"<p><table></p>", b"<a><table><a>", b"<table><plaintext>x", b"<form><div></form><form>x"]
)
def test_a_tree_that_no_text_stands_for_is_known_as_such(data: bytes) -> None:
    assert dom_to_bytes(parse_html(data))[1] is False


def test_all_but_a_few_trees_of_the_html5lib_tests_can_be_written(shared: Path) -> None:
    counts: Counter[bool] = Counter()
    with tarfile.open(shared / "data/kg/html/html5lib_tree_construction.tar.gz") as files:
        for member in files.getmembers():
            stream = files.extractfile(member)
            for case in (stream.read() if stream else b"").split(b"#data\n")[1:]:
                counts[dom_to_bytes(parse_html(case.split(b"\n#errors")[0]))[1]] += 1

    assert counts[True] >= 1000
    assert counts[False] <= 12


def test_text_is_written_as_the_standard_says() -> None:
    dom = parse_html("<!DOCTYPE html><p class='a \"b\"' hidden>1 < 2 &\u00a0c<br>".encode())

    assert dom_to_html(dom) == (
        "<!DOCTYPE html><html><head></head><body>"
        '<p class="a &quot;b&quot;" hidden="">1 &lt; 2 &amp;&nbsp;c<br></p></body></html>'
    )


def columns_of(path: Path, *contents: Content) -> TreeColumns:
    structure = Structure(
        record_id="s#0",
        kind=StructureKind.TREE,
        occurrences=tuple(Occurrence(content=c) for c in contents),
        instances=tuple(Instance(label="root") for _ in contents),
        incidences=tuple(Incidence(occurrence=n, instance=n, role=Role("root", "node")) for n in range(len(contents))),
    )
    write_structures(path, [structure])
    return TreeColumns(IncidenceDataset(path).parts[0])


def test_a_tree_of_another_kind_of_data_is_refused(tmp_path: Path) -> None:
    columns = columns_of(tmp_path / "data", Content(ContentKind.NAME, b"p"), Content(ContentKind.NUMBER, b"1"))

    with pytest.raises(ExportError, match="expected a node of an HTML document, found NUMBER None"):
        columns.dom(0)
