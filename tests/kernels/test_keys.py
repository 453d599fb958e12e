"""Content keys of whole columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, ContentBuilder, LabelBuilder
from lisdata.kernels import plain
from lisdata.kernels.keys import content_keys, keys_of_contents
from lisdata.schema import ContentKind

CONTENTS = st.builds(
    Content,
    kind=st.sampled_from(ContentKind),
    lexical=st.binary(max_size=600),
    datatype=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
    language=st.none() | st.sampled_from(["en", "en-US", "en-us", ""]),
    scope=st.none() | st.text(st.characters(codec="utf-8"), max_size=300),
)


def batches_of(contents: list[Content]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    builder = ContentBuilder(LabelBuilder())
    for content in contents:
        builder.add_content(content)
    return builder.to_arrow(), builder.labels.to_arrow()


def test_keys_equal_the_reference_at_every_length_up_to_2000() -> None:
    contents, labels = batches_of([Content(ContentKind.TEXT, bytes(i % 251 for i in range(n))) for n in range(2001)])

    keys = keys_of_contents(contents, labels)

    assert keys.equals(contents["key"])
    assert keys.equals(plain.keys_of_contents(contents, labels))


@given(st.lists(CONTENTS, max_size=8))
@settings(deadline=None)
def test_keys_equal_the_plain_twin(contents: list[Content]) -> None:
    batch, labels = batches_of(contents)

    assert keys_of_contents(batch, labels).equals(plain.keys_of_contents(batch, labels))


def test_keys_of_a_cut_batch_are_those_of_its_rows() -> None:
    batch, labels = batches_of([Content(ContentKind.WORD, b"w" * n, "d", None, "s") for n in range(9)])

    assert keys_of_contents(batch.slice(3, 4), labels).equals(batch["key"].slice(3, 4))


def test_the_key_column_is_not_needed() -> None:
    batch, labels = batches_of([Content(ContentKind.WORD, b"aspirin")])

    assert keys_of_contents(batch.drop_columns(["key"]), labels).equals(batch["key"])


def test_a_content_that_names_no_label_is_refused() -> None:
    symbols = np.array([[1, 0, 0]], np.uint32)

    no_bytes = np.zeros(0, np.uint8)

    with pytest.raises(ValueError, match="names label 1 of 1"):
        content_keys(np.zeros(1, np.uint8), np.array([0, 0]), no_bytes, symbols, np.array([0, 0]), no_bytes)
