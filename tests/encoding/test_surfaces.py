"""Spelling of contents and cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lisdata.contents import Content, ContentBuilder, LabelBuilder
from lisdata.encoding.surfaces import LexicalSpeller, cell_texts, iter_surfaces, local_name
from lisdata.schema import ContentKind


def table(*contents: Content) -> pa.Table:
    builder = ContentBuilder(LabelBuilder())
    for content in contents:
        builder.add_content(content)
    return pa.Table.from_batches([builder.to_arrow()])


def test_a_content_is_spelled_as_it_was_written() -> None:
    texts, _ = LexicalSpeller().spell(
        table(
            Content(ContentKind.LITERAL, b" 01 ", language="en-US"),
            Content(ContentKind.WORD, "é".encode()),
            Content(ContentKind.JSON_STR, b"\xed\xa0\x80"),
            Content(ContentKind.BYTES, b"\xff\x00"),
            Content(ContentKind.SOMEVALUE, b"anything"),
            Content(ContentKind.NOVALUE, b""),
        )
    )

    assert texts == [" 01 ", "é", "\ud800", "\\xff\x00", "<somevalue>", "<novalue>"]


def test_surfaces_come_for_the_rows_asked_for() -> None:
    contents = table(*(Content(ContentKind.WORD, str(n).encode()) for n in range(9)))

    chunks = list(iter_surfaces(contents, np.array([2, 7]), LexicalSpeller()))

    assert [texts for texts, _ in chunks] == [["2", "7"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("http://schema.org/Person", "Person"),
        ("http://www.w3.org/2000/01/rdf-schema#label", "label"),
        ("urn:isbn:0451450523", "0451450523"),
        ("http://example.org/", "http://example.org/"),
        ("Q42", "Q42"),
        ("", ""),
    ],
)
def test_a_local_name_is_what_follows_the_last_separator(name: str, expected: str) -> None:
    assert local_name(name) == expected


@given(hnp.arrays(hnp.floating_dtypes(sizes=(16, 32, 64)), st.integers(0, 5)))
def test_the_text_of_a_float_gives_it_back(values: np.ndarray[Any, Any]) -> None:
    found = np.array([float(text) for text in cell_texts(values)], values.dtype)

    assert np.array_equal(found, values.astype(values.dtype.newbyteorder("=")), equal_nan=True)


@given(hnp.arrays(hnp.integer_dtypes() | hnp.unsigned_integer_dtypes(), st.integers(0, 5)))
def test_integers_are_exact(values: np.ndarray[Any, Any]) -> None:
    assert cell_texts(values) == [str(value) for value in values.tolist()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([0.1, 1, 1e20, -0.0], "<f4"), ["0.1", "1", "1e+20", "-0"]),
        (np.array([True, False]), ["true", "false"]),
        (np.array(["ab", ""], "<U2"), ["ab", ""]),
        (np.array(["ab"], ">U2"), ["ab"]),
        (np.frombuffer(b"\xff\xff\xff\xff", "<U1"), ["\ufffd"]),
        (np.array([b"a\xff"], "|S2"), ["a\\xff"]),
        (np.array(["2020-02-29"], "<M8[D]"), ["2020-02-29"]),
        (np.array([1 + 2j], "<c8"), ["(1+2j)"]),
        (np.array([b"\x01\xff"], "|V2"), ["01ff"]),
    ],
)
def test_every_plain_dtype_has_a_text(values: np.ndarray[Any, Any], expected: list[str]) -> None:
    assert cell_texts(values) == expected
