"""The report of a run: sums agree with its manifest, and what is not done is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_conversion import UNIT_BYTES, write_text
from small_units import make_job

import lisdata.conversion.config
from lisdata.conversion import convert
from lisdata.errors import DamagedShardError
from lisdata.runs import run_share
from lisdata.runs.report import report_run


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Several small units, one bad line in the last."""
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", UNIT_BYTES)
    text = write_text(tmp_path / "text.txt", 1200)
    text.write_bytes(text.read_bytes() + b"\xff\n")
    convert("text", text, tmp_path / "d", unit_mib=1, on_error="quarantine")
    return tmp_path / "d"


def test_sums_are_those_of_the_manifest(dataset: Path) -> None:
    manifest = json.loads((dataset / "manifest.json").read_bytes())

    report = report_run(dataset)

    (records,) = [entry["records"] for entry in manifest["inputs"]]
    assert report.is_finished
    assert (report.totals["records"], report.totals["rejected"]) == (records["converted"], records["rejected"])
    assert report.totals["rejected"] == report.units[-1].rejected == 1
    assert report.totals["source_bytes"] == manifest["inputs"][0]["size"]
    written = [path for path in dataset.rglob("*-*") if path.is_file()]
    assert report.totals["written_bytes"] == sum(path.stat().st_size for path in written)
    assert report.totals["units_done"] == len(report.units) > 2
    assert all(unit.seconds is not None and unit.tries == 1 for unit in report.units)


def test_the_rate_is_that_of_the_units_that_were_timed(dataset: Path) -> None:
    report = report_run(dataset)

    seconds = sum(unit.seconds or 0 for unit in report.units)
    assert report.totals["seconds"] == pytest.approx(seconds, abs=1e-3)
    if seconds:
        assert report.totals["megabytes_per_second"] == pytest.approx(
            report.totals["source_bytes"] / 1e6 / seconds, abs=1e-3
        )


def test_a_run_that_is_not_finished_is_reported_so_far(tmp_path: Path) -> None:
    run_share(make_job(tmp_path, 3), rank=1, world=2)

    report = report_run(tmp_path)

    assert not report.is_finished
    assert (report.world, report.finished) == (2, None)
    assert [unit.is_done for unit in report.units] == [False, True, False]
    assert report.units[0].records is None
    assert report.totals["units_done"] == 1


def test_without_times_units_are_reported_all_the_same(dataset: Path) -> None:
    (dataset / "run.json").unlink()

    report = report_run(dataset)

    assert all(unit.seconds is None for unit in report.units)
    assert not {"seconds", "megabytes_per_second"} & set(report.totals)


def test_a_report_is_json(dataset: Path) -> None:
    found = json.loads(json.dumps(report_run(dataset).to_dict()))

    assert found["totals"] == report_run(dataset).totals
    assert len(found["units"]) == found["totals"]["units"]


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedShardError, match=r"plan.json: expected this file"):
        report_run(tmp_path)
