from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from lisdata.errors import BadRecordError, Place


@given(found=st.text(min_size=400, max_size=700))
def test_a_message_shows_no_more_of_what_was_found_than_people_read(found: str) -> None:
    error = BadRecordError(Place("a.nt", line=3), expected="a triple", found=found, begin=0, end=9)

    assert str(error).startswith(f"a.nt:3: expected a triple, found {found[:500]}")
    assert len(str(error)) < 600
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # as it comes from a worker process
