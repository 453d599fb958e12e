"""What a run did, unit by unit: records, rejects, bytes, seconds; also of one that is not finished."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lisdata.paths import StrPath
from lisdata.runs.commits import read_commit
from lisdata.runs.facts import read_facts
from lisdata.runs.job import PLAN, JsonDict
from lisdata.shards.manifest import MANIFEST, read_sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReport:
    """One unit; `source_bytes` are those planned, as stored, of compressed files that are cut decompressed.

    Counts are None while it is not done, and seconds (of its last try) where the run was killed before it noted them.
    """

    name: str
    source_bytes: int
    is_done: bool
    records: int | None = None
    rejected: int | None = None
    written_bytes: int | None = None
    seconds: float | None = None
    tries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """All units of a run, their sums, and what run.json says of it."""

    units: tuple[UnitReport, ...]
    is_finished: bool
    started: str | None
    finished: str | None
    workers: int | None
    engine: str | None
    world: int | None

    @property
    def totals(self) -> dict[str, float]:
        """Return the sums over units that are done, and MB of source a second of the units' own time.

        Seconds are the units' own, added up, whatever ran side by side; neither is there where none were noted.
        """
        done = [unit for unit in self.units if unit.is_done]
        timed = [unit for unit in done if unit.seconds is not None]
        seconds = sum(unit.seconds or 0 for unit in timed)
        megabytes = sum(unit.source_bytes for unit in timed) / 1e6
        sums: dict[str, float] = {
            name: sum(getattr(unit, name) or 0 for unit in done)
            for name in ("records", "rejected", "source_bytes", "written_bytes")
        }
        times = {"seconds": round(seconds, 3)} if timed else {}
        rate = {"megabytes_per_second": round(megabytes / seconds, 3)} if seconds else {}
        return {"units": len(self.units), "units_done": len(done)} | sums | times | rate

    def to_dict(self) -> JsonDict:
        """Return the report as JSON holds it."""
        return asdict(self) | {"units": [asdict(unit) for unit in self.units], "totals": self.totals}


def report_run(path: StrPath) -> RunReport:
    """Return the report of the run that wrote, or is writing, the dataset at `path`.

    Raises DamagedShardError where no run has a plan.
    """
    directory = Path(path)
    plan, facts = read_sealed(directory / PLAN), read_facts(directory)
    timings = facts.get("units", {})
    return RunReport(
        units=tuple(_report_unit(directory, unit, timings.get(unit["name"], {})) for unit in plan["units"]),
        is_finished=(directory / MANIFEST).exists(),
        **{name: facts.get(name) for name in ("started", "finished", "workers", "engine", "world")},
    )


def _report_unit(directory: Path, unit: JsonDict, timing: dict[str, Any]) -> UnitReport:
    commit = read_commit(directory, unit)
    if commit is None:
        return UnitReport(name=unit["name"], source_bytes=unit["weight"], is_done=False)
    records = commit.get("records", {}).values()
    return UnitReport(
        name=unit["name"],
        source_bytes=unit["weight"],
        is_done=True,
        records=sum(counts["converted"] for counts in records),
        rejected=sum(counts["rejected"] for counts in records),
        written_bytes=sum(entry["size"] for entry in commit["files"].values()),
        seconds=timing.get("seconds"),
        tries=timing.get("tries"),
    )
