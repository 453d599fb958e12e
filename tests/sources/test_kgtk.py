from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lisdata.sources.kgtk_rows
from lisdata.contents import Content, entity
from lisdata.converters.facts import FACTS, FactOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources.kgtk import KGTK, KgtkOptions
from lisdata.structure import Structure


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=KGTK.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def structures_of(piece: InputSlice, reject: Any = stop, **options: Any) -> list[Structure]:
    found = []
    for records in KGTK.read(piece, KgtkOptions(**options), reject):
        batch = FACTS.convert(records, FactOptions())
        found += [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]
    return found


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def run(text: str, reject: Any = stop, **options: Any) -> list[Structure]:
        return structures_of(whole(tmp_path / "a.tsv", text.encode()), reject, **options)[1:]

    return run


def facts(structure: Structure) -> list[tuple[str, str | None, list[tuple[str, str, int]]]]:
    """Label and handle of each instance, and role, text and position of what takes part in it."""
    return [
        (
            e.label,
            None if e.handle is None else e.handle.text,
            [
                (i.role.label, structure.occurrences[i.occurrence].content.text, i.position)
                for i in structure.incidences
                if i.instance == number
            ],
        )
        for number, e in enumerate(structure.instances)
    ]


def object_of(read: Any, cell: str, **options: Any) -> Content:
    (structure,) = read(f"node1\tlabel\tnode2\na\tb\t{cell}\n", **options)
    return next(structure.occurrences[i.occurrence].content for i in structure.incidences if i.role.side == "object")


def test_it_is_registered_and_reads_files_whole(tmp_path: Path) -> None:
    assert load_source("kgtk") is KGTK
    assert not KGTK.splits
    with pytest.raises(ValueError, match="read whole"):
        KGTK.find_cut(whole(tmp_path / "a.tsv", b"id\n"), 1, KgtkOptions())


def test_an_edge_is_an_instance_with_its_id_for_a_handle_and_a_qualifier_is_about_it(read: Any) -> None:
    (structure,) = read("id\tnode1\tlabel\tnode2\nt5\tfilm\tdate\t1984\nt6\tt5\tplace\tus\nt7\tfilm\tcast\tx\n")

    assert facts(structure) == [
        ("date", "t5", [("date#subject", "film", 0), ("date#object", "1984", 0)]),
        ("place", "t6", [("place#subject", "t5", 0), ("place#object", "us", 0)]),
        ("cast", "t7", [("cast#subject", "film", 0), ("cast#object", "x", 0)]),
    ]
    assert structure.occurrences[2].content == structure.instances[0].handle
    assert structure.occurrences[2].content.kind == ContentKind.INSTANCE


def test_an_edge_may_be_about_an_edge_that_comes_later(read: Any) -> None:
    first, second = read("id\tnode1\tlabel\tnode2\nq\te\tsays\tx\ne\ta\tis\te\n")

    assert first.occurrences[0].content == second.instances[0].handle
    assert second.occurrences[1].content == second.instances[0].handle


@pytest.mark.parametrize(("about", "kinds"), [("edges", ["INSTANCE", "ENTITY"]), ("nodes", ["ENTITY", "ENTITY"])])
def test_what_node1_names_may_be_declared(read: Any, about: str, kinds: list[str]) -> None:
    (structure,) = read("id\tnode1\tlabel\tnode2\nq\te\tsays\tx\n", edges_about=about)

    assert [o.content.kind.name for o in structure.occurrences] == kinds


def test_edges_in_files_apart_meet_where_their_ids_are_global(tmp_path: Path) -> None:
    edges = structures_of(whole(tmp_path / "a.tsv", b"id\tnode1\tlabel\tnode2\ne\ta\tb\tc\n"), scope="global")
    quals = structures_of(
        whole(tmp_path / "b.tsv", b"node1\tlabel\tnode2\ne\tsays\tx\n"), scope="global", edges_about="edges"
    )

    assert edges[1].instances[0].handle == quals[1].occurrences[0].content


@pytest.mark.parametrize(
    ("cell", "content"),
    [
        ("Q42", entity("Q42")),
        ('"a\\"b\\tc"', Content(ContentKind.LITERAL, b'a"b\tc')),
        ("'l\\'été'@fr", Content(ContentKind.LITERAL, "l'été".encode(), language="fr")),
        ("'a'@en-US", Content(ContentKind.LITERAL, b"a", language="en-US")),
        ("'a'@en-us", Content(ContentKind.LITERAL, b"a", language="en-us")),
        ('"a|b"', Content(ContentKind.LITERAL, b"a|b")),
        ("12345678901234567890", Content(ContentKind.LITERAL, b"12345678901234567890", "kgtk:number")),
        ("+186.2e-6", Content(ContentKind.LITERAL, b"+186.2e-6", "kgtk:number")),
        ("84.3[84,85]kg", Content(ContentKind.LITERAL, b"84.3[84,85]kg", "kgtk:quantity")),
        ("9.8m/s^2", Content(ContentKind.LITERAL, b"9.8m/s^2", "kgtk:quantity")),
        ("5Q11573", Content(ContentKind.LITERAL, b"5Q11573", "kgtk:quantity")),
        ("@60.2/134.3", Content(ContentKind.LITERAL, b"@60.2/134.3", "kgtk:location_coordinates")),
        (
            "^-0044-03-15T00:00:00Z/11",
            Content(ContentKind.LITERAL, b"^-0044-03-15T00:00:00Z/11", "kgtk:date_and_times"),
        ),
        ("True", Content(ContentKind.LITERAL, b"True", "kgtk:boolean")),
        ("!x", Content(ContentKind.LITERAL, b"!x", "kgtk:extension")),
        ('"open', Content(ContentKind.LITERAL, b'"open', "kgtk:malformed")),
        ("'no language'", Content(ContentKind.LITERAL, b"'no language'", "kgtk:malformed")),
        ("@someone", entity("@someone")),
        ("2nd", Content(ContentKind.LITERAL, b"2nd", "kgtk:quantity")),
        ("12345abcde", entity("12345abcde")),
        ("^tomorrow", entity("^tomorrow")),
        ("TRUE", entity("TRUE")),
    ],
)
def test_a_value_is_told_by_how_it_is_written(read: Any, cell: str, content: Content) -> None:
    assert object_of(read, cell) == content


def test_a_string_that_begins_with_a_quote_swallows_no_line(read: Any) -> None:
    (structure,) = read('node1\tlabel\tnode2\na\tb\t"open\na\t"c\td\na\tb\t"x" y\n')

    assert [i.label for i in structure.instances] == ["b", '"c', "b"]
    assert structure.occurrences[1].content.text == '"open'


def test_columns_may_stand_in_any_order_under_any_of_their_names(read: Any) -> None:
    (structure,) = read("to\tnote\tpredicate\tID\tfrom\nb\tn\tis\te1\ta\n")

    assert facts(structure) == [
        ("is", "e1", [("is#subject", "a", 0), ("is#object", "b", 0), ("edge#column:note", "n", 0)])
    ]


def test_a_file_without_a_header_has_the_declared_columns(read: Any, tmp_path: Path) -> None:
    piece = whole(tmp_path / "a.tsv", b"a\tb\tc\n")

    _, structure = structures_of(piece, header=False)

    assert facts(structure) == [("b", None, [("b#subject", "a", 0), ("b#object", "c", 0)])]


def test_further_columns_are_roles_lists_are_several_and_empty_cells_nothing(read: Any) -> None:
    (structure,) = read("node1\tlabel\tnode2\tx#y\tz\na\tb\tc\tp|q||\\|r\t\n")

    assert facts(structure)[0][2][2:] == [
        ("edge#column:x%23y", text, position) for position, text in enumerate(["p", "q", "", "\\|r"])
    ]


def test_a_node_file_is_a_fact_a_node(read: Any) -> None:
    first, second = read("id\tkind\nH\tgas\n2\t\n")

    assert facts(first) == [("node", None, [("node#id", "H", 0), ("node#column:kind", "gas", 0)])]
    assert facts(second) == [("node", None, [("node#id", "2", 0)])]


def test_lines_of_a_part_of_an_edge_are_rows(read: Any) -> None:
    (structure,) = read("node1\tlabel\told_node2\na\tb\tc\n")

    assert facts(structure)[0][0] == "row"


def test_comments_and_blank_lines_are_kept_apart(read: Any) -> None:
    found = read("node1\tlabel\tnode2\n# one\na\tb\tc\n\n#x\ty\tz\n \t\t\na\tb\tc\n")

    assert [facts(s)[0][0] for s in found] == ["line", "b", "line", "line", "line", "b"]
    assert found[0].occurrences[0].content.text == "# one\n"


def test_each_edge_is_a_structure_when_asked(read: Any) -> None:
    text = "node1\tlabel\tnode2\na\tb\tc\na\tb\tc\n"

    assert [len(s.instances) for s in read(text)] == [2]
    assert [len(s.instances) for s in read(text, group="edge")] == [1, 1]


@pytest.mark.parametrize("size", [1, 30, 200, 1 << 20])
def test_structures_do_not_depend_on_blocks(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"e{i}\tn{i // 7}\tl\tv{i}\nq{i}\te{i}\tl\tw\n" if i % 3 else "# c\n" for i in range(60))
    piece = whole(tmp_path / "a.tsv", f"id\tnode1\tlabel\tnode2\n{lines}".encode())
    expected = structures_of(piece)

    monkeypatch.setattr(lisdata.sources.kgtk_rows, "_BLOCK_BYTES", size)

    assert structures_of(piece) == expected


def test_a_short_id_is_the_iri_s_entity(read: Any) -> None:
    iri = "http://www.wikidata.org/entity/"
    prefixes = (f"Q={iri}", f"P={iri}")

    (structure,) = read(f"node1\tlabel\tnode2\nQ42\tP31\t{iri}Q5\n", id_prefix=prefixes)

    assert facts(structure) == [
        (f"{iri}P31", None, [
            (f"{iri}P31#subject", f"{iri}Q42", 0),
            (f"{iri}P31#object", f"{iri}Q5", 0),
            (f"{iri}P31#object.written", f"{iri}Q5", 0),
        ])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"^a\.tsv:1:1: expected a header with the names of the columns, found an empty line"),
        (b"node1\t\tnode2\n", r"^a\.tsv:1:7: expected the name of a column, found ''"),
        (b"node1\tx\tx\n", r"^a\.tsv:1:9: expected each column's name once, found 'x' again"),
        (b"Q1\tP2\tQ3\nQ1\tP2\tQ4\n", r"^a\.tsv:1:1: expected a header .*--no-header.*, found 'Q1\\tP2\\tQ3'"),
        (b"Q1\tlabel\t'x'@en\n", r"^a\.tsv:1:1: expected a header .*--no-header"),
        (b"node1\t\xff\n", r"^a\.tsv:1:7: expected UTF-8, found byte 0xff"),
        (b"node1\tlabel\tnode2\na\tb\tc\na\tb\n", r"^a\.tsv:3:1: expected 3 cells, found 2"),
        (b"node1\tlabel\tnode2\na\tb\tc\td\n", r"^a\.tsv:2:1: expected 3 cells, found 4"),
        (b"node1\tlabel\tnode2\na\t\tc\n", r"^a\.tsv:2:3: expected a label, found an empty cell"),
        (b"node1\tlabel\tnode2\n\ta\tc\n", r"^a\.tsv:2:1: expected a node1, found an empty cell"),
        (b"id\tx\n\ta\n", r"^a\.tsv:2:1: expected a id, found an empty cell"),
        (b"node1\tlabel\tnode2\na\tb\xff\tc\n", r"^a\.tsv:2:4: expected UTF-8, found byte 0xff"),
        (b"node1\tlabel\tnode2\na\tb\rx\tc\n", r"^a\.tsv:2:4: expected a newline after the carriage return"),
    ],
)
def test_a_bad_line_is_refused_with_its_place(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(BadRecordError, match=message):
        structures_of(whole(tmp_path / "a.tsv", data))


def test_good_lines_around_bad_ones_are_kept_and_each_bad_one_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lisdata.sources.kgtk_rows, "_BLOCK_BYTES", 24)
    data = b"node1\tlabel\tnode2\n" + b"a\tb\tc\nbad\na\tb\t\xff\n" * 20
    errors: list[BadRecordError] = []

    found = structures_of(whole(tmp_path / "a.tsv", data), errors.append)

    assert sum(len(s.instances) for s in found[1:]) == 20
    assert [e.data for e in errors] == [b"bad\n", b"a\tb\t\xff\n"] * 20
    assert all(data[e.begin : e.end] == e.data for e in errors)


def test_columns_of_a_file_without_header_have_names_once() -> None:
    with pytest.raises(ValueError, match="expected names of columns, each once"):
        KgtkOptions(header=False, columns=("id", "id"))
