"""`audit` finds what was planted, says where it is, and finds nothing where nothing is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.alignment import AuditReport, audit, fact_files
from lisdata.contents import Role, entity
from lisdata.errors import PlanError
from lisdata.schema import StructureKind
from lisdata.selection import sample
from lisdata.shards import write_structures
from lisdata.sources import delimited_rows
from lisdata.structure import Incidence, Instance, Occurrence, Structure

SAMPLES = {
    "conllu": "treebank",
    "csv": "tables",
    "hif": "hif/kitchen.hif.json",
    "html": "html/page.html",
    "image": "grids/harbour.png",
    "jsonl": "table2/sentence.jsonl",
    "npy": "grids",
    "npz": "grids/tides.npz",
    "ntriples": "triples",
    "text": "text",
    "wikidata": "wikidata",
}


@pytest.fixture
def exported(root: Path, tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Converts a sample and exports it; gives the dataset and the export."""

    def run(source: str, **options: Any) -> tuple[Path, Path]:
        lisdata.convert(source, root / "sample_data" / SAMPLES[source], tmp_path / "data", options=options)
        lisdata.export(tmp_path / "data", tmp_path / "back")
        return tmp_path / "data", tmp_path / "back"

    return run


def differences(report: AuditReport) -> dict[str, tuple[int, int]]:
    return {level.level: (level.lost, level.added) for level in report.levels if level.lost or level.added}


@pytest.mark.parametrize("source", SAMPLES)
def test_the_export_of_a_sample_has_lost_nothing(exported: Callable[..., tuple[Path, Path]], source: str) -> None:
    report = audit(*exported(source))

    assert report.ok, report.to_dict()
    assert sum(level.totals[0] for level in report.levels) > 0
    assert report.records[0] == report.records[1]


FILTERS: list[dict[str, Any]] = [
    {"truthy": True},
    {"language": ("en",)},
    {"property": ("P31",)},
    {"truthy": True, "language": ("de",), "property": ("P31", "P127")},
    {"group": "statement", "language": ("en",)},
]


@pytest.mark.parametrize("options", FILTERS, ids=str)
def test_what_a_conversion_left_out_is_not_lost_by_the_export(
    exported: Callable[..., tuple[Path, Path]], options: dict[str, Any]
) -> None:
    data, back = exported("wikidata", **options)
    assert any(name.endswith("left out") for info in lisdata.open(data).inputs for name in info.report or {})

    report = audit(data, back)

    assert report.ok, report.to_dict()


def test_a_loss_beside_what_was_left_out_is_found(exported: Callable[..., tuple[Path, Path]]) -> None:
    data, back = exported("wikidata", truthy=True, language=("en",))
    path = next(back.iterdir()) if back.is_dir() else back
    text = path.read_text(encoding="utf-8")
    assert text.count("the Heron") == 1
    path.write_text(text.replace("the Heron", "a Heron"), encoding="utf-8")

    found = differences(audit(data, back))

    assert found == {"contents": (1, 1), "instances": (1, 1), "incidences": (1, 1)}


def test_a_role_that_is_called_as_a_note_is_compared_in_other_data(tmp_path: Path) -> None:
    for name in "ab":
        structure = Structure(
            record_id="r",
            kind=StructureKind.HYPEREDGES,
            occurrences=(Occurrence(content=entity(name)),),
            instances=(Instance(label="entity"),),
            incidences=(Incidence(occurrence=0, instance=0, role=Role("entity", "dropped")),),
        )
        write_structures(tmp_path / name, [structure])

    found = differences(audit(tmp_path / "a", tmp_path / "b"))

    assert found == {"contents": (1, 1), "instances": (1, 1), "incidences": (1, 1)}


def test_a_lost_qualifier_is_found(exported: Callable[..., tuple[Path, Path]]) -> None:
    data, back = exported("wikidata")
    path = next(back.iterdir()) if back.is_dir() else back
    lines = path.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if b'"P1480"' in line)
    entity = orjson.loads(lines[number].strip().removesuffix(b","))
    statement = next(s for s in entity["claims"]["P571"] if "P1480" in s["qualifiers"])
    assert statement.pop("qualifiers").keys() == {"P1480"}
    del statement["qualifiers-order"]
    lines[number] = orjson.dumps(entity) + lines[number][len(lines[number].rstrip(b"\n,")) :]
    path.write_bytes(b"".join(lines))

    report = audit(data, back)

    assert not report.ok
    lost, added = differences(report)["incidences"]
    (examples,) = [level.lost_examples for level in report.levels if level.level == "incidences"]
    assert (lost, added) == (2, 0)  # the qualifier and its hash
    assert "P1480#qualifier entity 'http://www.wikidata.org/entity/Q5727902' in" in examples[0]
    assert "harbour.ndjson@0-" in examples[0]


def test_a_lost_duplicate_is_found(exported: Callable[..., tuple[Path, Path]], tmp_path: Path) -> None:
    lines = [b"<e:a> <e:p> <e:b> .\n", b"<e:a> <e:q> <e:b> .\n", b"<e:a> <e:p> <e:b> .\n"]
    (tmp_path / "a.nt").write_bytes(b"".join(lines))
    lisdata.convert("ntriples", tmp_path / "a.nt", tmp_path / "data")
    (tmp_path / "back.nt").write_bytes(b"".join(lines[:2]))

    report = audit(tmp_path / "data", tmp_path / "back.nt")

    assert differences(report) == {"instances": (1, 0), "incidences": (2, 0)}
    (level,) = [level for level in report.levels if level.level == "instances"]
    assert level.duplicates == (1, 0)
    assert "(a.nt@0-60), ordinal 40: e:p (e:p#subject entity 'e:a', e:p#object entity 'e:b')" in level.lost_examples[0]


def test_a_changed_weight_is_found(exported: Callable[..., tuple[Path, Path]]) -> None:
    data, back = exported("hif")
    model = json.loads(back.read_text(), parse_float=str)
    text = back.read_text()
    assert [i["weight"] for i in model["incidences"] if i.get("weight") == "0.25"] == ["0.25"]
    back.write_text(text.replace("0.25", "0.26"))

    report = audit(data, back)

    assert differences(report) == {"contents": (1, 1), "instances": (1, 1), "incidences": (1, 1)}
    lost = next(level.lost_examples for level in report.levels if level.level == "incidences")
    assert "'0.25'" in lost[0]
    assert "kitchen.hif.json@" in lost[0]


def test_a_lost_weight_is_found(exported: Callable[..., tuple[Path, Path]]) -> None:
    data, back = exported("hif")
    text = back.read_text()
    assert text.count('"weight": 1.2, ') == 1
    back.write_text(text.replace('"weight": 1.2, ', ""))

    found = differences(audit(data, back))

    assert found["incidences"][0] == found["incidences"][1] + 1


def test_blank_nodes_of_two_files_differ_unless_their_scopes_are_matched(tmp_path: Path) -> None:
    for name, comment in (("a", "# one\n"), ("b", "# another one\n")):
        (tmp_path / f"{name}.nt").write_text(f"{comment}_:x <e:p> <e:b> .\n_:y <e:p> _:x .\n")
        lisdata.convert("ntriples", tmp_path / f"{name}.nt", tmp_path / name)

    apart, matched = (audit(tmp_path / "a", tmp_path / "b", match_scopes=m) for m in (False, True))

    assert differences(apart)["instances"] == (2, 2)
    assert matched.ok


def test_matched_scopes_keep_the_blank_nodes_of_two_inputs_apart(tmp_path: Path) -> None:
    for name, texts in (
        ("a", ["_:x <e:p> <e:b> .", "_:x <e:q> <e:b> ."]),
        ("b", ["_:x <e:q> <e:b> .", "_:x <e:p> <e:b> ."]),
    ):
        (tmp_path / f"{name}.in").mkdir()
        for number, text in enumerate(texts):
            (tmp_path / f"{name}.in" / f"{number}.nt").write_text(f"{text}\n")
        lisdata.convert("ntriples", tmp_path / f"{name}.in", tmp_path / name)

    report = audit(tmp_path / "a", tmp_path / "b", match_scopes=True)

    assert differences(report) == {"instances": (2, 2), "incidences": (2, 2)}


def test_unknown_values_that_moved_in_their_file_are_the_same(root: Path, tmp_path: Path) -> None:
    text = (root / "sample_data/wikidata/harbour.ndjson").read_bytes()
    assert b"somevalue" in text
    (tmp_path / "a.ndjson").write_bytes(text)
    (tmp_path / "b.ndjson").write_bytes(b"\n  " + text)
    for name in "ab":
        lisdata.convert("wikidata", tmp_path / f"{name}.ndjson", tmp_path / name)

    assert audit(tmp_path / "a", tmp_path / "b", match_scopes=True).ok
    assert not audit(tmp_path / "a", tmp_path / "b").ok


def test_order_is_compared_where_it_is_asked_for(tmp_path: Path) -> None:
    for name, lines in (
        ("a", ["<e:a> <e:p> <e:b> .", "<e:a> <e:q> <e:b> ."]),
        ("b", ["<e:a> <e:q> <e:b> .", "<e:a> <e:p> <e:b> ."]),
    ):
        (tmp_path / f"{name}.nt").write_text("".join(f"{line}\n" for line in lines))
        lisdata.convert("ntriples", tmp_path / f"{name}.nt", tmp_path / name)

    assert audit(tmp_path / "a", tmp_path / "b").ok
    assert differences(audit(tmp_path / "a", tmp_path / "b", ordinals=True)) == {"instances": (2, 2)}


def test_how_facts_are_grouped_is_no_difference(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    lisdata.convert("text", tmp_path / "a.txt", tmp_path / "lines")
    lisdata.convert("text", tmp_path / "a.txt", tmp_path / "whole", options={"unit": "document"})

    report = audit(tmp_path / "lines", tmp_path / "whole")

    assert differences(report).keys() == {"instances", "incidences", "documents"}  # other units are other instances
    assert report.counts == (2, 1)


TERMS = [
    "<e:a> <e:says> <<( <e:s> <e:p> <e:o> )>> .",
    "<e:b> <e:p> <e:x> .",
    '<e:a> <e:says> <<( <e:s> <e:p> <<( <e:q> <e:r> "z"@en )>> )>> .',
    "<e:b> <e:says> <<( <e:s> <e:p> <e:o> )>> .",
    "<e:a> <e:p> <<( <e:s> <e:p> _:o )>> .",
    "<e:a> <e:says> <<( <e:s> <e:p> <e:o> )>> .",
]


@given(st.lists(st.sampled_from(TERMS), min_size=1, max_size=8), st.sampled_from(["subject", "graph", "none", "3"]))
@settings(deadline=None, max_examples=8)
def test_what_triple_terms_are_of_is_no_matter_of_grouping(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], group_by: str
) -> None:
    folder = tmp_path_factory.mktemp("terms")
    (folder / "a.nt").write_text("".join(f"{line}\n" for line in lines))
    lisdata.convert("ntriples", folder / "a.nt", folder / "data", options={"group_by": group_by})
    lisdata.regroup(folder / "data", folder / "sorted")
    lisdata.export(folder / "sorted", folder / "back.nt")

    assert audit(folder / "data", folder / "sorted").ok
    assert audit(folder / "sorted", folder / "back.nt").ok
    assert audit(folder / "data", folder / "sorted", ordinals=True).ok


def test_a_part_of_a_triple_term_that_changed_is_found(tmp_path: Path) -> None:
    for name, line in (("a", TERMS[0]), ("b", TERMS[0].replace("e:o", "e:other"))):
        (tmp_path / f"{name}.nt").write_text(f"{line}\n")
        lisdata.convert("ntriples", tmp_path / f"{name}.nt", tmp_path / name)

    found = differences(audit(tmp_path / "a", tmp_path / "b"))

    # the triple that shows the term and the term; the object of the one, and all three of the other
    assert found == {"contents": (2, 2), "instances": (2, 2), "incidences": (4, 4)}


def test_facts_that_are_called_as_triple_terms_are_keep_their_number(tmp_path: Path) -> None:
    row = "e1\ta\ttriple_term\tb\n"
    for name, count in (("a", 2), ("b", 1)):
        (tmp_path / f"{name}.tsv").write_text("id\tnode1\tlabel\tnode2\n" + row * count)
        lisdata.convert("kgtk", tmp_path / f"{name}.tsv", tmp_path / name)

    assert differences(audit(tmp_path / "a", tmp_path / "b", match_scopes=True))["instances"] == (1, 0)


def test_merged_datasets_are_read_again_each_input_by_its_own_source(root: Path, tmp_path: Path) -> None:
    for source in ("ntriples", "jsonl", "csv"):
        lisdata.convert(source, root / "sample_data" / SAMPLES[source], tmp_path / source)
    lisdata.merge([tmp_path / s for s in ("ntriples", "jsonl", "csv")], tmp_path / "all")
    lisdata.export(tmp_path / "all", tmp_path / "back")

    assert audit(tmp_path / "all", tmp_path / "back").ok
    (tmp_path / "back" / "loans.csv").write_bytes(
        b"".join((tmp_path / "back" / "loans.csv").read_bytes().splitlines(keepends=True)[:-1])
    )
    assert differences(audit(tmp_path / "all", tmp_path / "back"))["instances"] == (1, 0)


def test_many_facts_are_compared_in_buckets(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.nt").write_text("".join(f"<e:{i % 50}> <e:p> <e:{i * 7 % 90}> .\n" for i in range(500)))
    (tmp_path / "b.nt").write_text("".join(f"<e:{i % 50}> <e:p> <e:{i * 7 % 90}> .\n" for i in range(500) if i % 100))
    for name in "ab":
        lisdata.convert("ntriples", tmp_path / f"{name}.nt", tmp_path / name)

    at_once = audit(tmp_path / "a", tmp_path / "b").to_dict()
    monkeypatch.setattr(fact_files, "FACTS_A_BUCKET", 100)

    assert audit(tmp_path / "a", tmp_path / "b").to_dict() == at_once
    assert at_once["levels"]["instances"]["lost"] == 5
    assert at_once["datasets"][0]["records"] == {"seen": 500, "converted": 500, "rejected": 0}


# -- wrong arguments and missing files -------------------------------------------------------------------------------


def test_an_export_that_lacks_a_file_is_named(exported: Callable[..., tuple[Path, Path]]) -> None:
    data, back = exported("csv")
    (back / "books.csv").unlink()

    with pytest.raises(PlanError, match=r"books.csv: expected the export of books.csv here, found none"):
        audit(data, back)


def test_one_file_is_not_the_export_of_several(exported: Callable[..., tuple[Path, Path]]) -> None:
    data, back = exported("csv")

    with pytest.raises(PlanError, match="expected a folder with the exports of 3 inputs, found a file"):
        audit(data, back / "books.csv")


def test_what_is_not_there_is_named(exported: Callable[..., tuple[Path, Path]], tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="expected a dataset, or an export of one: no such file or folder"):
        audit(exported("text")[0], tmp_path / "nothing")


def test_what_was_made_in_memory_has_no_export_to_read(tmp_path: Path) -> None:
    write_structures(tmp_path / "data", [])

    with pytest.raises(PlanError, match="made in memory"):
        audit(tmp_path / "data", tmp_path)


def test_a_file_that_an_option_named_has_to_be_named_again(root: Path, tmp_path: Path) -> None:
    schema = root / "sample_data/tables/datapackage.json"
    lisdata.convert("csv", root / "sample_data/tables", tmp_path / "data", options={"schema": str(schema)})
    lisdata.export(tmp_path / "data", tmp_path / "back")

    with pytest.raises(ValueError, match="source csv: expected option schema"):
        audit(tmp_path / "data", tmp_path / "back")
    assert audit(tmp_path / "data", tmp_path / "back", options={"schema": str(schema)}).ok


def test_options_are_for_exports_alone(exported: Callable[..., tuple[Path, Path]]) -> None:
    data, _ = exported("text")

    with pytest.raises(ValueError, match="options are for an export"):
        audit(data, data, options={"unit": "line"})


@pytest.mark.parametrize("form", ["turtle", "trig", "rdfxml", "nquads"])
def test_an_export_in_another_form_is_read_in_that_form(root: Path, tmp_path: Path, form: str) -> None:
    suffix = {"turtle": "ttl", "trig": "trig", "rdfxml": "rdf", "nquads": "nq"}[form]
    lisdata.convert("ntriples", root / "sample_data" / "triples" / "garden.nt", tmp_path / "d")
    lisdata.export(tmp_path / "d", tmp_path / f"garden.{suffix}", format=form)
    assert audit(tmp_path / "d", tmp_path / f"garden.{suffix}").ok
    text = (tmp_path / f"garden.{suffix}").read_text(encoding="utf-8")
    assert "half-shade" in text
    (tmp_path / f"garden.{suffix}").write_text(text.replace("half-shade", "shade", 1), encoding="utf-8")
    assert not audit(tmp_path / "d", tmp_path / f"garden.{suffix}").ok


WHOLE_FILES = {
    "markdown": (".md", b"# good\n", b"# \xff\n"),
    "xml": (".xml", b"<a/>\n", b"<a><b></a>"),
    "json": (".json", b'{"a": 1}\n', b'{"a":'),
    "csv": (".csv", b"a,b\n1,2\n", b"a,a\n1,2\n"),
    "sql": (".db", b"", b"no database"),
    "text": (".txt", b"good\n", b"\xff\n"),
    "conllu": (".conllu", b"1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n", b"1\ta\n\n"),
    "jsonld": (".jsonld", b'{"@id": "e:a", "e:p": 1}', b"{"),
}


@pytest.mark.parametrize("source", WHOLE_FILES)
def test_a_file_that_was_rejected_as_a_whole_has_no_export_and_none_is_missed(tmp_path: Path, source: str) -> None:
    suffix, good, bad = WHOLE_FILES[source]
    (tmp_path / "in").mkdir()
    for name, data in (("good", good), ("bad", bad)):
        (tmp_path / "in" / f"{name}{suffix}").write_bytes(data)
    if source == "sql":
        with closing(sqlite3.connect(tmp_path / "in" / "good.db")) as connection:
            connection.execute("CREATE TABLE t (a)")
    lisdata.convert(source, tmp_path / "in", tmp_path / "data", on_error="quarantine")

    (report,) = lisdata.export(tmp_path / "data", tmp_path / "back")

    assert [path.name for path in (tmp_path / "back").iterdir()] == [f"good{suffix}"]
    assert report.files == (tmp_path / "back" / f"good{suffix}",)
    assert report.losses == {"rejected records": 1}
    assert audit(tmp_path / "data", tmp_path / "back").ok


def test_a_table_whose_rows_were_all_rejected_keeps_its_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2,3\n")
    lisdata.convert("csv", tmp_path / "a.csv", tmp_path / "data", on_error="quarantine")
    lisdata.export(tmp_path / "data", tmp_path / "back.csv")

    assert (tmp_path / "back.csv").read_bytes() == b"a,b\n"
    assert audit(tmp_path / "data", tmp_path / "back.csv").ok


@pytest.mark.parametrize("keep_document", [True, False])
def test_html_in_an_encoding_that_was_named_is_read_again_as_it_came_out(tmp_path: Path, keep_document: bool) -> None:
    (tmp_path / "a.html").write_bytes("<p>caf\u00e9</p>".encode("latin-1"))
    options = {"encoding": "latin-1", "keep_document": keep_document}
    lisdata.convert("html", tmp_path / "a.html", tmp_path / "data", options=options)
    lisdata.export(tmp_path / "data", tmp_path / "back.html")

    assert audit(tmp_path / "data", tmp_path / "back.html").ok


def test_how_a_parser_has_to_be_named_again_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a few words\n")
    options = {"parser": "python:small_parser:parse"}
    lisdata.convert("parsed", tmp_path / "a.txt", tmp_path / "data", options=options)
    lisdata.export(tmp_path / "data", tmp_path / "back.txt", format="text")

    with pytest.raises(ValueError, match=r"as --option parser=VALUE: a dataset keeps what was used and its version"):
        audit(tmp_path / "data", tmp_path / "back.txt")
    assert audit(tmp_path / "data", tmp_path / "back.txt", options=options).ok


def test_a_few_facts_are_read_again_in_the_layout_that_the_dataset_says_they_have(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/triples.txt").write_bytes(b"".join(b"h%d\tr\th%d\n" % (n, n + 1) for n in range(30)))
    (tmp_path / "in/facts.txt").write_bytes(b"r\th1\th2\nr\th1\n" * 9)
    lisdata.convert("nary", tmp_path / "in", tmp_path / "all")
    sample(tmp_path / "all", tmp_path / "few", num_structures=6)

    lisdata.export(tmp_path / "few", tmp_path / "back")

    lines = {path.name: path.read_bytes().splitlines() for path in (tmp_path / "back").iterdir()}
    assert sum(map(len, lines.values())) == 6
    assert audit(tmp_path / "few", tmp_path / "back").ok


HEADERS_ALONE: dict[str, tuple[str, bytes]] = {
    "csv": (".csv", b"a,b\n"),
    "kgtk": (".tsv", b"id\tnode1\tlabel\tnode2\n"),
    "graph": (".gml", b"graph [\n]\n"),
    "hif": (".json", b'{"incidences": [], "metadata": {"name": "none"}}'),
}


@pytest.mark.parametrize("source", HEADERS_ALONE)
def test_of_inputs_that_are_a_header_and_alike_the_loss_of_one_is_found(tmp_path: Path, source: str) -> None:
    suffix, data = HEADERS_ALONE[source]
    for folder in ("both", "both/deep", "one"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"t{suffix}").write_bytes(data)
    for folder in ("both", "one"):
        lisdata.convert(source, tmp_path / folder, tmp_path / f"{folder}.lis")
    lisdata.export(tmp_path / "both.lis", tmp_path / "back")

    whole, less = audit(tmp_path / "both.lis", tmp_path / "back"), audit(tmp_path / "both.lis", tmp_path / "one.lis")

    assert whole.ok, whole.to_dict()
    assert differences(less)["instances"] == (1, 0)
    (tmp_path / "back/deep" / f"t{suffix}").unlink()
    if source in ("graph", "hif"):  # whose header is a record
        with pytest.raises(PlanError, match="expected the export of deep/t"):
            audit(tmp_path / "both.lis", tmp_path / "back")
    else:
        assert differences(audit(tmp_path / "both.lis", tmp_path / "back"))["instances"] == (1, 0)


def test_a_header_that_stands_in_each_block_of_two_inputs_counts_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited_rows, "_BLOCK_BYTES", 1 << 10)
    rows = b"".join(b"%d,x\n" % number for number in range(3000))
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.csv").write_bytes(b"n,x\n" + rows)
    lisdata.convert("csv", tmp_path / "in", tmp_path / "small")
    monkeypatch.undo()
    lisdata.convert("csv", tmp_path / "in", tmp_path / "large")

    report = audit(tmp_path / "small", tmp_path / "large", match_scopes=True)

    assert report.ok, report.to_dict()
    assert report.counts[0] > report.counts[1] == 6002  # in more blocks
