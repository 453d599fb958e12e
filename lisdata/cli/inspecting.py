"""`inspect`: records as the table of LIS Table 2, one endpoint a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click
import numpy as np
import orjson

from lisdata.cli.drawings import print_drawings, write_svg
from lisdata.cli.printing import counted, print_rows
from lisdata.cli.terminal import say
from lisdata.contents import Content
from lisdata.datasets import open as open_dataset
from lisdata.errors import LisDataError
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset
from lisdata.shards.companions import find_companions
from lisdata.structure import Incidence, Structure

HEADER = ("occurrence", "written", "tau(v)", "instance", "role", "address")
MAX_CELLS = 16
MAX_WIDTH = 60
_WITHOUT_VALUE = {ContentKind.NULL: "(NULL)", ContentKind.NOVALUE: "(no value)", ContentKind.SOMEVALUE: "(some value)"}


def print_records(
    path: Path, *, record: str | None, limit: int, shared: bool, table: bool, svg: Path | None, as_json: bool
) -> None:
    """Print one record, or the first `limit`; token rows when the dataset holds those.

    Sentences with a tree are drawn unless a `table` is wanted, the first of them to the file `svg` too.
    """
    dataset = open_dataset(path)
    if not isinstance(dataset, IncidenceDataset):
        if svg is not None:
            raise LisDataError(
                f"{path}: holds tokens, which have no tree to draw: inspect the dataset of its structures"
            )
        from lisdata.cli.token_rows import print_token_rows

        print_token_rows(dataset, record=record, limit=limit, as_json=as_json)
        return
    structures = _chosen(dataset, record, limit)
    if svg is not None and (svg.exists() or svg.resolve().is_relative_to(path.resolve())):
        raise LisDataError(f"{svg}: expected a new file outside the dataset to draw to")
    if svg is not None:
        write_svg(structures, svg)
    if as_json:
        for structure in structures:
            click.echo(orjson.dumps(structure.to_dict()).decode())
        return
    if record is None:
        say(f"{path}: {counted(len(dataset), 'structures')}, the first {len(structures)}", err=True)
    drawn = set() if table or shared else {s.record_id for s in structures if print_drawings(s)}
    rest = [s for s in structures if s.record_id not in drawn]
    if rest:
        print_rows(HEADER, table_rows(rest, shared=shared))


def _chosen(dataset: IncidenceDataset, record: str | None, limit: int) -> list[Structure]:
    if record is None:
        return list(islice(_records_first(dataset), limit))
    try:
        return [dataset.find_structure(record)]
    except KeyError:
        raise LisDataError(f"{dataset.path}: no record is called {record!r}") from None


def _records_first(dataset: IncidenceDataset) -> Iterator[Structure]:
    """Yield the structures, those that only tell how their input was written after all others."""
    for is_companion in (False, True):
        for part in dataset.parts:
            rows = np.flatnonzero(find_companions(dataset, part) == is_companion)
            for row in rows.tolist():
                yield part.reader.read(part.structures, row, first_file=part.first_file)
            part.release()


def table_rows(structures: list[Structure], *, shared: bool = False) -> list[tuple[str, ...]]:
    """Return one row an endpoint, numbered v1.. and e1.. over all structures (LIS Table 2).

    With `shared` only the endpoints whose content shows in more than one of the structures.
    """
    holders: Counter[Content] = Counter()
    for structure in structures:
        holders.update({o.content for o in structure.occurrences})
    rows: list[tuple[str, ...]] = []
    first_occurrence = first_instance = 1
    for structure in structures:
        repeated = Counter((i.instance, i.role) for i in structure.incidences)
        for i in structure.incidences:
            content = structure.occurrences[i.occurrence].content
            if shared and holders[content] < 2:
                continue
            slot = _slot(structure.kind, i, is_repeated=repeated[i.instance, i.role] > 1)
            rows.append(_row(structure, i, slot, (first_occurrence, first_instance)))
        if structure.tensor is not None and not shared:
            rows.extend(_grid_rows(structure, first_occurrence, first_instance))
        held = {i.instance for i in structure.incidences}
        for number, instance in enumerate(structure.instances):
            if not shared and structure.tensor is None and number not in held:
                rows.append(("", "", "", f"e{first_instance + number} ({_cut(instance.label)})", "(empty)", ""))
        cells = 0 if structure.tensor is None else structure.tensor.size
        first_occurrence += len(structure.occurrences) + cells
        first_instance += len(structure.instances)
    return rows


def _slot(kind: StructureKind, i: Incidence, *, is_repeated: bool) -> str:
    """Return a role as the paper writes it: POS_1, POS_2 ... in running text; else its side, numbered when repeated."""
    if kind == StructureKind.TEXT and i.role.side == "token":
        return f"POS_{i.position + 1}"
    return f"{i.role.side}[{i.position}]" if is_repeated else i.role.side


def _row(structure: Structure, i: Incidence, slot: str, first: tuple[int, int]) -> tuple[str, ...]:
    first_occurrence, first_instance = first
    content = structure.occurrences[i.occurrence].content
    instance = structure.instances[i.instance]
    return (
        f"v{first_occurrence + i.occurrence}",
        _spelled(structure.surface(i.occurrence), content.kind),
        _spelled("" if content.kind == ContentKind.NULL else content.text, content.kind),
        f"e{first_instance + i.instance} ({_cut(instance.label)})",
        _cut(slot),
        f"R_{_cut(slot)} R_e{first_instance + i.instance}",
    )


def _grid_rows(structure: Structure, first_occurrence: int, first_instance: int) -> list[tuple[str, ...]]:
    """Return the first cells of a grid; roles are coordinates, made here on demand."""
    if structure.tensor is None:
        return []
    rows: list[tuple[str, ...]] = []
    for cell in range(min(structure.tensor.size, MAX_CELLS)):
        place = ",".join(str(int(c)) for c in np.unravel_index(cell, structure.tensor.shape))
        value = str(structure.tensor.reshape(-1)[cell])
        label = structure.instances[0].label if structure.instances else "grid"
        name = f"e{first_instance}"
        rows.append(
            (
                f"v{first_occurrence + cell}",
                value,
                value,
                f"{name} ({_cut(label)})",
                f"({place})",
                f"R_({place}) R_{name}",
            )
        )
    if structure.tensor.size > MAX_CELLS:
        rows.append(("...", counted(structure.tensor.size - MAX_CELLS, "more cells"), "", "", "", ""))
    return rows


def _spelled(text: str, kind: ContentKind) -> str:
    """Return a text on one line; where there is none, whether it is empty or stands for what has no value."""
    if not text:
        return _WITHOUT_VALUE.get(kind, "(empty)")
    return _cut(repr(text)[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else text[: MAX_WIDTH - 3] + "..."
