"""Encodings by name: those of documents are taken, whatever else Python calls a codec is a wrong argument."""

from __future__ import annotations

import encodings
import pkgutil
from encodings.aliases import aliases

import numpy as np
import pyarrow as pa
import pytest
from changed_documents import refusal
from hypothesis import given
from hypothesis import strategies as st

from lisdata.kernels.arrays import binary_array
from lisdata.sources.character_encodings import encoding_name
from lisdata.sources.delimited import CsvOptions
from lisdata.sources.delimited_layout import decode_texts, is_utf8, undecodable
from lisdata.sources.html import HtmlOptions
from lisdata.sources.html_encoding import decode_html

ALL = sorted({*aliases, *(module.name for module in pkgutil.iter_modules(encodings.__path__))})
NO_TEXT = ["hex", "rot13", "rot_13", "base64", "bz2", "zlib", "zip", "uu", "quopri", "hex_codec"]
PYTHON_S_OWN = ["idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"]


@pytest.mark.parametrize("label", [*NO_TEXT, *PYTHON_S_OWN, "", "no such", "\0", "\ud800", "aliases", "x" * 9999])
@pytest.mark.parametrize("options", [CsvOptions, HtmlOptions])
def test_what_no_document_is_written_in_is_a_wrong_argument(label: str, options: type) -> None:
    with pytest.raises(ValueError, match="encoding") as raised:
        options(encoding=label)

    assert type(raised.value) is ValueError


@pytest.mark.parametrize(("label", "name"), [("UTF8", "utf-8"), ("latin1", "iso8859-1"), ("sjis", "shift_jis")])
def test_an_encoding_is_known_by_each_of_its_names(label: str, name: str) -> None:
    assert encoding_name(label) == name


@given(st.sampled_from(ALL), st.binary(max_size=60))
def test_an_encoding_that_is_taken_decodes_any_bytes(label: str, data: bytes) -> None:
    if refusal(lambda: HtmlOptions(encoding=label), ValueError) is None:
        assert isinstance(decode_html(data, label), str)
    if refusal(lambda: CsvOptions(encoding=label), ValueError) is None and not is_utf8(label):
        good = bytes(byte for byte in data if not len(undecodable(bytes((byte,)), label)))
        texts = binary_array(np.array([0, len(good)]), np.frombuffer(good, np.uint8), pa.large_binary())
        assert decode_texts(texts, label).to_pylist() == [good.decode(label)]


@given(st.sampled_from(ALL))
def test_a_document_may_declare_any_of_them(label: str) -> None:
    assert "x" in decode_html(f"<meta charset={label}>x".encode())
