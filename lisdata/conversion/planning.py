"""The plan of a conversion: its inputs as they were found, all settings, and the units of work."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import lisdata
from lisdata.conversion.config import ConvertConfig, Paths, unit_bytes
from lisdata.conversion.slices import KnownSlices, Piece, iter_slices
from lisdata.inputs import InputFile, find_inputs
from lisdata.paths import StrPath
from lisdata.registry import Source, load_converter, load_source
from lisdata.runs import JsonDict
from lisdata.settings import build_settings
from lisdata.shards.manifest import INCIDENCE_FORMAT

_NOT_PLANNED = ("path", "max_expansion", "changed")  # of an input: where it lies and since when is no part of a plan


def plan_conversion(
    config: ConvertConfig, paths: Paths, to: StrPath, *, fresh: bool = False
) -> tuple[list[InputFile], JsonDict]:
    """Return the inputs and the plan; the plan holds all that decides the output, and no path or time.

    A compressed file is cut as the plan that stands at `to` has it, where it did not change and that is not `fresh`.
    """
    planner = make_planner(config)
    files = planner.find_files(paths, to)
    known = None if fresh else KnownSlices(Path(to), planner.settings)
    return files, planner.plan(files, join_pieces(planner.iter_pieces(files, known), unit_bytes(config.unit_mib)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """A source with its options, checked; `settings` is all of a plan but its inputs and units."""

    config: ConvertConfig
    source: Source
    options: Any
    settings: JsonDict

    def find_files(
        self,
        paths: Paths,
        to: StrPath,
        after: Sequence[InputFile] = (),
        leave_out: Callable[[InputFile], bool] | None = None,
    ) -> list[InputFile]:
        """Return the inputs at `paths`, numbered behind those of `after`, without those that `leave_out` is true of."""
        return find_inputs(
            [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)],
            suffixes=self.source.suffixes,
            exclude=os.fspath(to),
            max_expansion=self.config.max_expansion,
            after=after,
            leave_out=leave_out,
        )

    def iter_pieces(self, files: Iterable[InputFile], known: KnownSlices | None = None) -> Iterator[Piece]:
        """Yield the files, big ones cut at records into pieces of about the size of a unit, or as they are `known`."""
        for file in files:
            found = known.of(file) if known else None
            yield from found or iter_slices(file, self.source, self.options, unit_bytes(self.config.unit_mib))

    def plan(self, files: list[InputFile], units: Iterable[JsonDict]) -> JsonDict:
        """Return the plan."""
        inputs = [{k: v for k, v in asdict(f).items() if k not in _NOT_PLANNED} for f in files]
        return self.settings | {"inputs": inputs, "units": list(units)}


def make_planner(config: ConvertConfig) -> Planner:
    """Return what plans conversions of `config`; raise ValueError for options that the source has not."""
    source = load_source(config.source)
    converter = load_converter(source.converter)
    own, others = split_options(config.options, source.options_type, converter.options_type, config.source)
    options = build_settings(source.options_type, own, f"source {config.source}")
    converter_options = build_settings(converter.options_type, others, f"source {config.source}")
    settings = {
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
    }
    return Planner(config=config, source=source, options=options, settings=settings)


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


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


def join_pieces(pieces: Iterable[Piece], size: int, *, first: int = 0) -> Iterator[JsonDict]:
    """Yield units, numbered from `first`, of about `size` bytes: pieces that are small are joined, in order."""
    waiting: list[JsonDict] = []
    weight, number = 0, first
    for piece, piece_weight in pieces:
        if waiting and weight + piece_weight > size:
            yield {"name": f"{number:05d}", "weight": weight, "slices": waiting}
            waiting, weight, number = [], 0, number + 1
        waiting.append(piece)
        weight += piece_weight
    if waiting:
        yield {"name": f"{number:05d}", "weight": weight, "slices": waiting}
