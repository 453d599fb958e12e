"""Large corpora in little memory: opened, loaded and converted; figures as JSON, exit 1 where one misses its aim.

    python benchmarks/scale.py corpus --records 10000000 --to results/scale
    python benchmarks/scale.py conversion --megabytes 2000 --to results/scale
    python benchmarks/scale.py cluster --megabytes 50 --to results/scale

`corpus` writes small records of the eight columns of a LIS record and opens them in a new process; `conversion` takes
N-Triples with 2 workers and looks at all its processes ten times a second; `cluster` does so on two nodes of a Ray
cluster that do not see the folder where the dataset arrives, from where it is copied to a URL.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from loader import EIGHT
from ntriples import write_ntriples
from process_memory import memory_of, memory_of_tree, peak_of_tree

MEGABYTE = 10**6
BYTES_A_TRIPLE = 122
RECORDS_A_BATCH, RECORDS_A_PART = 500_000, 2_500_000
MEAN_LENGTH, MAX_LENGTH = 24, 96
BATCH_SIZE, NUM_BATCHES, NUM_OPENINGS = 64, 300, 5
AIMS = {
    "open_seconds": 0.5,
    "resident_megabytes": 500.0,
    "worker_megabytes": 20.0,
    "peak_megabytes": 1500.0,
}
Report = dict[str, Any]


def main() -> None:
    """Write the report of one of the measurements and exit with 1 where it misses an aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=sorted(MEASUREMENTS))
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--scratch", type=Path, help="folder for what is written and removed again")
    parser.add_argument("--to", type=Path, help="folder of the report; without it goes to stdout")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.what in STEPS:
        print(json.dumps(STEPS[arguments.what](arguments.folder)))
        return
    with tempfile.TemporaryDirectory(dir=arguments.scratch, prefix="lisdata-scale-") as folder:
        report = MEASUREMENTS[arguments.what](Path(folder), arguments)
    report["misses"] = misses(report)
    text = json.dumps(report, indent=2) + "\n"
    if arguments.to is None:
        print(text, end="")
    else:
        arguments.to.mkdir(parents=True, exist_ok=True)
        (arguments.to / f"{arguments.what}.json").write_text(text)
    sys.exit(bool(report["misses"]))


def misses(report: Report) -> list[str]:
    """Return the names of the figures that are above their aims, and of claims that do not hold."""
    above = [name for name, aim in AIMS.items() if report.get(name, 0) > aim]
    return above + [name for name, value in report.items() if value is False]


def step(name: str, folder: Path, *, prefix: tuple[str, ...] = ()) -> Report:
    """Take a step in a process of its own."""
    command = [*prefix, sys.executable, __file__, name, "--folder", str(folder)]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return dict(json.loads(result.stdout))


# -- a corpus of small records ---------------------------------------------------------------------------------------


def measure_corpus(folder: Path, arguments: argparse.Namespace) -> Report:
    """Write a corpus, then open and load it in a new process."""
    began = time.process_time()
    num_tokens = write_corpus(folder / "corpus", arguments.records)
    seconds = time.process_time() - began
    size = sum(path.stat().st_size for path in (folder / "corpus").rglob("*") if path.is_file())
    about = {"records": arguments.records, "tokens": num_tokens, "megabytes": round(size / MEGABYTE)}
    return about | {"write_cpu_seconds": round(seconds, 1)} | step("load-corpus", folder / "corpus")


def write_corpus(folder: Path, num_records: int) -> int:
    """Write records of the eight columns, of a mean of 24 tokens, in several parts; return the number of tokens."""
    from lisdata.shards.manifest import write_manifest
    from lisdata.token_shards import TokenSchema, TokenShardWriter, token_manifest

    limits = {name: (0, high - 1) for name, high in EIGHT.items()}
    schema = TokenSchema.choose(
        EIGHT["input_ids"], columns=tuple(EIGHT), num_roles=EIGHT["role"], max_length=MAX_LENGTH, limits=limits, kind=0
    )
    generator = np.random.default_rng(0)
    commits, left = [], num_records
    while left:
        in_part = min(left, RECORDS_A_PART)
        with TokenShardWriter(folder, f"part-{len(commits):05d}", schema) as writer:
            for begin in range(0, in_part, RECORDS_A_BATCH):
                num_rows = min(RECORDS_A_BATCH, in_part - begin)
                lengths = np.clip(generator.poisson(MEAN_LENGTH, num_rows), 1, MAX_LENGTH)
                offsets = np.concatenate(([0], np.cumsum(lengths)))
                columns = {name: generator.integers(0, high, offsets[-1]) for name, high in EIGHT.items()}
                writer.append_batch(offsets, columns)
            commits.append(writer.close())
        left -= in_part
    write_manifest(folder, token_manifest(folder, commits, {}))
    return sum(commit["num_tokens"] for commit in commits)


def load_corpus(folder: Path) -> Report:
    """Open a corpus, take batches of it in random order, and tell what another worker process takes."""
    import torch

    from lisdata.loader import Loader
    from lisdata.token_shards import TokenDataset

    torch.set_num_threads(1)
    before = memory_of(os.getpid())
    opened, cpu = [], time.process_time()
    for _ in range(NUM_OPENINGS):
        began = time.perf_counter()
        dataset = TokenDataset(folder)
        opened.append(time.perf_counter() - began)
    cpu = time.process_time() - cpu
    resident = memory_of(os.getpid())
    pss: list[int] = []
    taken: dict[int, list[int]] = {0: [], 1: [], 3: []}
    for num_workers in (*taken, *taken, *taken):  # what an earlier round left behind only adds
        loader = Loader(dataset, BATCH_SIZE, seed=1, num_workers=num_workers)
        num_batches = min(NUM_BATCHES, len(loader))
        for _ in zip(range(num_batches), loader, strict=False):
            pass
        found = memory_of_tree(os.getpid())
        taken[num_workers].append(found.anonymous)
        if not num_workers:
            pss.append(found.pss)
        del loader
    anonymous = {num_workers: min(sizes) for num_workers, sizes in taken.items()}
    return {
        "open_seconds": round(min(opened), 4),  # other processes only ever add
        "open_seconds_at_first": round(opened[0], 4),
        "open_cpu_seconds": round(cpu / NUM_OPENINGS, 4),
        "imports_megabytes": _megabytes(before.rss),
        "resident_megabytes": _megabytes(resident.rss),
        "loading_anonymous_megabytes": _megabytes(anonymous[0]),
        "loading_pss_megabytes": _megabytes(min(pss)),
        "first_worker_megabytes": _megabytes(anonymous[1] - anonymous[0]),
        "worker_megabytes": _megabytes((anonymous[3] - anonymous[1]) / 2),
    }


# -- N-Triples -------------------------------------------------------------------------------------------------------


def measure_conversion(folder: Path, arguments: argparse.Namespace) -> Report:
    """Convert N-Triples with two workers; the memory is that of all processes together."""
    source, target = folder / "graph.nt", folder / "graph.lis"
    write_ntriples(source, arguments.megabytes * MEGABYTE // BYTES_A_TRIPLE)
    program = "import sys; from lisdata.conversion import convert; convert('ntriples', *sys.argv[1:], workers=2)"
    began = time.perf_counter()
    command = [sys.executable, "-c", program, str(source), str(target)]
    with subprocess.Popen(command) as process, peak_of_tree(process.pid) as peak:
        process.wait()
    return {
        "source_megabytes": round(source.stat().st_size / MEGABYTE),
        "is_converted": process.returncode == 0 and (target / "manifest.json").exists(),
        "seconds": round(time.perf_counter() - began, 1),
        "peak_megabytes": _megabytes(peak.memory.pss),
        "peak_rss_megabytes": _megabytes(peak.memory.rss),
        "samples": peak.num_samples,
    }


def measure_cluster(folder: Path, arguments: argparse.Namespace) -> Report:
    """Convert on two nodes of Ray, whose processes do not see where the dataset goes, and compare it at a URL."""
    from ray.cluster_utils import Cluster

    from lisdata.conversion import convert

    source, calm = folder / "graph.nt", folder / "calm.lis"
    write_ntriples(source, arguments.megabytes * MEGABYTE // BYTES_A_TRIPLE)
    convert("ntriples", source, calm, unit_mib=_unit_mib(source))
    (folder / "hidden").mkdir()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        (folder / "address").write_text(cluster.address)
        alone = ("unshare", "--map-root-user", "--mount")
        hides = subprocess.run([*alone, "true"], check=False, capture_output=True).returncode == 0
        report = step("convert-on-cluster", folder, prefix=alone if hides else ())
    finally:
        cluster.shutdown()
    names = sorted(p.relative_to(calm).as_posix() for p in calm.rglob("*") if p.is_file() and p.name != "run.json")
    _, different, missing = filecmp.cmpfiles(calm, folder / "arrived.lis", names, shallow=False)
    return {
        "source_megabytes": round(source.stat().st_size / MEGABYTE),
        "nodes": 2,
        "nodes_see_the_folder": "yes" if not hides else "no",
        **report,
        "is_equal": not different and not missing,
    }


def convert_on_cluster(folder: Path) -> Report:
    """Convert to a folder that is there for this process alone, if it may, and copy the dataset to a URL."""
    import lisdata

    hidden, source = folder / "hidden", folder / "graph.nt"
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(hidden)], check=False, capture_output=True)
    address = (folder / "address").read_text()
    lisdata.convert(
        "ntriples",
        source.as_uri(),
        hidden / "graph.lis",
        engine="ray",
        ray_address=address,
        unit_mib=_unit_mib(source),
    )
    lisdata.copy(hidden / "graph.lis", (folder / "arrived.lis").as_uri())
    return {"units": len(list((hidden / "graph.lis" / "commits").iterdir()))}


def _unit_mib(source: Path) -> int:
    return max(1, source.stat().st_size // MEGABYTE // 12)


def _megabytes(num_bytes: float) -> float:
    return round(num_bytes / MEGABYTE, 1)


STEPS: dict[str, Callable[[Path], Report]] = {"load-corpus": load_corpus, "convert-on-cluster": convert_on_cluster}
MEASUREMENTS: dict[str, Callable[[Path, argparse.Namespace], Report]] = {
    "cluster": measure_cluster,
    "conversion": measure_conversion,
    "corpus": measure_corpus,
    **{name: lambda folder, _, step=step: step(folder) for name, step in STEPS.items()},
}


if __name__ == "__main__":
    main()
