"""Rows of `same_as` from files and triples."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

import lisdata
from lisdata.alignment import collect_same_as, write_same_as
from lisdata.contents import entity
from lisdata.errors import LisDataError, PlanError
from lisdata.shards import IncidenceDataset
from lisdata.shards.same_as import same_as_table

Row = tuple[bytes, bytes, str]


def rows_of(*tables: pa.Table) -> list[Row]:
    return [(row["key"], row["same"], row["source"]) for table in tables for row in table.to_pylist()]


def test_a_file_of_pairs_is_read_with_its_prefixes_and_sources(tmp_path: Path) -> None:
    text = "\ufeffhttp://a/x\tQ42\nnaïve\tQ7\tby hand\n\nx y\tz\n"
    (tmp_path / "pairs.tsv.gz").write_bytes(gzip.compress(text.encode()))

    found = rows_of(*collect_same_as([str(tmp_path / "pairs.tsv.gz")], [], id_prefix=("Q=http://e/",)))

    wanted = [
        ("http://a/x", "http://e/Q42", "pairs.tsv.gz"),
        ("naïve", "http://e/Q7", "by hand"),
        ("x y", "z", "pairs.tsv.gz"),
    ]
    assert sorted(found) == sorted((entity(a).key, entity(b).key, source) for a, b, source in wanted)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"alone", r"pairs.tsv:2: expected NAME, a tab and NAME \(a tab and SOURCE\), found b'alone'"),
        (b"a\t", "pairs.tsv:2: expected NAME, a tab and NAME"),
        (b"a\tb\tc\td", "pairs.tsv:2: expected NAME, a tab and NAME"),
        (b"a\t\xff", "pairs.tsv:2: expected UTF-8, found byte 0xff"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "pairs.tsv").write_bytes(b"a\tb\n" + line + b"\n")

    with pytest.raises(LisDataError, match=message):
        list(collect_same_as([str(tmp_path / "pairs.tsv")], []))


SAME = "<http://www.w3.org/2002/07/owl#sameAs>"


@pytest.fixture
def graph(tmp_path: Path) -> IncidenceDataset:
    """Triples, two of owl:sameAs among others."""
    lines = (f"<e:a> {SAME} <e:b> .", "<e:a> <e:p> <e:c> .", f"<e:c> {SAME} <e:b> .", "<e:c> <e:q> <e:d> .")
    (tmp_path / "g.nt").write_text("".join(f"{line}\n" for line in lines))
    lisdata.convert("ntriples", tmp_path / "g.nt", tmp_path / "g.lis")
    return IncidenceDataset(tmp_path / "g.lis")


def test_triples_say_which_contents_are_the_same(graph: IncidenceDataset) -> None:
    named, spelled = (rows_of(*collect_same_as([name], [graph])) for name in ("owl:sameAs", SAME.strip("<>")))

    assert sorted(named) == sorted(
        (entity(a).key, entity(b).key, SAME.strip("<>")) for a, b in (("e:a", "e:b"), ("e:c", "e:b"))
    )
    assert named == spelled
    assert rows_of(*collect_same_as(["skos:exactMatch"], [graph])) == []


def test_rows_are_written_once_and_read_again(graph: IncidenceDataset, tmp_path: Path) -> None:
    assert write_same_as(collect_same_as(["owl:sameAs"], [graph]), tmp_path / "same") == 2

    again = list(collect_same_as([str(tmp_path / "same")], []))

    assert rows_of(*again) == rows_of(same_as_table(IncidenceDataset(tmp_path / "same")))
    assert not list((tmp_path / "same").rglob("*.tmp"))
    with pytest.raises(PlanError, match="expected a new or empty folder"):
        write_same_as(again, tmp_path / "same")


def test_a_bad_file_leaves_no_table_behind(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_bytes(b"alone\n")

    with pytest.raises(LisDataError):
        write_same_as(collect_same_as([str(tmp_path / "pairs.tsv")], []), tmp_path / "same")

    assert [path for path in (tmp_path / "same").rglob("*") if path.is_file()] == []


def test_what_is_neither_file_nor_predicate_is_named() -> None:
    with pytest.raises(PlanError, match=r"nowhere.tsv: expected a file, a folder, owl:sameAs"):
        list(collect_same_as(["nowhere.tsv"], []))
