"""Batches hold their rows: padded or flat, against a plain oracle, also in a plain DataLoader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, Subset

from lisdata.loader import Batch, BatchCollator, BatchForm, Loader
from lisdata.token_shards import TokenDataset, TokenSchema, write_tokens

DatasetOfSize = Callable[[int], TokenDataset]
COLUMNS = ("input_ids", "role", "terminal", "content", "document", "token_kind")

PADDING = {"terminal": -100, "nonterminal": -100, "document": -1}
FORMS = st.builds(
    BatchForm,
    pad_to=st.one_of(st.none(), st.integers(1, 7)),
    max_length=st.one_of(st.none(), st.integers(1, 12)),
    pad_id=st.integers(0, 999),
    columns=st.one_of(st.none(), st.lists(st.sampled_from(COLUMNS), unique=True).map(tuple)),
)


def padded_by_hand(dataset: TokenDataset, rows: list[int], form: BatchForm) -> dict[str, list[Any]]:
    """Return what a padded batch of `rows` should hold, made with loops."""
    found = [dataset[row] for row in rows]
    lengths = [min(len(row["input_ids"]), form.max_length or 10**9) for row in found]
    width = max(lengths)
    while width % (form.pad_to or 1):
        width += 1
    batch: dict[str, list[Any]] = {"length": lengths, "kind": [row["kind"] for row in found], "row": rows}
    for name in form.columns if form.columns is not None else COLUMNS:
        fill = form.pad_id if name == "input_ids" else PADDING.get(name, 0)
        batch[name] = [
            [int(v) for v in row[name][:length]] + [fill] * (width - length)
            for row, length in zip(found, lengths, strict=True)
        ]
    return batch


def as_lists(batch: Batch) -> dict[str, list[Any]]:
    return {name: tensor.tolist() for name, tensor in batch.items()}


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.integers(0, 29), min_size=1, max_size=9), form=FORMS)
def test_rows_are_padded_as_by_hand(mixed: TokenDataset, rows: list[int], form: BatchForm) -> None:
    batch = BatchCollator(form)(mixed.__getitems__(rows))

    assert as_lists(batch) == padded_by_hand(mixed, rows, form)
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


@settings(deadline=None, max_examples=20)
@given(rows=st.lists(st.integers(0, 29), min_size=1, max_size=9), form=FORMS)
def test_rows_as_dicts_make_the_same_batch(mixed: TokenDataset, rows: list[int], form: BatchForm) -> None:
    collate = BatchCollator(form)

    assert as_lists(collate([mixed[row] for row in rows])) == as_lists(collate(mixed.__getitems__(rows)))


@settings(deadline=None, max_examples=30)
@given(form=FORMS, batch_size=st.integers(1, 31), seed=st.integers(0, 9))
def test_a_loader_pads_the_rows_that_it_names(mixed: TokenDataset, form: BatchForm, batch_size: int, seed: int) -> None:
    loader = Loader(
        mixed,
        batch_size,
        seed=seed,
        tail="ragged",
        columns=form.columns,
        pad_to=form.pad_to,
        max_length=form.max_length,
        pad_id=form.pad_id,
        prefetch=seed % 3,
    )

    for batch in loader:
        assert as_lists(batch) == padded_by_hand(mixed, batch["row"].tolist(), form)


@settings(deadline=None, max_examples=30)
@given(batch_size=st.integers(1, 31), max_length=st.one_of(st.none(), st.integers(1, 8)))
def test_flat_batches_lay_rows_end_to_end_in_narrow_integers(
    mixed: TokenDataset, batch_size: int, max_length: int | None
) -> None:
    for batch in Loader(mixed, batch_size, layout="flat", tail="ragged", max_length=max_length):
        rows = [mixed[row] for row in batch["row"].tolist()]
        assert batch["length"].tolist() == [min(len(row["input_ids"]), max_length or 99) for row in rows]
        for name in COLUMNS:
            assert batch[name].tolist() == [int(v) for row in rows for v in row[name][:max_length]]
            assert batch[name].dtype == (torch.int64 if name == "content" else torch.int32)


def test_rows_of_one_structure_have_document_0_and_the_kind_of_the_row(dataset_of_size: DatasetOfSize) -> None:
    dataset = dataset_of_size(5)

    padded = next(iter(Loader(dataset, 2, pad_to=3)))
    flat = next(iter(Loader(dataset, 2, layout="flat", columns=("input_ids", "document", "token_kind"))))

    assert padded["document"].tolist() == [[0, -1, -1]] * 2
    assert padded["token_kind"].tolist() == [[0, 0, 0]] * 2
    assert flat["document"].tolist() == [0, 0]
    assert next(iter(Loader(dataset, 2, layout="flat"))).keys() == {"input_ids", "length", "kind", "row", "real"}


def test_rows_without_tokens_make_a_batch_without_width(mixed: TokenDataset) -> None:
    empty = [row for row in range(30) if not len(mixed[row]["input_ids"])]
    assert empty

    batch = BatchCollator()(mixed.__getitems__(empty))

    assert batch["input_ids"].shape == (len(empty), 0)
    assert batch["length"].tolist() == [0] * len(empty)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_plain_data_loader_reads_every_row_once(mixed: TokenDataset, num_workers: int) -> None:
    loader = DataLoader(mixed, batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=BatchCollator())

    rows: list[int] = []
    for batch in loader:
        rows += batch["row"].tolist()
        assert as_lists(batch) == padded_by_hand(mixed, batch["row"].tolist(), BatchForm())

    assert sorted(rows) == list(range(30))


def test_a_subset_of_rows_keeps_their_numbers(mixed: TokenDataset) -> None:
    loader = DataLoader(Subset(mixed, [7, 3, 9]), batch_size=2, collate_fn=BatchCollator())

    assert [batch["row"].tolist() for batch in loader] == [[7, 3], [9]]


def test_rows_with_record_ids_are_joined_without_them(tmp_path: Path) -> None:
    schema = TokenSchema.choose(9, has_record_id=True)
    rows = [{"input_ids": [1, 2], "kind": 1, "record_id": "a"}, {"input_ids": [3], "kind": 2, "record_id": "b"}]
    write_tokens(tmp_path, rows, schema=schema)
    dataset = TokenDataset(tmp_path)

    batch = BatchCollator()([dataset[1], dataset[0]])

    assert batch["input_ids"].tolist() == [[3, 0], [1, 2]]
    assert (batch["row"].tolist(), batch["kind"].tolist()) == ([1, 0], [2, 1])


def test_batches_may_be_changed_without_touching_the_dataset(mixed: TokenDataset) -> None:
    before = [row["input_ids"].tolist() for row in mixed]

    for batch in Loader(mixed, 8):
        batch["input_ids"].fill_(-1)

    assert [row["input_ids"].tolist() for row in mixed] == before


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"layout": "ragged"}, "padded or flat"),
        ({"pad_to": 0}, "pad_to"),
        ({"pad_to": 8, "layout": "flat"}, "padded layout"),
        ({"max_length": 0}, "max_length"),
    ],
)
def test_wrong_forms_are_refused(settings_: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BatchForm(**settings_)


def test_columns_that_are_not_there_are_refused(mixed: TokenDataset) -> None:
    with pytest.raises(ValueError, match="no column 'heads': expected one of input_ids"):
        BatchCollator(BatchForm(columns=("heads",)))(mixed.__getitems__([0]))
    with pytest.raises(ValueError, match="at least one row"):
        BatchCollator()([])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("num_workers", [0, 1])
def test_batches_lie_in_pinned_memory_where_asked(mixed: TokenDataset, num_workers: int) -> None:
    for batch in Loader(mixed, 8, pin_memory=True, num_workers=num_workers):
        assert batch["input_ids"].is_pinned()
        assert np.array_equal(batch["input_ids"].to("cuda", non_blocking=True).cpu(), batch["input_ids"])
