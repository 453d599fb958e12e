from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from lisdata.contents import entity, word
from lisdata.conversion import convert
from lisdata.exporters.structures import STRUCTURES, count_isolated
from lisdata.registry import load_exporter
from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.structure import Occurrence, Structure
from lisdata.testing import structure_lists

ONE = Structure(record_id="one", kind=StructureKind.MIXED, occurrences=(Occurrence(content=word("a\u00e9")),))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_it_is_registered() -> None:
    assert load_exporter("structures") is STRUCTURES


@given(written=structure_lists())
@settings(max_examples=15, deadline=None)
def test_each_structure_is_one_line_of_canonical_json(
    tmp_path_factory: pytest.TempPathFactory, written: list[Structure]
) -> None:
    folder = tmp_path_factory.mktemp("export")
    write_structures(folder / "data", written)

    report = STRUCTURES.export(IncidenceDataset(folder / "data"), folder / "out.jsonl", ())

    lines = lines_of(folder / "out.jsonl")
    assert [Structure.from_dict(json.loads(line)) for line in lines] == written
    for line in lines:
        text = json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert line == f"{text}\n".encode()
    assert (report.files, report.num_records, report.losses) == ((folder / "out.jsonl",), len(written), {})


def test_contents_that_no_structure_shows_are_counted(tmp_path: Path) -> None:
    write_structures(tmp_path / "data", [ONE], isolated=(entity("lonely"), entity("alone")))

    report = STRUCTURES.export(IncidenceDataset(tmp_path / "data"), tmp_path / "out.jsonl", ())

    assert report.losses == {"contents in no structure": 2}


def test_a_content_that_another_part_shows_is_not_lost(tmp_path: Path) -> None:
    write_structures(tmp_path / "a", [ONE], isolated=(entity("lonely"),))
    shown = Structure(record_id="two", kind=StructureKind.MIXED, occurrences=(Occurrence(content=entity("lonely")),))
    write_structures(tmp_path / "b", [shown])

    dataset = IncidenceDataset(tmp_path / "a")

    assert count_isolated(dataset.parts) == 1
    assert count_isolated((*dataset.parts, *IncidenceDataset(tmp_path / "b").parts)) == 0
    assert count_isolated(()) == 0


def test_a_folder_takes_structures_made_in_memory(tmp_path: Path) -> None:
    write_structures(tmp_path / "data", [ONE])
    (tmp_path / "out").mkdir()

    report = STRUCTURES.export(IncidenceDataset(tmp_path / "data"), tmp_path / "out", ())

    assert report.files == (tmp_path / "out" / "structures.jsonl",)
    assert lines_of(report.files[0])[0].startswith(b'{"document":null,')


def test_each_input_has_its_own_file_in_a_folder_and_one_alone_is_the_target(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "in" / "b.txt.gz").write_bytes(gzip.compress(b"three\n"))
    convert("text", [str(tmp_path / "in")], tmp_path / "data")
    dataset = IncidenceDataset(tmp_path / "data")

    both = STRUCTURES.export(dataset, tmp_path / "out", dataset.inputs)
    alone = STRUCTURES.export(dataset, tmp_path / "b.jsonl", dataset.inputs[1:])

    assert both.files == (tmp_path / "out" / "a.txt.jsonl", tmp_path / "out" / "b.txt.jsonl")
    assert both.num_records == len(dataset) == len(lines_of(both.files[0])) + len(lines_of(both.files[1]))
    assert alone.files == (tmp_path / "b.jsonl",)
    assert alone.files[0].read_bytes() == both.files[1].read_bytes()
