"""Shares by a stable hash: nothing lost, nothing twice, nothing in common where that is asked for."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_files import INLINE, SAMPLES

import lisdata
from lisdata.errors import PlanError
from lisdata.schema import ContentKind
from lisdata.selection import deduplicate, sample, split
from lisdata.selection.shares import HashShare, count_left_out, sample_choice, split_choices
from lisdata.shards import IncidenceDataset, verify_dataset
from lisdata.shards.companions import find_companions

ROOT = Path(__file__).resolve().parents[2]
SHARES = {"train": 0.6, "dev": 0.15, "test": 0.25}


def ids_of(directory: Path) -> list[str]:
    return [structure.record_id for structure in IncidenceDataset(directory).iter_structures()]


def keys_of(directory: Path, kinds: tuple[ContentKind, ...] = (ContentKind.ENTITY, ContentKind.BNODE)) -> set[bytes]:
    structures = IncidenceDataset(directory).iter_structures()
    return {o.content.key for s in structures for o in s.occurrences if o.content.kind in kinds}


@pytest.mark.parametrize("by", ["record", "input"])
def test_each_structure_is_in_one_share_as_it_was(graph: Path, tmp_path: Path, by: str) -> None:
    split(graph, tmp_path, SHARES, by=by)  # type: ignore[arg-type]
    found = [s for name in SHARES for s in IncidenceDataset(tmp_path / name).iter_structures()]
    wanted = {s.record_id: s.to_dict() for s in IncidenceDataset(graph).iter_structures()}
    assert {s.record_id: s.to_dict() for s in found} == wanted
    assert len(found) == len(wanted)


def test_shares_have_about_their_weights(graph: Path) -> None:
    counts = count_left_out(IncidenceDataset(graph), split_choices(SHARES))
    assert counts.pop("") == 0
    assert all(abs(counts[name] / len(IncidenceDataset(graph)) - weight) < 0.08 for name, weight in SHARES.items())


def test_shares_by_input_divide_no_file(graph: Path, tmp_path: Path) -> None:
    split(graph, tmp_path, {"a": 1, "b": 1, "c": 1}, by="input")
    files = [{r.partition("#")[0] for r in ids_of(tmp_path / name)} for name in "abc"]
    assert not any(one & other for one, other in combinations(files, 2))


def test_shares_by_content_have_no_entity_in_common_and_leave_out_what_shows_two(tmp_path: Path) -> None:
    lines = [f"<urn:{i}> <urn:p> <urn:{k}> .\n" for i in range(30) for k in range(30)]
    (tmp_path / "a.nt").write_text("".join(lines), encoding="ascii")
    lisdata.convert("ntriples", tmp_path / "a.nt", tmp_path / "a.lis", options={"group_by": "none"})
    split(tmp_path / "a.lis", tmp_path / "s", SHARES, by="content")
    keys = {name: keys_of(tmp_path / "s" / name) for name in SHARES}
    assert all(keys[name] for name in SHARES)
    assert not any(keys[one] & keys[other] for one, other in combinations(SHARES, 2))
    left_out = set(ids_of(tmp_path / "a.lis")) - {r for name in SHARES for r in ids_of(tmp_path / "s" / name)}
    assert count_left_out(IncidenceDataset(tmp_path / "a.lis"), split_choices(SHARES, by="content"))[""] == len(
        left_out
    )
    share_of = {key: name for name, found in keys.items() for key in found}
    for structure in IncidenceDataset(tmp_path / "a.lis").iter_structures():
        if structure.record_id in left_out:
            shares = {share_of.get(o.content.key) for o in structure.occurrences}
            assert len(shares) > 1 or shares == {None}


def test_a_structure_without_such_contents_goes_by_its_record(prose: Path) -> None:
    dataset = IncidenceDataset(prose)
    for begin, end in ((0, 1 << 63), (1 << 63, 1 << 64)):
        taken = [
            HashShare(begin=begin, end=end, by=by).is_taken(dataset, dataset.parts[0])  # type: ignore[arg-type]
            for by in ("record", "content")
        ]
        assert np.array_equal(*taken)


def test_a_record_stays_in_its_share_when_files_are_added(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("".join(f"line {i} of {name}\n" for i in range(50)), encoding="utf-8")
    found = []
    for names in ("b", "ab"):
        files = [tmp_path / f"{name}.txt" for name in names]
        lisdata.convert("text", files, tmp_path / names, options={"unit": "line"})
        dataset = IncidenceDataset(tmp_path / names)
        marks = {n: choice.is_taken(dataset, dataset.parts[0]) for n, choice in split_choices(SHARES).items()}
        ids = [s.record_id for s in dataset.iter_structures()]
        found.append({record_id: [n for n in SHARES if marks[n][i]] for i, record_id in enumerate(ids)})
    few, more = found
    assert few == {record_id: more[record_id] for record_id in few}
    assert all(len(shares) == 1 for shares in more.values())


@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=6))
def test_shares_lie_end_to_end(weights: list[float]) -> None:
    choices = list(split_choices({f"s{i}": weight for i, weight in enumerate(weights)}).values())
    assert choices[0].begin == 0
    assert all(one.end == other.begin for one, other in pairwise(choices))
    assert choices[-1].end == 1 << 64 if sum(weights) >= 1 else choices[-1].end < 1 << 64


def test_a_larger_sample_holds_a_smaller_one_and_another_seed_another(graph: Path, tmp_path: Path) -> None:
    for name, settings in (
        ("small", {"num_structures": 40}),
        ("large", {"fraction": 0.5}),
        ("other", {"num_structures": 40, "seed": 1}),
    ):
        sample(graph, tmp_path / name, **settings)  # type: ignore[arg-type]
    small, large, other = (ids_of(tmp_path / name) for name in ("small", "large", "other"))
    assert len(small) == len(other) == 40
    assert set(small) <= set(large)
    assert set(small) != set(other)
    order = {record_id: i for i, record_id in enumerate(ids_of(graph))}
    assert [order[r] for r in large] == sorted(order[r] for r in large)


def test_a_sample_is_a_dataset_that_verifies_with_only_what_it_shows(graph: Path, tmp_path: Path) -> None:
    body = sample(graph, tmp_path / "s", num_structures=7)
    assert verify_dataset(tmp_path / "s").ok
    dataset = IncidenceDataset(tmp_path / "s", verify="full")
    shown = {o.content.key for s in dataset.iter_structures() for o in s.occurrences}
    kept = {key.as_py() for part in dataset.parts for key in part.contents["key"]}
    assert shown == kept
    assert body["counts"]["structures"] == 7 == sum(entry["records"]["converted"] for entry in body["inputs"])
    roles = {r for part in dataset.parts for r in part.labels["label"].to_pylist()}
    assert len(roles) < sum(part.counts["labels"] for part in IncidenceDataset(graph).parts) + 1


def test_any_number_of_workers_writes_the_same_bytes(graph: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        sample(graph, tmp_path / str(workers), fraction=0.3, workers=workers)
    files = [{p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.arrow")} for n in ("1", "2")]
    assert files[0] == files[1]
    assert files[0]


def _read(path: Path) -> Any:
    """Return what a file says: of Parquet, which has as many row groups as there were runs, cells; else bytes."""
    if path.suffix != ".parquet":
        return path.read_bytes()
    table = pq.read_table(path)
    return table.schema, repr(table.to_pylist())  # a NaN is equal to none


@pytest.mark.parametrize("source", sorted(SAMPLES.keys() | INLINE.keys()))
def test_a_share_of_any_source_comes_back_and_so_do_all_shares_merged(source: str, tmp_path: Path) -> None:
    if source == "parsed":
        pytest.importorskip("spacy")
    path = tmp_path / "inline" if source in INLINE else ROOT / "sample_data" / SAMPLES[source]
    if source in INLINE:
        path.write_bytes(INLINE[source])
    lisdata.convert(source, path, tmp_path / "d")
    whole = IncidenceDataset(tmp_path / "d")
    records = [~find_companions(whole, part) for part in whole.parts]
    split(tmp_path / "d", tmp_path / "s", {"a": 0.5, "b": 0.5})
    shares = [tmp_path / "s" / name for name in "ab"]
    found = [~find_companions(share, part) for share in map(IncidenceDataset, shares) for part in share.parts]
    assert sum(map(np.count_nonzero, found)) == sum(map(np.count_nonzero, records))
    for share in shares:
        assert verify_dataset(share).ok
        if len(IncidenceDataset(share)) and source != "graph":  # an edge whose nodes are elsewhere is no graph
            lisdata.export(share, tmp_path / f"{share.name}.out")
    lisdata.merge(shares, tmp_path / "m")
    for name in ("d", "m"):
        (tmp_path / f"{name}.out").mkdir()
        lisdata.export(tmp_path / name, tmp_path / f"{name}.out")
    outs = [tmp_path / "d.out", tmp_path / "m.out"]
    files = [{p.relative_to(out): _read(p) for p in out.rglob("*") if p.is_file()} for out in outs]
    assert files[0] == files[1]
    assert files[0]


def test_an_input_of_several_shares_is_exported_once_in_order_and_audited(tmp_path: Path) -> None:
    rows = "".join(f"{i},v{i % 7}\n" for i in range(300))
    (tmp_path / "a.csv").write_text("id,x\n" + rows, encoding="utf-8")
    lisdata.convert("csv", tmp_path / "a.csv", tmp_path / "d")
    split(tmp_path / "d", tmp_path / "s", {"a": 0.5, "b": 0.3, "c": 0.2})
    lisdata.merge([tmp_path / "s" / name for name in "cab"], tmp_path / "m")

    (report,) = lisdata.export(tmp_path / "m", tmp_path / "b.csv")

    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()
    assert not report.losses
    assert all(not level.lost for level in lisdata.audit(tmp_path / "m", tmp_path / "b.csv").levels)
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "short.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    found = lisdata.audit(tmp_path / "m", tmp_path / "short.csv")
    assert {level.level: level.lost for level in found.levels}["instances"] == 1


def test_shares_of_a_sorted_dataset_keep_all_their_facts_in_files_of_their_own(tmp_path: Path) -> None:
    lines = [f"<e:s{n % 3}> <e:p> <e:o{n}> .\n" for n in range(12)]
    (tmp_path / "a.nt").write_text("".join(lines), encoding="utf-8")
    lisdata.convert("ntriples", tmp_path / "a.nt", tmp_path / "d")
    lisdata.regroup(tmp_path / "d", tmp_path / "sorted", by="subject")
    split(tmp_path / "sorted", tmp_path / "s", {"a": 0.5, "b": 0.5})
    lisdata.merge([tmp_path / "s" / name for name in "ab"], tmp_path / "m")

    (report,) = lisdata.export(tmp_path / "m", tmp_path / "out")

    assert len(report.files) == 2
    assert sorted(line for path in report.files for line in path.read_text().splitlines(keepends=True)) == sorted(lines)


def test_rows_of_a_table_keep_their_header_in_every_share(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;x\n" + "".join(f"{i};v{i}\n" for i in range(50)), encoding="utf-8")
    lisdata.convert("csv", tmp_path / "a.csv", tmp_path / "d", options={"delimiter": ";"})
    split(tmp_path / "d", tmp_path / "s", {"a": 0.5, "b": 0.5})
    lines: list[str] = []
    for name in "ab":
        lisdata.export(tmp_path / "s" / name, tmp_path / f"share-{name}.csv")
        header, *rows = (tmp_path / f"share-{name}.csv").read_text(encoding="utf-8").splitlines()
        assert header == "id;x"
        lines += rows
    assert sorted(lines) == sorted(f"{i};v{i}" for i in range(50))


def test_a_palette_goes_with_its_image(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for number in range(6):
        picture = image.new("P", (4, 4), 1)
        picture.putpalette([0, 0, 0, 40 * number, 0, 0])
        picture.save(tmp_path / f"{number}.png")
    lisdata.convert("image", sorted(tmp_path.glob("*.png")), tmp_path / "d")
    split(tmp_path / "d", tmp_path / "s", {"a": 0.5, "b": 0.5})
    deduplicate(tmp_path / "d", tmp_path / "s" / "c")
    found = {}
    for name in "abc":
        lisdata.export(tmp_path / "s" / name, tmp_path / f"{name}.out")
        files = (
            (tmp_path / f"{name}.out").rglob("*.png")
            if (tmp_path / f"{name}.out").is_dir()
            else [tmp_path / f"{name}.out"]
        )
        found[name] = [image.open(file).convert("RGB").getpixel((0, 0)) for file in files]
    wanted = [(40 * number, 0, 0) for number in range(6)]
    assert sorted(found["a"] + found["b"]) == sorted(found["c"]) == wanted


def test_a_sorted_dataset_has_no_shares_by_input(graph: Path, tmp_path: Path) -> None:
    lisdata.regroup(graph, tmp_path / "r")
    with pytest.raises(ValueError, match="is sorted"):
        split(tmp_path / "r", tmp_path / "s", {"a": 0.5, "b": 0.5}, by="input")


def test_shares_of_one_dataset_merge_again_and_the_same_share_twice_does_not(graph: Path, tmp_path: Path) -> None:
    split(graph, tmp_path, {"a": 0.5, "b": 0.5})
    split(tmp_path / "b", tmp_path / "of b", {"c": 0.5, "d": 0.5}, seed=1)
    lisdata.merge([tmp_path / "a", tmp_path / "of b" / "c"], tmp_path / "most")
    lisdata.merge([tmp_path / "most", tmp_path / "of b" / "d"], tmp_path / "again")  # a merge of shares merges again
    assert Counter(ids_of(tmp_path / "again")) == Counter(ids_of(graph))
    sample(tmp_path / "a", tmp_path / "c", fraction=0.5)
    with pytest.raises(PlanError, match="twice"):
        lisdata.merge([tmp_path / "a", tmp_path / "c"], tmp_path / "wrong")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "either a fraction or a number"),
        ({"fraction": 0.5, "num_structures": 1}, "either a fraction or a number"),
        ({"fraction": 0.0}, "above 0"),
        ({"fraction": 1.5}, "of 1 at most"),
        ({"num_structures": 100_000}, "expected 1 to 4"),
        ({"num_structures": 0}, "expected 1 to 4"),
        ({"num_structures": 3, "by": "content"}, "by record"),
        ({"fraction": 0.5, "by": "colour"}, "one of record, input, content"),
    ],
)
def test_a_sample_that_cannot_be_is_refused(graph: Path, settings: dict[str, object], message: str) -> None:
    values = {"fraction": None, "num_structures": None} | settings
    with pytest.raises(ValueError, match=message):
        sample_choice(IncidenceDataset(graph), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({}, "at least one"),
        ({"../x": 1.0}, "name of a folder"),
        ({"a": 0.0}, "above 0"),
        ({"a": float("nan")}, "above"),
    ],
)
def test_shares_that_cannot_be_are_refused(shares: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_choices(shares)


def test_an_unknown_kind_of_content_is_refused() -> None:
    with pytest.raises(ValueError, match="kinds of content among"):
        split_choices({"a": 1.0}, by="content", kinds=("colour",))


def test_a_folder_inside_the_dataset_is_refused(graph: Path) -> None:
    with pytest.raises(PlanError, match="outside the dataset"):
        sample(graph, graph / "inside", fraction=0.5)


def test_another_choice_in_the_same_folder_is_refused(graph: Path, tmp_path: Path) -> None:
    sample(graph, tmp_path / "s", fraction=0.5)
    with pytest.raises(PlanError):
        sample(graph, tmp_path / "s", fraction=0.25)
    sample(graph, tmp_path / "s", fraction=0.25, fresh=True)
