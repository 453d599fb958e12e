"""Token rows in another order and in other parts: each once, unchanged, the same from any number of workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lisdata
from lisdata.errors import PlanError
from lisdata.loader.order import permute
from lisdata.selection import reshard
from lisdata.shards import verify_dataset
from lisdata.token_shards import TokenDataset


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    lines = [f"line {i} of {'x' * (i % 17)}\n" for i in range(500)]
    (folder / "a.txt").write_text("".join(lines), encoding="utf-8")
    lisdata.convert("text", folder / "a.txt", folder / "a.lis", options={"unit": "line"})
    lisdata.encode(folder / "a.lis", folder / "a.tok", tokenizer="chars")
    return folder / "a.tok"


def rows_of(path: Path) -> list[tuple[object, ...]]:
    dataset = TokenDataset(path, verify="full")
    return [
        (row["record_id"], row["kind"], *(tuple(row[name].tolist()) for name in dataset.schema.names))
        for row in dataset
    ]


def test_row_n_is_the_row_that_the_loader_would_take_nth(tokens: Path, tmp_path: Path) -> None:
    reshard(tokens, tmp_path / "r", seed=3)
    old, new = rows_of(tokens), rows_of(tmp_path / "r")
    order = permute(np.arange(len(old)), len(old), seed=3, epoch=0).tolist()
    assert new == [old[n] for n in order]
    assert new != old
    assert verify_dataset(tmp_path / "r").ok


def test_vocabularies_come_along(tokens: Path, tmp_path: Path) -> None:
    reshard(tokens, tmp_path / "r")
    assert TokenDataset(tmp_path / "r").roles == TokenDataset(tokens).roles
    kept = ("tokenizer", "roles", "dataset", "config")
    old, new = (TokenDataset(path).manifest for path in (tokens, tmp_path / "r"))
    assert {name: new.get(name) for name in kept} == {name: old.get(name) for name in kept}
    assert (tmp_path / "r" / "characters.json").read_bytes() == (tokens / "characters.json").read_bytes()


def test_parts_have_about_the_size_asked_for_and_the_same_rows(tokens: Path, tmp_path: Path) -> None:
    body = reshard(tokens, tmp_path / "r", shuffle=False, tokens_per_part=2000)
    assert len(body["parts"]) > 3
    assert all(1500 < part["num_tokens"] < 2500 for part in body["parts"])
    assert rows_of(tmp_path / "r") == rows_of(tokens)


def test_any_number_of_workers_writes_the_same_bytes(tokens: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        reshard(tokens, tmp_path / str(workers), tokens_per_part=3000, workers=workers)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n / "tokens").iterdir()} for n in ("1", "2"))
    assert one == two


def test_rows_are_gathered_in_bounded_runs(tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lisdata.selection.resharding._TOKENS_AT_ONCE", 100)
    reshard(tokens, tmp_path / "small")
    monkeypatch.undo()
    reshard(tokens, tmp_path / "large")
    assert rows_of(tmp_path / "small") == rows_of(tmp_path / "large")


def test_what_cannot_be_is_refused(tokens: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1 token"):
        reshard(tokens, tmp_path / "r", tokens_per_part=0)
    with pytest.raises(PlanError, match="outside the dataset"):
        reshard(tokens, tokens / "inside")
    reshard(tokens, tmp_path / "r", seed=1)
    with pytest.raises(PlanError):
        reshard(tokens, tmp_path / "r", seed=2)
