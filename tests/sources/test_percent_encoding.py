from __future__ import annotations

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.sources.percent_encoding import percent_decode, percent_encode


@given(text=st.text(), kept=st.sampled_from(["", "/", ";@$!*(),/~:"]))
def test_any_text_is_encoded_as_the_standard_library_does_and_comes_back(text: str, kept: str) -> None:
    encoded = percent_encode(text, kept)

    assert encoded == quote(text, safe=kept)
    assert percent_decode(encoded) == unquote(encoded) == text


@pytest.mark.parametrize("text", ["%", "%2", "%zz", "100%", "%FF", "a%C3b"])
def test_what_is_no_escape_of_text_stays(text: str) -> None:
    assert percent_decode(text) == text
