"""Contents gathered a column at a time: each distinct one once, with its key, without a Python object a value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder
from lisdata.schema import CONTENTS, KEY_TYPE, NO_ROW, ContentKind, LabelKind

UInt32 = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """What contents of one identity but for their spelling share."""

    kind: ContentKind
    datatype: str | None
    scope: str | None


@dataclass(frozen=True, slots=True)
class ContentColumns:
    """The contents of a batch, for sources and converters that hold whole columns of spellings."""

    labels: LabelBuilder
    _columns: list[tuple[_Group, pa.Array]] = field(default_factory=list)

    def add(
        self, kind: ContentKind, lexicals: pa.Array, *, datatype: str | None = None, scope: str | None = None
    ) -> int:
        """Add a column of large_string or large_binary (null: no content); return its number in what `finish` gives."""
        for label_kind, label in ((LabelKind.DATATYPE, datatype), (LabelKind.SCOPE, scope)):
            if label is not None:
                self.labels.code(label_kind, label)
        group = _Group(kind=kind, datatype=datatype, scope=scope)
        self._columns.append((group, lexicals.cast(pa.large_binary())))
        return len(self._columns) - 1

    def finish(self) -> tuple[pa.RecordBatch, list[UInt32]]:
        """Return the distinct contents (CONTENTS schema), and each column's rows in them (NO_ROW for null)."""
        from lisdata.kernels.text_table import number_texts

        groups: dict[_Group, list[int]] = {}
        for number, (group, _) in enumerate(self._columns):
            groups.setdefault(group, []).append(number)
        rows: dict[int, UInt32] = {}
        lexicals: list[pa.Array] = []
        first = 0
        for numbers in groups.values():
            distinct, found = number_texts([self._columns[number][1] for number in numbers])
            for number, column in zip(numbers, found, strict=True):
                rows[number] = np.where(column == NO_ROW, column, column + np.uint32(first)) if first else column
            lexicals.append(distinct)
            first += len(distinct)
        contents = self._to_arrow(list(groups), lexicals)
        return contents, [rows[number] for number in range(len(self._columns))]

    def _to_arrow(self, groups: list[_Group], lexicals: list[pa.Array]) -> pa.RecordBatch:
        from lisdata.kernels.arrays import binary_buffers, fixed_binary
        from lisdata.kernels.keys import content_keys

        sizes = [len(distinct) for distinct in lexicals]
        lexical = pa.concat_arrays([pa.array([], pa.large_binary()), *lexicals])
        kind = np.repeat(np.array([group.kind for group in groups], np.uint8), sizes)
        symbols = _Symbols()
        numbers = [(symbols.number(g.datatype), NO_ROW, symbols.number(g.scope)) for g in groups]
        of_rows = np.repeat(np.array(numbers, np.uint32).reshape(-1, 3), sizes, axis=0)
        keys = content_keys(kind, *binary_buffers(lexical), of_rows, *symbols.buffers())
        code = self.labels.code
        datatypes = [None if g.datatype is None else code(LabelKind.DATATYPE, g.datatype) for g in groups]
        scopes = [None if g.scope is None else code(LabelKind.SCOPE, g.scope) for g in groups]
        columns = [
            fixed_binary(keys, KEY_TYPE), pa.array(kind), lexical, _repeat(datatypes, sizes),
            pa.nulls(len(lexical), pa.uint32()), _repeat(scopes, sizes),
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(columns, schema=CONTENTS)


@dataclass(frozen=True, slots=True)
class _Symbols:
    """The datatypes and scopes in use, numbered by first appearance."""

    _numbers: dict[bytes, int] = field(default_factory=dict)

    def number(self, name: str | None) -> int:
        return NO_ROW if name is None else self._numbers.setdefault(name.encode(), len(self._numbers))

    def buffers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return where each symbol begins, and all their bytes."""
        offsets = np.cumsum([0, *map(len, self._numbers)], dtype=np.int64)
        return offsets, np.frombuffer(b"".join(self._numbers), np.uint8)


def _repeat(codes: list[int | None], sizes: list[int]) -> pa.Array:
    if all(code is None for code in codes):
        return pa.nulls(sum(sizes), pa.uint32())
    values = np.repeat(np.array([NO_ROW if code is None else code for code in codes], np.uint32), sizes)
    return pa.array(values, mask=values == NO_ROW)
