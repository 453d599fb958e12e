"""Real files go the whole road on the command line and come back under the promise of their source."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyoxigraph
import pytest
from click.testing import CliRunner

from lisdata.cli import main


def lisdata(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def there_and_back(tmp_path: Path) -> Callable[..., Path]:
    """Convert, verify and export a file; check that the command says nothing was lost; return the export."""

    def walk(source: str, path: Path, *options: object) -> Path:
        lisdata("convert", source, path, "--to", tmp_path / "data", *options)
        assert "good" in lisdata("verify", tmp_path / "data")
        printed = lisdata("export", tmp_path / "data", "--to", tmp_path / "back")
        assert "lossless" in printed
        assert "not lossless" not in printed
        return tmp_path / "back"

    return walk


@pytest.mark.parametrize("unit", ["line", "paragraph", "document"])
def test_tiny_shakespeare_comes_back_byte_for_byte(
    shared: Path, there_and_back: Callable[..., Path], unit: str
) -> None:
    path = shared / "data" / "tinyshakespeare" / "input.txt"

    assert there_and_back("text", path, "--unit", unit).read_bytes() == path.read_bytes()


def test_the_schema_org_triples_come_back_as_the_same_graph_in_the_same_order(
    shared: Path, there_and_back: Callable[..., Path]
) -> None:
    path = shared / "data" / "kg" / "rdf_real" / "schemaorg-30.0.nt"
    read = lambda data: list(pyoxigraph.parse(data, pyoxigraph.RdfFormat.N_TRIPLES))  # noqa: E731

    assert read(there_and_back("ntriples", path).read_bytes()) == read(path.read_bytes())


def test_a_directed_hypergraph_comes_back_as_the_same_model(shared: Path, there_and_back: Callable[..., Path]) -> None:
    path = shared / "data" / "kg" / "hif" / "data" / "e-coli.json"

    def model(data: bytes) -> dict[str, object]:
        found = json.loads(data, parse_float=str)
        lists = {name for name in found if isinstance(found[name], list)}
        return {k: Counter(json.dumps(e, sort_keys=True) for e in v) if k in lists else v for k, v in found.items()}

    assert model(there_and_back("hif", path).read_bytes()) == model(path.read_bytes())


def test_a_chinook_table_with_its_keys_comes_back_byte_for_byte(
    shared: Path, there_and_back: Callable[..., Path]
) -> None:
    path = shared / "data" / "kg" / "tables" / "chinook_csv" / "Album.csv"
    keys = ("--primary-key", "AlbumId", "--foreign-key", "ArtistId=Artist.ArtistId")

    assert there_and_back("csv", path, *keys).read_bytes() == path.read_bytes()


def test_a_page_comes_back_byte_for_byte(shared: Path, there_and_back: Callable[..., Path]) -> None:
    path = shared / "data" / "kg" / "html" / "wikipedia.html"

    assert there_and_back("html", path).read_bytes() == path.read_bytes()


def test_a_grid_of_real_digits_comes_back_with_its_dtype(
    shared: Path, tmp_path: Path, there_and_back: Callable[..., Path]
) -> None:
    with gzip.open(shared / "data" / "kg" / "grids" / "digits.csv.gz", "rt") as stream:
        digits = np.loadtxt(stream, delimiter=",")[:, :64].astype(np.uint8).reshape(-1, 8, 8)
    path = tmp_path / "digits.npy"
    np.save(path, digits)

    back = np.load(there_and_back("npy", path), allow_pickle=False)

    assert back.dtype == digits.dtype
    assert np.array_equal(back, digits)
