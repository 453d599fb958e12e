"""Triples sorted by subject or graph: one structure each, nothing lost, every triple back in its place."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import scattered_triples
from scattered_triples import MEMORY_MIB, bytes_of, write_scattered

import lisdata
from lisdata.alignment import audit
from lisdata.errors import DamagedShardError, PlanError
from lisdata.regrouping import regroup
from lisdata.regrouping.regrouping import SPILLS
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, verify_dataset
from lisdata.structure import Structure


def subjects_of(structure: Structure) -> set[bytes]:
    return {structure.occurrences[i.occurrence].content.key for i in structure.incidences if i.role.side == "subject"}


def structures_of(directory: Path) -> list[Structure]:
    return list(IncidenceDataset(directory).iter_structures())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files that speak of the same things."""
    folder = tmp_path_factory.mktemp("files")
    for number in range(3):
        write_scattered(folder / f"{number}.nt", 3000, seed=number)
    return folder


@pytest.fixture(scope="module")
def plain(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files as they are, in one part each."""
    directory = tmp_path_factory.mktemp("plain") / "d"
    parts = [directory.with_name(path.stem) for path in sorted(files.iterdir())]
    for part in parts:
        lisdata.convert("ntriples", files / f"{part.name}.nt", part)
    lisdata.merge(list(parts), directory)
    return directory


@pytest.fixture(scope="module")
def by_subject(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sorted") / "d"
    regroup(plain, directory, memory_mib=MEMORY_MIB)
    return directory


# -- what comes out --------------------------------------------------------------------------------------------------


def test_a_subject_has_one_structure_over_all_files(plain: Path, by_subject: Path) -> None:
    found = structures_of(by_subject)
    wanted = {subject for structure in structures_of(plain) for subject in subjects_of(structure)}

    assert len(IncidenceDataset(by_subject).parts) > 1
    assert all(len(subjects_of(structure)) == 1 for structure in found)
    assert Counter(next(iter(subjects_of(structure))) for structure in found) == dict.fromkeys(wanted, 1)
    assert any(len({i.ordinal >> 61 for i in structure.instances}) == 3 for structure in found)  # of three files


def test_the_facts_are_those_of_the_dataset(plain: Path, by_subject: Path) -> None:
    assert audit(plain, by_subject).ok
    assert verify_dataset(by_subject).problems == ()
    assert verify_dataset(by_subject).strangers == ()


def test_structures_of_a_part_and_their_facts_are_in_the_order_of_the_source(by_subject: Path) -> None:
    for part in IncidenceDataset(by_subject).parts:
        ordinals = part.structures["instance_ordinal"].to_pylist()

        assert all(run == sorted(run) for run in ordinals)
        assert [run[0] for run in ordinals] == sorted(run[0] for run in ordinals)


def test_a_blank_node_of_one_name_in_two_files_is_two_subjects(by_subject: Path) -> None:
    nodes = [
        occurrence.content
        for structure in structures_of(by_subject)
        for occurrence in structure.occurrences[:1]
        if occurrence.content.kind == ContentKind.BNODE and occurrence.content.lexical == b"b0"
    ]

    assert len({node.scope for node in nodes}) == len(nodes) == 3


def test_every_file_comes_back_in_its_order_with_its_duplicates(files: Path, by_subject: Path, tmp_path: Path) -> None:
    (report,) = lisdata.export(by_subject, tmp_path / "back")

    assert report.losses == {}
    assert bytes_of(tmp_path / "back") == bytes_of(files)


def test_a_dataset_of_one_file_keeps_its_ordinals(files: Path, tmp_path: Path) -> None:
    lisdata.convert("ntriples", files / "0.nt", tmp_path / "plain")
    regroup(tmp_path / "plain", tmp_path / "d")

    assert audit(tmp_path / "plain", tmp_path / "d", ordinals=True).ok


def test_it_can_be_sorted_again_and_merged(files: Path, plain: Path, by_subject: Path, tmp_path: Path) -> None:
    lisdata.convert("ntriples", write_scattered(tmp_path / "3.nt", 50, seed=3), tmp_path / "more")
    lisdata.merge([tmp_path / "more", by_subject], tmp_path / "both")
    regroup(tmp_path / "both", tmp_path / "again", by="graph", group_by="5", memory_mib=MEMORY_MIB)

    lisdata.export(tmp_path / "again", tmp_path / "back")

    assert bytes_of(tmp_path / "back") == bytes_of(files) | {"3.nt": (tmp_path / "3.nt").read_bytes()}
    assert max(len(structure.instances) for structure in structures_of(tmp_path / "again")) == 5


def test_graphs_and_triple_terms_stay(tmp_path: Path) -> None:
    terms = b'<a:s> <a:p> <<( _:b <a:q> <<( <a:t> <a:u> "v"@en )>> )>> .\n'
    lines = [
        b"<a:s> <a:p> <a:o> <a:g> .\n", terms, b'<a:t> <a:p> "1"^^<a:d> <a:h> .\n', b"<a:s> <a:p> _:b <a:h> .\n", terms
    ]  # fmt: skip
    (tmp_path / "x.nq").write_bytes(b"".join(lines))
    lisdata.convert("nquads", tmp_path / "x.nq", tmp_path / "plain", options={"group_by": "none"})

    for by in ("subject", "graph"):
        regroup(tmp_path / "plain", tmp_path / by, by=by)
        lisdata.export(tmp_path / by, tmp_path / f"{by}.nq")

        assert (tmp_path / f"{by}.nq").read_bytes() == b"".join(lines)
        assert verify_dataset(tmp_path / by).problems == ()
    assert len(structures_of(tmp_path / "subject")) == 2
    assert [len(s.instances) for s in structures_of(tmp_path / "graph")].count(2) == 1  # graph a:h, from two places


def test_formats_whose_triples_are_numbered_come_back(tmp_path: Path) -> None:
    (tmp_path / "x.ttl").write_text("@prefix a: <a:> . a:s a:p a:o . a:t a:p 1 . a:s a:q [ a:p 'x'@en ] .")
    lisdata.convert("turtle", tmp_path / "x.ttl", tmp_path / "plain")
    regroup(tmp_path / "plain", tmp_path / "d")

    for name in ("plain", "d"):
        lisdata.export(tmp_path / name, tmp_path / f"{name}.nt", format="ntriples")

    assert (tmp_path / "d.nt").read_bytes() == (tmp_path / "plain.nt").read_bytes()


def test_rejected_records_and_same_as_tables_are_taken_over(tmp_path: Path) -> None:
    (tmp_path / "x.nt").write_text("<a:s> <a:p> <a:o> .\nno triple\n<a:s> <a:p> <a:o> .\n")
    lisdata.convert("ntriples", tmp_path / "x.nt", tmp_path / "plain", on_error="quarantine")

    body = regroup(tmp_path / "plain", tmp_path / "d")

    assert body["inputs"][0]["records"] == {"seen": 3, "converted": 2, "rejected": 1}
    assert (tmp_path / "d" / "rejects" / "unit-00000.bin").read_bytes() == b"no triple\n"
    assert verify_dataset(tmp_path / "d").problems == ()


def test_a_subject_that_does_not_fit_the_memory_has_several_structures(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    lines = [f'<a:{"long" if number % 4 else number}> <a:p> "{number}" .\n' for number in range(8000)]
    path.write_text("".join(lines))
    parts = []
    for number in range(4):
        (tmp_path / f"{number}.nt").write_text("".join(lines[2000 * number : 2000 * (number + 1)]))
        lisdata.convert("ntriples", tmp_path / f"{number}.nt", tmp_path / f"{number}.lis")
        parts.append(tmp_path / f"{number}.lis")
    lisdata.merge(list(parts), tmp_path / "plain")

    regroup(tmp_path / "plain", tmp_path / "d", memory_mib=1)

    sizes = Counter(len(structure.instances) for structure in structures_of(tmp_path / "d"))
    assert sizes[1] == 2000
    assert 2 <= sizes.total() - 2000 <= 4
    assert audit(tmp_path / "plain", tmp_path / "d").ok


def test_an_empty_dataset_stays_one(tmp_path: Path) -> None:
    (tmp_path / "x.nt").write_text("# nothing\n")
    lisdata.convert("ntriples", tmp_path / "x.nt", tmp_path / "plain")

    assert regroup(tmp_path / "plain", tmp_path / "d")["parts"] == []
    lisdata.export(tmp_path / "d", tmp_path / "back.nt")
    assert (tmp_path / "back.nt").read_bytes() == b""


# -- the same bytes --------------------------------------------------------------------------------------------------


def test_two_workers_write_the_bytes_of_one(plain: Path, by_subject: Path, tmp_path: Path) -> None:
    regroup(plain, tmp_path / "d", memory_mib=MEMORY_MIB, workers=2)

    assert bytes_of(tmp_path / "d") == bytes_of(by_subject)


def test_killed_at_random_moments_it_ends_with_the_same_bytes(plain: Path, by_subject: Path, tmp_path: Path) -> None:
    directory = tmp_path / "d"
    program = [sys.executable, scattered_triples.__file__, str(plain), str(directory), "1"]
    chance = random.Random(2)

    for folder in (directory / SPILLS / "commits", directory / "commits"):
        process = subprocess.Popen(program, start_new_session=True)
        wanted = chance.randrange(1, 3)
        while len(list(folder.glob("*.json"))) < wanted and process.poll() is None:
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(program, check=True)

    assert bytes_of(directory) == bytes_of(by_subject)


def test_a_finished_one_is_left_alone(plain: Path, by_subject: Path) -> None:
    before = bytes_of(by_subject)

    body = regroup(plain, by_subject, memory_mib=MEMORY_MIB)

    assert body["counts"]["instances"] == 3 * 3060
    assert bytes_of(by_subject) == before


def test_fresh_starts_over_from_whatever_is_there(plain: Path, by_subject: Path, tmp_path: Path) -> None:
    regroup(plain, tmp_path / "d", by="graph")
    regroup(plain, tmp_path / "d", memory_mib=MEMORY_MIB, fresh=True)

    assert bytes_of(tmp_path / "d") == bytes_of(by_subject)


# -- what is refused -------------------------------------------------------------------------------------------------


def test_another_plan_in_the_folder_is_refused(plain: Path, by_subject: Path) -> None:
    with pytest.raises(PlanError, match="by = 'subject', this one 'graph'"):
        regroup(plain, by_subject, by="graph", memory_mib=MEMORY_MIB)


def test_fresh_empties_no_folder_of_others(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "letter.txt").write_text("dear")

    with pytest.raises(PlanError, match="not a dataset of lisdata"):
        regroup(plain, tmp_path / "d", fresh=True)

    assert (tmp_path / "d" / "letter.txt").read_text() == "dear"


def test_a_dataset_is_not_sorted_into_itself(by_subject: Path) -> None:
    for target in (by_subject, by_subject / "below"):
        with pytest.raises(PlanError, match="outside the dataset"):
            regroup(by_subject, target)


@pytest.mark.parametrize(
    ("source", "data", "found"),
    [("text", "words\n", "structures of kind text"), ("csv", "a,b\n1,2\n", "structures of kind table")],
)
def test_what_is_no_triple_is_refused(source: str, data: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text(data)
    lisdata.convert(source, tmp_path / "data", tmp_path / "plain")

    with pytest.raises(PlanError, match=f"expected triples of files and nothing else, found {found}"):
        regroup(tmp_path / "plain", tmp_path / "d")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "object"}, "expected to sort by one of subject, graph, got 'object'"),
        ({"group_by": "0"}, "group_by: expected subject, graph, none or a number above 0"),
        ({"memory_mib": 0}, "expected a memory of at least 1 MiB"),
        ({"compression": "gzip"}, "expected a compression of zstd, none, got 'gzip'"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], message: str, plain: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        regroup(plain, tmp_path / "d", **settings)


def test_a_damaged_spill_is_named(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lisdata.regrouping.jobs.regroup_unit", stop)
        with pytest.raises(KeyboardInterrupt):
            regroup(plain, tmp_path / "d", memory_mib=MEMORY_MIB)
    spill = next((tmp_path / "d" / SPILLS / "facts").iterdir())
    spill.write_bytes(bytes(spill.stat().st_size))

    with pytest.raises(DamagedShardError, match=rf"{spill.name}: .*remove .*{SPILLS} and run again"):
        regroup(plain, tmp_path / "d", memory_mib=MEMORY_MIB)
