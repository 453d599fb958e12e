"""Tables of one name in datasets made apart: equal keys of theirs are one row, on purpose or by chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lisdata.converters.table_roles import SCOPE_PREFIX, table_of_scope
from lisdata.schema import LabelKind
from lisdata.shards.dataset import IncidenceDataset


def scopes_in_several(datasets: Sequence[IncidenceDataset]) -> dict[str, tuple[int, ...]]:
    """Return the scopes of keys whose table has rows in two or more datasets, each with the numbers of these.

    A dataset that only refers to a table has no rows of it: it is meant to meet the one that has.
    """
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, dataset in enumerate(datasets):
        scopes: set[str] = set()
        names: set[str] = set()
        for part in dataset.parts:
            labels = part.read("labels", ("kind", "label"))
            found = _of_kind(labels, LabelKind.SCOPE)
            scopes.update(scope for scope in found if scope.startswith(SCOPE_PREFIX))
            names.update(_of_kind(labels, LabelKind.INSTANCE) if scopes else ())
        for scope in sorted(scopes):
            if table_of_scope(scope) in names:
                holders[scope].append(number)
    return {scope: tuple(numbers) for scope, numbers in holders.items() if len(numbers) > 1}


def _of_kind(labels: pa.Table, kind: LabelKind) -> list[str]:
    found: list[str] = labels.column("label").filter(pc.equal(labels.column("kind"), int(kind))).to_pylist()
    return found
