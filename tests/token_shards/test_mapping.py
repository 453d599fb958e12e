"""Pages that were looked at are given back, and read again as they were."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import process_memory
import pyarrow as pa
import pytest

from lisdata.token_shards import TokenDataset, write_tokens
from lisdata.token_shards.mapping import let_go


def test_bytes_are_the_same_after_their_pages_were_given_back(tmp_path: Path) -> None:
    data = np.arange(1 << 16, dtype=np.int64).tobytes()
    (tmp_path / "file").write_bytes(data)
    with pa.memory_map(str(tmp_path / "file")) as mapped:
        whole = mapped.read_buffer()

    assert whole.to_pybytes() == data
    let_go(whole)
    assert whole.to_pybytes() == data


def test_an_empty_file_and_a_system_without_the_advice_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go(pa.py_buffer(b""))
    monkeypatch.delattr(mmap, "MADV_DONTNEED")
    let_go(pa.py_buffer(b"not a page"))


def test_opening_leaves_no_pages_of_the_rows_in_memory(tmp_path: Path) -> None:
    write_tokens(tmp_path / "d", [np.arange(1000) % 97] * 8000, vocab_size=97 << 16, tokens_per_part=1 << 20)

    dataset = TokenDataset(tmp_path / "d")
    opened = process_memory.mapped_bytes(tmp_path / "d" / "tokens")
    rows = dataset.gather(range(len(dataset)))

    assert opened == 0
    assert process_memory.mapped_bytes(tmp_path / "d" / "tokens") > 10_000_000
    assert len(rows) == 8000
