"""Kills a conversion with SIGKILL at random moments, lets it end, and compares every byte with an undisturbed one.

Half of the kills hit the whole process group, half the run alone, whose workers must end by themselves.

python benchmarks/kill_conversion.py --triples 4000000 --kills 20 --workers 2 --engine process
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ntriples import write_ntriples

OUTSIDE_THE_PROMISE = {"run.json", ".lock"}  # times, paths and workers stand there
SECONDS_TO_END = 90
PROGRAM = [sys.executable, "-c", "from lisdata.cli import main; main()"]


def main() -> None:
    """Print how each start ended, then the verdict, as text on stderr and JSON on stdout; exit 1 when bytes differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=4_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engine", choices=["process", "ray"], default="process")
    parser.add_argument("--unit-mib", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="Where to work (several times the size of the file); default: new.")
    arguments = parser.parse_args()
    if arguments.folder is not None:
        Path(arguments.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        report = run(Path(name), arguments)
    print(json.dumps(report, indent=2))
    sys.exit(not report["same_bytes"])


def run(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Write a graph, convert it as `run_on` does, and return what was seen."""
    source = folder / "triples.nt"
    write_ntriples(source, arguments.triples, seed=arguments.seed)
    say(f"{arguments.triples:,} triples, {source.stat().st_size / 1e6:,.1f} MB")
    return {"triples": arguments.triples} | run_on(source, folder, arguments)


def run_on(source: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Convert once undisturbed and once with kills, and return what was seen."""
    calm, killed = folder / "calm.lis", folder / "killed.lis"
    startup, seconds = time_undisturbed(source, calm, arguments)
    num_units = len(json.loads((calm / "plan.json").read_bytes())["units"])
    say(f"undisturbed: {num_units} units in {seconds:.1f} s, the first {startup:.1f} s before any of them")
    starts = list(disturb(source, killed, arguments, num_units, (startup, seconds - startup)))
    final = start(source, killed, arguments)
    code = final.wait()
    different = differences(calm, killed)
    orphans = outliving([final.pid, *(s["process"] for s in starts)])
    verify = subprocess.run([*PROGRAM, "verify", str(killed)], stdout=subprocess.DEVNULL, check=False).returncode
    same = code == 0 and verify == 0 and not different and not orphans
    say(f"after {len(starts)} kills: {'the same bytes' if same else 'NOT the same'}: {different or 'no file differs'}")
    return {
        "megabytes": round(source.stat().st_size / 1e6, 1),
        "units": num_units,
        "engine": arguments.engine,
        "workers": arguments.workers,
        "seconds_undisturbed": round(seconds, 1),
        "kills": len(starts),
        "units_done_at_each_kill": [s["units_done"] for s in starts],
        "exit_of_last_run": code,
        "exit_of_verify": verify,
        "files_compared": len(hashes(calm)),
        "files_that_differ": different,
        "orphan_processes": orphans,
        "same_bytes": same,
    }


def time_undisturbed(source: Path, target: Path, arguments: argparse.Namespace) -> tuple[float, float]:
    """Convert and return the seconds until the first unit began, and until all was done."""
    began = time.monotonic()
    process = start(source, target, arguments)
    while not (target / "structures").exists() and process.poll() is None:
        time.sleep(0.01)
    startup = time.monotonic() - began
    if process.wait():
        raise SystemExit("the undisturbed conversion failed")
    return startup, time.monotonic() - began


def disturb(
    source: Path, target: Path, arguments: argparse.Namespace, num_units: int, seconds: tuple[float, float]
) -> Iterator[dict[str, int]]:
    """Start the conversion and kill it, as often as asked; yield its process and how many units were done.

    `seconds` are those of the start and of the work. A moment is random in units done and, after that, in the time of a
    unit (of a start, when nothing new is to be done). A run that ended before its moment does not count. When little is
    left to do, every other commit is taken away, which is what a kill at an earlier moment leaves.
    """
    chance = random.Random(arguments.seed)
    startup, work = seconds
    a_unit = work / num_units * arguments.workers
    commits: list[Path] = []
    kills = 0
    while kills < arguments.kills:
        wanted = chance.randrange(len(commits), num_units)
        moment = chance.uniform(0, a_unit if wanted > len(commits) else startup + a_unit)
        process = start(source, target, arguments)
        while len(list(target.glob("commits/*.json"))) < wanted and process.poll() is None:
            time.sleep(0.005)
        time.sleep(moment)
        is_killed = process.poll() is None
        if is_killed:
            (os.killpg if chance.random() < 0.5 else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
        commits = sorted((target / "commits").glob("*.json"))
        if is_killed:
            kills += 1
            half_written = len(list(target.rglob(".*.tmp")))
            say(f"kill {kills}: {len(commits)}/{num_units} units done, {half_written} files half written")
            yield {"process": process.pid, "units_done": len(commits)}
        if kills < arguments.kills and len(commits) > num_units * 0.6:
            (target / "manifest.json").unlink(missing_ok=True)
            for commit in commits[::2]:
                commit.unlink()
            commits = commits[1::2]


def start(source: Path, target: Path, arguments: argparse.Namespace) -> subprocess.Popen[bytes]:
    """Start a conversion in a process group of its own."""
    command = ["convert", "ntriples", str(source), "--to", str(target)]
    command += ["--workers", str(arguments.workers), "--unit-mib", str(arguments.unit_mib)]
    command += ["--engine", arguments.engine]
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*PROGRAM, *command], stdout=quiet, stderr=quiet, start_new_session=True)


def differences(left: Path, right: Path) -> list[str]:
    """Return the names of files that one of two datasets lacks or has with other bytes."""
    ours, theirs = hashes(left), hashes(right)
    return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))


def hashes(dataset: Path) -> dict[str, str]:
    """Return the sha256 of every file that the promise is about."""
    found = {}
    for path in dataset.rglob("*"):
        name = path.relative_to(dataset).as_posix()
        if path.is_file() and name not in OUTSIDE_THE_PROMISE:
            with path.open("rb") as stream:
                found[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def outliving(groups: list[int]) -> list[int]:
    """Return the processes of groups that still run a while later; Ray's agents look for their parent now and then."""
    for _ in range(SECONDS_TO_END):
        orphans = [pid for group in groups for pid in living_members(group)]
        if not orphans:
            break
        time.sleep(1)
    return orphans


def living_members(group: int) -> list[int]:
    """Return the processes of a group that still run (zombies apart)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = stat.read_text().rsplit(")", 1)[1].split()[:3]
        except (FileNotFoundError, ProcessLookupError):  # it ended just now
            continue
        if int(process_group) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
