"""A format that would hold nothing of a dataset is refused before anything is written, and told from what would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sample_files import INLINE, SAMPLES

import lisdata
from lisdata.cli.commands import main
from lisdata.conversion import convert
from lisdata.errors import ExportError
from lisdata.exporters.format_scopes import SCOPES, find_not_held
from lisdata.registry import EXPORTERS, load_exporter, load_source
from lisdata.shards import IncidenceDataset, write_structures

ROOT = Path(__file__).parents[2]
CHOSEN = ("csv", "graph", "hif", "html", "json", "jsonl", "nary", "npy", "ntriples", "wikidata", "xml")
RDF = ("hext", "jsonld", "nquads", "ntriples", "rdfxml", "trig", "turtle")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("datasets")
    for source in CHOSEN:
        convert(source, ROOT / "sample_data" / SAMPLES[source], folder / source)
    return {source: folder / source for source in CHOSEN}


def test_every_exporter_but_that_of_all_structures_says_what_it_holds() -> None:
    assert SCOPES.keys() == EXPORTERS.keys() - {"structures"}
    assert all(load_source(source).exporter in SCOPES for source in (*SAMPLES, *INLINE))


@pytest.mark.parametrize("source", CHOSEN)
def test_of_any_source_a_format_writes_its_records_or_is_refused(
    datasets: dict[str, Path], source: str, tmp_path: Path
) -> None:
    written: set[str] = set()
    refused: dict[str, str] = {}
    unfit: set[str] = set()
    for name in EXPORTERS:
        target = tmp_path / name
        try:
            (report,) = lisdata.export(datasets[source], target, format=name)
        except ValueError as error:
            refused[name] = str(error)
            assert not target.exists()
        except ExportError:
            unfit.add(name)
        else:
            assert report.num_records > 0
            written.add(name)

    assert all(f"format {name} would hold nothing of" in found for name, found in refused.items())
    assert all("structures, or say --allow-losses" in found for found in refused.values())
    assert unfit == ({"image"} if source == "npy" else set())  # its numbers are no pixels
    assert {load_source(source).exporter, "structures"} <= written
    assert written.isdisjoint(RDF) == (source != "ntriples")


def test_the_message_names_formats_that_hold_it(datasets: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"6 structures of kind table from source csv: .* arrow, csv, parquet, sqlite"):
        lisdata.export(datasets["csv"], tmp_path / "a.nt", format="ntriples")
    with pytest.raises(ValueError, match=r"12 structures of kind hyperedges from source hif: choose one of hif, str"):
        lisdata.export(datasets["hif"], tmp_path / "a.json", format="json")


def test_it_is_wrong_usage_unless_losses_are_allowed(datasets: dict[str, Path], tmp_path: Path) -> None:
    def run(*more: str) -> Any:
        command = ["export", str(datasets["hif"]), "--format", "turtle", "--to", str(tmp_path / "a.ttl"), *more]
        return CliRunner().invoke(main, command)

    refused = run()
    allowed = run("--allow-losses")

    assert (refused.exit_code, allowed.exit_code) == (2, 0)
    assert "Error: format turtle would hold nothing of 12 structures of kind hyperedges" in refused.output
    assert "not lossless: structures of kind hyperedges: 12" in allowed.output


@pytest.mark.parametrize("name", sorted(SCOPES))
@pytest.mark.parametrize("source", ["csv", "hif", "jsonl"])
def test_what_a_format_holds_nothing_of_is_a_loss_or_an_error_that_says_so(
    source: str, name: str, datasets: dict[str, Path], tmp_path: Path
) -> None:
    dataset = IncidenceDataset(datasets[source])
    if find_not_held(dataset, name, dataset.inputs) is None:
        return
    refusal = ""
    try:
        (report,) = lisdata.export(datasets[source], tmp_path / "back", format=name, allow_losses=True)
    except ExportError as error:
        refusal = str(error)
    if not refusal:
        assert report.losses
        return
    what = rf"\d+ structures of kind \w+ from source {source}"
    advice = r"not even with losses: choose one of .*, structures \(.*expected"
    assert re.match(rf"format {name} cannot be written of {what}, {advice}", refusal)
    assert not [path for path in (tmp_path / "back").rglob("*") if path.is_file()]


def test_a_dataset_of_which_a_format_holds_a_part_is_written_with_its_losses(
    datasets: dict[str, Path], tmp_path: Path
) -> None:
    lisdata.merge([datasets["ntriples"], datasets["csv"]], tmp_path / "both")

    (report,) = lisdata.export(tmp_path / "both", tmp_path / "back", format="turtle")

    assert report.num_records == 61
    assert report.losses == {"structures of kind table": 6}
    with pytest.raises(ValueError, match="format turtle would hold nothing of 6 structures of kind table"):
        lisdata.export(tmp_path / "both", tmp_path / "table.ttl", format="turtle", inputs=["authors.csv"])


def test_what_was_made_in_memory_goes_by_its_kind(tmp_path: Path) -> None:
    import networkx as nx

    write_structures(tmp_path / "data", lisdata.structures_from_networkx(nx.path_graph(3)))

    with pytest.raises(ValueError, match=r"nothing of 6 structures of kind hyperedges: choose one of .*graph, hif, "):
        lisdata.export(tmp_path / "data", tmp_path / "a.csv", format="csv")
    assert lisdata.export(tmp_path / "data", tmp_path / "a.gml", format="graph")[0].num_records == 1


@pytest.mark.parametrize("name", [*RDF, "csv", "html", "json"])
def test_grids_that_show_nothing_by_number_break_no_exporter(tmp_path: Path, name: str) -> None:
    np.save(tmp_path / "a.npy", np.arange(4))
    convert("npy", tmp_path / "a.npy", tmp_path / "data")
    dataset = lisdata.open(tmp_path / "data")

    if name in RDF:
        (report,) = lisdata.export(tmp_path / "data", tmp_path / "back", format=name, allow_losses=True)
        assert report.losses == {"structures of kind grid": 1}
    else:
        with pytest.raises(lisdata.errors.LisDataError, match="expected"):
            load_exporter(name).export(dataset, tmp_path / "back", dataset.inputs)  # type: ignore[arg-type]
