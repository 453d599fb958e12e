"""Single facts as people read them: what it says, and where its source has it."""

from __future__ import annotations

from lisdata.contents import Content
from lisdata.shards import IncidenceDataset, Part
from lisdata.structure import Incidence, Structure

MAX_TEXT = 60
MAX_PARTICIPANTS = 8


def describe_place(dataset: IncidenceDataset, part: Part, level: str, row: int, item: int) -> str:
    """Return a fact of a level of `lisdata.alignment.facts` in one line: its row in the part, its number in the row."""
    if level == "contents":
        return f"{describe(part.reader.content(row))} (content {row} of {part.name})"
    structure = part.reader.read(part.structures, row, first_file=part.first_file)
    where = f"{structure.record_id}{_source(dataset, structure)}"
    if level == "documents":
        return f"{where}: {structure.kind.label}, {_document(structure)}"
    if level == "incidences":
        incidence = structure.incidences[item]
        label = structure.instances[incidence.instance].label
        return f"{where}: {_participant(structure, incidence)} in {_cut(label)}"
    chosen = [i for i in structure.incidences if i.instance == item]
    shown = [_participant(structure, i) for i in chosen[:MAX_PARTICIPANTS]]
    shown += [f"{len(chosen) - MAX_PARTICIPANTS} more"] if len(chosen) > MAX_PARTICIPANTS else []
    instance = structure.instances[item]
    where += f", ordinal {instance.ordinal}" if instance.ordinal else ""
    return f"{where}: {_cut(instance.label)} ({', '.join(shown) or 'empty'})"


def describe(content: Content) -> str:
    """Return a content with its kind, and with the datatype, language and scope that it has."""
    symbols = {"datatype": content.datatype, "language": content.language, "scope": content.scope}
    extra = "".join(f", {name} {_cut(value)}" for name, value in symbols.items() if value)
    return f"{content.kind.name.lower()} {_cut(content.text)!r}{extra}"


def _participant(structure: Structure, incidence: Incidence) -> str:
    content = structure.occurrences[incidence.occurrence].content
    position = f"[{incidence.position}]" if incidence.position else ""
    return f"{_cut(incidence.role.label)}{position} {describe(content)}"


def _document(structure: Structure) -> str:
    if structure.tensor is not None:
        return f"tensor {structure.tensor.dtype.str} {structure.tensor.shape}"
    document = structure.document or b""
    return f"document of {len(document)} bytes, {document[:MAX_TEXT]!r}"


def _source(dataset: IncidenceDataset, structure: Structure) -> str:
    file, begin, end = structure.source
    return f" ({dataset.inputs[file].name}@{begin}-{end})" if file < len(dataset.inputs) else ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."
