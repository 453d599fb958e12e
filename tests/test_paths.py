"""Public functions take a path as a string, a `pathlib.Path`, or anything else that is one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lisdata
from lisdata.alignment import write_same_as
from lisdata.published import write_schemas
from lisdata.regrouping import convert_sorted
from lisdata.shards import ShardWriter, merge_datasets, verify_dataset, write_structures
from lisdata.statistics import plot_statistics, summarise
from lisdata.structure import Structure
from lisdata.vocabulary import RoleVocabulary


@dataclass(frozen=True)
class OwnPath:
    """A path of a class of its own."""

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)


FORMS: dict[str, Callable[[Path], Any]] = {"str": str, "Path": Path, "own": OwnPath}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Callable[[Path], Any]:
    """One of the forms that a path can have."""
    return FORMS[request.param]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A file of triples."""
    (tmp_path / "a.nt").write_text("<e:a> <e:p> <e:b> .\n")
    return tmp_path / "a.nt"


def test_datasets_are_made_opened_compared_and_taken_back(
    graph: Path, tmp_path: Path, form: Callable[[Path], Any]
) -> None:
    data, other, tokens = (form(tmp_path / name) for name in ("data", "other", "tok"))

    lisdata.convert("ntriples", form(graph), data)
    convert_sorted("ntriples", [form(graph)], form(tmp_path / "sorted"))
    lisdata.encode(data, tokens, tokenizer="chars")
    lisdata.regroup(data, other)
    write_structures(form(tmp_path / "more"), [])
    merge_datasets([data, form(tmp_path / "more")], form(tmp_path / "merged"))
    lisdata.export(data, form(tmp_path / "back.nt"))

    assert isinstance(lisdata.open(data), lisdata.IncidenceDataset)
    assert isinstance(lisdata.open(tokens), lisdata.TokenDataset)
    assert len(lisdata.IncidenceDataset(data)) == len(lisdata.TokenDataset(tokens)) == 1
    assert lisdata.audit(data, form(tmp_path / "back.nt")).ok
    assert lisdata.audit(data, other).ok
    assert not lisdata.verify(data).problems
    assert not verify_dataset(form(tmp_path / "merged")).problems
    assert (tmp_path / "back.nt").read_bytes() == graph.read_bytes()


def test_batches_come_from_folders(tmp_path: Path, form: Callable[[Path], Any]) -> None:
    lisdata.write_tokens(form(tmp_path / "tok"), [np.arange(4)], vocab_size=10)

    (batch,) = lisdata.Loader(form(tmp_path / "tok"), batch_size=1)
    mixed = lisdata.loader.Mixture([form(tmp_path / "tok")], num_rows=2)

    assert batch["input_ids"].tolist() == [[0, 1, 2, 3]]
    assert len(mixed) == 2


def test_tables_figures_and_schemas_are_written(graph: Path, tmp_path: Path, form: Callable[[Path], Any]) -> None:
    lisdata.convert("ntriples", graph, tmp_path / "data")
    roles = RoleVocabulary.from_dataset(lisdata.IncidenceDataset(tmp_path / "data"))

    roles.write(form(tmp_path / "roles.json"))
    plot_statistics(summarise(form(tmp_path / "data")), form(tmp_path / "figure.png"))
    schemas = write_schemas(form(tmp_path / "schemas"))

    assert RoleVocabulary.read(form(tmp_path / "roles.json")) == roles
    assert write_same_as([], form(tmp_path / "same")) == 0
    assert (tmp_path / "figure.png").stat().st_size > 0
    assert {os.fspath(path.parent) for path in schemas} == {str(tmp_path / "schemas")}


def test_a_part_is_written(tmp_path: Path, form: Callable[[Path], Any]) -> None:
    writer = ShardWriter(form(tmp_path / "data"), "part-00000-000")
    writer.append(Structure.to_arrow([], ()))

    assert writer.close()["counts"]["structures"] == 0


def test_training_and_its_report_take_a_folder(tmp_path: Path, form: Callable[[Path], Any]) -> None:
    torch = pytest.importorskip("torch")
    from lisdata.checkpoints import Checkpoint, latest, read_checkpoint, write_checkpoint
    from lisdata.evaluation import write_context_report
    from lisdata.metrics import NllSum

    weights = {"model": {"w": torch.ones(2)}}
    made = write_checkpoint(Checkpoint(step=3, facts={}, state={}, tensors=weights), form(tmp_path))
    table = write_context_report({"m": {8: NllSum(8.0, 8)}}, form(tmp_path), published={})

    assert latest(form(tmp_path)) == made
    assert read_checkpoint(form(made)).step == 3
    assert (tmp_path / "perplexity.txt").read_text() == table
