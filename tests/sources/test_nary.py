from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import lisdata.sources.nary
from lisdata.contents import Content, entity
from lisdata.conversion import convert
from lisdata.converters.facts import FACTS, FactOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset
from lisdata.sources.nary import NARY, NaryOptions
from lisdata.structure import Structure

IRI = "http://www.wikidata.org/entity/"
PREFIXES = (f"Q={IRI}", f"P={IRI}")


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=NARY.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def structures_of(piece: InputSlice, reject: Any = stop, **options: Any) -> list[Structure]:
    found = []
    for records in NARY.read(piece, NaryOptions(**options), reject):
        batch = FACTS.convert(records, FactOptions())
        found += [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]
    return found


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def run(text: str, **options: Any) -> list[Structure]:
        return structures_of(whole(tmp_path / "a.txt", text.encode()), **options)[1:]

    return run


def fact(structure: Structure) -> tuple[str, list[tuple[str, str, int]]]:
    (instance,) = structure.instances
    return instance.label, [
        (i.role.label, structure.occurrences[i.occurrence].content.text, i.position) for i in structure.incidences
    ]


def test_it_is_registered() -> None:
    assert load_source("nary") is NARY


def test_qualifiers_are_in_order_and_repeats_have_positions(read: Any) -> None:
    (structure,) = read("s,r,o,q,a,p,b,q,a,q,c\n")

    assert fact(structure) == ("r", [
        ("r#subject", "s", 0), ("r#value", "o", 0),
        ("q#qualifier", "a", 0), ("p#qualifier", "b", 0), ("q#qualifier", "a", 1), ("q#qualifier", "c", 2),
    ])  # fmt: skip


def test_arguments_without_names_are_roles_by_number(read: Any) -> None:
    first, second, empty = read("r\ta\tb\ta\ns\ta\nt\n")

    assert fact(first) == ("r", [("r#1", "a", 0), ("r#2", "b", 0), ("r#3", "a", 0)])
    assert fact(second) == ("s", [("s#1", "a", 0)])
    assert fact(empty) == ("t", [])


def test_triples_are_statements_as_in_wd50k(read: Any) -> None:
    (triple,) = read("s\tr\to\n", layout="triples")

    assert fact(triple) == ("r", [("r#subject", "s", 0), ("r#value", "o", 0)])
    assert [fact(triple)] == [fact(s) for s in read("s r o\n", layout="triples")]
    assert [fact(triple)] == [fact(s) for s in read("s,r,o\n", layout="wd50k")]


def test_a_leading_id_is_the_fact_s_handle(read: Any) -> None:
    first, second = read("7 r a b\n8 r a\n", layout="hype", leading_id=True)

    assert fact(first) == ("r", [("r#1", "a", 0), ("r#2", "b", 0)])
    assert [(s.instances[0].handle.text, s.instances[0].handle.kind) for s in (first, second)] == [
        ("7", ContentKind.INSTANCE),
        ("8", ContentKind.INSTANCE),
    ]


def test_objects_are_facts_whose_times_are_literals(read: Any) -> None:
    time = "+1903-01-01T00:00:00Z#0#0#0#9#http://www.wikidata.org/entity/Q1985727"
    line = f'{{"P166_h": "Q7186", "P166_t": "Q38104", "N": 5, "P585": ["{time}"], "P1706": ["Q41269", "Q37463"]}}\n'

    (structure,) = read(line)

    assert fact(structure) == ("P166", [
        ("P166#subject", "Q7186", 0), ("P166#value", "Q38104", 0), ("P585#qualifier", time, 0),
        ("P1706#qualifier", "Q41269", 0), ("P1706#qualifier", "Q37463", 1),
    ])  # fmt: skip
    assert structure.occurrences[2].content == Content(ContentKind.LITERAL, time.encode(), "nary:time")


def test_objects_without_a_relation_are_facts_of_roles(read: Any) -> None:
    (structure,) = read('{"N": 2, "film.actor": "a", "film#role": "b"}\n')

    assert fact(structure)[0] == "fact"
    assert fact(structure)[1][:2] == [("film.actor#qualifier", "a", 0), ("film#role#qualifier", "b", 0)]


def test_with_prefixes_names_and_relations_are_iris(read: Any) -> None:
    for line in ("Q1,P2,Q3,P4,Q5\n", '{"P2_h": "Q1", "P2_t": "Q3", "N": 3, "P4": ["Q5"]}\n'):
        (structure,) = read(line, id_prefix=PREFIXES)

        assert fact(structure) == (f"{IRI}P2", [
            (f"{IRI}P2#subject", f"{IRI}Q1", 0), (f"{IRI}P2#value", f"{IRI}Q3", 0),
            (f"{IRI}P4#qualifier", f"{IRI}Q5", 0),
        ])  # fmt: skip


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (b"a,b,c,q,d\ne,b,c\n", {}),
        (b"a\tb\tc\ne\tb\tc\n", {"layout": "triples"}),
        (b"r a b\nr c d e\n", {}),
        (b"7 r a b\n8 r c\n", {"layout": "hype", "leading_id": True}),
        (b'{"r_h": "a", "r_t": "b", "N": 2}\n', {}),
        (b'{"r_h":"a","r_t":"b","N":2}\n', {"layout": "wikipeople"}),
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path, data: bytes, options: Any) -> None:
    plain, marked = (structures_of(whole(tmp_path / "a.txt", m + data), **options) for m in (b"", b"\xef\xbb\xbf"))

    assert [fact(structure) for structure in plain[1:]] == [fact(structure) for structure in marked[1:]]
    assert marked[0].instances[0].label == "layout"
    with pytest.raises(BadRecordError, match=r"a.txt:1:4: expected "):
        structures_of(whole(tmp_path / "a.txt", b"\xef\xbb\xbfa\n" + data), **{"layout": "wd50k"} | options)


def test_a_mark_alone_is_one_bad_record(tmp_path: Path) -> None:
    errors: list[BadRecordError] = []

    assert structures_of(whole(tmp_path / "a.txt", b"\xef\xbb\xbf"), errors.append) == []
    assert [(error.begin, error.end) for error in errors] == [(0, 3)]


def test_the_layout_is_that_of_the_first_line_for_the_whole_file(tmp_path: Path) -> None:
    errors: list[BadRecordError] = []

    found = structures_of(whole(tmp_path / "a.txt", b"\na,b,c\n{}\nr\tx\ty\n"), errors.append)

    assert [s.instances[0].label for s in found] == ["layout", "line", "b"]
    assert [str(e.place) for e in errors] == ["a.txt:3:1", "a.txt:4:1"]


def test_a_unit_from_the_middle_of_a_file_has_the_file_s_layout(tmp_path: Path) -> None:
    piece = whole(tmp_path / "a.txt", b"r\ta,b,c\nq,r,s\tx\ty\n")
    cut = NARY.find_cut(piece, 3, NaryOptions())

    (structure,) = structures_of(InputSlice(file=piece.file, begin=cut))

    assert fact(structure) == ("q,r,s", [("q,r,s#1", "x", 0), ("q,r,s#2", "y", 0)])


@pytest.mark.parametrize("size", [1, 16, 1 << 20])
def test_structures_do_not_depend_on_blocks(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"a,b,c,d,e\n\na,b,f\n" * 9, b'{"a_h": "b", "a_t": "c", "N": 2}\n\n{"x": ["y"], "N": 1}\n' * 9):
        piece = whole(tmp_path / "a.txt", data)
        expected = structures_of(piece)

        with monkeypatch.context() as patch:
            patch.setattr(lisdata.sources.nary, "_BLOCK_BYTES", size)

            assert structures_of(piece) == expected


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"a,b,c\na,b\n", {}, r"2:1: expected subject,relation,object and pairs of qualifiers, found 2 names"),
        (b"a,b,c,d\n", {}, r"1:1: expected subject,relation,object and pairs .*, found 4 names"),
        (b"a,b,c\na,,c\n", {}, r"2:3: expected a name, found an empty one"),
        (b"a,b,\xffc\n", {}, r"1:5: expected UTF-8, found byte 0xff"),
        (b"r\ta\t\tb\n", {"layout": "hype"}, r"1:5: expected a name, found an empty one"),
        (b"s\tr\to\ns\tr\to\tx\n", {"layout": "triples"}, "2:1: expected a head, a relation and a tail, found 4 names"),
        (b"s\tr\n", {"layout": "triples"}, "1:1: expected a head, a relation and a tail, found 2 names"),
        (b"s\tr\to\n", {}, r"1: expected lines of three names whose .*--layout triples .*--layout hype .*, found 1 "),
        (b"s\tr\to\tx\n", {}, r"1: expected lines whose relation stands out .*--layout hype.*, found 1 of 4 names"),
        (b"s\tr\n", {}, r"1: expected lines of three names or more .*--layout hype.*, found 1 of 2"),
        (b"7\tr\ta\n7\n", {"layout": "hype", "leading_id": True}, "2:1: expected an id, a relation and names, found 1"),
        (b"[1]\n", {"layout": "wikipeople"}, r"1:1: expected an object, found \[1\]"),
        (b'{"N": 1}\n{"N": 1\n', {}, r"3:1: expected JSON, found the end"),
        (b'{"a_h": "x", "N": 1}\n', {}, "expected one NAME_h and one NAME_t of that name, found a_h"),
        (b'{"a_h": "x", "b_t": "y"}\n', {}, "expected one NAME_h and one NAME_t of that name, found a_h, b_t"),
        (b'{"a_h": ["x", "y"], "a_t": "y"}\n', {}, "expected one value of a_h and a_t"),
        (b'{"a_h": "x", "a_t": 5}\n', {}, "expected a string or a list of strings as a_t, found 5"),
        (b'{"a_h": "x", "a_t": "y", "N": "2"}\n', {}, 'expected an integer as N, found "2"'),
        (b'{"a": "x", "a": "y"}\n', {}, r"1:17: expected each member once, found .a. again"),
        (b'{"\\ud800": "x"}\n', {}, "expected roles with a name that UTF-8 can hold"),
        (b'{"a": "\xff"}\n', {}, r"1:8: expected UTF-8, found byte 0xff"),
        (b'{"a": ' + b"[" * 100_000 + b"\n", {}, "expected JSON of fewer levels"),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_with_its_place(tmp_path: Path, data: bytes, options: Any, message: str) -> None:
    with pytest.raises(BadRecordError, match=message):
        structures_of(whole(tmp_path / "a.txt", data), **options)


@pytest.mark.parametrize(
    ("paths", "layout", "num_shared"),
    [
        (("triples/codex-s/train.txt", "triples/codex-s/valid.txt", "triples/codex-s/test.txt"), "auto", 106),
        (("nary/wd50k_100/train.txt",), "auto", 298),
        (("nary/wikipeople/valid.json",), "auto", 239),
    ],
)
def test_each_id_that_the_dump_has_too_is_the_same_content(
    shared: Path, tmp_path: Path, paths: tuple[str, ...], layout: str, num_shared: int
) -> None:
    folder = shared / "data" / "kg"
    dump = folder / "wikidata/json/dump_head.json"
    in_dump = set(re.findall(r'"id":"(Q[0-9]+)"', dump.read_text(encoding="utf-8")))
    in_files = {
        name for path in paths for name in re.findall(r"\bQ[0-9]+\b", (folder / path).read_text(encoding="utf-8"))
    }

    convert("wikidata", str(dump), tmp_path / "dump")
    convert(
        "nary", [str(folder / p) for p in paths], tmp_path / "facts", options={"layout": layout, "id_prefix": PREFIXES}
    )
    met = content_keys_in(tmp_path / "dump") & content_keys_in(tmp_path / "facts")

    both = in_dump & in_files
    assert len(both) == num_shared
    assert {entity(IRI + name).key for name in both} <= met


def content_keys_in(path: Path) -> set[bytes]:
    return {key for part in IncidenceDataset(path).parts for key in part.contents["key"].to_pylist()}
