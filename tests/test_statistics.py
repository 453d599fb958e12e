"""Summaries say what the rows say, whatever the parts; the figure draws every distribution."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.contents import Content, Role, entity, word
from lisdata.hexatag import TERMINAL_GLYPHS
from lisdata.schema import StructureKind
from lisdata.shards import key_groups, merge_datasets, write_structures
from lisdata.statistics import plot_statistics, summarise
from lisdata.statistics.tallies import SizeTally
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.testing import structure_lists

quick = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def counted(structures: list[Structure]) -> dict[str, Any]:
    """The summary of structures, by one look at each of their pieces."""
    shown: dict[Content, set[StructureKind]] = {}
    roles: Counter[str] = Counter()
    for s in structures:
        for o in s.occurrences:
            shown.setdefault(o.content, set()).add(s.kind)
        for e in s.instances:
            if e.handle is not None:
                shown.setdefault(e.handle, set())
        roles.update(i.role.label for i in s.incidences)
        if s.tensor is not None:
            roles[f"{s.instances[0].label}#cell"] += s.tensor.size
    roles = +roles
    return {
        "structures": len(structures),
        "occurrences": sum(len(s.occurrences) for s in structures),
        "instances": sum(len(s.instances) for s in structures),
        "incidences": sum(len(s.incidences) for s in structures),
        "cells": sum(s.tensor.size for s in structures if s.tensor is not None),
        "structures_by_kind": Counter(s.kind.label for s in structures),
        "distinct_contents": len(shown),
        "contents_of_several_kinds": sum(len(kinds) > 1 for kinds in shown.values()),
        "contents_not_shown": sum(not kinds for kinds in shown.values()),
        "contents_by_kind": Counter(content.kind.name.lower() for content in shown),
        "roles": len(roles),
        "top_roles": dict(sorted(roles.items(), key=lambda item: (-item[1], item[0]))[:20]),
        "deprels": Counter(o.deprel for s in structures for o in s.occurrences if o.deprel is not None),
        "terminal_tags": Counter(
            TERMINAL_GLYPHS[o.terminal] for s in structures for o in s.occurrences if o.terminal is not None
        ),
    }


@quick
@given(left=structure_lists(), right=structure_lists())
def test_a_summary_is_what_the_structures_say_in_one_part_or_two(
    left: list[Structure], right: list[Structure], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("summary")
    write_structures(folder / "a", left)
    write_structures(folder / "b", right)
    merge_datasets([folder / "a", folder / "b"] if left != right else [folder / "a"], folder / "m")
    structures = left + right if left != right else left

    found = summarise(folder / "m")

    expected = counted(structures)
    assert {name: found.get(name, {}) for name in expected} == expected


def edge(record_id: str, *members: Content, kind: StructureKind = StructureKind.HYPEREDGES) -> Structure:
    return Structure(
        record_id=record_id,
        kind=kind,
        occurrences=tuple(Occurrence(content=member) for member in members),
        instances=(Instance(label="edge"),),
        incidences=tuple(Incidence(occurrence=i, instance=0, role=Role("edge", "member")) for i in range(len(members))),
    )


@pytest.fixture
def table2(tmp_path: Path) -> Path:
    """A text and a hyperedge that share an entity, and a lonely content, in two parts."""
    aspirin = entity("Aspirin")
    write_structures(tmp_path / "text", [edge("t", aspirin, word("treats"), kind=StructureKind.TEXT)])
    write_structures(tmp_path / "graph", [edge("g", aspirin, entity("pain"))], isolated=(entity("lonely"),))
    merge_datasets([tmp_path / "text", tmp_path / "graph"], tmp_path / "both")
    return tmp_path / "both"


@pytest.mark.parametrize("keys_a_pass", [1, 3, 1000])
def test_contents_of_several_parts_and_kinds_are_counted_once(
    keys_a_pass: int, table2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(key_groups.iter_key_groups.__kwdefaults__, "keys_a_pass", keys_a_pass)

    found = summarise(table2)

    names = ("contents", "distinct_contents", "contents_of_several_parts", "contents_of_several_kinds")
    assert [found[name] for name in names] == [5, 4, 1, 1]
    assert found["contents_not_shown"] == 1
    assert found["contents_by_kind"] == {"entity": 3, "word": 1}


def test_records_are_those_seen_and_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\n\xff\ntwo three\n")
    lisdata.convert("text", [str(tmp_path / "a.txt")], tmp_path / "d", on_error="skip")

    found = summarise(tmp_path / "d")

    assert (found["records_seen"], found["records_rejected"], found["structures"]) == (3, 1, 2)
    assert found["structure_sizes"]["maximum"] == 2
    assert found["structure_size_histogram"] == {"1": 1, "2-3": 1}


def test_a_dataset_of_nothing_has_a_summary(tmp_path: Path) -> None:
    write_structures(tmp_path, [])

    found = summarise(tmp_path)

    assert (found["structures"], found["distinct_contents"], found["structure_sizes"]) == (0, 0, {})
    plot_statistics(found, tmp_path / "empty.png")


# -- sizes -----------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(batches=st.lists(st.lists(st.integers(0, 300)), min_size=1))
def test_quantiles_are_sizes_that_occur_as_numpy_finds_them(batches: list[list[int]]) -> None:
    tally = SizeTally()
    for batch in batches:
        tally.add(np.array(batch, np.int64))

    sizes = [size for batch in batches for size in batch]
    if not sizes:
        assert tally.quantiles() == {}
        return
    found = tally.quantiles()
    assert found.pop("mean") == pytest.approx(np.mean(sizes))
    points = {"minimum": 0.0, "5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "maximum": 1.0}
    assert found == {name: np.quantile(sizes, q, method="lower") for name, q in points.items()}


def test_ranges_double_and_leave_no_gap() -> None:
    tally = SizeTally()
    tally.add(np.array([0, 1, 2, 3, 17]))

    assert tally.histogram() == {"0": 1, "1": 1, "2-3": 2, "4-7": 0, "8-15": 0, "16-31": 1}


# -- tokens ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"ab a\nb\n")
    lisdata.convert("text", [str(tmp_path / "a.txt")], tmp_path / "d")
    lisdata.encode(tmp_path / "d", tmp_path / "t", tokenizer="chars")
    return tmp_path / "t"


def test_token_rows_are_counted_by_length_kind_and_role(tokens: Path) -> None:
    found = summarise(tokens)

    assert (found["rows"], found["tokens"], found["parts"]) == (2, 7, 1)
    assert found["row_lengths"]["maximum"] == 5
    assert found["row_length_histogram"] == {"2-3": 1, "4-7": 1}
    assert found["rows_by_kind"] == {"text": 2}
    assert found["tokens_by_kind"] == {"text": 7}
    assert found["tokens_by_role"] == {"line#token": 7}
    assert found["vocabulary_size"] == found["tokens_of_vocabulary_used"] == len("ab \n")
    size = sum(path.stat().st_size for path in (tokens / "tokens").iterdir())
    assert found["bytes_per_token"] == pytest.approx(size / 7)


def test_packed_rows_count_tokens_by_their_own_kind(table2: Path, tmp_path: Path) -> None:
    lisdata.encode(table2, tmp_path / "t", tokenizer="chars", context=256, view="endpoints")

    found = summarise(tmp_path / "t")

    assert sum(found["tokens_by_kind"].values()) == found["tokens"]
    assert {"text", "hyperedges"} <= set(found["tokens_by_kind"])


def test_tokens_written_by_hand_have_a_summary(tmp_path: Path) -> None:
    lisdata.write_tokens(tmp_path, [np.array([1, 2, 3]), np.array([3])], vocab_size=10)

    found = summarise(tmp_path)

    assert (found["tokens"], found["vocabulary_size"], found["tokens_of_vocabulary_used"]) == (4, 10, 3)
    assert "tokens_by_role" not in found


# -- the figure ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_the_figure_has_the_format_of_its_suffix(suffix: str, magic: bytes, table2: Path, tmp_path: Path) -> None:
    plot_statistics(summarise(table2), tmp_path / f"figure{suffix}")

    assert (tmp_path / f"figure{suffix}").read_bytes().startswith(magic)


def test_the_figure_of_tokens_names_its_distributions(tokens: Path, tmp_path: Path) -> None:
    plot_statistics(summarise(tokens), tmp_path / "tokens.svg")

    drawn = (tmp_path / "tokens.svg").read_text()
    assert all(f"<!-- {name} -->" in drawn for name in ("row length histogram", "tokens by role", "line#token"))


def test_labels_of_any_text_are_drawn_as_they_are(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_statistics({"top_roles": {"$x_{$": 3, "日本語\n": 2, "x" * 100: 1}}, tmp_path / "odd.png")


def test_a_suffix_that_is_no_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a file that ends in one of .*png.*, got 'figure.doc'"):
        plot_statistics({}, tmp_path / "figure.doc")
