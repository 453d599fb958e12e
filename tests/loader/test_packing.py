"""Packs: full to a fixed length, documents kept apart, every token at its place, against a plain oracle."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import PlanError
from lisdata.loader import Batch, Loader
from lisdata.token_shards import TokenDataset, write_tokens

COLUMNS = ("input_ids", "role", "terminal", "content", "document", "token_kind", "position_ids")


@pytest.fixture(scope="module")
def ragged(tmp_path_factory: pytest.TempPathFactory) -> TokenDataset:
    """300 rows of 1 to 50 tokens, each of which is the row's number; one row is one document."""
    lengths = np.random.default_rng(3).integers(1, 51, 300)
    directory: Path = tmp_path_factory.mktemp("ragged")
    write_tokens(directory, ([n] * int(k) for n, k in enumerate(lengths)), vocab_size=300, tokens_per_part=2000)
    return TokenDataset(directory)


def lines_by_hand(dataset: TokenDataset, batch: Batch, pack_to: int) -> list[dict[str, list[int]]]:
    """Return what each pack should hold, end to end, made with loops from the rows that a batch names."""
    lines: list[dict[str, list[int]]] = [{name: [] for name in COLUMNS} for _ in range(int(batch["pack"].max()) + 1)]
    begins = batch["begin"] if "begin" in batch else torch.zeros_like(batch["row"])
    for row, pack, begin in zip(batch["row"].tolist(), batch["pack"].tolist(), begins.tolist(), strict=True):
        found, line = dataset[row], lines[pack]
        taken = slice(begin, begin + pack_to)
        stored = found["document"] if "document" in found else np.zeros(len(found["input_ids"]), int)
        for _, run in groupby(stored[taken].tolist()):
            size = len(list(run))
            line["document"] += [max(line["document"], default=-1) + 1] * size
            line["position_ids"] += range(size)
        kinds = found["token_kind"] if "token_kind" in found else np.full(len(stored), found["kind"])
        line["token_kind"] += kinds[taken].tolist()
        for name in ("input_ids", "role", "terminal", "content"):
            line[name] += found[name][taken].tolist() if name in found else []
    return lines


@settings(deadline=None, max_examples=30)
@given(
    pack_to=st.integers(1, 30),
    pack_window=st.integers(1, 40),
    long_rows=st.sampled_from(["cut", "split"]),
    batch_size=st.integers(1, 5),
    pad_id=st.integers(0, 999),
    seed=st.integers(0, 5),
)
def test_padded_packs_hold_their_rows_one_after_the_other(
    mixed: TokenDataset, pack_to: int, pack_window: int, long_rows: Any, batch_size: int, pad_id: int, seed: int
) -> None:
    filling = {"input_ids": pad_id, "terminal": -100, "document": -1}
    packing: dict[str, Any] = {"pack_to": pack_to, "pack_window": pack_window, "long_rows": long_rows}
    for batch in Loader(mixed, batch_size, **packing, pad_id=pad_id, seed=seed, tail="ragged"):
        lines = lines_by_hand(mixed, batch, pack_to)
        for number, line in enumerate(lines):
            rest = pack_to - len(line["document"])
            assert rest >= 0
            for name in COLUMNS:
                filler = list(range(rest)) if name == "position_ids" else [filling.get(name, 0)] * rest
                assert batch[name][number].tolist() == line[name] + filler, name
        assert {batch[name].dtype for name in COLUMNS} == {torch.int64}
        runs = [len(list(run)) for document in batch["document"].tolist() for _, run in groupby(document)]
        assert batch["seq_lens"].tolist() == runs
        assert batch["cu_seqlens"].tolist() == np.concatenate(([0], np.cumsum(runs))).tolist()
        assert batch["seq_lens"].dtype == batch["cu_seqlens"].dtype == torch.int32


@settings(deadline=None, max_examples=20)
@given(pack_to=st.integers(1, 30), batch_size=st.integers(1, 5), num_workers=st.just(0))
def test_flat_packs_have_no_padding_and_one_sequence_a_document(
    mixed: TokenDataset, pack_to: int, batch_size: int, num_workers: int
) -> None:
    for batch in Loader(mixed, batch_size, pack_to=pack_to, pack_window=16, layout="flat", tail="ragged"):
        lines = lines_by_hand(mixed, batch, pack_to)
        for name in ("input_ids", "role", "terminal", "content", "position_ids"):
            assert batch[name].tolist() == [value for line in lines for value in line[name]]
            assert batch[name].dtype == (torch.int64 if name == "content" else torch.int32)
        runs = [len(list(run)) for line in lines for _, run in groupby(line["document"])]
        assert batch["seq_lens"].tolist() == runs
        assert batch["document"].tolist() == [n for n, run in enumerate(runs) for _ in range(run)]
        assert batch["cu_seqlens"].tolist() == np.concatenate(([0], np.cumsum(runs))).tolist()


def test_packs_are_nearly_full(ragged: TokenDataset) -> None:
    batches = list(Loader(ragged, 4, pack_to=256, tail="ragged", columns=("input_ids", "document")))

    used = sum(int((batch["document"] >= 0).sum()) for batch in batches)
    assert used == ragged.num_tokens
    assert used / sum(batch["document"].numel() for batch in batches) > 0.93


def test_a_row_is_cut_by_max_length_before_it_is_packed(ragged: TokenDataset) -> None:
    rows = [(r, n) for b in Loader(ragged, 4, pack_to=64, max_length=5, tail="ragged", long_rows="split")
            for r, n in zip(b["row"].tolist(), b["length"].tolist(), strict=True)]  # fmt: skip

    assert sorted(rows) == [(row, min(5, len(ragged[row]["input_ids"]))) for row in range(300)]


def test_columns_of_packs_are_chosen(ragged: TokenDataset) -> None:
    batch = next(iter(Loader(ragged, 2, pack_to=64, columns=("position_ids", "input_ids"))))

    facts = {"length", "kind", "row", "pack", "seq_lens", "cu_seqlens", "real"}
    assert batch.keys() == {"position_ids", "input_ids"} | facts
    with pytest.raises(ValueError, match="no column 'heads': expected one of input_ids, document, token_kind, posi"):
        Loader(ragged, 2, pack_to=64, columns=("heads",))
    with pytest.raises(ValueError, match="no column 'position_ids'"):
        Loader(ragged, 2, columns=("position_ids",))


def test_a_batch_of_packs_is_one_block_of_memory(ragged: TokenDataset) -> None:
    batch = next(iter(Loader(ragged, 2, pack_to=64, tail="drop")))

    assert len({tensor.untyped_storage().data_ptr() for tensor in batch.values()}) == 1


def test_a_filled_tail_says_which_packs_are_filler(ragged: TokenDataset) -> None:
    loaders = [Loader(ragged, 3, pack_to=64, rank=rank, world_size=4) for rank in range(4)]

    last = [list(loader)[-1] for loader in loaders]

    assert all(batch["input_ids"].shape == (3, 64) for batch in last)
    whole = sum(int(batch["real"].sum()) for batch in last)
    others = list(Loader(ragged, 1, pack_to=64, tail="ragged"))
    assert whole == len(others) % 12 or (whole == 12 and len(others) % 12 == 0)


@pytest.mark.parametrize("other", [{"pack_to": 32}, {"pack_window": 8}, {"long_rows": "split"}, {"max_length": 9}])
def test_a_state_of_other_packs_is_refused(ragged: TokenDataset, other: dict[str, Any]) -> None:
    loader = Loader(ragged, 2, pack_to=64)
    next(iter(loader))

    ((name, value),) = other.items()
    with pytest.raises(PlanError, match=f"^state of a loader: expected order with {name} {value!r}, found [^;{{]*$"):
        Loader(ragged, 2, **({"pack_to": 64} | other)).load_state_dict(loader.state_dict())
    with pytest.raises(PlanError, match="expected order"):
        Loader(ragged, 2).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("change", [{"consumed": 7}, {"groups": 99}, {"groups": -1}, {"consumed": 300, "groups": 1}])
def test_a_state_that_no_window_has_is_refused(ragged: TokenDataset, change: dict[str, Any]) -> None:
    loader = Loader(ragged, 2, pack_to=64, pack_window=50)
    next(iter(loader))

    with pytest.raises(PlanError, match="expected the begin of a window and groups of it"):
        loader.load_state_dict(loader.state_dict() | change)


@pytest.mark.parametrize(
    "wrong",
    [
        {"pack_to": 0},
        {"pack_to": 8, "pack_window": 0},
        {"pack_to": 8, "batch_size": None},
        {"pack_to": 8, "batch_size": 0},
        {"pack_to": 8, "bucket": 4},
        {"pack_to": 8, "pad_to": 4},
        {"pack_to": 8, "max_tokens": 64},
        {"pack_to": 8, "long_rows": "drop"},
        {"pack_window": 8},
        {"long_rows": "split"},
        {"batch_size": None},
    ],
)
def test_wrong_packs_are_refused(ragged: TokenDataset, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Loader(ragged, **({"batch_size": 2} | wrong))
