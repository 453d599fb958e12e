"""Text with linked mentions and fields back to JSON Lines, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lisdata.contents import decode_text
from lisdata.exporters.record_files import export_records
from lisdata.exporters.text_columns import Participant, TextColumns, iter_text_rows
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.character_offsets import characters_of_bytes
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_contents import json_from_content
from lisdata.sources.json_text import NumberText
from lisdata.sources.jsonl_layout import FIELD, FIELDS, LAYOUT, LINE, JsonlOptions, LineLayout
from lisdata.sources.layouts import layout_from_text


@dataclass(frozen=True, slots=True)
class JsonlExporter:
    """Writes a line a unit: the input's bytes where all of it was converted by source jsonl."""

    name: str = "jsonl"
    summary: str = "JSON Lines with a text a record and linked mentions in it"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the records that came from `files`; what another source made comes with the default options."""
        return export_records(dataset, target, files, partial(_iter_lines, dataset))


def _iter_lines(dataset: IncidenceDataset, info: InputInfo) -> Iterator[bytes]:
    options = jsonl_options(info)
    prefixes = IdPrefixes.parse(options.id_prefix)
    for columns, row in iter_text_rows(dataset, info.index):
        yield _write_row(columns, row, options, prefixes)


def jsonl_options(info: InputInfo) -> JsonlOptions:
    """Return the options that an input was read with, the defaults when it was no JSONL."""
    if info.source != JSONL.name:
        return JsonlOptions()
    read_with: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in info.options.items()}
    return JsonlOptions(**read_with)


def _write_row(columns: TextColumns, row: int, options: JsonlOptions, prefixes: IdPrefixes) -> bytes:
    document = columns.document(row)
    unit = _Unit()
    for participant in columns.participants(row):
        unit.add(participant)
    if unit.line is not None:
        return unit.line
    layout = layout_from_text(LineLayout, unit.layout)
    return layout.write(decode_text(document), unit.entities(document, prefixes), unit.members, options)


class _Unit:
    """What a unit's participants say about its line."""

    def __init__(self) -> None:
        self.line: bytes | None = None
        self.layout: str | None = None
        self.members: dict[str, Any] = {}
        self._mentions: dict[int, Participant] = {}  # by occurrence
        self._listed: dict[int, int] = {}  # occurrence -> number in the list of entities, for those that stand apart
        self._apart: dict[int, int] = {}  # instance -> occurrence
        self._entity_members: dict[int, dict[str, Any]] = {}  # by instance

    def add(self, participant: Participant) -> None:
        side = participant.role.side
        if participant.span is not None:
            self._mentions[participant.occurrence] = participant
            if participant.instance:
                self._listed[participant.occurrence] = participant.ordinal
                self._apart[participant.instance] = participant.occurrence
        elif side == LINE:
            self.line = participant.lexical
        elif side == LAYOUT:
            self.layout = participant.lexical.decode()
        else:
            value = json_from_content(participant.kind, participant.lexical)
            members = self.members
            if participant.instance:
                members = self._entity_members.setdefault(participant.instance, {})
            members.update(value if side == FIELDS else {side.removeprefix(FIELD): value})

    def entities(self, document: bytes, prefixes: IdPrefixes) -> list[dict[str, Any]]:
        """Return the entities in the order of their list.

        Those that stand apart know their number; the others fill the places between in text order.
        """
        if not self._mentions:
            return []
        members = {self._apart[instance]: found for instance, found in self._entity_members.items()}
        taken = set(self._listed.values())
        free = iter(number for number in range(len(self._mentions)) if number not in taken)
        found: dict[int, dict[str, Any]] = {}
        occurrences = sorted(self._mentions)  # tokens come in text order
        spans = np.array([self._mentions[occurrence].span for occurrence in occurrences], np.int64)
        characters = characters_of_bytes(np.frombuffer(document, np.uint8), spans.ravel()).reshape(-1, 2).tolist()
        for occurrence, (begin, end) in zip(occurrences, characters, strict=True):
            mention = self._mentions[occurrence]
            number = self._listed[occurrence] if occurrence in self._listed else next(free)
            found[number] = {
                "start": NumberText(begin),
                "end": NumberText(end),
                "id": prefixes.restore(decode_text(mention.lexical)),
                **members.get(occurrence, {}),
            }
        return [found[number] for number in sorted(found)]


JSONL = JsonlExporter()
