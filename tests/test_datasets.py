"""Datasets by path: either form is opened, each input goes back by its own exporter."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lisdata
from lisdata.contents import entity
from lisdata.errors import DamagedShardError, ExportError, SchemaError
from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset, Part, write_structures
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
    sources = {"text": folder / "text", "npy": folder / "grids" / "ring.npy", "ntriples": folder / "triples"}
    for source, path in sources.items():
        lisdata.convert(source, path, tmp_path / source)
    lisdata.merge([tmp_path / source for source in sources], tmp_path / "all")

    reports = lisdata.export(tmp_path / "all", tmp_path / "back")

    assert len(reports) == 3
    written = {path.name: path.read_bytes() for path in (tmp_path / "back").iterdir()}
    originals = {p.name: p for path in sources.values() for p in (path, *path.glob("*")) if p.is_file()}
    originals = {name: path for name, path in originals.items() if path.suffix != ".md"}
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


@pytest.mark.parametrize("is_tokens", [False, True], ids=["structures", "tokens"])
def test_no_flipped_byte_is_exported_as_if_it_were_whole(is_tokens: bool, root: Path, tmp_path: Path) -> None:
    lisdata.convert("csv", root / "sample_data" / SAMPLES["csv"], tmp_path / "d")
    if is_tokens:
        lisdata.encode(tmp_path / "d", tmp_path / "tokens", tokenizer="chars")
    folder = tmp_path / ("tokens" if is_tokens else "d")
    settings: dict[str, Any] = {"format": "parquet"} if is_tokens else {}
    for number, name in enumerate(sorted(read_manifest(folder)["files"])):
        data = (folder / name).read_bytes()
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        (folder / name).write_bytes(flipped)
        target = tmp_path / f"back-{number}"

        with pytest.raises(DamagedShardError, match=f"{Path(name).name}: expected sha256"):
            lisdata.export(folder, target, **settings)
        assert not target.exists()
        (folder / name).write_bytes(data)

    assert lisdata.export(folder, tmp_path / "back", **settings)


def test_an_export_writes_over_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    lisdata.convert("text", [str(tmp_path / "a.txt")], tmp_path / "data")

    for target in (tmp_path / "a.txt", tmp_path):
        with pytest.raises(lisdata.LisDataError, match="expected no file here yet"):
            lisdata.export(tmp_path / "data", target)
    lisdata.export(tmp_path / "data", tmp_path, force=True)

    with pytest.raises(lisdata.LisDataError, match="outside the dataset"):
        lisdata.export(tmp_path / "data", tmp_path / "data" / "a.txt", force=True)


# -- exports of several inputs ----------------------------------------------------------------------------------------


@pytest.fixture
def look_alikes(tmp_path: Path) -> Path:
    """A dataset whose inputs would be two files a.txt, two b.txt, and a file and a folder c.txt."""
    folder = tmp_path / "in"
    (folder / "c.txt").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "c.txt/d.txt"):
        (folder / name).write_text(f"plain {name}", encoding="utf-8")
    for name in ("a.txt.gz", "b.txt.GZ", "c.txt.gz"):
        (folder / name).write_bytes(gzip.compress(f"packed {name}".encode()))
    lisdata.convert("text", folder, tmp_path / "data")
    return tmp_path / "data"


FILES = {
    "a.txt": "plain a.txt",
    "2/a.txt": "packed a.txt.gz",
    "b.txt": "plain b.txt",
    "2/b.txt": "packed b.txt.GZ",
    "c.txt/d.txt": "plain c.txt/d.txt",
    "2/c.txt": "packed c.txt.gz",
}


def files_in(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text(encoding="utf-8") for p in folder.rglob("*") if p.is_file()}


def test_inputs_that_want_one_name_each_have_their_file_and_it_is_told(
    look_alikes: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (report,) = lisdata.export(look_alikes, tmp_path / "back")

    assert files_in(tmp_path / "back") == FILES
    assert {str(path.relative_to(tmp_path / "back")) for path in report.files} == set(FILES)
    assert sorted(record.getMessage() for record in caplog.records) == [
        "input 1 (a.txt.gz) is written as 2/a.txt: another is called a.txt",
        "input 3 (b.txt.GZ) is written as 2/b.txt: another is called b.txt",
        "input 4 (c.txt.gz) is written as 2/c.txt: another is called c.txt",
    ]


@pytest.mark.parametrize("source", ["hif", "html", "ntriples", "text"])
def test_inputs_of_one_name_that_were_merged_each_have_their_file(source: str, root: Path, tmp_path: Path) -> None:
    sample = root / "sample_data" / SAMPLES[source]
    inputs: list[str | Path] = []
    for number, data in enumerate((sample.read_bytes(), sample.read_bytes() + b"\n")):
        path = tmp_path / str(number) / sample.name
        path.parent.mkdir()
        path.write_bytes(data)
        lisdata.convert(source, path, tmp_path / f"{number}.lis")
        inputs.append(tmp_path / f"{number}.lis")
    lisdata.merge(inputs, tmp_path / "both")

    (report,) = lisdata.export(tmp_path / "both", tmp_path / "back")

    assert report.files == (tmp_path / "back" / sample.name, tmp_path / "back" / "2" / sample.name)
    assert all(path.stat().st_size > 0 for path in report.files)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("a.txt.gz", ["2/a.txt"]),
        ("2/b.txt", ["2/b.txt"]),
        (5, ["c.txt/d.txt"]),
        ("5", ["c.txt/d.txt"]),
        (["c.txt.gz", 0, "a.txt"], ["a.txt", "2/c.txt"]),
        ((), list(FILES)),
    ],
)
def test_inputs_are_chosen_by_name_or_number_and_keep_their_files_names(
    look_alikes: Path, tmp_path: Path, chosen: Any, expected: list[str]
) -> None:
    (tmp_path / "back").mkdir()

    lisdata.export(look_alikes, tmp_path / "back", inputs=chosen)

    assert files_in(tmp_path / "back") == {name: FILES[name] for name in expected}


def test_one_chosen_input_is_the_file_that_is_asked_for(look_alikes: Path, tmp_path: Path) -> None:
    lisdata.export(look_alikes, tmp_path / "one.txt", inputs=("a.txt.gz",))
    lisdata.export(look_alikes, tmp_path / "one.jsonl", inputs=("a.txt.gz",), format="structures")

    assert (tmp_path / "one.txt").read_text(encoding="utf-8") == "packed a.txt.gz"
    assert (tmp_path / "one.jsonl").read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("chosen", ["x.txt", 6, "6", -1])
def test_an_input_that_is_not_there_is_a_wrong_argument(look_alikes: Path, tmp_path: Path, chosen: str | int) -> None:
    with pytest.raises(ValueError, match=rf"no input is called {chosen!r}; there are 0 \(a.txt\), 1 \(a.txt.gz\)"):
        lisdata.export(look_alikes, tmp_path / "back", inputs=[chosen])


def test_a_name_that_two_inputs_have_is_a_wrong_argument(tmp_path: Path) -> None:
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.txt").write_text(name, encoding="utf-8")
        lisdata.convert("text", tmp_path / name / "t.txt", tmp_path / f"{name}.lis")
    lisdata.merge([tmp_path / "1.lis", tmp_path / "2.lis"], tmp_path / "both")

    with pytest.raises(ValueError, match=r"inputs 0, 1 are all called 't\.txt': choose by number"):
        lisdata.export(tmp_path / "both", tmp_path / "t.txt", inputs=("t.txt",))
    lisdata.export(tmp_path / "both", tmp_path / "t.txt", inputs=(1,))

    assert (tmp_path / "t.txt").read_text(encoding="utf-8") == "2"


@pytest.mark.parametrize("format_", [None, "structures", "jsonl"])
def test_no_file_of_an_export_is_written_over_unless_it_is_told_to(
    look_alikes: Path, tmp_path: Path, format_: str | None
) -> None:
    lisdata.export(look_alikes, tmp_path / "back", format=format_)
    before = files_in(tmp_path / "back")
    for name in before:
        for other in before:
            if other != name:
                (tmp_path / "back" / other).unlink()
        with pytest.raises(ExportError, match=f"{name}: expected no file here yet"):
            lisdata.export(look_alikes, tmp_path / "back", format=format_)
        assert files_in(tmp_path / "back") == {name: before[name]}
        lisdata.export(look_alikes, tmp_path / "back", format=format_, force=True)

    assert files_in(tmp_path / "back") == before


@pytest.mark.parametrize("force", [False, True])
def test_what_stands_where_a_folder_or_a_file_is_to_be_is_named(look_alikes: Path, tmp_path: Path, force: bool) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder" / "a.txt").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "c.txt").write_text("", encoding="utf-8")

    for target, message in (
        ("file", r"file: expected a folder, for a\.txt in it, found a file"),
        ("file/deeper", r"file: expected a folder, for deeper/a\.txt in it"),
        ("folder", r"folder/a\.txt: expected no folder where a file is to be"),
        ("other", r"other/c\.txt: expected a folder, for d\.txt in it, found a file"),
    ):
        with pytest.raises(ExportError, match=message):
            lisdata.export(look_alikes, tmp_path / target, force=force)
    assert list((tmp_path / "other").iterdir()) == [tmp_path / "other" / "c.txt"]


def test_exporters_that_would_share_a_file_are_refused(tmp_path: Path) -> None:
    for name in ("a", "a.jsonl"):
        (tmp_path / name).write_text(name, encoding="utf-8")
        lisdata.convert("text", tmp_path / name, tmp_path / f"{name}.lis")
    lisdata.merge([tmp_path / "a.lis", tmp_path / "a.jsonl.lis"], tmp_path / "both")
    body = read_manifest(tmp_path / "both")
    body["origins"][0]["exporter"] = "structures"  # as of a third party's source
    (tmp_path / "both" / "manifest.json").write_bytes(sealed(body))

    with pytest.raises(ExportError, match="two inputs would have one file here"):
        lisdata.export(tmp_path / "both", tmp_path / "back")
    assert len(lisdata.export(tmp_path / "both", tmp_path / "back", inputs=[1])) == 1


def test_no_file_of_an_export_lies_in_the_dataset(look_alikes: Path, tmp_path: Path) -> None:
    look_alikes.rename(tmp_path / "c.txt")

    with pytest.raises(ExportError, match="expected a place outside the dataset"):
        lisdata.export(tmp_path / "c.txt", tmp_path)


def test_a_dataset_made_in_memory_is_written_by_its_format_alone_and_over_nothing(
    in_memory: Path, tmp_path: Path
) -> None:
    (tmp_path / "back").mkdir()
    lisdata.export(in_memory, tmp_path / "back", format="structures")

    with pytest.raises(ExportError, match=r"structures\.jsonl: expected no file here yet"):
        lisdata.export(in_memory, tmp_path / "back", format="structures")
    with pytest.raises(ExportError, match=r"expected a format for that \(structures\), found text"):
        lisdata.export(in_memory, tmp_path / "text", format="text")
    with pytest.raises(ValueError, match="no input is called 'a'; there are none"):
        lisdata.export(in_memory, tmp_path / "text", format="structures", inputs="a")


KILLED = """
import os, sys, lisdata
from lisdata.exporters import text
def die(*_):
    os._exit(9)
text.iter_text_rows = die
lisdata.export(sys.argv[1], sys.argv[2])
"""


def test_what_a_killed_export_left_is_swept_by_the_next_one(look_alikes: Path, tmp_path: Path) -> None:
    back = tmp_path / "back"
    assert subprocess.run([sys.executable, "-c", KILLED, look_alikes, back], check=False).returncode == 9
    assert [path.name for path in back.rglob("*.tmp")] != []

    (back / "2").mkdir()
    (back / "2" / ".lisdata-export-0123.tmp").write_bytes(b"half")

    lisdata.export(look_alikes, back, format="structures", inputs=["a.txt"])

    assert {path.name for path in back.rglob("*") if path.is_file()} == {"a.txt.jsonl"}


@pytest.mark.parametrize("source", SAMPLES)
def test_a_part_is_read_as_often_for_many_inputs_as_for_few(
    source: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = root / "sample_data" / (SAMPLES | {"csv": "tables/books.csv"})[source]
    reads: list[str] = []
    iter_batches = Part.iter_batches

    def counted(part: Part, table: str, columns: tuple[str, ...] | None = None) -> Any:
        reads.append(table)
        return iter_batches(part, table, columns)

    monkeypatch.setattr(Part, "iter_batches", counted)
    for format_ in (None, "structures"):
        found = []
        for num_files in (2, 9):
            folder = tmp_path / f"{num_files}-{format_}"
            folder.mkdir()
            for number in range(num_files):
                (folder / f"{number}-{sample.name}").write_bytes(sample.read_bytes())
            lisdata.convert(source, folder, folder / "data")
            reads.clear()
            lisdata.export(folder / "data", folder / "back", format=format_)
            assert len(list((folder / "back").iterdir())) == num_files
            found.append(sorted(reads))
        assert found[0] == found[1]


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
