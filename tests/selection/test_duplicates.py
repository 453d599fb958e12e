"""Repeats: the first of each is kept, by facts, by text, by most of the text, over all parts."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.selection import deduplicate, duplicates
from lisdata.selection.duplicates import count_firsts
from lisdata.selection.fingerprints import _signatures
from lisdata.shards import IncidenceDataset, verify_dataset


def last_words(directory: Path) -> list[bytes]:
    return [(s.document or b"").split()[-1] for s in IncidenceDataset(directory).iter_structures()]


@pytest.mark.parametrize(
    ("by", "kept"),
    [
        ("facts", [b"asleep", b"awake", b"alone"]),
        ("text", [b"asleep", b"awake", b"alone"]),
        ("similar-text", [b"asleep", b"alone"]),
    ],
)
def test_the_first_of_each_is_kept(prose: Path, tmp_path: Path, by: str, kept: list[bytes]) -> None:
    deduplicate(prose, tmp_path / "d", by=by)  # type: ignore[arg-type]
    assert last_words(tmp_path / "d") == kept
    assert verify_dataset(tmp_path / "d").ok
    assert count_firsts(prose, by=by) == (len(kept), 5)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["d"]  # no scratch is left


def test_facts_repeat_in_any_order_and_in_any_file(tmp_path: Path) -> None:
    triples = [f"<urn:s> <urn:p{i}> <urn:o{i}> .\n" for i in range(5)]
    for name, order in (("a", triples), ("b", triples[::-1]), ("c", triples[:4])):
        (tmp_path / f"{name}.nt").write_text("".join(order), encoding="ascii")
        lisdata.convert("ntriples", tmp_path / f"{name}.nt", tmp_path / name, options={"group_by": "subject"})
    lisdata.merge([tmp_path / name for name in "abc"], tmp_path / "all")
    deduplicate(tmp_path / "all", tmp_path / "d")
    files = [s.source[0] for s in IncidenceDataset(tmp_path / "d").iter_structures()]
    assert files == [0, 2]


def test_passes_that_hold_few_digests_find_the_same(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lisdata.convert("text", _repeating(tmp_path), tmp_path / "t.lis", options={"unit": "line"})
    whole = count_firsts(tmp_path / "t.lis")
    monkeypatch.setattr(duplicates, "DIGESTS_A_PASS", 7)
    assert count_firsts(tmp_path / "t.lis") == whole == (20, 300)
    assert count_firsts(tmp_path / "t.lis", by="similar-text")[0] == 20


def _repeating(folder: Path) -> Path:
    rng = random.Random(0)
    lines = [" ".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=30)) for _ in range(20)]
    rows = lines + [rng.choice(lines) for _ in range(280)]
    (folder / "t.txt").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return folder / "t.txt"


def test_structures_without_a_document_are_all_kept_by_similar_text(graph: Path) -> None:
    assert count_firsts(graph, by="similar-text") == (len(IncidenceDataset(graph)),) * 2


@settings(max_examples=30)
@given(st.integers(0, 60), st.integers(0, 1 << 30))
def test_signatures_agree_in_about_the_share_of_shingles_in_common(num_changed: int, seed: int) -> None:
    rng = random.Random(seed)
    words = [f"w{rng.randrange(10_000)}" for _ in range(400)]
    other = [*words[: 400 - num_changed], *(f"x{rng.randrange(10_000)}" for _ in range(num_changed))]
    shingles = [{tuple(text[i : i + 5]) for i in range(396)} for text in (words, other)]
    jaccard = len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])
    one, two = _signatures([words, other])
    assert abs(float(np.mean(one == two)) - jaccard) < 0.25


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"by": "colour"}, "one of facts, text, similar-text"),
        ({"similarity": 0.0}, "above 0"),
        ({"similarity": 2.0}, "above 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(prose: Path, settings_: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        count_firsts(prose, **settings_)  # type: ignore[arg-type]


def test_a_run_that_was_stopped_goes_on_with_the_repeats_that_were_found(
    prose: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(duplicates, "select", stop)
    with pytest.raises(KeyboardInterrupt):
        deduplicate(prose, tmp_path / "d")
    monkeypatch.undo()
    monkeypatch.setattr(duplicates, "_find_firsts", stop)  # would be called if it began anew
    deduplicate(prose, tmp_path / "d")
    assert len(IncidenceDataset(tmp_path / "d")) == 3


def test_fresh_finds_the_repeats_anew(prose: Path, tmp_path: Path) -> None:
    deduplicate(prose, tmp_path / "d")
    deduplicate(prose, tmp_path / "d", by="similar-text", fresh=True)
    deduplicate(prose, tmp_path / "d", fresh=True)
    assert len(IncidenceDataset(tmp_path / "d")) == 3


def test_what_tells_how_a_file_was_written_is_no_repeat(tmp_path: Path) -> None:
    for name, rows in (("a", "1,x\n2,y\n"), ("b", "2,y\n3,z\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text("id,v\n" + rows, encoding="utf-8")
        lisdata.convert("csv", tmp_path / name / "t.csv", tmp_path / f"{name}.lis")
    lisdata.merge([tmp_path / "a.lis", tmp_path / "b.lis"], tmp_path / "m")
    deduplicate(tmp_path / "m", tmp_path / "d")
    lisdata.export(tmp_path / "d", tmp_path / "out")
    texts = sorted(path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*.csv"))
    assert texts == ["id,v\n1,x\n2,y\n", "id,v\n3,z\n"]
