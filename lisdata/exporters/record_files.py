"""Exports in which a file is its records one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo


def export_records(
    dataset: IncidenceDataset,
    target: Path,
    files: tuple[InputInfo, ...],
    iter_records: Callable[[InputInfo], Iterator[bytes]],
) -> ExportReport:
    """Write each of `files` as the records that `iter_records` gives of it; one of which all was rejected has none.

    Losses are rejected records.
    """
    paths = target_paths(target, files, dataset.inputs)
    written: list[Path] = []
    num_records = 0
    for info, path in zip(files, paths, strict=True):
        if is_left_out(dataset, info):
            continue
        with replacing(path) as stream:
            for record in iter_records(info):
                stream.write(record)
                num_records += 1
        written.append(path)
    rejected = sum(info.records.get("rejected", 0) for info in files)
    losses = {REJECTED: rejected} if rejected else {}
    return ExportReport(files=tuple(written), num_records=num_records, losses=losses)
