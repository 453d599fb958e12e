"""The measurements of scale, on small inputs: they run, and what they claim is so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import process_memory
import pytest
import scale
from process_memory import Memory, Peak, descendants, memory_of, memory_of_tree, peak_of_tree


def measure(*arguments: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, scale.__file__, *arguments, "--scratch", str(folder), "--to", str(folder / "report")]
    subprocess.run(command, check=False, capture_output=True, timeout=900)
    found: dict[str, Any] = json.loads((folder / "report" / f"{arguments[0]}.json").read_text())
    return found


def test_a_small_corpus_is_opened_and_loaded_within_the_aims_of_memory(tmp_path: Path) -> None:
    report = measure("corpus", "--records", "20000", folder=tmp_path)

    assert report["records"] == 20_000
    assert set(report["misses"]) <= {"open_seconds"}  # of a machine that is busy
    assert 0 < report["worker_megabytes"] < report["resident_megabytes"]
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_the_memory_of_a_conversion_is_that_of_all_its_processes(tmp_path: Path) -> None:
    report = measure("conversion", "--megabytes", "3", folder=tmp_path)

    assert report["is_converted"]
    assert report["misses"] == []
    assert 50 < report["peak_megabytes"] <= report["peak_rss_megabytes"]


def test_two_nodes_that_do_not_see_the_folder_convert_to_equal_bytes(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")

    report = measure("cluster", "--megabytes", "1", folder=tmp_path)

    assert report["is_equal"]
    assert report["units"] > 1


def test_what_misses_its_aim_is_named() -> None:
    report = {"open_seconds": 0.6, "peak_megabytes": 1500.0, "is_equal": False, "records": 0}

    assert scale.misses(report) == ["open_seconds", "is_equal"]


def test_a_process_that_started_here_counts_with_this_one() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with peak_of_tree(os.getpid(), every=0.01) as peak:
            while peak.num_samples < 2:
                pass
        assert child.pid in descendants(os.getpid())
        together = memory_of_tree(os.getpid())
        assert child.stdin is not None
        child.stdin.close()

    assert together.rss > memory_of(os.getpid()).rss // 2
    assert peak.memory.pss > 0
    assert memory_of(child.pid) == Memory()


def test_a_peak_is_the_most_of_each_count() -> None:
    peak = Peak()
    for rss, pss in ((3, 1), (2, 2)):
        peak.add(Memory(rss=rss, pss=pss))

    assert peak.memory == Memory(rss=3, pss=2)
    assert process_memory.memory_of(2**30) == Memory()
