"""Which input an instance came from where one structure holds facts of several, as in a regrouped dataset.

There the ordinals of all inputs are one sequence: an input's own ordinals follow its `first_ordinal`, a field of its
entry in the manifest. In other datasets an instance is of its structure's input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.shards import IncidenceDataset, Part

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

FIRST_ORDINAL = "first_ordinal"

_BITS = 63  # whoever reads ordinals as int64 reads them right


def room_for_ordinals(num_inputs: int) -> int:
    """Return how many ordinals each of `num_inputs` inputs has room for in one sequence."""
    return int(1 << (_BITS - max(0, num_inputs - 1).bit_length()))


def is_regrouped(dataset: IncidenceDataset, file_index: int) -> bool:
    """Tell whether facts of this input stand in structures of other inputs too, and in another order."""
    return FIRST_ORDINAL in dataset.manifest["inputs"][file_index]


def first_ordinals(dataset: IncidenceDataset, part: Part) -> UInt64 | None:
    """Return the first ordinal of each of the part's inputs, None where it is not of a regrouped dataset."""
    entries: list[dict[str, Any]] = [dataset.manifest["inputs"][index] for index in part.inputs]
    if not entries or FIRST_ORDINAL not in entries[0]:
        return None
    return np.array([entry[FIRST_ORDINAL] for entry in entries], np.uint64)


def inputs_of_ordinals(part: Part, firsts: UInt64, ordinals: UInt64) -> Int64:
    """Return the dataset's input that each instance of a regrouped part is of; `firsts` are those of its inputs."""
    return np.searchsorted(firsts, ordinals, side="right").astype(np.int64) - 1 + part.inputs.start
