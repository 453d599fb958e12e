from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.shards import IncidenceDataset
from lisdata.structure import Structure

PIECES = st.sampled_from(["a. ", "B! ", "é", "\n", "\n\n", "\r\n", " ", "\t", "。", "\u2028", "\0", "Dr. "])
TEXTS = st.lists(PIECES, max_size=20).map("".join)


@settings(max_examples=10, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from(["line", "paragraph", "document"]))
def test_text_with_hierarchy_comes_back_byte_for_byte(round_trip: Any, texts: list[str], unit: str) -> None:
    files = [text.encode() for text in texts]

    found, report = round_trip("text", files, ".txt", unit=unit, hierarchy=True)

    assert found == files
    assert report.losses == {}


def structures_of(folder: Path, data: bytes, unit: str) -> list[Structure]:
    (folder / "a.txt").write_bytes(data)
    convert("text", folder / "a.txt", folder / "data", options={"unit": unit, "hierarchy": True})
    return list(IncidenceDataset(folder / "data").iter_structures())


def shown(structure: Structure) -> list[tuple[str, str]]:
    return [(i.role.label, structure.surface(i.occurrence)) for i in structure.incidences]


def test_a_document_is_paragraphs_of_sentences_of_words(tmp_path: Path) -> None:
    (structure,) = structures_of(tmp_path, b"\n Ice melts.\nWater flows. \n \nEnd", "document")

    assert shown(structure) == [
        ("document#child", "Ice melts.\nWater flows."), ("paragraph#child", "Ice melts."),
        ("paragraph#child", "Water flows."), ("document#child", "End"), ("paragraph#child", "End"),
        *(("sentence#token", word) for word in ("Ice", "melts", ".", "Water", "flows", ".", "End")),
    ]  # fmt: skip
    assert [e.handle and e.handle.text for e in structure.instances] == [
        None, "paragraph 2", "sentence 2", "sentence 13", "paragraph 29", "sentence 29"
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["line", "paragraph"])
def test_a_line_or_paragraph_is_sentences(tmp_path: Path, unit: str) -> None:
    first, second = structures_of(tmp_path, b"One. Two.\n" + b"\n" * (unit == "paragraph") + b"Three", unit)

    assert shown(first)[:3] == [(f"{unit}#child", "One."), (f"{unit}#child", "Two."), ("sentence#token", "One")]
    assert len(second.instances) == 2
