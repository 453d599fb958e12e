"""Datasets by path: either form is opened, each input goes back by its own exporter."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import lisdata
from lisdata.contents import entity
from lisdata.errors import DamagedShardError, ExportError, SchemaError
from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.shards.manifest import read_manifest, sealed
from lisdata.structure import Instance, Occurrence, Structure
from lisdata.token_shards import TokenDataset

SAMPLES = {
    "csv": "tables",
    "hif": "hif/kitchen.hif.json",
    "html": "html/page.html",
    "jsonl": "table2/sentence.jsonl",
    "npy": "grids/heat.npy",
    "ntriples": "triples/garden.nt",
    "text": "text/harbour.txt",
}


@pytest.fixture
def in_memory(tmp_path: Path) -> Path:
    structure = Structure(
        record_id="r",
        kind=StructureKind.TEXT,
        occurrences=(Occurrence(content=entity("a")),),
        instances=(Instance(label="line"),),
    )
    write_structures(tmp_path / "memory", [structure])
    return tmp_path / "memory"


def test_either_form_is_opened_by_what_its_manifest_says(in_memory: Path, tmp_path: Path) -> None:
    lisdata.write_tokens(tmp_path / "tokens", [np.array([1, 2])], vocab_size=3)

    assert isinstance(lisdata.open(in_memory), IncidenceDataset)
    assert isinstance(lisdata.open(tmp_path / "tokens"), TokenDataset)


def test_a_form_that_is_not_known_is_refused(in_memory: Path) -> None:
    body = read_manifest(in_memory) | {"format": "lisdata-songs"}
    (in_memory / "manifest.json").write_bytes(sealed(body))

    with pytest.raises(SchemaError, match="expected format lisdata-incidence, found lisdata-songs"):
        lisdata.open(in_memory)


@pytest.mark.parametrize("source", SAMPLES)
def test_every_source_s_sample_converts_verifies_and_is_opened_in_full(source: str, root: Path, tmp_path: Path) -> None:
    manifest = lisdata.convert(source, root / "sample_data" / SAMPLES[source], tmp_path / "d")

    assert lisdata.verify(tmp_path / "d").problems == ()
    assert len(lisdata.open(tmp_path / "d", verify="full")) == manifest["counts"]["structures"]
    for entry in manifest["inputs"]:
        assert entry["records"]["seen"] == entry["records"]["converted"] > 0


@pytest.mark.parametrize("source", ["ntriples", "npy", "text"])
def test_one_input_goes_back_to_one_file_byte_for_byte(source: str, root: Path, tmp_path: Path) -> None:
    path = root / "sample_data" / SAMPLES[source]
    lisdata.convert(source, path, tmp_path / "d")

    (report,) = lisdata.export(tmp_path / "d", tmp_path / "back")

    assert report.losses == {}
    assert (tmp_path / "back").read_bytes() == path.read_bytes()


def test_inputs_of_several_sources_go_back_each_by_its_own_exporter(root: Path, tmp_path: Path) -> None:
    folder = root / "sample_data"
    sources = {"text": folder / "text", "npy": folder / "grids", "ntriples": folder / "triples"}
    for source, path in sources.items():
        lisdata.convert(source, path, tmp_path / source)
    lisdata.merge([tmp_path / source for source in sources], tmp_path / "all")

    reports = lisdata.export(tmp_path / "all", tmp_path / "back")

    assert len(reports) == 3
    written = {path.name: path.read_bytes() for path in (tmp_path / "back").iterdir()}
    originals = {p.name: p for folder in sources.values() for p in folder.iterdir() if p.suffix != ".md"}
    assert written == {name: path.read_bytes() for name, path in originals.items()}


def test_what_has_no_source_needs_a_format(in_memory: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="made in memory, not from a source: name a format"):
        lisdata.export(in_memory, tmp_path / "back")

    (report,) = lisdata.export(in_memory, tmp_path / "back.jsonl", format="structures")

    assert report.num_records == 1
    assert b'"record_id":"r"' in (tmp_path / "back.jsonl").read_bytes()


def test_an_unknown_format_is_refused_with_the_known_ones(in_memory: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no exporter is called 'word': expected one of .*structures"):
        lisdata.export(in_memory, tmp_path / "back", format="word")


def test_a_damaged_dataset_is_not_exported(root: Path, tmp_path: Path) -> None:
    lisdata.convert("text", root / "sample_data" / SAMPLES["text"], tmp_path / "d")
    shutil.rmtree(tmp_path / "d" / "contents")

    with pytest.raises(DamagedShardError, match=r"contents/part-00000-000.arrow: expected \d+ bytes, found no file"):
        lisdata.export(tmp_path / "d", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_an_export_writes_over_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    lisdata.convert("text", [str(tmp_path / "a.txt")], tmp_path / "data")

    for target in (tmp_path / "a.txt", tmp_path):
        with pytest.raises(lisdata.LisDataError, match="expected no file here yet"):
            lisdata.export(tmp_path / "data", target)
    lisdata.export(tmp_path / "data", tmp_path, force=True)

    with pytest.raises(lisdata.LisDataError, match="outside the dataset"):
        lisdata.export(tmp_path / "data", tmp_path / "data" / "a.txt", force=True)


def test_a_dataset_is_not_encoded_onto_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    lisdata.convert("text", [str(tmp_path / "a.txt")], tmp_path / "data")

    for target in (tmp_path / "data", tmp_path / "data" / "tokens", tmp_path):
        with pytest.raises(lisdata.LisDataError, match="apart from the dataset"):
            lisdata.encode(tmp_path / "data", target, fresh=True)
    assert not lisdata.verify(tmp_path / "data").problems


def test_a_merge_that_was_killed_is_done_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(name, encoding="utf-8")
        lisdata.convert("text", [str(tmp_path / f"{name}.txt")], tmp_path / name)
    (tmp_path / ".both.merging" / "structures").mkdir(parents=True)  # what a killed merge leaves
    (tmp_path / ".both.merging" / "structures" / "part-00000-000.arrow").write_bytes(b"half")

    lisdata.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "both")

    assert not lisdata.verify(tmp_path / "both").problems
    assert not (tmp_path / ".both.merging").exists()
