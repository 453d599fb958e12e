from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import types

from lisdata.kernels.compiled import BYTES, INT64S, OUT_INT64S, kernel
from lisdata.kernels.text_table import TABLE, TextTable, has_room, number_of, number_texts
from lisdata.schema import NO_ROW


@kernel(types.int64(TABLE, BYTES, INT64S, OUT_INT64S, types.int64))
def _number_all(table: Any, data: Any, offsets: Any, numbers: Any, done: Any) -> Any:
    while done < len(numbers) and has_room(table, 1):
        numbers[done] = number_of(table, data, offsets[done], offsets[done + 1])
        done += 1
    return done


def number_all(texts: list[bytes]) -> tuple[list[int], list[bytes]]:
    data = np.frombuffer(b"".join(texts) + bytes(16), np.uint8)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    table = TextTable(len(texts), len(data))
    numbers, done = np.zeros(len(texts), np.int64), 0
    while (done := _number_all(table.arrays, data, offsets, numbers, done)) < len(texts):
        table.make_room(1)
    assert len(table) == len(table.to_arrow())
    return numbers.tolist(), table.to_arrow().to_pylist()


@given(texts=st.lists(st.binary(max_size=3) | st.sampled_from([b"a" * n for n in range(7, 26)]), max_size=60))
@settings(deadline=None)
def test_texts_are_numbered_by_first_appearance(texts: list[bytes]) -> None:
    distinct = list(dict.fromkeys(texts))

    assert number_all(texts) == ([distinct.index(text) for text in texts], distinct)


def test_a_table_that_grows_keeps_its_numbers() -> None:
    texts = [b"%d" % (n * n % 65_537) for n in range(100_000)]
    distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}

    assert number_all(texts) == ([distinct[text] for text in texts], list(distinct))


COLUMNS = st.lists(st.lists(st.none() | st.binary(max_size=9), max_size=20), max_size=4)


@given(columns=COLUMNS, skipped=st.integers(0, 3))
@settings(deadline=None)
def test_columns_share_the_numbers_of_their_texts_and_nulls_have_none(
    columns: list[list[bytes | None]], skipped: int
) -> None:
    texts = [text for column in columns for text in column[skipped:] if text is not None]
    distinct = list(dict.fromkeys(texts))

    found, rows = number_texts([pa.array(column, pa.large_binary())[skipped:] for column in columns])

    assert found.to_pylist() == distinct
    for column, numbers in zip(columns, rows, strict=True):
        assert numbers.tolist() == [NO_ROW if t is None else distinct.index(t) for t in column[skipped:]]


def test_many_texts_find_room() -> None:
    texts = [b"%d" % (number % 30_000) for number in range(40_000)]

    found, (rows,) = number_texts([pa.array(texts, pa.large_binary())])

    assert found.to_pylist() == texts[:30_000]
    assert rows.tolist() == [number % 30_000 for number in range(40_000)]
