"""Structures that tell how a whole input was written, and so go with whatever is taken of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    sources = {info.index: _LABELS.get(info.source, ()) for info in dataset.inputs}
    is_companion = np.zeros(part.counts["structures"], np.bool_)
    if not any(sources[number] for number in part.inputs):
        return is_companion
    files, first = file_numbers(part), _first_labels(part)
    names = part.labels.column("label").to_pylist()
    for number in part.inputs:
        codes = [code for code, name in enumerate(names) if name in sources[number]]
        is_companion |= (files == number) & np.isin(first, codes)
    return is_companion


def with_companions(dataset: IncidenceDataset, part: Part, is_taken: Bools) -> Bools:
    """Return which structures are taken: records as they are, companions with any record of their input.

    Of an input that lies in several parts they are always taken, since its records may be taken elsewhere.
    """
    is_companion = find_companions(dataset, part)
    if not is_companion.any():
        return is_taken
    files = file_numbers(part)
    shared = {n for other in dataset.parts if other is not part for n in other.inputs if n in part.inputs}
    wanted = np.union1d(files[is_taken & ~is_companion], list(shared)).astype(np.int64)
    return np.where(is_companion, np.isin(files, wanted), is_taken)


def _first_labels(part: Part) -> Int64:
    """Return the label of the first instance of each structure, -1 where there is none."""
    found = [np.zeros(0, np.int64)]
    for batch in part.iter_batches("structures", ("instance_label",)):
        column = batch.column("instance_label")
        sizes = np.asarray(column.value_lengths().fill_null(0)).astype(np.int64)
        begins = np.cumsum(sizes) - sizes
        values = np.append(np.asarray(column.flatten()).astype(np.int64), -1)
        found.append(np.where(sizes > 0, values[np.minimum(begins, len(values) - 1)], -1))
    return np.concatenate(found)
