"""What an export lacks because the conversion left it out, or because it is in another share."""

from __future__ import annotations

from collections import Counter

from lisdata.exporters.input_ordinals import is_regrouped
from lisdata.shards import IncidenceDataset, InputInfo

REJECTED, DROPPED = "rejected records", "dropped sentences"
DROPPED_SOMEWHERE = "dropped sentences of several inputs together"


def is_left_out(dataset: IncidenceDataset, info: InputInfo) -> bool:
    """Tell whether all of an input was rejected: it has no file in an export, for an empty one would say it was empty.

    A table whose rows were rejected still has its header, so it has a file.
    """
    if not info.records.get("rejected", 0) or info.records.get("converted", 0):
        return False
    return next(dataset.iter_part_rows(info.index), None) is None


def is_elsewhere(dataset: IncidenceDataset, info: InputInfo) -> bool:
    """Tell whether a dataset is a share that has nothing of an input with records: it has no file in an export."""
    has_records = dataset.manifest["inputs"][info.index].get("of_records", 0) > 0
    if not has_records or is_regrouped(dataset, info.index):
        return False
    return next(dataset.iter_part_rows(info.index), None) is None


def count_conversion_losses(dataset: IncidenceDataset, files: tuple[InputInfo, ...]) -> Counter[str]:
    """Return how many records of `files` were rejected and sentences dropped, by name.

    A dataset of an older version does not say what was dropped of which input: what it says is counted by a name of its
    own, where the conversion of one of the files dropped any.
    """
    losses: Counter[str] = Counter()
    for info in files:
        losses[REJECTED] += info.records.get("rejected", 0)
        losses[DROPPED] += (info.report or {}).get(DROPPED, 0)
    if any(info.report is None and info.options.get("non_projective") == "drop" for info in files):
        known = sum((info.report or {}).get(DROPPED, 0) for info in dataset.inputs)
        losses[DROPPED_SOMEWHERE] = dataset.manifest.get("report", {}).get(DROPPED, 0) - known
    return losses
