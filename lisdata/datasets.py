"""Whole datasets by path: open either form, export, merge, verify."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lisdata.errors import ExportError, LisDataError
from lisdata.exporters.conversion_losses import is_elsewhere
from lisdata.exporters.format_scopes import NotHeld, find_not_held, refuse_lossy
from lisdata.exporters.targets import folder_paths, memory_path, moved_names, sweep_leftovers, target_names
from lisdata.paths import StrPath
from lisdata.registry import Exporter, ExportReport, load_exporter
from lisdata.shards import IncidenceDataset
from lisdata.shards.dataset import InputInfo, Verify
from lisdata.shards.joined_inputs import join_inputs
from lisdata.shards.manifest import TOKEN_FORMAT, read_manifest
from lisdata.shards.merging import merge_datasets as merge
from lisdata.shards.verifying import OnFile, VerifyReport, verify_dataset
from lisdata.storage import is_url, local_folder

if TYPE_CHECKING:
    from lisdata.storage.copying import CopyReport
    from lisdata.token_shards import TokenDataset

__all__ = ["VerifyReport", "copy", "export", "merge", "open", "verify"]

Inputs = str | int | Sequence[str | int]
_MAX_SHOWN_INPUTS = 20
_LOG = logging.getLogger("lisdata")


def open(path: StrPath, *, verify: Verify = "open") -> IncidenceDataset | TokenDataset:  # noqa: A001
    """Open the dataset at `path`, of either form: a folder, or a URL that fsspec opens, through a local cache.

    A missing or cut file raises DamagedShardError here; `verify="full"` hashes every file too.
    """
    folder = local_folder(path)
    if read_manifest(folder)["format"] == TOKEN_FORMAT:
        from lisdata.token_shards import TokenDataset

        return TokenDataset(folder, verify=verify)
    return IncidenceDataset(folder, verify=verify)


def verify(path: StrPath, *, on_file: OnFile | None = None) -> VerifyReport:
    """Check the dataset at `path`: the seal of its JSON files, sha256 of each file, schemas, counts and invariants.

    All problems are collected, each naming its file. Of a URL the files there are read again, and the rows checked in
    the cache. `on_file(bytes done, bytes in all, name)` is called after each file.
    """
    report = verify_dataset(local_folder(path), on_file=on_file)
    if not is_url(path):
        return report
    from lisdata.storage.folders import Folder

    remote = Folder.of(path)
    problems = remote.problems(read_manifest(local_folder(path))["files"])
    return replace(report, problems=(*problems, *report.problems))


def copy(source: StrPath, to: StrPath, *, verify: bool = True, on_file: OnFile | None = None) -> CopyReport:
    """Copy the dataset at `source` to `to`, each a folder or a URL (`lisdata.storage.copying.copy_dataset`)."""
    from lisdata.storage.copying import copy_dataset

    return copy_dataset(source, to, verify=verify, on_file=on_file)


def export(
    path: StrPath,
    to: StrPath,
    *,
    format: str | None = None,  # noqa: A002
    inputs: Inputs = (),
    force: bool = False,
    prefixes: Sequence[str] = (),
    allow_losses: bool = False,
    verify: Verify = "full",
) -> tuple[ExportReport, ...]:
    """Write a dataset back: each input by its source's exporter, or all by the exporter `format`.

    An input that merged shares have in common is written once, its records in order. One of which a share (of a split,
    a sample ...) has no record is not written.

    `inputs` chooses some by name (the input's, or that of its file) or number; all when it is empty. `to` becomes a
    file when there is one input, else a folder of files with the inputs' names; where two want one name, a warning of
    the logger "lisdata" says which name an input has instead. A report a format; its `losses` name what is not there.
    `prefixes` (NAME=IRI) shorten the IRIs of turtle, trig and rdfxml, before the input's own and well-known ones.
    Raises ExportError rather than write over a file, unless `force`, or into the dataset; and ValueError, which names
    formats that hold more, for a `format` that holds nothing of what there is (triples of tables), unless
    `allow_losses`. The dataset is opened with `verify`: its files are hashed first, so that what is damaged raises
    DamagedShardError and is not written as if it were whole.

    A token dataset needs a `format` of `lisdata.token_formats`, and `to` becomes a folder (`export_tokens`).
    """
    found = open(path, verify=verify)
    if not isinstance(found, IncidenceDataset):
        return (_export_tokens(found, to, format, inputs, force=force),)
    dataset, target = join_inputs(found), Path(to)
    chosen = _choose_inputs(dataset.inputs, inputs)
    groups: dict[str, list[InputInfo]] = {} if format is None else {format: list(chosen)}
    for info in chosen if format is None else ():
        groups.setdefault(info.exporter, []).append(info)
    if not groups:
        raise ExportError(f"{path}: made in memory, not from a source: name a format (structures works for all)")
    not_held = {name: find_not_held(dataset, name, infos) for name, infos in groups.items()}
    for lost in () if allow_losses else filter(None, not_held.values()):
        refuse_lossy(lost)
    exporters = {name: _with_prefixes(load_exporter(name), prefixes) for name in groups}
    suffixes: dict[str, str] = {name: getattr(exporter, "suffix", "") for name, exporter in exporters.items()}
    is_folder = target.is_dir() or len(chosen) > 1
    paths = [
        path
        for name, infos in groups.items()
        for path in _paths_of(dataset, target, infos, suffix=suffixes[name], is_folder=is_folder)
    ]
    _check_paths(dataset, target, paths, force=force)
    folders = {path.parent for path in paths}
    if is_folder:
        target.mkdir(parents=True, exist_ok=True)
        folders |= {(target / name).parent for name in target_names(dataset.inputs).values()}
        for name, infos in groups.items():
            _tell_moved_names(infos, dataset.inputs, suffix=suffixes[name])
    sweep_leftovers(folders)
    reports = tuple(_export(exporters[name], dataset, target, infos, not_held[name]) for name, infos in groups.items())
    if not dataset.inputs and not reports[0].files:
        raise ExportError(f"{path}: made in memory: expected a format for that (structures), found {format}")
    return reports


def _export(
    exporter: Exporter, dataset: IncidenceDataset, target: Path, infos: list[InputInfo], not_held: NotHeld | None
) -> ExportReport:
    """Write the inputs that the dataset has something of; what is `not_held` is told as lost."""
    found = tuple(info for info in infos if not is_elsewhere(dataset, info))
    if infos and not found:
        return ExportReport(files=(), num_records=0, losses={})
    try:
        report = exporter.export(dataset, target, found)
    except LisDataError as error:
        if not_held is None:
            raise
        raise ExportError(
            f"format {not_held.format} cannot be written of {not_held}, not even with losses: {not_held.advice} "
            f"({error})"
        ) from error
    return report if not_held is None or report.losses else replace(report, losses=not_held.kinds)


def _with_prefixes(exporter: Exporter, prefixes: Sequence[str]) -> Exporter:
    """Return an exporter that uses the prefixes; ValueError for one that has none."""
    if not prefixes:
        return exporter
    if not hasattr(exporter, "prefixes"):
        raise ValueError(f"exporter {exporter.name} writes no prefixes; turtle, trig and rdfxml do")
    changed: Exporter = replace(cast(Any, exporter), prefixes=tuple(prefixes))
    return changed


def _export_tokens(
    dataset: TokenDataset,
    to: StrPath,
    format: str | None,  # noqa: A002
    inputs: Inputs,
    *,
    force: bool,
) -> ExportReport:
    from lisdata.token_formats import EXPORTED, export_tokens

    if format is None:
        raise ExportError(f"{dataset.path}: rows of tokens have no source: name a format of {', '.join(EXPORTED)}")
    if inputs or inputs == 0:
        raise ValueError("inputs are those of a dataset of structures; rows of tokens have none")
    return export_tokens(dataset, to, format, force=force)


def _choose_inputs(known: tuple[InputInfo, ...], wanted: Inputs) -> tuple[InputInfo, ...]:
    """Return the inputs that `wanted` names, in their own order; ValueError for a name of none or of several."""
    wanted = [wanted] if isinstance(wanted, str | int) else wanted
    names = target_names(known)
    chosen: set[int] = set()
    for name in wanted:
        found = [info.index for info in known if name in (info.index, info.name)]
        found = found or [info.index for info in known if name in (names.get(info.index), str(info.index))]
        if len(found) > 1:
            raise ValueError(f"inputs {', '.join(map(str, found))} are all called {name!r}: choose by number")
        if not found:
            shown = [f"{info.index} ({info.name})" for info in known[:_MAX_SHOWN_INPUTS]]
            shown += ["..."] if len(known) > len(shown) else []
            raise ValueError(f"no input is called {name!r}; there are {', '.join(shown) or 'none'}")
        chosen.update(found)
    return tuple(info for info in known if info.index in chosen) if chosen else known


def _paths_of(
    dataset: IncidenceDataset, target: Path, files: list[InputInfo], *, suffix: str, is_folder: bool
) -> list[Path]:
    if not files:
        return [memory_path(target, suffix=suffix)]
    return folder_paths(target, files, dataset.inputs, suffix=suffix) if is_folder else [target]


def _tell_moved_names(files: list[InputInfo], inputs: tuple[InputInfo, ...], *, suffix: str) -> None:
    moved = moved_names(inputs, suffix=suffix)
    for info in files:
        if info.index in moved:
            alone, name = moved[info.index]
            _LOG.warning("input %d (%s) is written as %s: another is called %s", info.index, info.name, name, alone)


def _check_paths(dataset: IncidenceDataset, target: Path, paths: list[Path], *, force: bool) -> None:
    """Raise ExportError unless each of the files can be written without harm to what is there."""
    inside = dataset.path.resolve()
    if len(set(paths)) < len(paths):
        raise ExportError(f"{target}: two inputs would have one file here: choose a format, or inputs one by one")
    for path in (target, *paths):
        if path.resolve().is_relative_to(inside):
            raise ExportError(f"{path}: expected a place outside the dataset {dataset.path}")
    for path in paths:
        folder = next(folder for folder in path.parents if folder.exists())
        if not folder.is_dir():
            raise ExportError(f"{folder}: expected a folder, for {path.relative_to(folder)} in it, found a file")
        if path.is_dir():
            raise ExportError(f"{path}: expected no folder where a file is to be")
        if not force and os.path.lexists(path):
            raise ExportError(f"{path}: expected no file here yet; choose another place, or --force to write over it")
