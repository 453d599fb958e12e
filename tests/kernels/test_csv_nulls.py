from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels.csv_nulls import find_nulls
from lisdata.kernels.csv_scan import QUOTED, SPECIAL, Cells

CELLS = st.tuples(st.integers(0, 2), st.sampled_from([0, QUOTED, SPECIAL, QUOTED | SPECIAL]), st.booleans())


@given(
    rows=st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=20)),
    repeats=st.sampled_from([1, 200]),
    has_tokens=st.booleans(),
)
@settings(deadline=None)
def test_nulls_and_quotes_are_those_of_the_definition(
    rows: list[tuple[tuple[int, int, bool], ...]], repeats: int, has_tokens: bool
) -> None:
    width = len(rows[0]) if rows else 1
    drawn = np.array(rows * repeats, np.int64).reshape(-1, width, 3)
    size, flags, is_token = drawn[:, :, 0].astype(np.uint32), drawn[:, :, 1].astype(np.uint8), drawn[:, :, 2] == 1
    none = np.zeros(len(drawn), np.uint32)
    cells = Cells(begin=size, end=size, size=size, flags=flags, row_begin=none, ending=none.astype(np.uint8))

    found = find_nulls(cells, np.ascontiguousarray(is_token.T) if has_tokens else None)

    tokens = is_token if has_tokens else size == 0
    is_quoted, is_special = (flags & QUOTED) != 0, (flags & SPECIAL) != 0
    is_null, must_be = tokens & ~is_quoted, is_special | (tokens & is_quoted)
    assert found.is_null.T.tolist() == is_null.tolist()
    assert found.num_nulls.tolist() == is_null.sum(axis=0).tolist()
    assert found.num_otherwise.tolist() == (~is_null & (is_quoted != must_be)).sum(axis=0).tolist()
    assert found.num_unquoted.tolist() == (~is_null & ~is_quoted).sum(axis=0).tolist()
