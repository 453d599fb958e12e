"""Whole datasets by path: open either form, export, merge, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lisdata.errors import ExportError
from lisdata.exporters.targets import target_paths
from lisdata.registry import ExportReport, load_exporter
from lisdata.shards import IncidenceDataset
from lisdata.shards.dataset import InputInfo, Verify
from lisdata.shards.manifest import TOKEN_FORMAT, read_manifest
from lisdata.shards.merging import merge_datasets as merge
from lisdata.shards.verifying import VerifyReport
from lisdata.shards.verifying import verify_dataset as verify

if TYPE_CHECKING:
    from lisdata.token_shards import TokenDataset

__all__ = ["VerifyReport", "export", "merge", "open", "verify"]


def open(path: str | Path, *, verify: Verify = "open") -> IncidenceDataset | TokenDataset:  # noqa: A001
    """Open the dataset at `path`, of either form.

    A missing or cut file raises DamagedShardError here; `verify="full"` hashes every file too.
    """
    if read_manifest(Path(path))["format"] == TOKEN_FORMAT:
        from lisdata.token_shards import TokenDataset

        return TokenDataset(path, verify=verify)
    return IncidenceDataset(path, verify=verify)


def export(
    path: str | Path,
    to: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    force: bool = False,
) -> tuple[ExportReport, ...]:
    """Write an incidence dataset back: each input by its source's exporter, or all by the exporter `format`.

    `to` becomes a file when there is one input, else a folder. A report a format; its `losses` name what is not there.
    Raises ExportError rather than write over a file, unless `force`, or into the dataset.
    """
    dataset, target = IncidenceDataset(path), Path(to)
    if target.resolve().is_relative_to(dataset.path.resolve()):
        raise ExportError(f"{target}: expected a place outside the dataset {path}")
    if not force:
        _refuse_overwriting(dataset, target)
    if format is not None:
        return (load_exporter(format).export(dataset, target, dataset.inputs),)
    groups: dict[str, list[InputInfo]] = {}
    for info in dataset.inputs:
        groups.setdefault(info.exporter, []).append(info)
    if not groups:
        raise ExportError(f"{path}: made in memory, not from a source: name a format (structures works for all)")
    if len(dataset.inputs) > 1:
        target.mkdir(parents=True, exist_ok=True)
    return tuple(load_exporter(name).export(dataset, target, tuple(infos)) for name, infos in groups.items())


def _refuse_overwriting(dataset: IncidenceDataset, target: Path) -> None:
    found = [path for path in target_paths(target, dataset.inputs) if path.is_file()] if dataset.inputs else [target]
    for path in found:
        if path.is_file():
            raise ExportError(f"{path}: expected no file here yet; choose another place, or --force to write over it")
