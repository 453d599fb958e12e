"""A real file on its way there and back: converted, verified, exported, compared by other parsers, and audited."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx
from independent_checks import Check
from real_archives import MEMBERS, graph_model, read_graph
from real_files import SHARED, Road, roads_of

import lisdata
from lisdata.alignment import AuditReport, audit
from lisdata.decompression import without_compression
from lisdata.errors import BadRecordError
from lisdata.interop.networkx_graphs import networkx_from_structures, structures_from_networkx
from lisdata.registry import load_exporter, load_source
from lisdata.shards import IncidenceDataset, write_structures

FAULTS_SHOWN = 3


@dataclass(slots=True)
class WalkedRoad:
    """What a road made of a file; `faults` are promises that were broken."""

    road: Road
    num_inputs: int = 0
    structures: int = 0
    contents: int = 0
    records: int = 0
    bytes_equal: int = 0
    losses: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def walk_file(name: str, folder: Path) -> list[WalkedRoad]:
    """Walk each road of a file of data/kg; `folder` is for what is made on the way."""
    walked = []
    for number, road in enumerate(roads_of(name)):
        place = folder / str(number)
        place.mkdir(parents=True)
        path = SHARED / "data" / "kg" / name
        walked.append(_walk_graph(road, path, place) if road.source == "networkx" else _walk(road, path, place))
    return walked


def _walk(road: Road, path: Path, folder: Path) -> WalkedRoad:
    found = WalkedRoad(road, notes=[road.note] if road.note else [])
    options, root = dict(road.options), path
    if road.members:
        members = MEMBERS[road.members](path, folder)
        root, options, found.left_out = members.folder, options | members.options, members.left_out
    if road.refused_by:
        _expect_refusal(road.refused_by, path, folder / "refused", found)
    inputs = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]
    lisdata.convert(road.source, root, folder / "data", options=options)
    found.faults += [str(problem) for problem in lisdata.verify(folder / "data").problems]
    (folder / "back").mkdir()
    (report,) = lisdata.export(folder / "data", folder / "back")
    found.num_inputs, found.losses, found.records = len(inputs), dict(report.losses), report.num_records
    dataset = IncidenceDataset(folder / "data")
    _count(dataset, found)
    if len(dataset.inputs) != len(inputs):
        found.faults.append(f"expected {len(inputs)} inputs, found {len(dataset.inputs)}")
    suffix = getattr(load_exporter(load_source(road.source).exporter), "suffix", "")
    faults = []
    for source in inputs:
        name = source.name if source == root else source.relative_to(root).as_posix()
        faults.append(_compare(road, source, folder / "back" / f"{without_compression(name)}{suffix}", found))
    differences = [fault for listed in faults for fault in listed]
    if road.is_audited:
        again = {name: value for name, value in options.items() if name == "context"}  # a dataset keeps no paths
        differences += _differences(audit(folder / "data", folder / "back", options=again))
    different = sum(map(bool, faults))
    if different and different == found.losses.get(road.may_lose):
        found.notes.append(f"{different} inputs differ, and the export tells it: {road.may_lose}")
    else:
        found.faults += differences
    found.faults += [f"lost: {count} {name}" for name, count in found.losses.items() if name != road.may_lose]
    return found


def _expect_refusal(source: str, path: Path, folder: Path, found: WalkedRoad) -> None:
    try:
        lisdata.convert(source, path, folder)
    except BadRecordError as error:
        found.notes.append(f"source {source} refuses it: {str(error)[:120]}")
    else:
        found.faults.append(f"expected source {source} to refuse it")


def _count(dataset: IncidenceDataset, found: WalkedRoad) -> None:
    counts = dataset.manifest["counts"]
    found.structures, found.contents = len(dataset), counts.get("contents", 0)
    for info in dataset.inputs:
        seen, converted, rejected = (info.records[n] for n in ("seen", "converted", "rejected"))
        if seen != converted + rejected or rejected:
            found.faults.append(f"{info.name}: {seen} records seen, {converted} converted, {rejected} rejected")


def _compare(road: Road, source: Path, exported: Path, found: WalkedRoad) -> list[str]:
    if not exported.exists():
        return [f"{source.name}: no export"]
    before, after = _decompressed(source), exported.read_bytes()
    found.bytes_equal += before == after
    faults = {what: _fault(check, before, after) for what, check in road.checks.items()}
    return [f"{source.name}: not {what}: {fault}" for what, fault in faults.items() if fault]


def _fault(check: Check, before: bytes, after: bytes) -> str | None:
    try:
        return check(before, after)
    except (ValueError, SyntaxError) as error:  # what came back cannot be parsed
        return f"{type(error).__name__}: {error}"


def _decompressed(path: Path) -> bytes:
    import gzip

    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _differences(report: AuditReport) -> list[str]:
    return [
        f"audit: {count} {level.level} {kind}, as {examples[0] if examples else ''}"[:300]
        for level in report.levels
        for kind, count, examples in (
            ("lost", level.lost, level.lost_examples),
            ("added", level.added, level.added_examples),
        )
        if count
    ]


def _walk_graph(road: Road, path: Path, folder: Path) -> WalkedRoad:
    """Take a graph through structures in a dataset on disk back to networkx."""
    graph = read_graph(path)
    found = WalkedRoad(road, num_inputs=1, records=graph.number_of_edges(), notes=[road.note])
    write_structures(folder / "data", structures_from_networkx(graph))
    dataset = IncidenceDataset(folder / "data")
    back = networkx_from_structures(dataset.iter_structures(None))
    _count(dataset, found)
    if not nx.utils.graphs_equal(graph, back) or graph_model(graph) != graph_model(back):
        found.faults.append("not graph equal (networkx)")
    write_structures(folder / "back", structures_from_networkx(back))
    found.faults += _differences(audit(folder / "data", folder / "back"))
    return found


def sum_losses(walked: list[WalkedRoad]) -> Counter[str]:
    """Add up the losses that exports told."""
    return sum((Counter(found.losses) for found in walked), Counter[str]())
