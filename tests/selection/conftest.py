"""Datasets to choose from: triples of two files in small parts, and texts with repeats."""

from __future__ import annotations

from pathlib import Path

import pytest
from scattered_triples import write_scattered

import lisdata

SENTENCE = "the boat came into the harbour before the tide turned and the wind fell asleep"


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of triples, merged: 400 structures in two parts."""
    folder = tmp_path_factory.mktemp("graph")
    parts = []
    for number in range(2):
        path = write_scattered(folder / f"{number}.nt", 2000, seed=number)
        lisdata.convert("ntriples", path, folder / f"{number}.lis", options={"group_by": "10"})
        parts.append(folder / f"{number}.lis")
    lisdata.merge(parts, folder / "both.lis")
    return folder / "both.lis"


@pytest.fixture(scope="session")
def prose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines: 3 of a kind, 2 that differ by a word, one alone, and white space twice."""
    folder = tmp_path_factory.mktemp("prose")
    words = SENTENCE.split() * 3
    near = [*words[:-1], "awake"]
    lines = [words, near, words, ["alone"], words]
    text = "".join(" ".join(line) + "\n" for line in lines)
    (folder / "a.txt").write_text(text, encoding="utf-8")
    lisdata.convert("text", folder / "a.txt", folder / "a.lis", options={"unit": "line"})
    return folder / "a.lis"
