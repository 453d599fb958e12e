"""The report of an order tells a good mix from a bad one, in the library and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from lisdata.cli import main
from lisdata.loader import report_shuffle
from lisdata.shards import write_structures
from lisdata.token_shards import TokenDataset, write_tokens

NUM_ROWS = 20_000


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> TokenDataset:
    """20,000 rows of one token in 20 parts."""
    directory: Path = tmp_path_factory.mktemp("many")
    write_tokens(directory, ([row % 100] for row in range(NUM_ROWS)), vocab_size=100, tokens_per_part=1000)
    return TokenDataset(directory)


def figures(dataset: TokenDataset, **settings: Any) -> dict[str, tuple[float, float]]:
    found = report_shuffle(dataset, **settings)["figures"]
    return {name: (figure["found"], figure["uniform"]) for name, figure in found.items()}


@pytest.mark.parametrize("settings", [{}, {"epoch": 3}, {"seed": 7}, {"shuffle": "window", "window": 1 << 15}])
def test_a_permutation_of_all_rows_is_as_mixed_as_chance(dataset: TokenDataset, settings: dict[str, Any]) -> None:
    found = figures(dataset, **settings)

    for name, tolerance in (("neighbour_distance", 0.01), ("adjacent_neighbours", 0.001), ("largest_part_share", 0.01)):
        assert abs(found[name][0] - found[name][1]) < tolerance, name
    assert 0.7 < found["chi_square"][0] < 1.4
    assert abs(found["epoch_correlation"][0]) < 0.05


def test_rows_as_they_are_stored_are_not_mixed(dataset: TokenDataset) -> None:
    found = figures(dataset, shuffle=False)

    assert found["adjacent_neighbours"][0] == 1
    assert found["neighbour_distance"][0] == 1 / NUM_ROWS
    assert found["largest_part_share"][0] > 0.95
    assert found["chi_square"][0] > 1000
    assert found["epoch_correlation"][0] == pytest.approx(1)


def test_a_small_window_shows_in_the_figures(dataset: TokenDataset) -> None:
    found, whole = figures(dataset, shuffle="window", window=1024), figures(dataset)

    assert found["adjacent_neighbours"][0] > 5 * whole["adjacent_neighbours"][1]
    assert found["largest_part_share"][0] > whole["largest_part_share"][0]


@pytest.mark.parametrize("num_rows", [0, 1, 2, 3, 40])
def test_small_datasets_have_a_report(num_rows: int, tmp_path: Path) -> None:
    write_tokens(tmp_path, ([1] for _ in range(num_rows)), vocab_size=9)

    report = report_shuffle(TokenDataset(tmp_path), bucket=4)

    assert report["rows"] == num_rows
    assert report["rows_seen"] == (num_rows if num_rows > 1 else 0)
    assert bool(report["figures"]) is (num_rows > 1)


def test_of_a_large_dataset_stretches_are_looked_at(dataset: TokenDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lisdata.loader.shuffle_report.MAX_ROWS", 1 << 13)

    report = report_shuffle(dataset)

    assert report["rows_seen"] == 1 << 13
    assert report["figures"]["neighbour_distance"]["found"] == pytest.approx(1 / 3, abs=0.02)


def test_wrong_settings_are_refused(dataset: TokenDataset) -> None:
    for wrong in ({"batch_size": 0}, {"window": 4}, {"bucket": 0}):
        with pytest.raises(ValueError):
            report_shuffle(dataset, **wrong)


@pytest.fixture
def run(dataset: TokenDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call `lisdata shuffle-report` on the dataset, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["shuffle-report", str(dataset.path), *arguments])


def test_the_command_prints_a_table_json_and_a_plot(run: Callable[..., Result], tmp_path: Path) -> None:
    table = run("--shuffle", "window", "--window", "4096", "--plot", "order.png")
    as_json = run("--bucket", "8", "--json", "--plot", "order.svg")

    assert (table.exit_code, as_json.exit_code) == (0, 0)
    assert table.stdout.startswith("20,000 rows of 20,000 seen, 20 files, batches of 64\n")
    assert "chi square" in table.stdout
    assert "plot: order.png" in table.stderr
    assert (tmp_path / "order.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "order.svg").read_text()
    assert orjson.loads(as_json.stdout)["order"]["algorithm"] == "buckets-1"


def test_wrong_usage_of_the_command_exits_with_2(run: Callable[..., Result], tmp_path: Path) -> None:
    write_structures(tmp_path / "graph.lis", [])

    assert run("--plot", "order.doc").exit_code == 2
    assert run("--window", "4").exit_code == 2
    structures = CliRunner().invoke(main, ["shuffle-report", str(tmp_path / "graph.lis")])
    assert (structures.exit_code, structures.stdout) == (2, "")
    assert "encode it first" in structures.stderr
