"""An export read again: its files converted by the sources and options of the dataset that it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from lisdata.conversion import convert
from lisdata.decompression import without_compression
from lisdata.errors import BadRecordError, PlanError
from lisdata.exporters.targets import target_names
from lisdata.registry import TellingExporter, load_converter, load_exporter, load_source, names
from lisdata.shards import IncidenceDataset, InputInfo

_Way = tuple[int, tuple[tuple[str, Any], ...]]
"""The number of an origin, and options that its source found in the bytes of inputs."""


def read_export(
    dataset: IncidenceDataset, path: Path, to: Path, options: Mapping[str, Any]
) -> tuple[tuple[IncidenceDataset, ...], list[int]]:
    """Convert the export of `dataset` at `path` into datasets below `to`, one for each way its inputs were converted.

    Return them, and for each of their inputs, one after another, the number of the input that it is the export of. Each
    is read by the name that the input had, since a table is called as its file. A single file in another form of what
    the dataset holds (Turtle of N-Triples) is read by the source of that form. PlanError for a file that is missing.
    """
    if not dataset.inputs:
        raise PlanError(f"{dataset.path}: made in memory, so no source can read its export: compare two datasets")
    files = _exported_files(dataset, path)
    groups: dict[_Way, list[InputInfo]] = {}
    for info in dataset.inputs:
        entry = dataset.manifest["inputs"][info.index]
        if info.index in files:
            groups.setdefault((entry["origin"], _found_options(dataset, info)), []).append(info)
    found: list[IncidenceDataset] = []
    numbers: list[int] = []
    for number, ((origin, told), infos) in enumerate(groups.items()):
        links = [_link(files[info.index], to / f"in-{number}" / _own_name(info)) for info in infos]
        entry = dataset.manifest["origins"][origin]
        source = _source_of(entry["source"], path)
        if source == entry["source"]:
            entry = entry | {"options": entry["options"] | dict(told)}
        _convert_again(source, links, to / f"{number}.lis", entry, options)
        found.append(IncidenceDataset(to / f"{number}.lis"))
        numbers += [info.index for info in infos]
    return tuple(found), numbers


def _convert_again(
    source: str, files: list[str], to: Path, origin: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Convert the files of an export; ValueError for one that needs what exports have in them (`_spared`)."""
    known = _known_options(source)
    spared = [name for name in _spared(known, given) if origin["options"].get(name)]
    origin = {**origin, "options": {k: v for k, v in origin["options"].items() if k not in spared}}
    try:
        convert(source, files, to, options=_options_of(origin, source, given))
    except BadRecordError as error:
        if not spared:
            raise
        asked = " and ".join(f"--option {name}=VALUE" for name in spared)
        raise ValueError(f"{error}; an export by lisdata needs none, for other files give `audit` {asked}") from error


def _spared(known: Iterable[Field[Any]], given: Mapping[str, Any]) -> list[str]:
    """Return the options that were not given again and that an export is read without."""
    return [option.name for option in known if option.metadata.get("is_spared") and option.name not in given]


def _known_options(source: str) -> tuple[Field[Any], ...]:
    found = load_source(source)
    return (*fields(found.options_type), *fields(load_converter(found.converter).options_type))


def _found_options(dataset: IncidenceDataset, info: InputInfo) -> tuple[tuple[str, Any], ...]:
    """Return what a source found out of an input that its export, which may be smaller, may not tell."""
    exporter = load_exporter(info.exporter)
    if not isinstance(exporter, TellingExporter):
        return ()
    return tuple(sorted(exporter.found_options(dataset, info).items()))


def _exported_files(dataset: IncidenceDataset, path: Path) -> dict[int, Path]:
    """Return the file of each input; one without a good record, or with all in other shares, may have none."""
    if path.is_file():
        if len(dataset.inputs) > 1:
            raise PlanError(f"{path}: expected a folder with the exports of {len(dataset.inputs)} inputs, found a file")
        return {0: path}
    if not path.is_dir():
        raise PlanError(f"{path}: expected a dataset, or an export of one: no such file or folder")
    suffixes = {info.exporter: getattr(load_exporter(info.exporter), "suffix", "") for info in dataset.inputs}
    called = {suffix: target_names(dataset.inputs, suffix=suffix) for suffix in set(suffixes.values())}
    files: dict[int, Path] = {}
    for info in dataset.inputs:
        file = path / called[suffixes[info.exporter]][info.index]
        if file.is_file():
            files[info.index] = file
        elif info.records["converted"]:
            raise PlanError(f"{file}: expected the export of {info.name} here, found none")
    return files


def _own_name(info: InputInfo) -> str:
    """Return the name of an input by itself, below a folder of its own."""
    return f"{info.index}/{Path(target_names([info])[info.index]).name}"


def _link(file: Path, link: Path) -> str:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(file.resolve())
    return str(link)


def _source_of(name: str, path: Path) -> str:
    """Return the one source of the same kind that `path` has a suffix of, if it has none of source `name`."""
    own = load_source(name)
    if path.is_dir() or _has_suffix(path, own.suffixes):
        return name
    others = (load_source(other) for other in names("sources"))
    alike = [other.name for other in others if other.converter == own.converter and _has_suffix(path, other.suffixes)]
    return alike[0] if len(alike) == 1 else name


def _has_suffix(path: Path, suffixes: tuple[str, ...]) -> bool:
    return without_compression(path.name.lower()).endswith(suffixes)


def _options_of(origin: Mapping[str, Any], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a conversion as they were given; those that name a file have to be given again.

    Of another source than the conversion's, those that it has too. HTML without its bytes came out as UTF-8, or with
    what tells its encoding.
    """
    known = _known_options(name)
    options = {**origin["options"], **origin.get("converter_options", {})}
    if name != origin["source"]:
        options = {option.name: options[option.name] for option in known if option.name in options}
    if name == "html" and not options.get("keep_document", True):
        options.pop("encoding", None)
    for option in known:
        reason = _why_asked(option)
        if reason and options.get(option.name) and option.name not in given:
            raise ValueError(
                f"source {name}: expected option {option.name} (it was {options[option.name]!r}), "
                f"which `audit` takes as --option {option.name}=VALUE: {reason}"
            )
    lists = {option.name for option in known if isinstance(option.default, tuple)}
    found = {name: (value,) if name in lists and isinstance(value, str) else value for name, value in given.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in (options | found).items()}


def _why_asked(option: Field[Any]) -> str | None:
    """Return why an option has to be given again, None where a dataset keeps it as it was given."""
    if option.metadata.get("is_path"):
        return "a dataset does not keep where a file was"
    if option.metadata.get("pin"):
        return "a dataset keeps what was used and its version, not how it was given"
    return None
