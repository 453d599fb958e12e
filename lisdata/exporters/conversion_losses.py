"""What an export lacks because the conversion left it out."""

from __future__ import annotations

from collections import Counter

from lisdata.shards import IncidenceDataset, InputInfo

REJECTED, DROPPED = "rejected records", "dropped sentences"
DROPPED_SOMEWHERE = "dropped sentences of several inputs together"


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
