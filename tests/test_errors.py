from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from lisdata.errors import BadRecordError, Place, PlanError


@given(found=st.text(min_size=400, max_size=700))
def test_a_message_shows_no_more_of_what_was_found_than_people_read(found: str) -> None:
    error = BadRecordError(Place("a.nt", line=3), expected="a triple", found=found, begin=0, end=9)

    assert str(error).startswith(f"a.nt:3: expected a triple, found {found[:500]}")
    assert len(str(error)) < 600
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # as it comes from a worker process


def test_a_command_names_only_remedies_that_it_has() -> None:
    error = PlanError("p: changed", remedies=("choose another folder", "--fresh to start over", "--replan to go on"))

    assert str(error) == "p: changed; choose another folder, or --fresh to start over, or --replan to go on"
    assert error.describe({"--fresh"}) == "p: changed; choose another folder, or --fresh to start over"
    assert PlanError("p", remedies=("--fresh",)).describe(()) == "p"
    assert pickle.loads(pickle.dumps(error)).describe(()) == "p: changed; choose another folder"
