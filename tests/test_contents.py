from __future__ import annotations

import struct

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import (
    Content,
    ContentBuilder,
    LabelBuilder,
    Role,
    decode_text,
    encode_text,
    entity,
    key_message,
    word,
)
from lisdata.schema import CONTENTS, LABELS, ContentKind, LabelKind
from lisdata.testing import contents, names, roles

fields = st.none() | st.binary(max_size=6)


def fields_of(message: bytes) -> list[bytes | None]:
    """Read a key message back, by the published layout."""
    found: list[bytes | None] = [message[:1]]
    at = 1
    while at < len(message):
        if message[at] == 0:
            found.append(None)
            at += 1
            continue
        (length,) = struct.unpack_from("<Q", message, at + 1)
        found.append(message[at + 9 : at + 9 + length])
        at += 9 + length
    return found


@given(st.sampled_from(ContentKind), st.binary(max_size=300), fields, fields, fields)
def test_a_key_message_can_be_read_back_so_no_two_contents_share_one(
    kind: ContentKind, lexical: bytes, datatype: bytes | None, language: bytes | None, scope: bytes | None
) -> None:
    message = key_message(kind, lexical, datatype, language, scope)

    assert fields_of(message) == [bytes((kind,)), lexical, datatype, language, scope]


@given(contents())
def test_a_key_is_the_canonical_xxh3_128_of_the_message(content: Content) -> None:
    symbols = [None if s is None else s.encode() for s in (content.datatype, content.language, content.scope)]
    number = xxhash.xxh3_128_intdigest(key_message(content.kind, content.lexical, *symbols))

    assert content.key == number.to_bytes(16, "big")


@given(contents(), contents())
def test_keys_are_equal_exactly_where_contents_are(one: Content, other: Content) -> None:
    assert (one.key == other.key) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Content(ContentKind.LITERAL, b"1", None), Content(ContentKind.LITERAL, b"1", "")),
        (Content(ContentKind.LITERAL, b"a", "b"), Content(ContentKind.LITERAL, b"ab", "")),
        (Content(ContentKind.LITERAL, b"a", "x"), Content(ContentKind.LITERAL, b"a", None, "x")),
        (Content(ContentKind.LITERAL, b"a", None, "en-US"), Content(ContentKind.LITERAL, b"a", None, "en-us")),
        (Content(ContentKind.JSON_INT, b"2"), Content(ContentKind.JSON_STR, b"2")),
        (Content(ContentKind.BNODE, b"b0", scope="1"), Content(ContentKind.BNODE, b"b0", scope="2")),
        (entity("Aspirin"), word("Aspirin")),
        (word("na\u00efve"), word("nai\u0308ve")),
    ],
)
def test_contents_that_look_alike_have_different_keys(one: Content, other: Content) -> None:
    assert one.key != other.key


@given(st.text(st.characters()))
def test_any_text_comes_back_from_its_bytes_lone_surrogates_too(text: str) -> None:
    assert decode_text(encode_text(text)) == text


def test_bytes_that_are_not_text_show_as_escapes() -> None:
    assert Content(ContentKind.BYTES, b"a\xff").text == "a\\xff"


@given(roles(), roles())
def test_a_role_label_stands_for_one_relation_and_side(one: Role, other: Role) -> None:
    assert (one.label == other.label) == (one == other)


def test_a_side_with_a_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="the side of a role holds no '#', got 'a#b'"):
        Role("relation", "a#b")


@given(st.lists(contents(), max_size=12))
@settings(max_examples=50)
def test_a_builder_numbers_contents_by_first_appearance_and_keeps_every_field(added: list[Content]) -> None:
    labels = LabelBuilder()
    builder = ContentBuilder(labels)

    rows = [builder.add_content(content) for content in added]

    distinct = list(dict.fromkeys(added))
    assert rows == [distinct.index(content) for content in added]
    table, label_table = builder.to_arrow(), labels.to_arrow()
    assert table.schema == CONTENTS
    assert table["key"].to_pylist() == [content.key for content in distinct]
    assert table["lexical"].to_pylist() == [content.lexical for content in distinct]
    for name, kind in (("datatype", LabelKind.DATATYPE), ("language", LabelKind.LANGUAGE), ("scope", LabelKind.SCOPE)):
        codes = table[name].to_pylist()
        found = [None if code is None else label_table["label"][code].as_py() for code in codes]
        assert found == [getattr(content, name) for content in distinct]
        assert all(label_table["kind"][code].as_py() == kind for code in codes if code is not None)


@given(st.lists(st.tuples(st.sampled_from([k for k in LabelKind if k != LabelKind.ROLE]), names()) | roles()))
@settings(max_examples=50)
def test_labels_are_numbered_by_first_appearance_once_a_kind(added: list[tuple[LabelKind, str] | Role]) -> None:
    labels = LabelBuilder()

    codes = [labels.role(a) if isinstance(a, Role) else labels.code(*a) for a in added]

    distinct = list(dict.fromkeys((LabelKind.ROLE, a.label) if isinstance(a, Role) else a for a in added))
    keys = [(LabelKind.ROLE, a.label) if isinstance(a, Role) else a for a in added]
    assert codes == [distinct.index(key) for key in keys]
    table = labels.to_arrow()
    assert len(labels) == table.num_rows == len(distinct)
    assert list(zip(table["kind"].to_pylist(), table["label"].to_pylist(), strict=True)) == distinct


def test_nothing_added_makes_empty_tables_of_the_schemas() -> None:
    labels = LabelBuilder()

    assert ContentBuilder(labels).to_arrow().schema == CONTENTS
    assert labels.to_arrow().schema == LABELS
    assert labels.to_arrow().num_rows == 0
