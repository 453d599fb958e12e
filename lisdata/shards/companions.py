"""Structures that tell how a whole input was written, and so go with whatever is taken of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from lisdata.kernels.arrays import one_array
from lisdata.shards.dataset import IncidenceDataset, Part

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]

_LABELS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("arrow", "csv", "excel", "parquet", "sql"), ("dialect",)),
    "graph": ("graph",),
    "hif": ("network",),
    "image": ("image.palette", "image.transparency"),
    "kgtk": ("header",),
    "nary": ("layout",),
}
"""Of each source that has such structures, the labels of their instances."""
_SETTINGS = ("dialect", "header", "layout")
_DATATYPES = {"xml": ("markup",)}
"""Of each source that has such structures, the datatypes of the contents that they show."""
_NOTES = {"wikidata": "entity#dropped"}
"""Of each source that writes into a record what was left out of it, the role of that."""
WHOLE_SOURCES = ("image",)
"""Sources of which an input is one thing: what goes along is part of what it shows."""


def file_numbers(part: Part) -> Int64:
    """Return the number of the input of each structure of a part, -1 where structures were made in memory."""
    batches = part.iter_batches("structures", ("source",))
    found = [np.asarray(batch.column("source").field("file")).astype(np.int64) + part.first_file for batch in batches]
    numbers: Int64 = np.concatenate([np.zeros(0, np.int64), *found])
    return numbers if part.inputs else np.full(len(numbers), -1)


def find_companions(dataset: IncidenceDataset, part: Part) -> Bools:
    """Return which structures of a part tell how their input was written, and are no record of it."""
    return find_headers(dataset, part) | _find_known(dataset, part, _DATATYPES, _first_datatypes)


def find_headers(dataset: IncidenceDataset, part: Part) -> Bools:
    """Return which companions say all of it at once: each block that an input was read in may have the same again."""
    return _find_known(dataset, part, _LABELS, _first_labels)


def find_settings(dataset: IncidenceDataset, part: Part) -> Bools:
    """Return which headers say nothing but how their input is written: no name, value or attribute of what it is of."""
    known = {source: tuple(label for label in labels if label in _SETTINGS) for source, labels in _LABELS.items()}
    return _find_known(dataset, part, known, _first_labels)


def find_notes(dataset: IncidenceDataset, part: Part) -> Bools | None:
    """Return which incidences of a part, one after another, only tell what the conversion left out; None if none do."""
    sources = {number: _source_of(dataset, number) for number in part.inputs}
    roles = {_NOTES[source] for source in sources.values() if source in _NOTES}
    names = part.labels.column("label").to_pylist() if roles else []
    codes = [code for code, name in enumerate(names) if name in roles]
    if not codes:
        return None
    files = file_numbers(part)
    has_notes = np.isin(files, [number for number, source in sources.items() if source in _NOTES])
    first, found = 0, [np.zeros(0, np.bool_)]
    for batch in part.iter_batches("structures", ("sigma",)):
        sigma = batch.column("sigma")
        is_told = has_notes[first : first + batch.num_rows].repeat(np.asarray(sigma.value_lengths().fill_null(0)))
        found.append(np.isin(np.asarray(sigma.flatten()), codes) & is_told)
        first += batch.num_rows
    return np.concatenate(found)


def _find_known(
    dataset: IncidenceDataset, part: Part, known: Mapping[str, tuple[str, ...]], first_codes: Callable[[Part], Int64]
) -> Bools:
    """Return which structures have a first code that is, by name, among those of their source."""
    is_companion = np.zeros(part.counts["structures"], np.bool_)
    sources = {number: _source_of(dataset, number) for number in part.inputs}
    numbers = [number for number, source in sources.items() if source in known]
    if not numbers:
        return is_companion
    files, first = file_numbers(part), first_codes(part)
    names = part.labels.column("label").to_pylist()
    for source in sorted({sources[number] for number in numbers}):
        codes = [code for code, name in enumerate(names) if name in known[source]]
        of_source = [number for number in numbers if sources[number] == source]
        is_companion |= np.isin(files, of_source) & np.isin(first, codes)
    return is_companion


def find_inputs_taken(dataset: IncidenceDataset, choose: Callable[[Part], Bools]) -> frozenset[int]:
    """Return the inputs in several parts of which `choose` takes a record, or that have none.

    A part alone does not tell this of them; it does of an input that lies in it as a whole.
    """
    waiting = _inputs_in_several_parts(dataset)
    taken: set[int] = set()
    with_records: set[int] = set()
    for part in dataset.parts:
        if waiting.isdisjoint(part.inputs):
            continue
        files, is_record = file_numbers(part), ~find_companions(dataset, part)
        taken |= waiting & set(np.unique(files[is_record & choose(part)]).tolist())
        with_records |= waiting & set(np.unique(files[is_record]).tolist())
        waiting -= taken
        part.release()
    return frozenset(taken | (waiting - with_records))


def with_companions(dataset: IncidenceDataset, part: Part, is_taken: Bools, inputs_taken: frozenset[int]) -> Bools:
    """Return which structures are taken: records as they are, companions with any record of their input.

    `inputs_taken` are those that `find_inputs_taken` gives. What tells of an input without records is always taken.
    """
    is_companion = find_companions(dataset, part)
    if not is_companion.any():
        return is_taken
    files = file_numbers(part)
    shared = _inputs_in_several_parts(dataset)
    without_records = np.setdiff1d(files[is_companion], np.append(files[~is_companion], list(shared)))
    wanted = np.concatenate([files[is_taken & ~is_companion], without_records, list(inputs_taken)]).astype(np.int64)
    return np.where(is_companion, np.isin(files, wanted), is_taken)


def _source_of(dataset: IncidenceDataset, number: int) -> str:
    """Return the source of an input; of a view in which some are joined, too."""
    entry = dataset.manifest["inputs"][number]
    source: str = dataset.manifest["origins"][entry["origin"]]["source"]
    return source


def _inputs_in_several_parts(dataset: IncidenceDataset) -> set[int]:
    """Return the inputs with companions that may lie in several parts."""
    num_parts = np.zeros(len(dataset.manifest["inputs"]), np.int64)
    for part in dataset.parts:
        num_parts[part.inputs.start : part.inputs.stop] += 1
    found = np.flatnonzero(num_parts > 1).tolist()
    return {number for number in found if _source_of(dataset, number) in _LABELS.keys() | _DATATYPES.keys()}


def _first_labels(part: Part) -> Int64:
    """Return the label of the first instance of each structure, -1 where there is none."""
    return _firsts(part, "instance_label")


def _first_datatypes(part: Part) -> Int64:
    """Return the datatype of the first content of each structure, -1 where there is none."""
    column = one_array(part.read("contents", ("datatype",)).column("datatype"))
    datatypes = np.append(np.asarray(column.cast("int64").fill_null(-1)), -1)
    found: Int64 = datatypes[_firsts(part, "tau")]
    return found


def _firsts(part: Part, name: str) -> Int64:
    """Return the first value in a column of lists, -1 where a list is empty."""
    found = [np.zeros(0, np.int64)]
    for batch in part.iter_batches("structures", (name,)):
        column = batch.column(name)
        sizes = np.asarray(column.value_lengths().fill_null(0)).astype(np.int64)
        begins = np.cumsum(sizes) - sizes
        values = np.append(np.asarray(column.flatten()).astype(np.int64), -1)
        found.append(np.where(sizes > 0, values[np.minimum(begins, len(values) - 1)], -1))
    return np.concatenate(found)
