"""Batches of structures on their way to a shard: rows, and the contents and labels that the rows refer to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lisdata.contents import ContentBuilder, LabelBuilder, Role
from lisdata.schema import CONTENTS, LABELS, STRUCTURES, LabelKind, StructureKind, list_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureBatch:
    """Rows of structures whose numbers are rows of this batch's own `contents` and `labels`.

    A content that no occurrence shows is an isolated one and is kept.
    """

    structures: pa.RecordBatch
    contents: pa.RecordBatch
    labels: pa.RecordBatch

    def __post_init__(self) -> None:
        for batch, schema in ((self.structures, STRUCTURES), (self.contents, CONTENTS), (self.labels, LABELS)):
            if not batch.schema.equals(schema):
                raise ValueError(f"expected the schema\n{schema}\nfound\n{batch.schema}")


@dataclass(slots=True)
class _ListColumn:
    """Values and ends of one list column; None marks a null row."""

    lengths: list[int | None] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    def append(self, row: list[object] | None) -> None:
        self.lengths.append(None if row is None else len(row))
        if row is not None:
            self.values.extend(row)

    def to_arrow(self, type_: pa.DataType) -> pa.Array:
        counts = [0 if n is None else n for n in self.lengths]
        offsets = pa.array(np.concatenate(([0], np.cumsum(counts, dtype=np.int64))), pa.int64())
        mask = None if None not in self.lengths else pa.array([n is None for n in self.lengths])
        values = pa.array(self.values, type_.value_type)
        return pa.LargeListArray.from_arrays(offsets, values, type=type_, mask=mask)


@dataclass(slots=True)
class _OpenRow:
    """The structure being built."""

    scalars: dict[str, object]
    lists: dict[str, list[object] | None]
    has_spans: bool = False
    has_handles: bool = False
    has_tags: bool = False
    has_heads: bool = False


_LISTS = (
    "tau", "span", "instance_label", "instance_handle", "instance_ordinal", "incidence", "sigma", "position", "shape",
    "terminal", "nonterminal", "head", "deprel",
)  # fmt: skip
_SCALARS = ("record_id", "kind", "document", "tensor", "source")


class StructureBuilder:
    """Appends structures piece by piece to flat columns (for sources whose parser gives objects).

    Call `begin`, then `occurrence`, `instance` and `incidence` as needed, then `end`; `finish` gives the batch.
    """

    def __init__(self) -> None:
        self.labels = LabelBuilder()
        self.contents = ContentBuilder(self.labels)
        self._scalars: dict[str, list[object]] = {name: [] for name in _SCALARS}
        self._lists = {name: _ListColumn() for name in _LISTS}
        self._row: _OpenRow | None = None

    def __len__(self) -> int:
        return len(self._scalars["record_id"])

    def begin(
        self,
        kind: StructureKind,
        record_id: str,
        *,
        file: int = 0,
        begin: int = 0,
        end: int = 0,
        document: bytes | None = None,
    ) -> None:
        """Open a structure that comes from bytes [begin, end) of input `file`."""
        source = {"file": file, "begin": begin, "end": end}
        scalars = {"record_id": record_id, "kind": int(kind), "document": document, "tensor": None, "source": source}
        self._row = _OpenRow(scalars, {name: [] for name in _LISTS} | {"shape": None})

    def occurrence(
        self,
        content: int,
        *,
        span: tuple[int, int] | None = None,
        terminal: int | None = None,
        nonterminal: int | None = None,
        head: int | None = None,
        deprel: str | None = None,
    ) -> int:
        """Add an occurrence that shows row `content` of `self.contents`; return its number in the structure."""
        row = self._open_row()
        lists = row.lists
        tau = _present(lists, "tau")
        tau.append(content)
        _present(lists, "span").append(None if span is None else {"begin": span[0], "end": span[1]})
        _present(lists, "terminal").append(-100 if terminal is None else terminal)
        _present(lists, "nonterminal").append(-100 if nonterminal is None else nonterminal)
        _present(lists, "head").append(head)
        code = None if deprel is None else self.labels.code(LabelKind.DEPREL, deprel)
        _present(lists, "deprel").append(code)
        row.has_spans |= span is not None
        row.has_tags |= terminal is not None or nonterminal is not None
        row.has_heads |= head is not None or deprel is not None
        return len(tau) - 1

    def instance(self, label: str, *, ordinal: int = 0, handle: int | None = None) -> int:
        """Add an instance, whose `handle` is a row of `self.contents` of kind INSTANCE; return its number."""
        row = self._open_row()
        labels = _present(row.lists, "instance_label")
        labels.append(self.labels.code(LabelKind.INSTANCE, label))
        _present(row.lists, "instance_handle").append(handle)
        _present(row.lists, "instance_ordinal").append(ordinal)
        row.has_handles |= handle is not None
        return len(labels) - 1

    def incidence(self, occurrence: int, instance: int, role: Role, position: int = 0) -> None:
        """Let `occurrence` take part in `instance` in `role` at local `position`."""
        row = self._open_row()
        _present(row.lists, "incidence").append({"occurrence": occurrence, "instance": instance})
        _present(row.lists, "sigma").append(self.labels.role(role))
        _present(row.lists, "position").append(position)

    def grid(self, shape: tuple[int, ...], dtype: str, data: bytes) -> None:
        """Make the open structure a grid of one instance: cell k (row-major) is occurrence k, all implied."""
        row = self._open_row()
        if row.lists["tau"]:
            raise ValueError("a grid's occurrences are implied by its tensor: add none")
        row.lists["shape"] = list(shape)
        row.scalars["tensor"] = {"dtype": dtype, "bytes": data}
        for name in ("tau", "incidence", "sigma", "position"):
            row.lists[name] = None

    def end(self) -> None:
        """Close the open structure."""
        row = self._open_row()
        kept = {"span": row.has_spans, "instance_handle": row.has_handles, "terminal": row.has_tags}
        kept |= {"nonterminal": row.has_tags, "head": row.has_heads, "deprel": row.has_heads}
        for name, column in self._lists.items():
            column.append(row.lists[name] if kept.get(name, True) else None)
        for name, values in self._scalars.items():
            values.append(row.scalars[name])
        self._row = None

    def finish(self) -> StructureBatch:
        """Return what was built; the builder is spent."""
        if self._row is not None:
            raise ValueError("a structure is still open: call end() first")
        arrays = []
        for column in STRUCTURES:
            if column.name in self._lists:
                arrays.append(self._lists[column.name].to_arrow(column.type))
            else:
                arrays.append(pa.array(self._scalars[column.name], column.type))
        contents = self.contents.to_arrow()
        structures = pa.RecordBatch.from_arrays(arrays, schema=STRUCTURES)
        return StructureBatch(structures=structures, contents=contents, labels=self.labels.to_arrow())

    def _open_row(self) -> _OpenRow:
        if self._row is None:
            raise ValueError("no structure is open: call begin() first")
        return self._row


def _present(lists: dict[str, list[object] | None], name: str) -> list[object]:
    values = lists[name]
    if values is None:
        raise ValueError(f"{name} is implied by the grid's tensor: add none")
    return values


def list_array(offsets: np.ndarray, values: pa.Array, *, nullable: bool = False) -> pa.LargeListArray:
    """Return large_list rows cut from flat `values` at `offsets` (int64, one more than rows), without a copy."""
    return pa.LargeListArray.from_arrays(
        pa.array(offsets, pa.int64()), values, type=list_of(values.type, nullable=nullable)
    )


def null_list(length: int, column: str) -> pa.Array:
    """Return an all-null array for list column `column` of STRUCTURES."""
    return pa.nulls(length, STRUCTURES.field(column).type)
