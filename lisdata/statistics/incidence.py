"""Counts of an incidence dataset: structures, roles, sizes, tags, and contents that parts and kinds share."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.key_groups import iter_key_groups
from lisdata.statistics.hexatags import HexatagTally
from lisdata.statistics.tallies import NUM_TOP, SizeTally, add_codes, ranked
from lisdata.vocabulary import cell_role

UInt8 = npt.NDArray[np.uint8]

_TOTALS = ("structures", "occurrences", "instances", "incidences", "cells")
_COLUMNS = ("kind", "tau", "instance_label", "sigma", "shape", "terminal", "nonterminal", "head", "deprel")
_TAGGED = ("terminal", "nonterminal", "head")
_CONTENT_KINDS = {int(kind): kind.name.lower() for kind in ContentKind}


def summarise_structures(dataset: IncidenceDataset) -> dict[str, Any]:
    """Return the counts of a dataset; sizes of structures are incidences, of grids cells."""
    manifest = dataset.manifest
    rows = _RowTallies()
    used_by = [rows.add(part) for part in dataset.parts]
    records = [info.records for info in dataset.inputs]
    return {
        "format": manifest["format"],
        "bytes": sum(entry["size"] for entry in manifest["files"].values()),
        "parts": len(dataset.parts),
        "inputs": len(dataset.inputs),
        "records_seen": sum(r["seen"] for r in records),
        "records_rejected": sum(r["rejected"] for r in records),
        **{name: manifest["counts"].get(name, 0) for name in _TOTALS},
        "structures_by_kind": ranked(Counter(manifest["kinds"])),
        **({"report": dict(manifest["report"])} if manifest.get("report") else {}),
        **_summarise_contents(dataset, used_by),
        **rows.to_dict(),
    }


class _RowTallies:
    """What is counted over the rows of all parts."""

    def __init__(self) -> None:
        self._roles: Counter[str] = Counter()
        self._sizes = SizeTally()
        self._hexatags = HexatagTally()
        self._deprels: Counter[str] = Counter()

    def add(self, part: Part) -> UInt8:
        """Count a part; return for each of its contents the set of StructureKinds that show it, a bit each."""
        labels = part.labels.column("label").to_pylist()
        used_by = np.zeros(part.read("contents", ("kind",)).num_rows, np.uint8)
        for batch in part.iter_batches("structures", _COLUMNS):
            self._add_batch(batch, labels)
            kinds = np.asarray(batch.column("kind"))
            for kind in np.unique(kinds).tolist():
                shown = batch.column("tau").filter(pa.array(kinds == kind)).flatten()
                used_by[np.asarray(shown)] |= np.uint8(1 << kind)
        part.release()
        return used_by

    def _add_batch(self, batch: pa.RecordBatch, labels: list[str]) -> None:
        add_codes(self._roles, np.asarray(batch.column("sigma").flatten()), labels)
        sizes = np.asarray(pc.fill_null(pc.list_value_length(batch.column("sigma")), 0)).astype(np.int64)
        shapes = batch.column("shape")
        for row in np.flatnonzero(np.asarray(shapes.is_valid())).tolist():
            sizes[row] = int(np.prod(shapes[row].as_py(), dtype=np.int64))
            self._roles[cell_role(labels[batch.column("instance_label")[row][0].as_py()])] += int(sizes[row])
        self._sizes.add(sizes)
        self._add_tags(batch)
        add_codes(self._deprels, np.asarray(batch.column("deprel").flatten().drop_null()), labels)

    def _add_tags(self, batch: pa.RecordBatch) -> None:
        is_tagged, has_heads = batch.column("terminal").is_valid(), batch.column("head").is_valid()
        for rows, is_compared in ((pc.and_(is_tagged, has_heads), True), (pc.and_not(is_tagged, has_heads), False)):
            terminal, nonterminal, heads = (batch.column(name).filter(rows).flatten() for name in _TAGGED)
            given = np.asarray(pc.fill_null(heads, -1)) if is_compared else None
            self._hexatags.add(np.asarray(terminal), np.asarray(nonterminal), given)

    def to_dict(self) -> dict[str, Any]:
        return {
            "roles": len(+self._roles),  # a grid without cells has none
            "top_roles": ranked(+self._roles, NUM_TOP),
            "structure_sizes": self._sizes.quantiles(),
            "structure_size_histogram": self._sizes.histogram(),
            **self._hexatags.to_dict(),
            **({"deprels": ranked(self._deprels)} if self._deprels else {}),
        }


def _summarise_contents(dataset: IncidenceDataset, used_by: list[UInt8]) -> dict[str, Any]:
    """Return counts of contents, each key once however many parts hold it."""
    distinct = in_several_parts = in_several_kinds = isolated = 0
    by_kind = np.zeros(len(ContentKind), np.int64)
    kinds = [np.asarray(part.read("contents", ("kind",)).column("kind")) for part in dataset.parts]
    for groups in iter_key_groups(dataset.parts):
        first = groups.first
        users, kind = np.empty(len(groups.row), np.uint8), np.empty(len(groups.row), np.uint8)
        for index in range(len(dataset.parts)):
            chosen = groups.part == index
            users[chosen], kind[chosen] = used_by[index][groups.row[chosen]], kinds[index][groups.row[chosen]]
        together = np.bitwise_or.reduceat(users, first) if len(first) else users
        distinct += len(first)
        in_several_parts += int(np.count_nonzero(np.diff(first, append=len(groups.row)) > 1))
        in_several_kinds += int(np.count_nonzero(together & (together - 1)))
        isolated += int(np.count_nonzero(together == 0))
        by_kind += np.bincount(kind[first], minlength=len(by_kind))
    return {
        "contents": dataset.manifest["counts"].get("contents", 0),
        "distinct_contents": distinct,
        "contents_of_several_parts": in_several_parts,
        "contents_of_several_kinds": in_several_kinds,
        "contents_not_shown": isolated,
        "contents_by_kind": ranked(Counter({_CONTENT_KINDS[k]: n for k, n in enumerate(by_kind.tolist()) if n})),
    }
