"""Datasets that have files in common are merged as if only the first of them had those."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.alignment import audit
from lisdata.errors import PlanError
from lisdata.selection import merge_once, sample
from lisdata.selection import merging as module
from lisdata.shards import IncidenceDataset, verify_dataset

FILES = {
    "code": [".py", b"", b"x = 1\n", b"def f():\n    return 2\n", b"y = x\n"],
    "csv": [".csv", b"a,b\n7,8\n", b"a,b\n1,2\n", b"a,b\n1,2\n3,4\n", b"a,c\n5,6\n"],
    "ntriples": [
        ".nt",
        b"<e:a> <e:p> _:b .\n",
        b"_:b <e:p> _:b .\n",
        b"<e:a> <e:p> <e:c> .\nbad\n",
        b"_:c <e:p> _:c .\n",
    ],
}


def convert(folder: Path, source: str, numbers: list[int], **settings: Any) -> Path:
    suffix, *contents = FILES[source]
    folder.mkdir()
    for number in numbers:
        assert isinstance(suffix, str)
        data = contents[number]
        (folder / f"f{number}{suffix}").write_bytes(data if isinstance(data, bytes) else b"")
    to = folder.with_suffix(".lis")
    lisdata.convert(source, folder, to, on_error="quarantine", **settings)
    return to


@pytest.mark.parametrize("source", FILES)
@given(sides=st.lists(st.sets(st.integers(0, 3), min_size=1).map(sorted), min_size=2, max_size=3))
@settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.too_slow])
def test_what_several_datasets_have_is_there_once(
    source: str, sides: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("once")
    datasets = [convert(folder / f"d{side}", source, numbers) for side, numbers in enumerate(sides)]
    union = sorted({number for numbers in sides for number in numbers})
    convert(folder / "all", source, union)

    body = merge_once(datasets, folder / "m")

    assert verify_dataset(folder / "m").ok
    scopes = {info.scope: None for name in ("m", "all.lis") for info in IncidenceDataset(folder / name).inputs}
    report = audit(folder / "m", folder / "all.lis")
    assert len(scopes) == len(union)
    assert report.ok, report.to_dict()
    assert sum(entry["records"]["converted"] for entry in body["inputs"]) == report.records[1]["converted"]
    num_rejected = sum(2 in numbers for numbers in sides) if source == "ntriples" else 0
    assert sum(entry["records"]["rejected"] for entry in body["inputs"]) == num_rejected
    assert sum(name.endswith(".bin") or name.endswith(".jsonl") for name in body["files"]) >= num_rejected


def test_what_is_left_out_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    a, b = convert(tmp_path / "a", "code", [0, 1]), convert(tmp_path / "b", "code", [0, 2])

    merge_once([a, b], tmp_path / "m")

    assert [record.getMessage() for record in caplog.records] == [
        f"{b}: left out, since a dataset before it has the same: 'f0.py'"
    ]
    lisdata.export(tmp_path / "m", tmp_path / "back")
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["f0.py", "f1.py", "f2.py"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_shares_of_a_file_that_overlap_make_it_up(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("".join(f"line {number}\n" for number in range(40)))
    lisdata.convert("text", tmp_path / "t.txt", tmp_path / "d")
    for seed in (1, 2):
        sample(tmp_path / "d", tmp_path / f"s{seed}", num_structures=20, seed=seed)

    merge_once([tmp_path / "s1", tmp_path / "s2", tmp_path / "d"], tmp_path / "m")

    assert audit(tmp_path / "d", tmp_path / "m").ok
    assert verify_dataset(tmp_path / "m").ok


def test_what_may_not_be_the_same_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = convert(tmp_path / "a", "ntriples", [0]), convert(tmp_path / "b", "ntriples", [0], options={"group_by": "1"})
    with pytest.raises(PlanError, match=r"f0.nt of .* is f0.nt of .* again, read with other options"):
        merge_once([a, b], tmp_path / "m")
    lisdata.regroup(a, tmp_path / "sorted.lis")
    with pytest.raises(PlanError, match="again, and sorted: its facts stand among others"):
        merge_once([a, tmp_path / "sorted.lis"], tmp_path / "m")
    monkeypatch.setattr(module, "WHOLE_DIGEST_BYTES", 1)
    c = convert(tmp_path / "c", "ntriples", [0])
    with pytest.raises(PlanError, match="it is too large to be sure that it is the same"):
        merge_once([a, c], tmp_path / "m")
    assert not (tmp_path / "m").exists()
