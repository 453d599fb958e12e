"""Counts of a token dataset: rows and their lengths, tokens by kind and role, tags, and bytes a token."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import DamagedShardError
from lisdata.schema import StructureKind
from lisdata.statistics.hexatags import HexatagTally
from lisdata.statistics.tallies import NUM_TOP, SizeTally, add_codes, ranked
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.segments import DOCUMENT, TOKEN_KIND

_KINDS = {int(kind): kind.label for kind in StructureKind}


def summarise_tokens(dataset: TokenDataset) -> dict[str, Any]:
    """Return the counts of a dataset; `bytes` are those of its shards."""
    manifest = dataset.manifest
    num_bytes = sum(manifest["files"][name]["size"] for part in manifest["parts"] for name in part["files"])
    tallies = _TokenTallies(dataset)
    for batch in dataset.segments.owners:
        tallies.add(batch)
    return {
        "format": manifest["format"],
        "bytes": num_bytes,
        "bytes_per_token": num_bytes / max(1, dataset.num_tokens),
        "parts": len(manifest["parts"]),
        "rows": len(dataset),
        "tokens": dataset.num_tokens,
        **({"report": {k: v for k, v in manifest["report"].items() if v}} if manifest.get("report") else {}),
        **tallies.to_dict(),
    }


class _TokenTallies:
    """What is counted over the rows of all parts."""

    def __init__(self, dataset: TokenDataset) -> None:
        self._schema, self._roles = dataset.schema, dataset.roles
        self._is_used = np.zeros(self._schema.column("input_ids").maximum + 1, bool)
        self._lengths = SizeTally()
        self._num_scored = 0
        self._hexatags = HexatagTally(is_frozen="frozen_tags" in dataset.manifest)
        self._by: dict[str, Counter[str]] = {
            name: Counter() for name in ("rows_by_kind", "tokens_by_kind", "tokens_by_role")
        }

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a record batch of a shard."""
        lengths = np.diff(np.asarray(batch.column("input_ids").offsets))
        self._lengths.add(lengths)
        self._is_used[_below(len(self._is_used), _values(batch, "input_ids"), "input_ids")] = True
        kinds = self._kinds(batch)
        add_codes(self._by["rows_by_kind"], kinds, _KINDS)
        token_kinds = _values(batch, TOKEN_KIND) if self._has(TOKEN_KIND) else np.repeat(kinds, lengths)
        add_codes(self._by["tokens_by_kind"], token_kinds, _KINDS)
        if self._has("target"):
            self._num_scored += int(np.count_nonzero(_values(batch, "target")))
        if self._has("role"):
            roles = _values(batch, "role")
            known = self._roles or [str(number) for number in range(int(roles.max(initial=0)) + 1)]
            add_codes(self._by["tokens_by_role"], _below(len(known), roles, "role"), list(known))
        if self._has("terminal") and self._has("nonterminal"):
            rows = np.repeat(np.arange(batch.num_rows), lengths)
            if self._has(DOCUMENT):  # several structures in a row
                rows = rows * (int(lengths.max(initial=0)) + 2) + _values(batch, DOCUMENT)
            self._hexatags.add(_values(batch, "terminal"), _values(batch, "nonterminal"), rows=rows)

    def _has(self, column: str) -> bool:
        return column in self._schema.names

    def _kinds(self, batch: pa.RecordBatch) -> npt.NDArray[Any]:
        if self._schema.kind is None:
            return np.asarray(batch.column("kind"))
        return np.full(batch.num_rows, self._schema.kind)

    def to_dict(self) -> dict[str, Any]:
        found = {name: ranked(tally, NUM_TOP) for name, tally in self._by.items() if tally}
        return {
            "vocabulary_size": len(self._is_used),
            "tokens_of_vocabulary_used": int(np.count_nonzero(self._is_used)),
            **({"scored_tokens": self._num_scored} if self._has("target") else {}),
            "row_lengths": self._lengths.quantiles(),
            "row_length_histogram": self._lengths.histogram(),
            **found,
            **self._hexatags.to_dict(),
        }


def _values(batch: pa.RecordBatch, column: str) -> npt.NDArray[Any]:
    return np.asarray(batch.column(column).flatten())


def _below(limit: int, values: npt.NDArray[Any], column: str) -> npt.NDArray[Any]:
    """Return `values`, numbers from 0 below `limit`; raise DamagedShardError for others."""
    if len(values) and not 0 <= values.min() <= values.max() < limit:
        raise DamagedShardError(f"column {column}: expected 0 to {limit - 1}, found {values.min()} to {values.max()}")
    return values
