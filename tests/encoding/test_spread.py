"""Ranks and Ray encode the bytes of one run."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from small_units import make_job

import lisdata
from lisdata.encoding import encode, encode_share, finish
from lisdata.encoding.encoder import UnitInputs, encode_unit
from lisdata.errors import DamagedShardError, PlanError, RunError
from lisdata.finishing import finish as finish_any
from lisdata.runs import run_job
from lisdata.runs.commits import CommitUnit
from lisdata.shards.manifest import read_sealed

SETTINGS: dict[str, Any] = {"context": 16, "surface": "label"}


def hashes(folder: Path) -> dict[str, str]:
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "run.json")
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of three parts: three things and what they are called."""
    folder = tmp_path_factory.mktemp("three")
    parts = []
    for number in range(3):
        file = folder / f"{number}.nt"
        file.write_text(
            f"<http://x/{number}> <http://x/p> <http://x/{number + 1}> .\n"
            f'<http://x/{number}> <http://www.w3.org/2000/01/rdf-schema#label> "thing {number}" .\n'
        )
        lisdata.convert("ntriples", file, folder / f"{number}.lis")
        parts.append(folder / f"{number}.lis")
    lisdata.merge(parts, folder / "all.lis")
    return folder / "all.lis"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_ranks_in_any_order_write_the_bytes_of_one_run(order: tuple[int, int], three: Path, tmp_path: Path) -> None:
    calm = encode(three, tmp_path / "calm", **SETTINGS)

    shares = [encode_share(three, tmp_path / "d", rank=rank, world=2, **SETTINGS) for rank in order]

    assert [share.manifest is None for share in shares] == [True, False]
    assert shares[1].manifest == calm
    assert hashes(tmp_path / "d") == hashes(tmp_path / "calm")
    assert finish(tmp_path / "d") == finish_any(tmp_path / "d") == calm


def test_a_rank_that_is_missing_is_named(three: Path, tmp_path: Path) -> None:
    encode_share(three, tmp_path / "d", rank=1, world=2)

    with pytest.raises(RunError, match="not done yet: rank 0: 2 units"):
        finish_any(tmp_path / "d")


def test_a_machine_that_does_not_see_the_folder_has_what_it_needs_of_it(three: Path, tmp_path: Path) -> None:
    encode(three, tmp_path / "calm")
    plan = read_sealed(tmp_path / "calm/plan.json")
    sidecars = {name: (tmp_path / "calm" / name).read_bytes() for name in ("roles.json", "characters.json")}
    run = CommitUnit(tmp_path / "gone", plan, _Encode(str(three)), sidecars)

    files = run.run_apart(plan["units"][1])

    assert files
    assert files == {name: (tmp_path / "calm" / name).read_bytes() for name in files}


class _Encode:
    def __init__(self, source: str) -> None:
        self._inputs = UnitInputs(source=source, labels=None)

    def __call__(self, directory: Path, plan: dict[str, Any], unit: dict[str, Any]) -> dict[str, Any]:
        return encode_unit(self._inputs, directory, plan, unit)


def test_joined_labels_that_are_not_seen_are_told(three: Path, tmp_path: Path) -> None:
    encode(three, tmp_path / "d", surface="label")
    plan = read_sealed(tmp_path / "d/plan.json")

    with pytest.raises(RunError, match="not seen by this machine"):
        encode_unit(UnitInputs(source=str(three), labels=tmp_path / "gone"), tmp_path / "d", plan, plan["units"][0])


def test_only_runs_that_ranks_do_are_finished(tmp_path: Path) -> None:
    run_job(make_job(tmp_path / "d", 1))

    with pytest.raises(PlanError, match="of convert, encode or regroup"):
        finish_any(tmp_path / "d")
    with pytest.raises(DamagedShardError, match=r"plan\.json"):
        finish_any(tmp_path)
