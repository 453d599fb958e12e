"""`convert`: files of one source become an incidence dataset, through plan, units and commits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import lisdata
from lisdata.decompression import MAX_EXPANSION
from lisdata.errors import PlanError
from lisdata.inputs import MEBIBYTE, InputFile, InputSlice, find_inputs, time_of_change
from lisdata.records import Records
from lisdata.registry import Source, load_converter, load_source
from lisdata.rejects import RejectWriter
from lisdata.runs import Job, JsonDict, OnProgress, run_job
from lisdata.settings import build_settings
from lisdata.shards.manifest import INCIDENCE_FORMAT
from lisdata.shards.writer import ShardWriter
from lisdata.structure import Structure

OnError = Literal["stop", "skip", "quarantine"]
Compression = Literal["zstd", "none"]
Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertConfig:
    """How to convert: the source's and the converter's options by name, and what to do with bad records.

    `max_expansion` is how many bytes one of a compressed file or an archive may expand to, above 256 MiB.
    """

    source: str
    options: dict[str, Any] = field(default_factory=dict)
    on_error: OnError = "stop"
    unit_mib: int = 64
    compression: Compression = "zstd"
    max_expansion: int = MAX_EXPANSION

    def __post_init__(self) -> None:
        if self.unit_mib < 1:
            raise ValueError(f"expected units of at least 1 MiB, got {self.unit_mib=}")
        if self.max_expansion < 1:
            raise ValueError(f"expected an expansion of at least 1, got {self.max_expansion=}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a dry run shows: the plan, and the first structures made in memory."""

    plan: JsonDict
    structures: tuple[Structure, ...]


def convert(
    source: str,
    paths: Paths,
    to: str | Path,
    *,
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> JsonDict:
    """Convert `paths` (files, folders, globs, URLs) into a dataset at `to`; return its manifest's body.

    `settings` are the fields of `ConvertConfig`. A run that was stopped goes on where it was; a finished one returns
    at once.
    """
    config = build_settings(ConvertConfig, {"source": source} | settings, "convert")
    files, plan = plan_conversion(config, paths, to)
    job = Job(
        directory=Path(to),
        plan=plan,
        run_unit=partial(convert_unit, files, config.options),
        fold=fold_conversion,
        facts={"inputs": [{"path": f.path, "changed": time_of_change(f.path)} for f in files], "workers": workers},
        check_commit=partial(_refuse_other_bytes, files),
    )
    return run_job(job, workers=workers, fresh=fresh, on_progress=on_progress)


def sample(source: str, paths: Paths, to: str | Path, *, num_structures: int = 3, **settings: Any) -> Sample:
    """Return what `convert` would do, and its first structures; nothing is written."""
    config = build_settings(ConvertConfig, {"source": source} | settings, "convert")
    files, plan = plan_conversion(config, paths, to)
    return Sample(plan=plan, structures=tuple(islice(_iter_converted(files, config.options, plan), num_structures)))


def _iter_converted(files: list[InputFile], given: dict[str, Any], plan: JsonDict) -> Iterator[Structure]:
    """Yield structures in memory; bad records are skipped where the plan does not say stop."""
    source, options, converter, converter_options = _tools(plan, given)
    for unit in plan["units"]:
        rejects = RejectWriter(Path(), unit["name"], "stop" if plan["on_error"] == "stop" else "skip")
        for piece in _slices(files, unit):
            with rejects.reading(piece):
                for records in source.read(piece, options, rejects.reject):
                    batch = converter.convert(records, converter_options)
                    for row in range(batch.structures.num_rows):
                        yield Structure.from_arrow(batch, row)


# -- plan ------------------------------------------------------------------------------------------------------------


def plan_conversion(config: ConvertConfig, paths: Paths, to: str | Path) -> tuple[list[InputFile], JsonDict]:
    """Return the inputs and the plan; the plan holds all that decides the output, and no path or time."""
    wanted = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    source = load_source(config.source)
    converter = load_converter(source.converter)
    own, others = split_options(config.options, source.options_type, converter.options_type, config.source)
    options = build_settings(source.options_type, own, f"source {config.source}")
    converter_options = build_settings(converter.options_type, others, f"source {config.source}")
    files = find_inputs(wanted, suffixes=source.suffixes, exclude=str(to), max_expansion=config.max_expansion)
    units = list(_units(source, options, files, config.unit_mib * MEBIBYTE))
    inputs = [{k: v for k, v in asdict(f).items() if k not in ("path", "max_expansion")} for f in files]
    plan = {
        "format": INCIDENCE_FORMAT,
        "lisdata": lisdata.__version__,
        "source": config.source,
        "options": _plain(_named_files(options)),
        "converter": source.converter,
        "converter_options": _plain(asdict(converter_options)),
        "on_error": config.on_error,
        "unit_mib": config.unit_mib,
        "compression": config.compression,
        "max_expansion": config.max_expansion,
        "inputs": inputs,
        "units": units,
    }
    return files, plan


def split_options(
    options: dict[str, Any], source_type: type[Any], converter_type: type[Any], source: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the source's and the converter's part of `options`; raise ValueError for a name that neither has."""
    own, others = {f.name for f in fields(source_type)}, {f.name for f in fields(converter_type)}
    unknown = sorted(set(options) - own - others)
    if unknown:
        known = ", ".join(sorted(own | others)) or "none"
        raise ValueError(f"source {source} has no option {', '.join(unknown)}; it has: {known}")
    return {k: v for k, v in options.items() if k in own}, {k: v for k, v in options.items() if k in others}


def _named_files(options: Any) -> dict[str, Any]:
    """Return options as the plan holds them.

    A file (metadata "is_path") stands as its name and the hash of its bytes; what metadata "pin" names (a parser) as
    that with its version.
    """
    found = asdict(options)
    for option in fields(options):
        if pin := option.metadata.get("pin"):
            found[option.name] = pin(found[option.name])
        path = found[option.name]
        if option.metadata.get("is_path") and path:
            digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            found[option.name] = f"{Path(path).name} sha256 {digest}"
    return found


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


def _units(source: Source, options: Any, files: list[InputFile], size: int) -> Iterator[JsonDict]:
    """Yield units of about `size` bytes of stored source: big files are cut at records, small ones are joined."""
    waiting: list[JsonDict] = []
    weight = number = 0
    for file in files:
        for piece, piece_weight in _pieces(source, options, file, size):
            if waiting and weight + piece_weight > size:
                yield {"name": f"{number:05d}", "weight": weight, "slices": waiting}
                waiting, weight, number = [], 0, number + 1
            waiting.append(piece)
            weight += piece_weight
    if waiting:
        yield {"name": f"{number:05d}", "weight": weight, "slices": waiting}


def _pieces(source: Source, options: Any, file: InputFile, size: int) -> Iterator[tuple[JsonDict, int]]:
    if not source.splits or file.compression is not None or file.size <= size:
        yield {"file": file.index, "begin": 0, "end": None}, file.size
        return
    begin, whole = 0, InputSlice(file=file, begin=0, end=file.size)
    while begin < file.size:
        end = file.size
        if begin + size < file.size:
            end = source.find_cut(whole, begin + size, options)
        yield {"file": file.index, "begin": begin, "end": end}, end - begin
        begin = end


# -- unit ------------------------------------------------------------------------------------------------------------


def convert_unit(
    files: list[InputFile], given: dict[str, Any], directory: Path, plan: JsonDict, unit: JsonDict
) -> JsonDict:
    """Convert one unit and return its commit; the same bytes each time.

    `given` are the options as the user gave them: the plan names files by what they hold, not by path. A unit that
    turns out larger than planned (a compressed file) is written as several parts.
    """
    source, options, converter, converter_options = _tools(plan, given)
    parts = _PartWriter(directory, unit["name"], plan)
    rejects = RejectWriter(directory, unit["name"], plan["on_error"])
    converted: dict[int, int] = {}
    reports: dict[str, dict[str, int]] = {}
    slices = list(_slices(files, unit))
    try:
        for piece in slices:
            converted.setdefault(piece.file.index, 0)
            with rejects.reading(piece):
                for records in source.read(piece, options, rejects.reject):
                    parts.append(converter.convert(records, converter_options), _weight(records))
                    rejects.note_converted(records)
                    _add(reports.setdefault(str(piece.file.index), {}), getattr(records, "counts", {}))
                    converted[piece.file.index] += records.num_records
        entries = parts.close()
    except BaseException:
        parts.abort()
        rejects.abort()
        raise
    rejected, reject_files = rejects.close()
    outputs = {name: entry for part in entries for name, entry in part.pop("files").items()}
    counts = {
        str(file): {"converted": done, "rejected": rejected.get(file, 0), "seen": done + rejected.get(file, 0)}
        for file, done in converted.items()
    }
    found = {"unit": unit["name"], "parts": entries, "records": counts, "files": outputs | reject_files}
    read = [slice_ | {"digest": _digest(piece)} for slice_, piece in zip(unit["slices"], slices, strict=True)]
    return found | {"reports": {file: report for file, report in reports.items() if report}, "read": read}


def _digest(piece: InputSlice) -> str | None:
    """Return the digest of what was read, by then in the page cache; None for a URL, which would be fetched again."""
    return piece.digest() if piece.file.is_local else None


def _refuse_other_bytes(files: list[InputFile], commit: JsonDict) -> None:
    """Raise PlanError when an input no longer holds the bytes that a unit read."""
    for entry in commit["read"]:
        file = files[entry["file"]]
        if _digest(InputSlice(file=file, begin=entry["begin"], end=entry["end"])) != entry["digest"]:
            raise PlanError(f"{file.path}: changed since unit {commit['unit']} read it; use --fresh to start over")


def _tools(plan: JsonDict, given: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    source, converter = load_source(plan["source"]), load_converter(plan["converter"])
    own = fields(source.options_type)
    as_given = {f.name: given.get(f.name, f.default) for f in own if f.metadata.get("is_path") or f.metadata.get("pin")}
    options = {k: _frozen(as_given.get(k, v)) for k, v in plan["options"].items()}
    converter_options = {k: _frozen(v) for k, v in plan["converter_options"].items()}
    return source, source.options_type(**options), converter, converter.options_type(**converter_options)


def _slices(files: list[InputFile], unit: JsonDict) -> Iterator[InputSlice]:
    for piece in unit["slices"]:
        yield InputSlice(file=files[piece["file"]], begin=piece["begin"], end=piece["end"])


def _weight(records: Records) -> int:
    return int(records.end[-1]) - int(records.begin[0]) if len(records.begin) else 0


class _PartWriter:
    """Writes a unit's structures, going on to a new part after `unit_mib` of source."""

    def __init__(self, directory: Path, unit: str, plan: JsonDict) -> None:
        self._directory, self._unit = directory, unit
        self._limit = plan["unit_mib"] * MEBIBYTE
        self._compression = None if plan["compression"] == "none" else plan["compression"]
        self._entries: list[JsonDict] = []
        self._writer: ShardWriter | None = None
        self._weight = 0

    def append(self, batch: Any, weight: int) -> None:
        if self._writer is not None and self._weight + weight > 2 * self._limit:
            self._roll()
        if self._writer is None:
            name = f"part-{self._unit}-{len(self._entries):03d}"
            self._writer = ShardWriter(self._directory, name, compression=self._compression)
        self._writer.append(batch)
        self._weight += weight

    def close(self) -> list[JsonDict]:
        self._roll()
        return self._entries

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.abort()

    def _roll(self) -> None:
        if self._writer is not None:
            self._entries.append(self._writer.close())
        self._writer, self._weight = None, 0


# -- fold ------------------------------------------------------------------------------------------------------------


def fold_conversion(plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the manifest's body: what the plan says and the sums of the commits."""
    inputs = [
        {key: entry[key] for key in ("name", "size", "digest", "scope", "compression")}
        | {"origin": 0, "records": {"seen": 0, "converted": 0, "rejected": 0}, "report": {}}
        for entry in plan["inputs"]
    ]
    totals: dict[str, dict[str, int]] = {"counts": {}, "kinds": {}, "report": {}}
    parts = []
    for commit in commits:
        for file, records in commit["records"].items():
            _add(inputs[int(file)]["records"], records)
        for file, report in commit["reports"].items():
            _add(inputs[int(file)]["report"], report)
            _add(totals["report"], report)
        files = sorted(map(int, commit["records"]))
        for part in commit["parts"]:
            parts.append(part | {"inputs": [files[0], files[-1] + 1]})
            _add(totals["counts"], part["counts"])
            _add(totals["kinds"], part["kinds"])
    origin = {
        "source": plan["source"],
        "exporter": load_source(plan["source"]).exporter,
        "options": plan["options"],
        "converter": plan["converter"],
        "converter_options": plan["converter_options"],
    }
    return {
        "format": INCIDENCE_FORMAT,
        "lisdata": plan["lisdata"],
        "origins": [origin],
        "inputs": inputs,
        "parts": parts,
        "on_error": plan["on_error"],
        **totals,
    }


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count
