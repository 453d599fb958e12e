from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import types

from lisdata.kernels.compiled import BYTES, INT64S, OUT_INT64S, kernel
from lisdata.kernels.text_table import TABLE, TextTable, has_room, number_of


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
