"""Shares come back as files that are read again, and merged shares as what they were taken from, of every source."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sample_files import INLINE, SAMPLES

import lisdata
from lisdata.alignment import audit
from lisdata.selection import deduplicate, filter_dataset, split
from lisdata.shards import IncidenceDataset

ROOT = Path(__file__).resolve().parents[2]
SHARES = {"a": 0.5, "b": 0.5}
# Half a graph is none, "parsed" is text, a workbook is written as tables, the sample database has a view.
SOURCES = sorted((SAMPLES.keys() | INLINE.keys()) - {"graph", "parsed", "excel", "sql"})
WRITTEN_ANEW = ("arrow", "parquet")  # dictionaries come in another order from other batches


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def exported(dataset: Path) -> Path:
    out = dataset.with_name(f"{dataset.name}.out")
    out.mkdir()
    lisdata.export(dataset, out)
    return out


def converted(source: str, folder: Path, files: dict[str, bytes], **options: Any) -> Path:
    (folder / "in").mkdir()
    for name, data in files.items():
        (folder / "in" / name).write_bytes(data)
    lisdata.convert(source, folder / "in", folder / "d", options=options)
    return folder / "d"


def check_shares(dataset: Path, folder: Path, *, same_bytes: bool = True) -> None:
    """Split, export, read again, merge, and compare."""
    split(dataset, folder / "s", SHARES)
    for name in SHARES:
        share, out = IncidenceDataset(folder / "s" / name), exported(folder / "s" / name)
        present = [info for info in share.inputs if next(share.iter_part_rows(info.index), None) is not None]
        assert len(files_below(out)) == len(present)
        if present:
            assert audit(folder / "s" / name, out).ok
    lisdata.merge([folder / "s" / name for name in SHARES], folder / "m")
    assert audit(dataset, folder / "m").ok
    assert audit(folder / "m", dataset, match_scopes=True).ok
    outs = exported(dataset), exported(folder / "m")
    assert audit(folder / "m", outs[1]).ok
    assert not same_bytes or files_below(outs[0]) == files_below(outs[1])


@pytest.mark.parametrize("source", SOURCES)
def test_shares_of_any_source_pass_the_audit_and_so_do_they_merged(source: str, tmp_path: Path) -> None:
    path = tmp_path / "inline" if source in INLINE else ROOT / "sample_data" / SAMPLES[source]
    if source in INLINE:
        path.write_bytes(INLINE[source])
    (tmp_path / "in").mkdir()
    for number in range(3):  # so that a share has nothing of some
        shutil.copyfile(path, tmp_path / "in" / f"{number}{path.suffix}")
    lisdata.convert(source, sorted((tmp_path / "in").iterdir()), tmp_path / "d")
    check_shares(tmp_path / "d", tmp_path, same_bytes=source not in WRITTEN_ANEW)


def test_shares_of_a_database_without_null_cells_pass_the_audit(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection:
        connection.execute("CREATE TABLE p (x INTEGER PRIMARY KEY, y)")
        connection.execute("CREATE TABLE c (a INT REFERENCES p (x), b DECIMAL(5, 2))")
        connection.executemany("INSERT INTO p VALUES (?, 'v')", [(i,) for i in range(10)])
        connection.executemany("INSERT INTO c VALUES (?, 1.5)", [(i % 4,) for i in range(10)])
        connection.commit()
    check_shares(converted("sql", tmp_path, {"a.sqlite": (tmp_path / "x.sqlite").read_bytes()}), tmp_path)


@pytest.mark.parametrize("sizes", [[3, 3, 3], [0], [], [0, 2, 0, 0, 1]])
def test_row_groups_keep_their_numbers_where_no_row_is_left(sizes: list[int], tmp_path: Path) -> None:
    table = pa.table({"d": pa.array(["a", "b", "c"] * 3).dictionary_encode(), "n": [[1], None, []] * 3})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema, compression="snappy") as writer:
        for size in sizes:
            writer.write_table(table.slice(0, size), row_group_size=3)
    dataset = converted("parquet", tmp_path, {"a.parquet": (tmp_path / "a.parquet").read_bytes()})
    assert audit(dataset, exported(dataset)).ok
    for (found,) in [list((tmp_path / "d.out").iterdir())]:
        groups = pq.ParquetFile(found).metadata
        assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == sizes
    if sum(sizes):
        shutil.rmtree(tmp_path / "d.out")
        check_shares(dataset, tmp_path, same_bytes=False)


XML = b'<?xml version="1.0"?>\n<r>' + b"".join(b'<e n="%d">t</e>\n' % (i % 3) for i in range(8)) + b"</r>\n"
NESTED = (
    b'\xef\xbb\xbf<!DOCTYPE r>\n<r xmlns="u"><!-- a --><s a=">"><e>1</e> <e>2</e></s><s/>\n<t>'
    + b"".join(b"<s> <e>%d</e><i>x</i></s>" % i for i in range(9))
    + b"</t><e>9</e>text<e/></r><!-- end -->\n"
)


@pytest.mark.parametrize("data", [XML, NESTED, b"<!-- one --><e>1</e>\n"])
@pytest.mark.parametrize("keep_document", [True, False])
def test_shares_of_a_document_read_piece_by_piece_are_well_formed(
    data: bytes, keep_document: bool, tmp_path: Path
) -> None:
    dataset = converted("xml", tmp_path, {"a.xml": data}, record_tag="e", keep_document=keep_document)
    check_shares(dataset, tmp_path)
    deduplicate(dataset, tmp_path / "c")
    assert audit(tmp_path / "c", exported(tmp_path / "c")).ok
    assert not keep_document or files_below(tmp_path / "m.out") == {"a.xml": data}


FEW: dict[str, tuple[dict[str, bytes], dict[str, Any]]] = {
    "csv": (
        {"a.csv": b"k;v\n" + b"".join(b"%d;x\n" % i for i in range(9)), "b.csv": b"k;v\n1;y\n"},
        {"delimiter": ";"},
    ),
    "json": ({"a.jsonl": b'{"a": 1}\n{"a": 2}\n{"a": 3}\n', "b.json": b'{\n "x": 1\n}\n'}, {}),
    "markdown": ({f"{i}.md": b"# T%d\n" % i for i in range(4)} | {"empty.md": b""}, {}),
    "nary": ({"a.txt": b"Q1,P1,Q2\nQ2,P1,Q3\nQ3,P1,Q4\n", "b.txt": b"Q9,P1,Q2\n"}, {}),
    "kgtk": ({name: b"id\tnode1\tlabel\tnode2\n%s\ta\tp\tb\n" % name.encode() for name in ("a.tsv", "b.tsv")}, {}),
}


@pytest.mark.parametrize("source", FEW)
def test_an_input_of_which_a_share_has_no_record_has_no_file(source: str, tmp_path: Path) -> None:
    files, options = FEW[source]
    dataset = converted(source, tmp_path, files, **options)
    first = next(iter(files))
    filter_dataset(dataset, tmp_path / "f", f"input = '{first}'")
    assert files_below(exported(tmp_path / "f")) == {first: files[first]}
    assert audit(tmp_path / "f", tmp_path / "f.out").ok
    check_shares(dataset, tmp_path)


def test_a_table_without_rows_is_in_every_share(tmp_path: Path) -> None:
    files = {"a.csv": b"k\n1\n2\n3\n", "head.csv": b"k,v\n"}
    dataset = converted("csv", tmp_path, files)
    check_shares(dataset, tmp_path)
    assert all(files_below(tmp_path / "s" / f"{name}.out")["head.csv"] == b"k,v\n" for name in SHARES)
    assert files_below(tmp_path / "m.out") == files


def test_what_tells_of_an_input_in_several_parts_goes_with_its_records_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"k,v\n" + b"".join(b"%d,%s\n" % (i, b"x" * 10_000) for i in range(1200)))
    (tmp_path / "b.csv").write_bytes(b"k,v\n1,2\n")
    lisdata.convert("csv", [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "d", unit_mib=1)
    assert len([part for part in IncidenceDataset(tmp_path / "d").parts if 0 in part.inputs]) > 1
    for name, where, wanted in (
        ("none", "input = 'b.csv'", {"b.csv": b"k,v\n1,2\n"}),
        ("one", "begin > 11000000 AND num_instances = 1", {"a.csv"}),
    ):
        filter_dataset(tmp_path / "d", tmp_path / name, where)
        found = files_below(exported(tmp_path / name))
        assert found == wanted if name == "none" else found.keys() == wanted
        assert audit(tmp_path / name, tmp_path / f"{name}.out").ok  # though its blocks are read again as one


def test_a_share_of_a_hypergraph_has_the_entries_of_its_edges_in_their_order(tmp_path: Path) -> None:
    numbers = [n for _ in range(2) for n in range(8)]  # not by edge
    document = {
        "edges": [{"edge": n, "attrs": {"n": n}} for n in range(6)],  # not of every edge
        "incidences": [{"edge": n, "node": f"v{place}"} for place, n in enumerate(numbers)],
    }
    dataset = converted("hif", tmp_path, {"a.json": json.dumps(document).encode()})
    split(dataset, tmp_path / "s", SHARES)

    found: dict[str, list[Any]] = {"edges": [], "incidences": []}
    for name in SHARES:
        share = json.loads((exported(tmp_path / "s" / name) / "a.json").read_bytes())
        for array, entries in found.items():
            mine = {entry["edge"] for entry in share["incidences"]}
            assert share.get(array, []) == [entry for entry in document[array] if entry["edge"] in mine]
            entries += share.get(array, [])
    assert all(len(entries) == len(document[array]) for array, entries in found.items())


@pytest.mark.parametrize("source", ["text", "jsonl", "conllu", "ntriples"])
def test_empty_files_of_merged_datasets_come_back_beside_the_others(source: str, tmp_path: Path) -> None:
    data = (ROOT / "sample_data" / SAMPLES[source]).read_bytes()
    suffix = Path(SAMPLES[source]).suffix
    for name, files in (("1", {"a": b"", "b": data}), ("2", {"c": b""})):
        (tmp_path / f"{name}.in").mkdir()
        for stem, content in files.items():
            (tmp_path / f"{name}.in" / f"{stem}{suffix}").write_bytes(content)
        lisdata.convert(source, tmp_path / f"{name}.in", tmp_path / name)
    lisdata.merge([tmp_path / "1", tmp_path / "2"], tmp_path / "m")

    assert files_below(exported(tmp_path / "m")) == {f"a{suffix}": b"", f"b{suffix}": data, f"c{suffix}": b""}
    assert audit(tmp_path / "m", tmp_path / "m.out").ok
