"""One unit of a conversion: slices of inputs become parts of a dataset, the same bytes each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lisdata.conversion.config import unit_bytes
from lisdata.conversion.fold import add_counts
from lisdata.conversion.slices import planned_slice
from lisdata.errors import BadRecordError, LisDataError, PlanError
from lisdata.inputs import MEBIBYTE, InputFile, InputSlice, is_unchanged, time_of_change
from lisdata.records import ParsedDocument, Records
from lisdata.registry import DocumentSource, Reject, Source, load_converter, load_source
from lisdata.rejects import RejectWriter
from lisdata.runs import JsonDict
from lisdata.runs.plans import CONVERT_AGAIN
from lisdata.shards.writer import ShardWriter
from lisdata.structure import Structure

_JOINED_BYTES = MEBIBYTE


def convert_unit(
    files: list[InputFile], given: dict[str, Any], directory: Path, plan: JsonDict, unit: JsonDict
) -> JsonDict:
    """Convert one unit and return its commit; the same bytes each time.

    `given` are the options as the user gave them: the plan names files by what they hold, not by path. A unit that
    turns out larger than planned (a compressed file) is written as several parts.
    """
    source, options, converter, converter_options = _tools(plan, given)
    batches = _Batches(_PartWriter(directory, unit["name"], plan), source, converter, converter_options)
    rejects = RejectWriter(directory, unit["name"], plan["on_error"])
    converted: dict[int, int] = {}
    reports: dict[str, dict[str, int]] = {}
    prefixes: dict[str, dict[str, str]] = {}
    slices = list(_slices(files, unit))
    documents = source if isinstance(source, DocumentSource) else None  # asking takes long, so once
    try:
        for piece in slices:
            converted.setdefault(piece.file.index, 0)
            with rejects.reading(piece):
                for records in _read(source, documents, piece, options, rejects.reject):
                    batches.add(records)
                    rejects.note_converted(records)
                    add_counts(reports.setdefault(str(piece.file.index), {}), getattr(records, "counts", {}))
                    if declared := getattr(records, "prefixes", None):
                        prefixes.setdefault(str(piece.file.index), {}).update(declared)
                    converted[piece.file.index] += records.num_records
        entries = batches.close()
    except BaseException as error:
        batches.abort()
        rejects.abort()
        if isinstance(error, LisDataError):  # which what was put in the place of an input may look like
            refuse_changes([piece.file for piece in slices])
        if isinstance(error, BadRecordError) and len(files) == 1:
            error.is_all = _is_whole(error, slices[0], source)
        raise
    rejected, reject_files = rejects.close()
    outputs = {name: entry for part in entries for name, entry in part.pop("files").items()}
    counts = {
        str(file): {"converted": done, "rejected": rejected.get(file, 0), "seen": done + rejected.get(file, 0)}
        for file, done in converted.items()
    }
    found = {"unit": unit["name"], "parts": entries, "records": counts, "files": outputs | reject_files}
    digests = [slice_ | {"digest": _digest(piece)} for slice_, piece in zip(unit["slices"], slices, strict=True)]
    found |= {"prefixes": prefixes} if prefixes else {}
    return found | {"reports": {file: report for file, report in reports.items() if report}, "read": digests}


def _is_whole(error: BadRecordError, piece: InputSlice, source: Source) -> bool:
    """Tell whether a bad record is its whole file; how long a compressed one is says a source that reads it whole."""
    is_known = piece.file.compression is None or not source.splits
    return is_known and piece.end is None and error.begin == 0 and 0 <= piece.file.size <= error.end


def _digest(piece: InputSlice) -> str | None:
    """Return the digest of what was read, by then in the page cache; None for a URL, which would be fetched again."""
    return piece.digest() if piece.file.is_local else None


def unit_inputs(plan: JsonDict, unit: JsonDict) -> dict[int, JsonDict]:
    """Return what the plan says of each input that a unit reads."""
    return {piece["file"]: plan["inputs"][piece["file"]] for piece in unit["slices"]}


def refuse_other_bytes(files: list[InputFile], commit: JsonDict) -> None:
    """Raise PlanError when an input no longer holds the bytes that a unit read."""
    for entry in commit["read"]:
        file = files[entry["file"]]
        if _digest(planned_slice(file, entry)) != entry["digest"]:
            raise PlanError(
                f"{file.path}: changed since unit {commit['unit']} read it",
                remedies=("use --fresh to start over", CONVERT_AGAIN),
            )


def refuse_changes(files: list[InputFile]) -> None:
    """Raise PlanError when an input is not as it was when it was planned; one may be gone by now."""
    for file in files:
        try:
            now = time_of_change(file.path)
        except FileNotFoundError:
            continue
        if now != file.changed and not is_unchanged(file):
            raise PlanError(
                f"{file.path}: changed while it was converted",
                remedies=("--replan converts it again", "--fresh starts over"),
            )


def _tools(plan: JsonDict, given: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    source, converter = load_source(plan["source"]), load_converter(plan["converter"])
    own = fields(source.options_type)
    as_given = {f.name: given.get(f.name, f.default) for f in own if f.metadata.get("is_path") or f.metadata.get("pin")}
    options = {k: _frozen(as_given.get(k, v)) for k, v in plan["options"].items()}
    converter_options = {k: _frozen(v) for k, v in plan["converter_options"].items()}
    return source, source.options_type(**options), converter, converter.options_type(**converter_options)


def _slices(files: list[InputFile], unit: JsonDict) -> Iterator[InputSlice]:
    for piece in unit["slices"]:
        yield planned_slice(files[piece["file"]], piece)


def _weight(records: Records) -> int:
    files = getattr(records, "files", None)
    if files is not None:  # a file's last structure ends where it does, or not far from there
        is_last = [file is not after for file, after in pairwise((*files, None))]
        return int(records.end[np.array(is_last, np.bool_)].sum())
    return int(records.end[-1]) - int(records.begin[0]) if len(records.begin) else 0


def _read(
    source: Source, documents: DocumentSource | None, piece: InputSlice, options: Any, reject: Reject
) -> Iterator[Records | ParsedDocument]:
    """Yield the records of a slice; of a file that is a document, this document, which `documents` reads."""
    if documents is None or not documents.is_document(piece.file, options):
        yield from source.read(piece, options, reject)
        return
    document = documents.read_document(piece, options, reject)
    if document is not None:
        yield document


class _Batches:
    """Converts records and writes them: those of one table, or of documents that are about `_JOINED_BYTES` together."""

    def __init__(self, parts: _PartWriter, source: Any, converter: Any, options: Any) -> None:
        self._parts, self._source, self._converter, self._options = parts, source, converter, options
        self._waiting: list[ParsedDocument] = []
        self._num_waiting_bytes = 0

    def add(self, records: Records | ParsedDocument) -> None:
        if not isinstance(records, ParsedDocument):
            self._convert_waiting()
            self._convert(records)
            return
        self._waiting.append(records)
        self._num_waiting_bytes += records.size
        if self._num_waiting_bytes >= _JOINED_BYTES:
            self._convert_waiting()

    def close(self) -> list[JsonDict]:
        self._convert_waiting()
        return self._parts.close()

    def abort(self) -> None:
        self._parts.abort()

    def _convert_waiting(self) -> None:
        if self._waiting:
            for records in self._source.to_records(self._waiting):
                self._convert(records)
        self._waiting, self._num_waiting_bytes = [], 0

    def _convert(self, records: Records) -> None:
        self._parts.append(self._converter.convert(records, self._options), _weight(records))


class _PartWriter:
    """Writes a unit's structures, going on to a new part after `unit_mib` of source."""

    def __init__(self, directory: Path, unit: str, plan: JsonDict) -> None:
        self._directory, self._unit = directory, unit
        self._limit = unit_bytes(plan["unit_mib"])
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


def iter_converted(files: list[InputFile], given: dict[str, Any], plan: JsonDict) -> Iterator[Structure]:
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


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
