"""Which column of lines of three names is the relation: told where that is clear, refused where not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.shards import IncidenceDataset
from lisdata.sources.nary import NARY
from lisdata.sources.nary_columns import find_relation
from lisdata.sources.nary_layout import NaryOptions
from lisdata.sources.nary_sniffing import sniff_layout

Sniff = Callable[..., str]
REAL = {
    "nary/jf17k_clean/test.txt": "wd50k",
    "nary/wd50k_100/train.txt": "wd50k",
    "nary/wd50k_100/valid.txt": "wd50k",
    "nary/wd50k_100/test.txt": "wd50k",
    "nary/wikipeople/valid.json": "wikipeople",
    **{
        f"triples/{name}/{part}.txt": "triples"
        for name in ("codex-s", "nations", "umls", "wn18rr")
        for part in ("train", "valid", "test")
    },
}


@pytest.fixture
def sniff(tmp_path: Path) -> Sniff:
    def run(data: bytes, **options: object) -> str:
        return sniff_layout(piece_of(tmp_path / "a.txt", data), NaryOptions(**options)).layout.layout  # type: ignore[arg-type]

    return run


def piece_of(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=NARY.suffixes)[0])


def layout_of_threes(rows: list[list[bytes]]) -> str | None:
    return {1: "triples", 0: "hype", None: None}[find_relation(rows).column]


def relation_first(rows: list[list[bytes]]) -> list[list[bytes]]:
    return [[relation, head, tail] for head, relation, tail in rows]


@pytest.mark.parametrize(("name", "layout"), REAL.items())
def test_real_files_are_told_and_so_are_their_triples_with_the_relation_first(
    shared: Path, sniff: Sniff, name: str, layout: str
) -> None:
    data = (shared / "data/kg" / name).read_bytes()

    assert sniff(data) == layout
    if layout == "triples":
        rows = relation_first([line.split(b"\t") for line in data.splitlines()])
        assert sniff(b"".join(b"\t".join(row) + b"\n" for row in rows)) == "hype"


@given(
    rows=st.lists(st.tuples(*[st.sampled_from([b"a", b"b", b"c", b"d", b"e"])] * 3).map(list), min_size=1, max_size=30)
)
def test_lines_with_the_first_two_names_exchanged_are_of_the_other_layout(rows: list[list[bytes]]) -> None:
    other = {"triples": "hype", "hype": "triples", None: None}

    assert layout_of_threes(relation_first(rows)) == other[layout_of_threes(rows)]


@given(pairs=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60), data=st.data())
def test_relations_are_told_from_heads_that_are_tails_however_many_they_are(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    tails = st.sampled_from([head for head, _ in pairs])

    rows = [[b"e%d" % head, b"r%d" % relation, b"e%d" % data.draw(tails)] for head, relation in pairs]

    assert layout_of_threes(rows) == "triples"


def test_of_columns_without_a_name_in_common_the_relation_is_the_one_that_repeats() -> None:
    rows = [[b"h%d" % n, b"r%d" % (n % 4), b"t%d" % n] for n in range(8)]

    assert layout_of_threes(rows) == "triples"
    assert layout_of_threes(rows[:7]) is None


def test_columns_that_disagree_are_not_clear() -> None:
    heads = [[b"h", b"r%d" % n, b"t%d" % n] for n in range(20)]

    assert layout_of_threes([*heads, [b"h", b"r", b"h"]]) is None


@pytest.mark.parametrize("rows", [b"r\ta\tb\ns\ta\tc\n", b"a r b\nc r d\n", b"a\tb\tc\t\n", b"a\tb\tc"])
def test_few_lines_are_not_guessed_but_read_as_declared(sniff: Sniff, rows: bytes) -> None:
    with pytest.raises(BadRecordError, match=r"--layout triples .* or --layout hype"):
        sniff(rows)
    for layout in ("triples", "hype"):
        assert sniff(rows, layout=layout) == layout


@pytest.mark.parametrize("line", [b"r\ta\n", b"r\ta\tb\tc\n", b"r a b c\n", b"r\n"])
def test_one_line_of_more_or_fewer_names_tells_that_the_relation_comes_first(sniff: Sniff, line: bytes) -> None:
    separator = b"\t" if b"\t" in line else b" "
    threes = separator.join([b"h", b"r", b"t"]) + b"\n"

    assert sniff(line + threes * 30) == "hype"
    assert sniff(b"\n" + threes.replace(b" ", b"\t") * 30 + line.replace(b" ", b"\t")) == "hype"


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        (b"Q42\tP31\tQ5\n", "triples"),
        (b"P31\tQ42\tQ5\n", "hype"),
        (b"00260881\t_hypernym\t00260622\n", "triples"),
        (b"/people/person/nationality\t/m/0b1\t/m/0345h\n", "hype"),
        (b"e1 r1 e2\n", "triples"),
        (b"http://a/Q1 http://a/knows http://a/Q2\n", "triples"),
        (b"a r a\n", "triples"),
    ],
)
def test_one_line_tells_its_relation_by_the_spelling_of_its_names(sniff: Sniff, line: bytes, layout: str) -> None:
    assert sniff(line) == layout


@pytest.mark.parametrize("line", [b"aspirin treats_disease headache\n", b"b12\tweight\t42\n", b"7\t8\t9\n"])
def test_one_line_of_words_or_of_numbers_alike_tells_nothing(sniff: Sniff, line: bytes) -> None:
    with pytest.raises(BadRecordError, match="--layout triples"):
        sniff(line)


def test_lines_of_four_names_are_relation_first_only_where_that_stands_out(sniff: Sniff) -> None:
    moved = b"".join(b"moved\tp%d\tc%d\tc%d\n" % (n, n % 5, n % 7) for n in range(20))
    dated = b"".join(b"p%d\tmoved_%d\tp%d\t2014-01-%02d\n" % (n, n % 2, n % 5, n) for n in range(20))

    assert sniff(moved) == "hype"
    with pytest.raises(BadRecordError, match=r"or their relation first .*--layout hype.*found 20 of 4, of which"):
        sniff(dated)
    with pytest.raises(BadRecordError, match=r"say that it comes first: --layout hype, with --leading-id"):
        sniff(b"a\tb\tc\td\n")
    with pytest.raises(BadRecordError, match=r"--layout hype, with --leading-id .*found 2 of 2"):
        sniff(b"a\tb\nc\td\n")
    for rows in (dated, b"a\tb\tc\td\n", b"a\tb\n"):
        assert sniff(rows, layout="hype") == "hype"


def test_triples_of_which_some_lines_are_wrong_are_triples_still(sniff: Sniff) -> None:
    rows = b"".join(b"e%d\tr%d\te%d\n" % (n, n % 3, n + 1) for n in range(20))

    assert sniff(rows + b"e1\tr1\te2\tmore\n") == "triples"
    assert sniff(b"e1\tr1\n" + rows) == "triples"


def test_what_a_layout_was_told_by_is_counted_once_a_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / f"in/{number}.txt").write_bytes(b"Q1\tP1\tQ%d\n" % (7 + number))

    report = convert("nary", tmp_path / "in", tmp_path / "out")["report"]

    assert report == {
        "files read as --layout triples, for the first names are spelled like the last ones": 2,
    }
    declared = convert("nary", tmp_path / "in", tmp_path / "declared", options={"layout": "triples"})
    assert declared["report"] == {}


def test_lines_that_begin_with_an_id_are_of_layout_hype(sniff: Sniff) -> None:
    assert sniff(b"1 r a\n2 r b\n", leading_id=True) == "hype"


def test_a_file_that_may_be_either_is_one_bad_record_in_however_many_pieces(tmp_path: Path) -> None:
    data = b"a\tb\tc\nd\te\tf\n"
    piece = piece_of(tmp_path / "a.txt", data)
    errors: list[BadRecordError] = []

    for begin, end in pairwise((0, 6, len(data))):
        assert list(NARY.read(InputSlice(file=piece.file, begin=begin, end=end), NaryOptions(), errors.append)) == []

    assert [(error.begin, error.end) for error in errors] == [(0, len(data))]


def test_beside_good_files_one_that_may_be_either_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_bytes(b"".join(b"a%d\tb%d\tc%d\n" % (n, n, n) for n in range(1 << 17)))
    (tmp_path / "in/b.txt").write_bytes(b"a,b,c\n")

    convert("nary", tmp_path / "in", tmp_path / "out", on_error="quarantine", unit_mib=1)

    records = [info.records for info in IncidenceDataset(tmp_path / "out").inputs]
    assert [(found["converted"], found["rejected"]) for found in records] == [(0, 1), (1, 0)]
