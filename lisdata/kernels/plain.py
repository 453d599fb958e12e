"""Plain twins of the kernels: slow, short and obviously right; the tests compare the kernels with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from lisdata.contents import key_message
from lisdata.schema import KEY_TYPE


def keys_of_contents(contents: pa.RecordBatch, labels: pa.RecordBatch) -> pa.FixedSizeBinaryArray:
    """Return the keys that `contents` must have (twin of `keys.keys_of_contents`)."""
    symbols = labels["label"].to_pylist()
    keys = []
    for row in contents.select(["kind", "lexical", "datatype", "language", "scope"]).to_pylist():
        codes = (row["datatype"], row["language"], row["scope"])
        fields = [None if code is None else symbols[code].encode() for code in codes]
        keys.append(xxhash.xxh3_128_digest(key_message(row["kind"], row["lexical"], *fields)))
    return pa.array(keys, KEY_TYPE)


class KeyTable:
    """Numbers keys by first appearance (twin of `key_table.KeyTable`)."""

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def find_or_add(self, keys: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        """Return (number of each key, whether it is the key's first appearance)."""
        ids, is_new = [], []
        for key in map(bytes, keys):
            is_new.append(key not in self._rows)
            ids.append(self._rows.setdefault(key, len(self._rows)))
        return np.array(ids, np.uint32), np.array(is_new, np.bool_)
