from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import TreeRecords
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources import xml_stream
from lisdata.sources.xml import XML, XmlOptions


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def run(data: bytes, **options: Any) -> tuple[list[TreeRecords], list[BadRecordError]]:
        (tmp_path / "a.xml").write_bytes(data)
        piece = InputSlice(file=find_inputs([str(tmp_path / "a.xml")], suffixes=XML.suffixes)[0])
        errors: list[BadRecordError] = []
        return list(XML.read(piece, XmlOptions(**options), errors.append)), errors

    return run


def contents(records: TreeRecords, rows: Any) -> list[tuple[str, str, str | None]]:
    """Kind, text and datatype of content rows."""
    labels = records.labels["label"].to_pylist()
    table = records.contents.to_pylist()
    shown = [(table[r], table[r]["datatype"]) for r in rows.tolist()]
    return [
        (ContentKind(row["kind"]).name, row["lexical"].decode(), None if code is None else labels[code])
        for row, code in shown
    ]


def attributes(records: TreeRecords) -> list[tuple[str, str]]:
    labels = records.labels["label"].to_pylist()
    texts = [text for _, text, _ in contents(records, records.attribute_content)]
    return list(zip([labels[code] for code in records.attribute_role], texts, strict=True))


def test_it_is_registered() -> None:
    assert load_source("xml") is XML


def test_a_document_is_a_tree_of_typed_nodes(read: Any) -> None:
    head = b"""<?xml version="1.0" encoding='UTF-8'?><!--c--><!DOCTYPE a [<!ELEMENT a ANY>]>"""
    data = head + b"<a>x<![CDATA[<y>]]>&amp;<?p q r?><b/></a>"

    ((records,), errors) = read(data)

    assert errors == []
    assert records.node_parent.tolist() == [-1, -1, -1, -1, 3, 3, 3, 3, 3]
    assert contents(records, records.node_content) == [
        ("TEXT", "version=\"1.0\" encoding='UTF-8'", "declaration"), ("TEXT", "c", "comment"),
        ("TEXT", "a [<!ELEMENT a ANY>]", "doctype"), ("NAME", "a", None), ("TEXT", "x", None),
        ("TEXT", "<y>", "cdata"), ("TEXT", "&", None), ("TEXT", "p q r", "instruction"), ("NAME", "b", None),
    ]  # fmt: skip
    assert records.documents.to_pylist() == [data]
    assert read(data, keep_document=False)[0][0].documents.to_pylist() == [None]


def test_names_are_local_with_the_namespace_beside_them_and_prefixes_apart(read: Any) -> None:
    ((records,), _) = read(b'<a xmlns="u"><p:b xmlns:p="u"/><c xmlns=""/><d xmlns="v"><e/></d><f/></a>')

    names = contents(records, records.node_content)
    assert names == [("NAME", n, s) for n, s in zip("abcdef", ["u", "u", None, "v", "v", "u"], strict=True)]
    assert attributes(records) == [
        ("node#attr:xmlns", "u"), ("node#prefix", "p"), ("node#attr:xmlns:p", "u"), ("node#attr:xmlns", ""),
        ("node#attr:xmlns", "v"),
    ]  # fmt: skip


def test_attributes_are_roles_as_written_and_in_order(read: Any) -> None:
    ((records,), _) = read(b"<a z='1' xml:space=\"preserve\" xmlns:l='u' l:a='&lt;&#10;x\ny' a=''/>")

    assert attributes(records) == [
        ("node#attr:z", "1"), ("node#attr:xml:space", "preserve"), ("node#attr:xmlns:l", "u"),
        ("node#attr:l:a", "<\nx y"), ("node#attr:a", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("latin-1", "ISO-8859-1"),
        ("utf-16", "UTF-16"),
        ("shift_jis", "Shift_JIS"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32", "UTF-32"),
    ],
)
def test_documents_are_read_in_their_encoding(read: Any, encoding: str, declared: str) -> None:
    text = "é" if encoding == "latin-1" else "あ"
    data = f'<?xml version="1.0" encoding="{declared}"?><a>{text}</a>'.encode(encoding)

    ((records,), errors) = read(data)

    assert errors == []
    assert contents(records, records.node_content)[-1] == ("TEXT", text, None)


LAUGHS = b"".join(b'<!ENTITY l%d "%b">' % (n + 1, b"&l%d;" % n * 10) for n in range(9))
FAULTS = {
    "billion laughs": (
        b'<!DOCTYPE a [<!ENTITY l0 "ha">' + LAUGHS + b"]><a>&l9;</a>",
        "1:26: expected a document without",
    ),
    "an external entity": (
        b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
        "entity e, an external one",
    ),
    "a parameter entity": (b'<!DOCTYPE a [<!ENTITY % e "x"> %e;]><a/>', "one of the parameter entity e"),
    "an unparsed entity": (
        b'<!DOCTYPE a [<!NOTATION n SYSTEM "n"><!ENTITY e SYSTEM "x" NDATA n>]><a/>',
        "entity e, an external",
    ),
    "an entity behind an unknown parameter entity": (
        b'<!DOCTYPE a [%x;<!ENTITY e "v">]><a b="&e;"/>',
        "without parameter",
    ),
    "an entity of an outer subset in text": (b'<!DOCTYPE a SYSTEM "x"><a>\n&e;</a>', "2:1: expected one of &amp;"),
    "an entity of an outer subset in an attribute": (
        b'<!DOCTYPE a SYSTEM "x"><a b="&e;"/>',
        "found &e;, which the document",
    ),
    "an undeclared entity": (
        b"<a>&nbsp;</a>",
        "1:4: expected one of &amp; &lt; &gt; &apos; &quot;, found '&nbsp;</a>'",
    ),
    "nothing": (b"", "1:1: expected a root element, found the end of the document"),
    "text alone": (b"x", "1:1: expected well-formed XML, found 'x'"),
    "an open element": (b"<a>\n<b>", "2:4: expected an end tag for each open element, found the end of the document"),
    "another end tag": (b"<a></b>", "expected the end tag of the open element, found 'b>'"),
    "two roots": (
        b"<a/>\n<b/>",
        "2:1: expected nothing but comments and instructions after the root element, found '<b/>'",
    ),
    "an attribute without quotes": (b"<a b=c/>", "1:6: expected well-formed XML"),
    "an attribute twice": (b"<a b='1' b='2'/>", "1:10: expected each attribute of an element once"),
    "an attribute twice by namespace": (b"<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>", "once, found b of u again"),
    "an unbound prefix": (b"<a>\n<p:b/></a>", "2:1: expected a declaration of the prefix p, found none for p:b"),
    "an unbound prefix of an attribute": (b"<a p:b=''/>", "expected a declaration of the prefix p, found none for p:b"),
    "a prefix out of its scope": (b"<a><b xmlns:p='u'/><p:c/></a>", "1:20: expected a declaration of the prefix p"),
    "two colons": (b"<a:b:c/>", "expected a name with at most one colon, between a prefix and a name, found a:b:c"),
    "a colon before a digit": (b"<p:1 xmlns:p='u'/>", "expected a name with at most one colon"),
    "a prefix for no namespace": (b"<a xmlns:p=''/>", "expected a namespace for the prefix p, found an empty one"),
    "another namespace for xml": (b"<a xmlns:xml='u'/>", "expected prefixes xml and xmlns with their own namespaces"),
    "an instruction with a colon": (b"<a><?p:q r?></a>", "expected the target of an instruction without a colon"),
    "a bare ampersand": (b"<a>&</a>", "1:5: expected well-formed XML"),
    "a forbidden character": (b"<a>\x01</a>", "1:4: expected well-formed XML"),
    "a reference to no character": (b"<a>&#0;</a>", "1:4: expected well-formed XML"),
    "a mark of CDATA in text": (b"<a>]]></a>", "expected well-formed XML"),
    "two hyphens in a comment": (b"<a><!-- -- --></a>", "expected well-formed XML"),
    "no UTF-8": (b"<a>\n\xe9</a>", "2:1: expected UTF-8, found byte 0xe9"),
    "an unknown encoding": (
        b"<?xml version='1.0' encoding='nope'?><a/>",
        "1:31: expected a known encoding, found nope",
    ),
    "an encoding that is another": (
        b"<?xml version='1.0' encoding='utf-16'?><a/>",
        "found utf-16, but units of one byte",
    ),
    "UTF-16 that is cut": ("<a/>".encode("utf-16") + b"\0", "expected UTF-16-LE, found byte 0x00"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_what_is_no_safe_xml_is_refused_with_its_place(read: Any, what: str) -> None:
    data, message = FAULTS[what]

    found, (error,) = read(data)

    assert found == []
    assert message in str(error)
    assert str(error).startswith("a.xml:")
    assert (error.begin, error.end) == (0, len(data))


def test_places_are_those_of_the_file_in_other_encodings(read: Any) -> None:
    _, (error,) = read('<?xml version="1.0" encoding="latin-1"?><a>éé</b>'.encode("latin-1"))

    assert error.place.column == 48


def test_references_that_only_look_like_entities_are_left_alone(read: Any) -> None:
    data = b'<!DOCTYPE a SYSTEM "x"><a b="&amp;e;" c="&#65;"><!-- &e; --><![CDATA[&e;]]><b d="x"/></a>'

    ((records,), errors) = read(data)

    assert errors == []
    assert ("node#attr:b", "&e;") in attributes(records)


def test_a_document_above_the_limit_is_refused(read: Any) -> None:
    found, (error,) = read(b"<a>12345</a>", max_document_bytes=8)

    assert found == []
    assert "expected a document of at most 8 bytes (max_document_bytes), found 12 bytes" in str(error)


@pytest.mark.parametrize("options", [{"max_document_bytes": 0}, {"max_document_bytes": 1 << 32}, {"record_tag": ""}])
def test_options_that_cannot_be_are_wrong_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        XmlOptions(**options)


def test_a_document_of_100000_levels_is_a_tree(read: Any) -> None:
    ((records,), errors) = read(b"<a>" * 100_000 + b"</a>" * 100_000)

    assert errors == []
    assert records.node_parent.tolist() == list(range(-1, 99_999))


def test_a_document_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.xml")], suffixes=XML.suffixes)[0])

    assert not XML.splits
    with pytest.raises(ValueError, match="read from its begin"):
        XML.find_cut(piece, 1, XmlOptions())


# -- piece by piece --------------------------------------------------------------------------------------------------

RECORDS = (
    b'<?xml version="1.0"?>\n<a xmlns="u" n="1">\n <r i="1"><r/>x</r>\n <s/><r/><p:r xmlns:p="v"/><r ></r >\n</a>\n'
)


def test_each_outermost_record_is_a_tree_and_the_markup_between_stays(read: Any) -> None:
    ((records,), errors) = read(RECORDS, record_tag="r")

    assert errors == []
    head = '<?xml version="1.0"?>\n<a xmlns="u" n="1">'
    assert records.documents.to_pylist() == [
        head.encode(), b'<r i="1"><r/>x</r>', b"\n <s/>", b"<r/>", b'<p:r xmlns:p="v"/>', b"<r ></r >", b"\n</a>\n"
    ]  # fmt: skip
    assert records.node_offsets.tolist() == [0, 1, 4, 5, 6, 7, 8, 9]
    assert records.node_parent.tolist() == [-1, -1, 0, 0, -1, -1, -1, -1, -1]
    assert contents(records, records.node_content) == [
        ("TEXT", head, "markup"), ("NAME", "r", "u"), ("NAME", "r", "u"), ("TEXT", "x", None),
        ("TEXT", "\n <s/>", "markup"), ("NAME", "r", "u"), ("TEXT", '<p:r xmlns:p="v"/>', "markup"),
        ("NAME", "r", "u"), ("TEXT", "\n</a>\n", "markup"),
    ]  # fmt: skip
    assert attributes(records) == [("node#before", "\n "), ("node#attr:i", "1")]
    bounds = zip(records.begin.tolist(), records.end.tolist(), strict=True)
    assert [RECORDS[begin:end] for begin, end in bounds] == records.documents.to_pylist()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_it_does_not_matter_how_a_document_is_cut_on_the_way(
    read: Any, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    ((expected,), _) = read(RECORDS, record_tag="r")
    monkeypatch.setattr(xml_stream, "_CHUNK_BYTES", size)
    monkeypatch.setattr(xml_stream, "_BATCH_BYTES", 1)

    found, errors = read(RECORDS, record_tag="r")

    assert errors == []
    assert [d for r in found for d in r.documents.to_pylist()] == expected.documents.to_pylist()
    assert [a for r in found for a in attributes(r)] == attributes(expected)


def test_records_before_a_fault_are_kept_and_the_rest_is_one_bad_record(read: Any) -> None:
    data = b"<a>\n<r>1</r>\n<r>2</r>\n<r>3</s>\n<r>4</r></a>"

    ((records,), (error,)) = read(data, record_tag="r")

    assert records.documents.to_pylist() == [b"<a>", b"<r>1</r>", b"<r>2</r>"]
    assert str(error).startswith("a.xml:4:7: expected the end tag of the open element")
    assert (error.begin, error.end) == (21, len(data))


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"<a><b/></a>", {}, "expected an element <r>, found none"),
        (b"", {}, "expected a root element"),
        ("<r/>".encode("utf-16"), {}, "expected a document in UTF-8, to be read piece by piece, found UTF-16-LE"),
        (b'<!DOCTYPE a [<!ENTITY e "x">]><a><r>&e;</r></a>', {}, "without declarations of entities"),
        (
            b"<a>" + b"x" * 50 + b"<r/></a>",
            {"max_document_bytes": 40},
            "expected a <r>, and what stands before it, of at",
        ),
    ],
)
def test_a_document_without_good_records_is_refused(
    read: Any, monkeypatch: pytest.MonkeyPatch, data: bytes, options: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(xml_stream, "_CHUNK_BYTES", 16)

    found, (error,) = read(data, record_tag="r", **options)

    assert found == []
    assert message in str(error)
    assert (error.begin, error.end) == (0, len(data))


def test_attributes_that_the_document_type_adds_are_bounded(read: Any) -> None:
    few = b'<!DOCTYPE a [<!ATTLIST b c CDATA "' + b"x" * 2000 + b'">]><a>' + b"<b/>" * 100 + b"</a>"
    many = b'<!DOCTYPE a [<!ATTLIST b c CDATA "' + b"x" * 200_000 + b'">]><a>\n' + b"<b/>" * 20_000 + b"</a>"

    ((records,), no_errors) = read(few)
    found, (error,) = read(many)
    piecewise, (streamed,) = read(many, record_tag="b")

    assert no_errors == []
    assert attributes(records) == [("node#attr:c", "x" * 2000)] * 100
    assert found == []
    assert "a.xml:2:" in str(error)
    for refused in (error, streamed):
        assert "bytes of default attributes, or as many as the document has, found those of one more" in str(refused)
    assert sum(batch.num_records for batch in piecewise) < 100
