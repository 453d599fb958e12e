"""Facts with text back to JSON Lines, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lisdata.contents import decode_text
from lisdata.errors import ExportError
from lisdata.exporters.record_files import export_records
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.character_offsets import characters_of_bytes
from lisdata.sources.fact_text import RECORD, Fact, write_line
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.structure import Structure


@dataclass(frozen=True, slots=True)
class FactTextExporter:
    """Writes a line a structure: the input's bytes where all of it was converted by source fact-text."""

    name: str = "fact-text"
    summary: str = "JSON Lines of facts and a text that says them"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the records that came from `files`; ExportError for a structure of another kind."""
        return export_records(dataset, target, files, partial(_iter_lines, dataset))


def _iter_lines(dataset: IncidenceDataset, info: InputInfo) -> Iterator[bytes]:
    prefixes = IdPrefixes.parse(_prefixes_of(info.options))
    for structure in dataset.iter_structures(info.index):
        yield _write(structure, prefixes)


def _prefixes_of(options: Mapping[str, Any]) -> list[str]:
    return list(options.get("id_prefix", ()))


def _write(structure: Structure, prefixes: IdPrefixes) -> bytes:
    if structure.kind != StructureKind.MIXED or structure.document is None:
        raise ExportError(f"{structure.record_id}: expected facts with a text, found {structure.kind.label}")
    # facts, then the text, then mentions that have an instance of their own: a fact may be called "record" too
    num_facts = max(number for number, instance in enumerate(structure.instances) if instance.label == RECORD)
    participants: list[list[tuple[str, str]]] = [[] for _ in range(num_facts)]
    numbers: dict[int, int | None] = {}  # of mentions in the list of entities, by occurrence; None: in text order
    for incidence in structure.incidences:
        occurrence, instance = structure.occurrences[incidence.occurrence], incidence.instance
        if instance < num_facts:
            entity = prefixes.restore(decode_text(occurrence.content.lexical))
            participants[instance].append((incidence.role.side, entity))
        elif occurrence.span is None:
            return occurrence.content.lexical
        elif instance > num_facts:
            numbers[incidence.occurrence] = structure.instances[instance].ordinal - num_facts
        elif occurrence.content.kind == ContentKind.ENTITY:
            numbers.setdefault(incidence.occurrence)
    facts = [
        Fact(relation=instance.label, participants=tuple(listed))
        for instance, listed in zip(structure.instances, participants, strict=False)
    ]
    return write_line(facts, decode_text(structure.document), _entities(structure, numbers, prefixes))


def _entities(structure: Structure, numbers: dict[int, int | None], prefixes: IdPrefixes) -> list[tuple[int, int, str]]:
    """Return the entities in the order of their list."""
    occurrences = sorted(numbers)
    spans = np.array([structure.occurrences[o].span for o in occurrences], np.int64)
    document = np.frombuffer(structure.document or b"", np.uint8)
    characters = characters_of_bytes(document, spans.ravel()).reshape(-1, 2).tolist()
    free = iter(sorted(set(range(len(numbers))) - set(numbers.values())))
    found: dict[int, tuple[int, int, str]] = {}
    for occurrence, (begin, end) in zip(occurrences, characters, strict=True):
        name = prefixes.restore(decode_text(structure.occurrences[occurrence].content.lexical))
        number = numbers[occurrence]
        found[next(free) if number is None else number] = (begin, end, name)
    return [found[number] for number in sorted(found)]


FACT_TEXT = FactTextExporter()
