"""The table that numbers keys by first appearance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels import plain
from lisdata.kernels.key_table import KeyTable
from lisdata.schema import KEY_TYPE

# Few distinct keys, some alike in the bits that choose the slot.
KEYS = st.integers(0, 300).map(lambda n: n.to_bytes(2, "big") * 4 + bytes(8)) | st.binary(min_size=16, max_size=16)


def rows_of(keys: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16)


@given(st.lists(st.lists(KEYS, max_size=50), max_size=5))
@settings(deadline=None)
def test_numbers_equal_the_plain_twin_over_batches(batches: list[list[bytes]]) -> None:
    table, twin = KeyTable(), plain.KeyTable()

    for batch in batches:
        for found, expected in zip(table.find_or_add(rows_of(batch)), twin.find_or_add(rows_of(batch)), strict=True):
            np.testing.assert_array_equal(found, expected)

    assert len(table) == len(twin)


def test_the_table_grows_and_keeps_its_numbers() -> None:
    keys = np.random.default_rng(0).integers(0, 256, (50_000, 16), dtype=np.uint8)
    table = KeyTable()

    for begin in range(0, len(keys), 7_000):
        table.find_or_add(keys[begin : begin + 7_000])
    ids, is_new = table.find_or_add(keys)

    np.testing.assert_array_equal(ids, np.arange(len(keys)))
    assert not is_new.any()
    np.testing.assert_array_equal(table.keys, keys)


def test_arrow_keys_are_taken_with_their_offset() -> None:
    keys = pa.array([bytes([n]) * 16 for n in (9, 1, 2, 1)], KEY_TYPE)

    ids, is_new = KeyTable().find_or_add(keys.slice(1))

    assert (ids.tolist(), is_new.tolist()) == ([0, 1, 0], [True, True, False])


@pytest.mark.parametrize("shape", [(2, 8), (32,)])
def test_keys_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"uint8 \(N, 16\)"):
        KeyTable().find_or_add(np.zeros(shape, np.uint8))


def test_more_keys_than_row_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = KeyTable()
    monkeypatch.setattr(table, "_count", 2**32 - 2)

    with pytest.raises(ValueError, match="fewer than"):
        table.find_or_add(np.zeros((1, 16), np.uint8))
