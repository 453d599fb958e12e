from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.converters.trees import TREES, TreeOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources import brackets_blocks
from lisdata.sources.brackets import BRACKETS, BracketsOptions
from lisdata.sources.brackets_labels import join_label, split_label
from lisdata.structure import Structure

Read = Any


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return the structures of a file and what was rejected."""

    def run(data: bytes, **options: Any) -> tuple[list[Structure], list[BadRecordError]]:
        (tmp_path / "a.mrg").write_bytes(data)
        piece = InputSlice(file=find_inputs([str(tmp_path / "a.mrg")], suffixes=BRACKETS.suffixes)[0])
        errors: list[BadRecordError] = []
        batches = [
            TREES.convert(records, TreeOptions())
            for records in BRACKETS.read(piece, BracketsOptions(**options), errors.append)
        ]
        structures = [Structure.from_arrow(b, row) for b in batches for row in range(b.structures.num_rows)]
        return structures, errors

    return run


def facts(structure: Structure) -> list[tuple[str, str]]:
    return [(i.role.label, structure.occurrences[i.occurrence].content.text) for i in structure.incidences]


def shown(structure: Structure) -> list[tuple[str, str, str | None]]:
    return [(o.content.kind.name, o.content.text, o.content.datatype) for o in structure.occurrences]


def test_it_is_registered() -> None:
    assert load_source("brackets") is BRACKETS


def test_a_small_tree_is_as_drawn(read: Read) -> None:
    data = b"( (S (NP-SBJ-1 (NNP Ada)) (VP sings)))\n"

    (structure,), errors = read(data)

    assert errors == []
    assert shown(structure) == [
        ("NAME", "", "constituent"), ("NAME", "S", "constituent"), ("NAME", "NP", "constituent"), ("TEXT", "SBJ", None),
        ("TEXT", "1", None), ("NAME", "NNP", "constituent"), ("WORD", "Ada", None), ("NAME", "VP", "constituent"),
        ("WORD", "sings", None),
    ]  # fmt: skip
    assert facts(structure)[:10] == [
        ("root#node", ""), ("child#PARENT", ""), ("child#CHILD", "S"), ("child#PARENT", "S"), ("child#CHILD", "NP"),
        ("node#node", "NP"), ("node#attr:function", "SBJ"), ("node#attr:index", "1"), ("child#PARENT", "NP"),
        ("child#CHILD", "NNP"),
    ]  # fmt: skip
    spelled = [None if o.span is None else data[slice(*o.span)] for o in structure.occurrences]
    assert spelled[2:7] == [b"(NP-SBJ-1 (NNP Ada))", None, None, b"(NNP Ada)", b"Ada"]
    assert structure.document == data


def test_words_are_shared_and_traces_and_escaped_brackets_are_told_apart(read: Read) -> None:
    (structure,), _ = read(b"(S (-NONE- *T*-1) (-LRB- -LRB-) (X *T*-1) (Y -RRB-))")

    assert shown(structure)[1:] == [
        ("NAME", "-NONE-", "constituent"), ("NAME", "*T*-1", "trace"), ("NAME", "-LRB-", "constituent"),
        ("WORD", "(", None), ("NAME", "X", "constituent"), ("WORD", "*T*-1", None), ("NAME", "Y", "constituent"),
        ("WORD", ")", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "category", "parts"),
    [
        ("NP", "NP", []),
        ("NP-SBJ-1", "NP", [("function", "SBJ"), ("index", "1")]),
        ("PP-LOC-PRD-TPC-12", "PP", [("function", "LOC"), ("function", "PRD"), ("function", "TPC"), ("index", "12")]),
        ("NP-1=2", "NP", [("index", "1"), ("gap", "2")]),
        ("VP=2", "VP", [("gap", "2")]),
        ("-NONE-", "-NONE-", []),
        ("-LRB-", "-LRB-", []),
        ("ADVP|PRT", "ADVP|PRT", []),
        ("NP-x1", "NP-x1", []),
        ("NP-", "NP-", []),
        ("", "", []),
    ],
)
def test_labels_are_split(label: str, category: str, parts: list[tuple[str, str]]) -> None:
    assert split_label(label) == (category, parts)


@given(st.text(st.sampled_from("NP-=1٣é|."), max_size=8))
def test_split_labels_joined_are_the_labels(label: str) -> None:
    assert join_label(*split_label(label)) == label


def test_labels_may_stay_whole(read: Read) -> None:
    (structure,), _ = read(b"(NP-SBJ-1 x)", labels="whole")

    assert shown(structure) == [("NAME", "NP-SBJ-1", "constituent"), ("WORD", "x", None)]


def test_documents_may_be_left_out(read: Read) -> None:
    (structure,), _ = read(b"(NP x)", keep_document=False)

    assert structure.document is None
    assert [o.span for o in structure.occurrences] == [None, None]


@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 20])
def test_records_tile_the_file_however_it_is_cut(read: Read, monkeypatch: Any, block_bytes: int) -> None:
    monkeypatch.setattr(brackets_blocks, "_BLOCK_BYTES", block_bytes)
    data = b"\n\n( (A b) )\n\n(C\n  (D e)\n)(F g) \n()\n(H)\n\n"

    structures, errors = read(data)

    assert errors == []
    assert [s.document for s in structures] == [
        b"\n\n( (A b) )\n\n", b"(C\n  (D e)\n)", b"(F g) \n", b"()\n", b"(H)\n\n"
    ]  # fmt: skip
    assert [s.source[1:] for s in structures] == [(0, 13), (13, 25), (25, 32), (32, 35), (35, 40)]


WRONG = {
    b"(A b)\n  (C d\n": ("a.mrg:2:3", "a ) for this (", "none before the next tree or the end", 1),
    b"(A b))\n": ("a.mrg:1:6", "( at the begin of a tree", ")", 1),
    b"word (A b)": ("a.mrg:1:1", "( at the begin of a tree", "word", 1),
    b"(A b)\nx y\n(C d)\n": ("a.mrg:2:1", "( at the begin of a tree", "x", 2),
    b"(A (B c)\n(D e)\n(F g)\n": ("a.mrg:1:1", "a ) for this (", "none before the next tree or the end", 2),
    b"(A \xff)\n(B c)": ("a.mrg:1:4", "UTF-8", "byte 0xff (invalid start byte)", 1),
    b"\xff(B c)": ("a.mrg:1:1", "( at the begin of a tree", "\\xff", 1),
}


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize("data", WRONG)
def test_what_is_no_tree_is_rejected_with_its_place_and_the_rest_is_read(
    read: Read, monkeypatch: Any, data: bytes, block_bytes: int
) -> None:
    monkeypatch.setattr(brackets_blocks, "_BLOCK_BYTES", block_bytes)
    place, expected, found, num_trees = WRONG[data]

    structures, (error,) = read(data)

    assert (str(error.place), error.expected, error.found) == (place, expected, found)
    assert len(structures) == num_trees
    parts = sorted([(s.source[1], s.document) for s in structures] + [(error.begin, error.data)])
    assert b"".join(data for _, data in parts) == data


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.sampled_from("()a \n"), max_size=40),
    block_bytes=st.sampled_from([1, 3, 99]),
    limit=st.integers(1, 9),
)
def test_trees_and_rejected_bytes_are_together_the_file(read: Read, text: str, block_bytes: int, limit: int) -> None:
    data = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brackets_blocks, "_BLOCK_BYTES", block_bytes)

        structures, errors = read(data, max_tree_bytes=limit)

    parts = [(s.source[1], s.document) for s in structures] + [(e.begin, e.data) for e in errors]
    assert b"".join(part for _, part in sorted(parts)).split() == data.split()


def test_a_tree_above_the_limit_is_rejected_and_reading_goes_on(read: Read, monkeypatch: Any) -> None:
    monkeypatch.setattr(brackets_blocks, "_BLOCK_BYTES", 8)

    structures, errors = read(b"(A (B c)\n" + b"  (D e)\n" * 20 + b"(F g)\n(H i)\n", max_tree_bytes=40)

    assert [s.document for s in structures][-2:] == [b"(F g)\n", b"(H i)\n"]
    assert str(errors[0].place) == "a.mrg:1:1"


def test_deep_nesting_is_read(read: Read) -> None:
    (structure,), _ = read(b"(A " * 100_000 + b"x" + b")" * 100_000)

    assert len(structure.occurrences) == 100_001


def test_a_limit_below_one_byte_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="max_tree_bytes"):
        BracketsOptions(max_tree_bytes=0)


def test_a_file_is_never_cut(read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_bytes(b"(A b)")
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.mrg")], suffixes=BRACKETS.suffixes)[0])

    assert not BRACKETS.splits
    with pytest.raises(ValueError, match="read whole"):
        BRACKETS.find_cut(piece, 1, BracketsOptions())


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_a_file_without_trees_has_no_record(read: Read, data: bytes) -> None:
    assert read(data) == ([], [])


def test_words_are_contents_of_running_text(read: Read) -> None:
    (structure,), _ = read("(S (N Ödipus) (N 𝒳))".encode())

    words = [o.content.text for o in structure.occurrences if o.content.kind == ContentKind.WORD]
    assert words == ["Ödipus", "𝒳"]
