"""A folder like a user's, and a way to call the command line in it."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sample_files import SAMPLES

import lisdata
from lisdata.cli import main
from lisdata.token_formats import IMPORTED

Lisdata = Callable[..., Result]


@pytest.fixture(scope="session")
def workspace(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples of the help pages speak of: not to be changed."""
    folder = tmp_path_factory.mktemp("workspace")
    samples = root / "sample_data"
    shutil.copytree(root / "pipelines", folder / "pipelines")
    shutil.copytree(samples, folder / "sample_data")
    shutil.copyfile(root / "README.md", folder / "README.md")
    shutil.copyfile(samples / SAMPLES["text"], folder / "input.txt")
    (folder / "graph.nt.gz").write_bytes(gzip.compress((samples / SAMPLES["ntriples"]).read_bytes()))
    for name in ("conllu", "hif", "csv", "html", "jsonl", "npy", "ntriples", "text", "wikidata"):
        path = samples / SAMPLES[name]
        shutil.copyfile(path, folder / f"data{path.suffix}")
    lisdata.convert("jsonl", samples / "table2" / "sentence.jsonl", folder / "text.lis")
    lisdata.convert("hif", samples / "table2" / "interaction.hif.json", folder / "table2.lis")
    lisdata.convert("ntriples", folder / "graph.nt.gz", folder / "graph.lis")
    lisdata.merge([folder / "text.lis", folder / "table2.lis"], folder / "both.lis")
    lisdata.encode(folder / "graph.lis", folder / "graph.tok", tokenizer="chars")
    lisdata.convert("conllu", samples / SAMPLES["conllu"], folder / "treebank.lis")
    lisdata.encode(folder / "treebank.lis", folder / "treebank.tok", tokenizer=str(samples / "tokenizer" / "bpe.json"))
    for name in IMPORTED:
        lisdata.export(folder / "graph.tok", folder / f"graph.{name}", format=name)
    return folder


@pytest.fixture
def here(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a copy of the workspace."""
    folder = Path(shutil.copytree(workspace, tmp_path / "here"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(here: Path) -> Lisdata:
    """Call `lisdata` with arguments, in the working directory."""

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return call
