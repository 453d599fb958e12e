"""Facts about entities back to Wikibase's JSON: the same model as they were read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from lisdata.contents import decode_text
from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.targets import replacing, target_paths
from lisdata.exporters.wikidata_entities import EntityReader, other_member
from lisdata.exporters.wikidata_facts import Fact, PartFacts
from lisdata.registry import ExportReport
from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.json_text import STYLES, NumberText, write_json
from lisdata.sources.wikidata_layout import DOCUMENT, FORM, WikidataOptions

ARRAY, ANSWER = "array", "answer"


@dataclass(frozen=True, slots=True)
class WikidataExporter:
    """Writes entities in the form that they came in: one a line, in an array, or in an answer of the API.

    What the source was told to leave out is counted among the losses.
    """

    name: str = "wikidata"
    summary: str = "Entities of Wikidata or another Wikibase in JSON"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the entities that came from `files`."""
        paths = target_paths(target, files, dataset.inputs)
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses[REJECTED] += info.records.get("rejected", 0)
            if is_left_out(dataset, info):
                continue
            reader = EntityReader(wikidata_options(info))
            with replacing(path) as stream:
                writer = _Writer(stream)
                for facts in iter_records(dataset, info.index, losses):
                    document = next((f for f in facts if f.label == DOCUMENT), None)
                    if document is not None:
                        writer.begin(document)
                    found = reader.read([f for f in facts if f is not document], losses)
                    if found is not None:
                        writer.write(*found)
                writer.end()
                num_records += writer.num_records
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def wikidata_options(info: InputInfo) -> WikidataOptions:
    """Return the options that an input was read with, the defaults when it was no Wikidata."""
    if info.source != WIKIDATA.name:
        return WikidataOptions()
    read_with: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in info.options.items()}
    return WikidataOptions(**read_with)


def iter_records(dataset: IncidenceDataset, file_index: int, losses: Counter[str]) -> Iterator[list[Fact]]:
    """Yield the facts of each record of an input: those of structures that begin at one byte."""
    for _, structures in groupby(_iter_facts(dataset, file_index, losses), key=lambda found: found[0]):
        yield [fact for _, facts in structures for fact in facts]


def _iter_facts(dataset: IncidenceDataset, file_index: int, losses: Counter[str]) -> Iterator[tuple[int, list[Fact]]]:
    for part, rows in dataset.iter_part_rows(file_index):
        for kind, begin, facts in part.derived(PartFacts).iter_structures(rows):
            if kind == StructureKind.HYPEREDGES:
                yield begin, facts
            else:
                losses[f"structures of kind {kind.label}"] += 1


class _Writer:
    """Writes entities to a stream, one a line, inside of what holds them together."""

    def __init__(self, stream: BinaryIO) -> None:
        self.num_records = 0
        self._stream = stream
        self._form: str | None = None
        self._members: dict[str, Any] = {}

    def begin(self, document: Fact) -> None:
        """Open an array or an answer."""
        for participant in document.participants:
            if participant.side == FORM:
                self._form = decode_text(participant.content.lexical)
            else:
                self._members |= other_member(participant)
        self._stream.write(b"[" if self._form == ARRAY else b'{"entities":{')

    def write(self, entity: dict[str, Any], key: str | None) -> None:
        """Write an entity, in an answer under `key` or its id."""
        if self._form is not None:
            self._stream.write(b",\n" if self.num_records else b"\n")
        if self._form == ANSWER:
            self._stream.write(_json(key or entity["id"]) + b":")
        self._stream.write(_json(entity))
        if self._form is None:
            self._stream.write(b"\n")
        self.num_records += 1

    def end(self) -> None:
        """Close what was opened."""
        if self._form == ARRAY:
            self._stream.write(b"\n]\n")
        elif self._form == ANSWER:
            members = b"".join(b"," + _json(name) + b":" + _json(value) for name, value in self._members.items())
            self._stream.write(b"\n}" + members + b"}\n")


def _json(value: Any) -> bytes:
    """Return a JSON value as text, numbers as they were written."""
    try:
        return orjson.dumps(value, _as_written, orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError:  # a lone surrogate, which only an escape can hold
        return write_json(value, STYLES["compact"]).encode()


def _as_written(number: NumberText) -> orjson.Fragment:
    return orjson.Fragment(str(number))


WIKIDATA = WikidataExporter()
