from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels.cell_rows import lay_rows
from lisdata.schema import NO_ROW

NUMBERS = st.integers(0, 9) | st.just(NO_ROW)


@given(
    rows=st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[NUMBERS] * width), max_size=30)),
    repeats=st.sampled_from([1, 100]),
    data=st.data(),
)
@settings(deadline=None)
def test_rows_have_what_columns_have_or_what_stands_instead(
    rows: list[tuple[int, ...]], repeats: int, data: st.DataObject
) -> None:
    width = len(rows[0]) if rows else 2
    table = np.array(rows * repeats, np.uint32).reshape(-1, width)
    instead = np.array(data.draw(st.tuples(*[NUMBERS] * width)), np.uint32)

    found, are_all_there = lay_rows([np.ascontiguousarray(column) for column in table.T], instead)

    expected = np.where(table == NO_ROW, instead, table)
    assert found.tolist() == expected.tolist()
    assert are_all_there == bool((expected != NO_ROW).all())
