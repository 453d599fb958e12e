from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role
from lisdata.errors import ExportError
from lisdata.exporters.brackets import BRACKETS, write_tree
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind, StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure

ATOMS = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="() \t\n\r\v\f"), min_size=1, max_size=6
) | st.sampled_from(["-NONE-", "-LRB-", "-RRB-", "NP-SBJ-1", "VP=2", "*T*-1", "``"])
SPACES = st.text(st.sampled_from(" \n\t"), max_size=3)


def bracketed(label: str, children: list[str], space: str) -> str:
    return f"({space}{label} " + space.join(children) + f"{space})"


WORD_TREES = st.builds(bracketed, ATOMS, ATOMS.map(lambda a: [a]), SPACES)
TREES = st.recursive(
    WORD_TREES,
    lambda inner: st.builds(bracketed, ATOMS | st.just(""), st.lists(inner, max_size=3), SPACES),
    max_leaves=8,
)
FILES = st.lists(TREES, max_size=4).map(lambda trees: "\n".join(trees).encode())


def tokens(data: bytes) -> list[bytes]:
    return data.replace(b"(", b" ( ").replace(b")", b" ) ").split()


def test_it_is_registered() -> None:
    assert load_exporter("brackets") is BRACKETS


@settings(max_examples=12, deadline=None)
@given(st.lists(FILES, min_size=1, max_size=5))
def test_trees_that_were_kept_come_back_byte_for_byte(round_trip: Any, files: list[bytes]) -> None:
    found, report = round_trip("brackets", files, ".mrg")

    assert found == files
    assert report.losses == {}


@settings(max_examples=12, deadline=None)
@given(st.lists(FILES, min_size=1, max_size=5), st.sampled_from(["split", "whole"]))
def test_trees_that_were_not_kept_come_back_equal_but_for_white_space(
    round_trip: Any, files: list[bytes], labels: str
) -> None:
    found, report = round_trip("brackets", files, ".mrg", keep_document=False, labels=labels)

    assert [tokens(data) for data in found] == [tokens(data) for data in files]
    assert report.losses == {}


def test_the_sample_comes_back(round_trip: Any, root: Path) -> None:
    files = [(root / "sample_data/brackets/harbour.mrg").read_bytes()]

    assert round_trip("brackets", files, ".mrg")[0] == files
    (written,), _ = round_trip("brackets", files, ".mrg", keep_document=False)
    assert written.splitlines()[1] == (
        b"( (S (NP-SBJ (PRP She)) (VP (VBD waited) (PRN (-LRB- -LRB-) (ADVP (RB patiently)) (-RRB- -RRB-))) (. .)))"
    )


def test_deep_trees_come_back(round_trip: Any) -> None:
    files = [b"(A " * 50_000 + b"x" + b")" * 50_000 + b"\n"]

    assert round_trip("brackets", files, ".mrg", keep_document=False)[0] == files


def test_what_was_rejected_is_a_loss(round_trip: Any) -> None:
    found, report = round_trip("brackets", [b"(A b)\nx\n(C d)\n"], ".mrg", on_error="quarantine")

    assert found == [b"(A b)\n(C d)\n"]
    assert report.losses == {"rejected records": 1}


def structure_of(content: Content, role: Role) -> Structure:
    return Structure(
        record_id="s#0",
        kind=StructureKind.TREE,
        occurrences=(Occurrence(content=content),),
        instances=(Instance(label="root"),),
        incidences=(Incidence(occurrence=0, instance=0, role=role),),
    )


@pytest.mark.parametrize(
    ("content", "role", "message"),
    [
        (Content(ContentKind.NAME, b"p"), Role("root", "node"), "expected constituents and words"),
        (Content(ContentKind.WORD, b"p"), Role("root", "node"), "expected constituents and words"),
        (Content(ContentKind.WORD, b"p"), Role("line", "token"), "expected a tree, found the role line#token"),
    ],
)
def test_a_structure_of_another_kind_is_refused(content: Content, role: Role, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        write_tree(structure_of(content, role))
