"""`summarise`: counts of a dataset of either form, read part by part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lisdata.datasets import open as open_dataset
from lisdata.shards import IncidenceDataset


def summarise(path: str | Path) -> dict[str, Any]:
    """Return what the dataset at `path` holds: numbers, names, and dicts of name -> number.

    Memory is that of one part and, for distinct contents, of their keys (a share of them at a time).
    """
    dataset = open_dataset(path)
    if isinstance(dataset, IncidenceDataset):
        from lisdata.statistics.incidence import summarise_structures

        return summarise_structures(dataset)
    from lisdata.statistics.tokens import summarise_tokens

    return summarise_tokens(dataset)
