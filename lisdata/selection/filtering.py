"""Structures that a SQL expression finds, by columns that say what each is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import LisDataError
from lisdata.kernels.arrays import one_array
from lisdata.runs import JsonDict, OnProgress
from lisdata.schema import StructureKind
from lisdata.selection.comparisons import Kind, as_number, find_mixed, quoted
from lisdata.selection.role_columns import is_role, refuse_unknown_roles, role_column, spelled
from lisdata.selection.selecting import select
from lisdata.selection.taking import Bools
from lisdata.shards import IncidenceDataset, Part

_READ = (
    "record_id", "kind", "tau", "document", "instance_label", "incidence", "sigma", "head", "terminal", "shape",
    "source",
)  # fmt: skip
_NUMBERS = ("begin", "end", "num_occurrences", "num_instances", "num_incidences", "num_bytes")
_TEXTS = ("record_id", "kind", "input", "text")
_KINDS_OF_COLUMNS: dict[str, Kind] = {**dict.fromkeys(_NUMBERS, "number"), **dict.fromkeys(_TEXTS, "text")}

_OPERANDS: dict[str, tuple[str, ...]] = {
    "Column": (),
    "Literal": (),
    "BinaryExpr": ("left", "right"),
    "Cast": ("expr",),
    "Function": ("input",),
    "Ternary": ("predicate", "truthy", "falsy"),
}
_ROW_FUNCTIONS = (
    "Abs", "Boolean", "Ceil", "Coalesce", "FillNull", "Floor", "ListExpr", "MaxHorizontal", "MinHorizontal", "Pow",
    "Sign", "Sql", "StringExpr",
)  # fmt: skip
_JOINT_DETAILS = ("Any", "All")

COLUMNS: dict[str, str] = {
    "record_id": "id of the structure, SCOPE#OFFSET",
    "kind": "text, triples, hyperedges, tree, table, grid or mixed",
    "input": "name of the input it comes from",
    "begin": "first byte of its source in the input",
    "end": "end of its source in the input",
    "num_occurrences": "occurrences (NULL for a grid: its cells are implied)",
    "num_instances": "instances: facts, rows, edges of a tree ...",
    "num_incidences": "incidences (NULL for a grid)",
    "num_bytes": "bytes of its document, NULL where it has none",
    "text": "its document, NULL where it has none or that is not UTF-8",
    "instances": "list of the labels of its instances",
    "roles": "list of its roles, RELATION#SIDE",
    "contents": "list of the contents that it shows, as spelled (those that are not UTF-8 are NULL)",
    "has_tags": "whether it has hexatags",
}
"""What an expression may name, and what that is; besides a role, for what a structure shows in it (`role_column`)."""


@dataclass(frozen=True, slots=True)
class Where:
    """Takes the structures for which a SQL expression over `COLUMNS` is true (not NULL)."""

    expression: str

    def to_json(self) -> JsonDict:
        """See `Choice`."""
        return {"where": self.expression}

    def is_taken(self, dataset: IncidenceDataset, part: Part) -> Bools:
        """See `Choice`."""
        import polars as pl

        condition, names = _parse(self.expression)
        found = [np.zeros(0, np.bool_)]
        for batch in part.iter_batches("structures", _READ):
            columns = {name: _column(dataset, part, batch, name) for name in names}
            table = pl.DataFrame({name: pl.from_arrow(column) for name, column in columns.items()})
            found.append(_evaluated(table, condition, self.expression))
        return np.concatenate(found)


def filter_dataset(
    dataset: str | Path,
    to: str | Path,
    where: str,
    *,
    compression: str = "zstd",
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write the structures for which `where` is true as a dataset at `to`; return its manifest's body.

    `where` is a SQL expression of polars over `COLUMNS` and roles in double quotes, such as "kind = 'text' AND
    num_bytes > 100" or '"record#field:lang" = 'en''. Raises ValueError where it is none, or names other columns.
    """
    source = IncidenceDataset(dataset)
    check_expression(where, source)
    return select(
        source,
        Path(to),
        Where(where),
        compression=compression,
        workers=workers,
        fresh=fresh,
        on_progress=on_progress,
    )


def check_expression(where: str, dataset: IncidenceDataset | None = None) -> None:
    """Raise ValueError unless `where` is a condition over `COLUMNS` and roles; LisDataError where polars is missing.

    Where a `dataset` is given it must have the roles.
    """
    condition, names = _parse(where)
    import polars as pl

    if not names:
        raise ValueError(f"expected an expression that names a column, got {where!r}: {', '.join(COLUMNS)}")
    types = _polars_types() | {name: pl.String for name in names if is_role(name)}
    empty = pl.DataFrame({name: pl.Series(name, [], dtype=dtype) for name, dtype in types.items()})
    _evaluated(empty, condition, where)
    if dataset is not None:
        refuse_unknown_roles(dataset, names)


def _parse(expression: str) -> tuple[Any, list[str]]:
    try:
        import polars as pl
    except ImportError as error:
        raise LisDataError('expressions need polars: pip install "lisdata[filter]"') from error
    try:
        condition = pl.sql_expr(expression)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"expected a SQL expression, got {expression!r}: {error}") from error
    names = sorted(set(condition.meta.root_names()))
    unknown = [name for name in names if name not in COLUMNS and not is_role(name)]
    if unknown:
        roles = 'roles in double quotes ("RELATION#SIDE")'
        raise ValueError(f"there is no column {', '.join(unknown)}; the columns are {', '.join(COLUMNS)}, and {roles}")
    tree = orjson.loads(condition.meta.serialize(format="json"))
    joint = next(_joint_nodes(tree), None)
    if joint is not None:
        raise ValueError(f"expected a condition on each structure by itself, got {expression!r} ({joint})")
    if mixed := find_mixed(tree, _KINDS_OF_COLUMNS):
        raise ValueError(f"{expression}: {mixed}")
    return condition, names


def _joint_nodes(node: Any) -> Iterator[str]:
    """Yield what in an expression of polars may look at several rows, of which a part has only some."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):  # a node without operands
            yield node
            continue
        name, inside = next(iter(node.items()))
        if name not in _OPERANDS:
            yield name
        elif name == "Function":
            kind = inside["function"]
            kind, detail = (kind, None) if isinstance(kind, str) else next(iter(kind.items()))
            if kind not in _ROW_FUNCTIONS or detail in _JOINT_DETAILS:
                yield kind if detail is None else f"{kind} {detail}"
        if name in _OPERANDS:
            found = [inside[operand] for operand in _OPERANDS[name]]
            waiting += [child for child in found if not isinstance(child, list)]
            waiting += [child for children in found if isinstance(children, list) for child in children]


def _evaluated(table: Any, condition: Any, expression: str) -> Bools:
    import polars as pl

    try:
        values = table.select(condition.alias("taken")).get_column("taken")
    except pl.exceptions.PolarsError as error:
        said = next(iter(str(error).splitlines()), "")  # what follows is the expression as polars has it
        raise ValueError(f"{expression}: {said}{_advice(condition, said)}") from error
    if values.dtype != pl.Boolean:
        raise ValueError(f"expected a condition, got {expression!r}, which gives {values.dtype}")
    taken: Bools = values.fill_null(False).to_numpy().astype(np.bool_)
    return taken


def _advice(condition: Any, said: str) -> str:
    """Return what may help where an expression fails that has columns of roles in it."""
    roles = [name for name in condition.meta.root_names() if is_role(name)]
    if not roles:
        return ""
    if "conversion from" in said:
        return "; BIGINT and DOUBLE hold more than INTEGER, and TRY_CAST gives NULL where a text is no number"
    return f"; columns of roles are text, and numbers so: {as_number(quoted(roles[0]))}"


# -- columns ---------------------------------------------------------------------------------------------------------


def _column(dataset: IncidenceDataset, part: Part, batch: pa.RecordBatch, name: str) -> pa.Array:
    return role_column(part, batch, name) if is_role(name) else _MAKERS[name](dataset, part, batch)


Maker = Callable[[IncidenceDataset, Part, pa.RecordBatch], pa.Array]


def _inputs(dataset: IncidenceDataset, part: Part, batch: pa.RecordBatch) -> pa.Array:
    names = pa.array([info.name for info in dataset.inputs], pa.large_string())
    if not part.inputs:  # structures made in memory
        return pa.nulls(batch.num_rows, pa.large_string())
    return names.take(pc.add(batch.column("source").field("file").cast(pa.int64()), part.first_file))


def _listed(column: pa.Array, values: pa.Array) -> pa.Array:
    """Return a list column of numbers with `values` in their place."""
    sizes = np.asarray(column.value_lengths().fill_null(0))
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), pa.int64())
    return pa.LargeListArray.from_arrays(offsets, values.take(column.flatten()))


def _labels(name: str) -> Maker:
    return lambda _, part, batch: _listed(batch.column(name), one_array(part.labels.column("label")))


def _contents(_: IncidenceDataset, part: Part, batch: pa.RecordBatch) -> pa.Array:
    column = batch.column("tau")
    return _listed(column, part.derived(_lexical))


@cache
def _kinds() -> pa.Array:
    """Return the names of kinds; made when asked for, since Arrow loads pandas with the first list that it takes."""
    return pa.array([kind.label for kind in StructureKind], pa.large_string())


def _lexical(part: Part) -> pa.Array:
    return spelled(one_array(part.contents.column("lexical")))


_MAKERS: dict[str, Maker] = {
    "record_id": lambda _, part, batch: batch.column("record_id"),
    "kind": lambda _, part, batch: _kinds().take(batch.column("kind")),
    "input": _inputs,
    "begin": lambda _, part, batch: batch.column("source").field("begin"),
    "end": lambda _, part, batch: batch.column("source").field("end"),
    "num_occurrences": lambda _, part, batch: batch.column("tau").value_lengths(),
    "num_instances": lambda _, part, batch: batch.column("instance_label").value_lengths(),
    "num_incidences": lambda _, part, batch: batch.column("sigma").value_lengths(),
    "num_bytes": lambda _, part, batch: pc.binary_length(batch.column("document")),
    "text": lambda _, part, batch: spelled(batch.column("document")),
    "instances": _labels("instance_label"),
    "roles": _labels("sigma"),
    "contents": _contents,
    "has_tags": lambda _, part, batch: batch.column("terminal").is_valid(),
}


def _polars_types() -> dict[str, Any]:
    import polars as pl

    types: dict[str, Any] = dict.fromkeys(COLUMNS, pl.String) | dict.fromkeys(_NUMBERS, pl.Int64)
    return types | dict.fromkeys(("instances", "roles", "contents"), pl.List(pl.String)) | {"has_tags": pl.Boolean}
