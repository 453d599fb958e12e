from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from lisdata.errors import ExportError
from lisdata.exporters.tree_columns import ShownContent, StoredTree
from lisdata.exporters.xml import XML, xml_of, xml_to_bytes
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind
from lisdata.sources.xml_text import decode_xml
from lisdata.sources.xml_tree import XmlTree, parse_xml

CHARACTERS = st.text(
    st.characters(codec="utf-8", exclude_characters="\ufffe\uffff", exclude_categories=("Cc",))
    | st.sampled_from("\t\n\r\x85\u2028<>&'\"]"),
    max_size=6,
)
NAMES = st.sampled_from(["a", "b", "é", "p:a", "q:b", "x.y-z", "_"])
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["x", "y", "p:x", "q:y", "xml:space", "xml:lang", "xmlns", "xmlns:p"]), CHARACTERS, max_size=3
)
INSIDE = st.one_of(
    CHARACTERS.map(lambda text: escape(text, {"\r": "&#13;"})),
    CHARACTERS.filter(lambda text: "]]>" not in text).map(lambda text: f"<![CDATA[{text}]]>"),
    st.sampled_from(["<!-- c -->", "<?p q?>", "<?p?>", "&#x1F600;", "&#13;&#10;", "]]&gt;", "\r\n", "<![CDATA[]]>"]),
)


def element(name: str, attributes: dict[str, str], inside: list[str]) -> str:
    written = dict(attributes)
    for prefix in ("xmlns", "xmlns:p"):
        if prefix in written:
            written[prefix] = f"urn:u{len(written[prefix])}"
    quoted = "".join(f" {n}={quoteattr(v, {chr(13): '&#13;'})}" for n, v in written.items())
    return f"<{name}{quoted}>{''.join(inside)}</{name}>" if inside else f"<{name}{quoted} />"


ELEMENTS = st.recursive(INSIDE, lambda e: st.builds(element, NAMES, ATTRIBUTES, st.lists(e, max_size=4)), max_leaves=12)
DOCUMENTS = st.builds(
    lambda head, body: f"{head}<root xmlns:p='urn:u' xmlns:q='urn:v'>{body}</root>\n<!-- end -->",
    st.sampled_from(
        ["", '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', "<!DOCTYPE root [<!ELEMENT b ANY>]>"]
    ),
    st.lists(ELEMENTS, max_size=4).map("".join),
)


def canonical(data: bytes) -> bytes:
    """Return the canonical form, by another parser than ours."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, strip_cdata=False)
    return bytes(etree.tostring(etree.fromstring(data, parser).getroottree(), method="c14n"))


def tree_of(data: bytes) -> XmlTree:
    return parse_xml(decode_xml(data).data)


def test_it_is_registered() -> None:
    assert load_exporter("xml") is XML


@settings(max_examples=10, deadline=None)
@given(st.lists(DOCUMENTS, min_size=1, max_size=8))
def test_documents_that_were_kept_come_back_byte_for_byte(round_trip: Any, documents: list[str]) -> None:
    files = [document.encode() for document in documents]

    found, report = round_trip("xml", files, ".xml")

    assert found == files
    assert report.losses == {}


@settings(max_examples=20, deadline=None)
@given(st.lists(DOCUMENTS, min_size=1, max_size=12))
def test_documents_that_were_not_kept_come_back_canonically_equal(round_trip: Any, documents: list[str]) -> None:
    files = [document.encode() for document in documents]

    found, report = round_trip("xml", files, ".xml", keep_document=False)

    assert [canonical(data) for data in found] == [canonical(data) for data in files]
    assert [tree_of(data) for data in found] == [tree_of(data) for data in files]
    assert report.losses == {}
    assert report.num_records == len(files)


@settings(max_examples=10, deadline=None)
@given(st.lists(DOCUMENTS.map(lambda d: d.replace("</root>", "<a/></root>")), min_size=1, max_size=8))
def test_records_and_the_markup_around_them_come_back(round_trip: Any, documents: list[str]) -> None:
    files = [document.encode() for document in documents]

    kept, _ = round_trip("xml", files, ".xml", record_tag="a")
    found, report = round_trip("xml", files, ".xml", record_tag="a", keep_document=False)

    assert kept == files
    assert [canonical(data) for data in found] == [canonical(data) for data in files]
    assert report.losses == {}


@pytest.mark.parametrize("options", [{}, {"keep_document": False}, {"record_tag": "role", "keep_document": False}])
def test_real_documents_come_back(round_trip: Any, shared: Path, root: Path, options: dict[str, Any]) -> None:
    paths = sorted((shared / "data/kg/xml").glob("*.xml"))
    if "record_tag" not in options:
        paths += [*sorted((shared / "data/kg").glob("rdf_real/**/*.xml")), *(root / "sample_data/xml").iterdir()]
    files = [path.read_bytes() for path in paths]

    found, report = round_trip("xml", files, ".xml", **options)

    assert len(files) >= 4
    assert [canonical(data) for data in found] == [canonical(data) for data in files]
    assert report.losses == {}
    assert (found == files) == (options.get("keep_document", True))


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16", "Shift_JIS", "US-ASCII", "UTF-8"])
def test_a_document_is_written_in_the_encoding_that_it_declares(round_trip: Any, encoding: str) -> None:
    text = {"ISO-8859-1": "é", "US-ASCII": "e"}.get(encoding, "é" if encoding.startswith("UTF") else "あ")
    data = f'<?xml version="1.0" encoding="{encoding}"?><a b="{text}&#x20AC;">{text}&#x1F600;</a>'.encode(encoding)

    (found,), report = round_trip("xml", [data], ".xml", keep_document=False)

    assert canonical(found) == canonical(data)
    assert tree_of(found) == tree_of(data)
    assert text.encode(encoding)[-1:] in found
    assert report.losses == {}


def test_records_that_were_rejected_are_a_loss(round_trip: Any) -> None:
    found, report = round_trip("xml", [b"<a><r/><r></a>"], ".xml", record_tag="r", on_error="quarantine")

    assert found == [b"<a><r/>"]
    assert report.losses == {"rejected records": 1}


def test_a_document_of_100000_levels_comes_back(round_trip: Any) -> None:
    data = b"<a>" * 100_000 + b"</a>" * 100_000

    (found,), report = round_trip("xml", [data], ".xml", keep_document=False)

    assert found == data + b"\n"
    assert report.losses == {}


def test_a_tree_that_no_text_stands_for_is_known_as_such() -> None:
    tree = XmlTree([0, 2], ["a", "x]]>y"], [-1, 0])

    assert xml_to_bytes(tree)[1] is False
    assert xml_to_bytes(XmlTree([0, 1, 1], ["a", "x", "y"], [-1, 0, 0]))[1] is False


def test_a_tree_of_another_kind_of_data_is_refused() -> None:
    stored = StoredTree(nodes=[ShownContent(ContentKind.NUMBER, b"1", None)], parents=[-1], keys={}, attributes={})

    with pytest.raises(ExportError, match="expected a node of an XML document, found NUMBER None"):
        xml_of(stored)
