"""Crashes conversions in every way at random moments; each must end, started again, in the bytes of a calm run.

SIGKILL of whole runs (engines process and ray) and of one of three ranks; SIGKILL of worker processes alone, which the
run must survive; fsync and rename that fail; a disk that is full (a small tmpfs, which takes root to mount).

python benchmarks/crash_campaign.py --to results/crash_campaign
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kill_conversion
from kill_conversion import PROGRAM, differences, living_members, say
from ntriples import write_ntriples

FAULTS = Path(__file__).with_name("faults")
CLEAR_ERROR = "Error: "


@dataclass(kw_only=True)
class Tally:
    """What was done to conversions of one kind, and whether each ended as it should."""

    what: str
    crashes: int = 0
    failures: list[str] = field(default_factory=list)

    def expect(self, is_so: bool, claim: str) -> None:
        """Note a claim that does not hold."""
        if not is_so:
            self.failures.append(claim)
            say(f"FAILED {self.what}: {claim}")


@dataclass(frozen=True, kw_only=True)
class Field:
    """Where a campaign is held: its input, the dataset of a calm run, and scratch."""

    folder: Path
    source: Path
    calm: Path
    chance: random.Random

    def command(self, target: Path, *more: str) -> list[str]:
        """Return the command of a conversion in small units by two workers."""
        return [
            *PROGRAM, "convert", "ntriples", str(self.source), "--to", str(target), "--unit-mib", "1", "--workers", "2",
            *more,
        ]  # fmt: skip

    def convert(self, target: Path, *more: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        """Convert, perhaps with a fault, and return how it ended."""
        path = os.pathsep.join([str(FAULTS), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | ({"LISDATA_FAULT": fault, "PYTHONPATH": path} if fault else {})
        command = self.command(target, *more)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def check_restart(self, tally: Tally, target: Path, *more: str) -> None:
        """Start again and expect the bytes of the calm run."""
        done = self.convert(target, *more)
        tally.expect(done.returncode == 0, f"the restart ends with {done.returncode}: {done.stderr[-300:]}")
        different = differences(self.calm, target)
        tally.expect(not different, f"files differ from the calm run's: {different}")


def kill_runs(where: Field, kills: int, engine: str) -> Tally:
    """Kill whole runs."""
    tally = Tally(what=f"SIGKILL of a run, engine {engine}")
    arguments = Namespace(
        triples=0, kills=kills, workers=2, engine=engine, unit_mib=1, seed=where.chance.randrange(2**31)
    )
    folder = where.folder / f"kills-{engine}"
    folder.mkdir()
    report = kill_conversion.run_on(where.source, folder, arguments)
    tally.crashes = report["kills"]
    for name in ("exit_of_last_run", "exit_of_verify", "files_that_differ", "orphan_processes"):
        tally.expect(not report[name], f"{name}: {report[name]}")
    return tally


def kill_ranks(where: Field, kills: int) -> Tally:
    """Kill one of three ranks, start it again, and let all end."""
    tally = Tally(what="SIGKILL of one of three ranks")
    for number in range(kills):
        target = where.folder / f"ranks-{number}"
        ranks = [start_rank(where, target, rank) for rank in range(3)]
        victim = where.chance.randrange(3)
        wait_for_commits(target, where.chance.randrange(1, num_units(where) // 2), ranks[victim])
        if ranks[victim].poll() is None:
            ranks[victim].kill()
            tally.crashes += 1
        codes = [process.wait() for process in ranks]
        tally.expect(sum(code != 0 for code in codes) <= 1, f"the other ranks end with {codes}")
        tally.expect(start_rank(where, target, victim).wait() == 0, "the rank ends well at its second start")
        tally.expect(not differences(where.calm, target), f"files differ: {differences(where.calm, target)}")
    return tally


def start_rank(where: Field, target: Path, rank: int) -> subprocess.Popen[bytes]:
    """Start one of three ranks; it works in its own process."""
    command = [*where.command(target, "--rank", str(rank), "--world", "3"), "--workers", "1"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_workers(where: Field, kills: int) -> Tally:
    """Kill a worker process; the run goes on and ends well by itself."""
    tally = Tally(what="SIGKILL of a worker process")
    for number in range(kills):
        target = where.folder / f"workers-{number}"
        command = where.command(target)
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        wait_for_commits(target, where.chance.randrange(1, num_units(where) // 2), run)
        workers = [pid for pid in living_members(run.pid) if pid != run.pid and is_worker(pid)]
        if workers:
            os.kill(where.chance.choice(workers), signal.SIGKILL)
            tally.crashes += 1
        _, said = run.communicate()
        tally.expect(run.returncode == 0, f"the run ends with {run.returncode}")
        tally.expect(not workers or b"run again" in said, "the death is told")
        tally.expect(not differences(where.calm, target), f"files differ: {differences(where.calm, target)}")
    return tally


def is_worker(process: int) -> bool:
    """Tell whether a process runs units: not the one that watches over semaphores."""
    try:
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def fail_calls(where: Field, faults: int, what: str) -> Tally:
    """Let one call of a kind fail in each process, at a random place; the run says so and is started again."""
    tally = Tally(what=f"{what} that fails")
    for number in range(faults):
        target = where.folder / f"{what}-{number}"
        workers = str(1 + number % 2)
        fault = f"{what}:{where.chance.randrange(1, 4 * num_units(where))}:{target}"
        done = where.convert(target, "--workers", workers, fault=fault)
        if done.returncode:
            tally.crashes += 1
            check_error(tally, done)
        where.check_restart(tally, target)
    return tally


def fill_disks(where: Field, faults: int) -> Tally:
    """Convert onto a disk that is too small, then make it larger and start again."""
    tally = Tally(what="disk full")
    size = sum(path.stat().st_size for path in where.calm.rglob("*") if path.is_file())
    for number in range(faults):
        with small_disk(where.folder / f"disk-{number}", where.chance.randrange(16 << 10, size)) as disk:
            done = where.convert(disk / "d", "--workers", str(1 + number % 2))
            tally.expect(done.returncode == 1, f"a full disk ends the run with {done.returncode}")
            tally.crashes += 1
            check_error(tally, done)
            tally.expect("No space left on device" in done.stderr, f"the disk is named: {done.stderr[-300:]}")
            subprocess.run(["mount", "-o", f"remount,size={4 * size}", str(disk)], check=True)
            where.check_restart(tally, disk / "d")
    return tally


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Give a tmpfs of `size` bytes."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def check_error(tally: Tally, done: subprocess.CompletedProcess[str]) -> None:
    """Expect one line of error, and no traceback."""
    errors = [line for line in done.stderr.splitlines() if line.startswith(CLEAR_ERROR)]
    tally.expect(len(errors) == 1 and "Traceback" not in done.stderr, f"one clear error, got {done.stderr[-500:]}")


def num_units(where: Field) -> int:
    """Return how many units a conversion has."""
    return len(list((where.calm / "commits").iterdir()))


def wait_for_commits(target: Path, wanted: int, process: subprocess.Popen[Any]) -> None:
    """Wait until `wanted` units are done, or the process ended."""
    while len(list(target.glob("commits/*.json"))) < wanted and process.poll() is None:
        time.sleep(0.002)


def campaign(where: Field, arguments: Namespace) -> Iterator[Tally]:
    """Yield the tally of each kind of crash."""
    number = arguments.each
    kinds: list[Callable[[], Tally]] = [
        lambda: kill_runs(where, 5 * number, "process"),
        lambda: kill_runs(where, 2 * number, "ray"),
        lambda: kill_ranks(where, number),
        lambda: kill_workers(where, number),
        lambda: fail_calls(where, number, "fsync"),
        lambda: fail_calls(where, number, "rename"),
    ]
    if os.geteuid() == 0:
        kinds.append(lambda: fill_disks(where, number))
    for kind in kinds:
        began = time.monotonic()
        tally = kind()
        say(f"{tally.what}: {tally.crashes} times, {len(tally.failures)} failures, {time.monotonic() - began:.0f} s")
        yield tally


def main() -> None:
    """Print and write what was done and whether all held; exit 1 when something did not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=120_000)
    parser.add_argument("--each", type=int, default=10, help="Crashes of a kind (5 and 2 times as many SIGKILLs).")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, help="Folder for campaign.json.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        where = Field(
            folder=folder, source=folder / "triples.nt", calm=folder / "calm", chance=random.Random(arguments.seed)
        )
        write_ntriples(where.source, arguments.triples, seed=arguments.seed)
        if where.convert(where.calm).returncode:
            raise SystemExit("the undisturbed conversion failed")
        megabytes, units = where.source.stat().st_size / 1e6, num_units(where)
        tallies = list(campaign(where, arguments))
    report = {
        "triples": arguments.triples,
        "megabytes": round(megabytes, 1),
        "units": units,
        "seed": arguments.seed,
        "crashes": sum(tally.crashes for tally in tallies),
        "crashes_by_kind": {tally.what: tally.crashes for tally in tallies},
        "failures": [f"{tally.what}: {failure}" for tally in tallies for failure in tally.failures],
    }
    text = json.dumps(report, indent=2) + "\n"
    if arguments.to is not None:
        arguments.to.mkdir(parents=True, exist_ok=True)
        (arguments.to / "campaign.json").write_text(text)
    print(text, end="")
    sys.exit(bool(report["failures"]))


if __name__ == "__main__":
    main()
