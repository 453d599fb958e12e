"""Roles that say how a record was written: kept for the way back, and no part of what it says."""

from __future__ import annotations

import numpy as np

from lisdata.encoding.pieces import Bools
from lisdata.encoding.structure_rows import StructureRows
from lisdata.schema import StructureKind
from lisdata.shards import Part

LAYOUT_ROLES = ("record#layout", "record#line")
_KINDS = (StructureKind.TEXT, StructureKind.MIXED)


def layout_codes(part: Part) -> Bools:
    """Return which of the part's labels are roles of layouts."""
    return np.array([label in LAYOUT_ROLES for label in part.labels.column("label").to_pylist()], np.bool_)


def without_layout(rows: StructureRows, is_layout: Bools) -> StructureRows:
    """Return the rows without the incidences of records whose roles, by code, are of layouts."""
    if not is_layout.any():
        return rows
    is_record = np.isin(rows.kinds, _KINDS)
    return rows.with_incidences(~(is_layout[rows.sigma] & is_record[rows.incidence_row]))
