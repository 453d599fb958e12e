"""Rows of a fixed number of tokens: which structures share one, in which order, and what their tokens keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.packing import ContextPacker
from lisdata.encoding.pieces import offsets_of
from lisdata.encoding.token_rows import TokenRows
from lisdata.schema import StructureKind

TEXT, TRIPLES = StructureKind.TEXT, StructureKind.TRIPLES
structures = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([TEXT, TRIPLES]), st.integers(1, 3)), max_size=12
)  # length, kind, number of instances


def block(items: list[tuple[int, int, int]], first: int = 0) -> TokenRows:
    """Make structures whose tokens are numbered through all of them, from 100 * the structure's number."""
    lengths = np.array([length for length, _, _ in items], np.int64)
    tokens = [100 * (first + n) + k for n, (length, _, _) in enumerate(items) for k in range(length)]
    instances = [k % count for length, _, count in items for k in range(length)]
    columns = {"input_ids": np.array(tokens, np.int64), "instance": np.array(instances, np.int64)}
    return TokenRows(
        offsets=offsets_of(lengths),
        columns=columns,
        kinds=np.array([kind for _, kind, _ in items], np.uint8),
        num_instances=np.array([count for _, _, count in items], np.int64),
        record_ids=pa.array([str(first + n) for n in range(len(items))], pa.large_string()),
    )


def pack(
    items: list[tuple[int, int, int]], context: int, cut: int | None = None
) -> tuple[list[dict[str, Any]], EncodeCounts]:
    """Pack structures, given at once or in two blocks."""
    counts = EncodeCounts()
    packer = ContextPacker(context, counts)
    blocks = [items] if cut is None else [items[:cut], items[cut:]]
    found = [packer.push(block(b, first=0 if n == 0 else cut or 0)) for n, b in enumerate(blocks)]
    last = packer.finish()
    rows = []
    for packed in [*found, *([] if last is None else [last])]:
        for row in range(packed.num_rows):
            inside = slice(*packed.offsets[row : row + 2])
            columns = {name: values[inside].tolist() for name, values in packed.columns.items()}
            rows.append(columns | {"kind": int(packed.kinds[row]), "record_id": packed.record_ids[row].as_py()})
    return rows, counts


def naive_rows(items: list[tuple[int, int, int]], context: int) -> list[list[tuple[int, int, int]]]:
    """Return the segments (structure, first token, length) of each row."""
    segments = []
    for n, (length, _, _) in enumerate(items):
        segments += [(n, begin, min(context, length - begin)) for begin in range(0, length, context)]
    rows: list[list[tuple[int, int, int]]] = []
    for segment in segments:
        if not rows or sum(s[2] for s in rows[-1]) + segment[2] > context:
            rows.append([])
        rows[-1].append(segment)
    return [sorted(row, key=lambda s: items[s[0]][1] == TEXT) for row in rows]


@settings(deadline=None)
@given(structures, st.integers(1, 9), st.integers(0, 12))
def test_rows_are_filled_greedily_facts_before_text(items: list[tuple[int, int, int]], context: int, cut: int) -> None:
    rows, counts = pack(items, context, min(cut, len(items)))
    naive = naive_rows(items, context)

    assert [row["input_ids"] for row in rows] == [
        [100 * n + k for n, begin, length in row for k in range(begin, begin + length)] for row in naive
    ]
    assert [row["document"] for row in rows] == [
        [d for d, (_, _, length) in enumerate(row) for _ in range(length)] for row in naive
    ]
    assert [row["token_kind"] for row in rows] == [
        [items[n][1] for n, _, length in row for _ in range(length)] for row in naive
    ]
    assert [row["record_id"] for row in rows] == [str(row[0][0]) for row in naive]
    assert counts.structures_continued_in_next_row == sum(length > context for length, _, _ in items)


@settings(deadline=None)
@given(structures, st.integers(1, 9))
def test_no_two_structures_of_a_row_share_an_instance(items: list[tuple[int, int, int]], context: int) -> None:
    for row in pack(items, context)[0]:
        owners: dict[int, set[int]] = {}
        for instance, document in zip(row["instance"], row["document"], strict=True):
            owners.setdefault(instance, set()).add(document)
        assert all(len(documents) == 1 for documents in owners.values())


def test_a_window_keeps_the_instances_of_its_structure() -> None:
    rows, counts = pack([(7, TEXT, 3)], 3)

    assert [row["instance"] for row in rows] == [[0, 1, 2], [0, 1, 2], [0]]
    assert counts.structures_continued_in_next_row == 1


def test_the_rest_of_a_long_structure_shares_its_row() -> None:
    rows, _ = pack([(4, TEXT, 1), (2, TEXT, 1)], 3)

    assert [row["input_ids"] for row in rows] == [[0, 1, 2], [3, 100, 101]]
    assert rows[1]["document"] == [0, 1, 1]


def test_tokens_of_no_instance_stay_so() -> None:
    counts = EncodeCounts()
    packer = ContextPacker(9, counts)
    rows = block([(2, TEXT, 1), (2, TEXT, 1)])
    rows.columns["instance"][2:] = -1
    packer.push(rows)

    last = packer.finish()

    assert last is not None
    assert last.columns["instance"].tolist() == [0, 0, -1, -1]


@pytest.mark.parametrize(
    ("kinds", "expected"), [([TEXT, TEXT], TEXT), ([TEXT, TRIPLES], StructureKind.MIXED), ([TRIPLES], TRIPLES)]
)
def test_a_row_of_several_kinds_is_mixed(kinds: list[StructureKind], expected: StructureKind) -> None:
    rows, _ = pack([(1, kind, 1) for kind in kinds], 9)

    assert rows[0]["kind"] == expected


def test_nothing_gives_no_row() -> None:
    assert pack([], 4)[0] == []
    assert pack([(0, TEXT, 1)], 4)[0] == []
    assert ContextPacker(4, EncodeCounts()).finish() is None
