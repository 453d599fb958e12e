from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import encode_text
from lisdata.sources import character_offsets
from lisdata.sources.character_offsets import bytes_of_characters, characters_of_bytes

TEXTS = st.lists(st.sampled_from("a \u00e9\u6f22\U0001f600\ud800"), max_size=20).map("".join)


@settings(deadline=None)
@given(text=TEXTS, numbers=st.lists(st.integers(0, 20), max_size=8), block=st.sampled_from([1, 3, 8, 1 << 20]))
def test_characters_and_the_bytes_where_they_begin_are_found(text: str, numbers: list[int], block: int) -> None:
    data = np.frombuffer(encode_text(text), np.uint8)
    characters = np.array([number for number in numbers if number <= len(text)], np.int64)
    expected = [len(encode_text(text[:number])) for number in characters.tolist()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(character_offsets, "BLOCK_BYTES", block)
        found = bytes_of_characters(data, characters)
        back = characters_of_bytes(data, found)

    assert found.tolist() == expected
    assert back.tolist() == characters.tolist()
