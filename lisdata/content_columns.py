"""Contents gathered a column at a time: each distinct one once, with its key, without a Python object a value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder
from lisdata.schema import CONTENTS, NO_ROW, ContentKind, LabelKind

UInt32 = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """What contents of one identity but for their spelling share; the codes are labels, None for null."""

    kind: ContentKind
    datatype: int | None
    scope: int | None


@dataclass(frozen=True, slots=True)
class ContentColumns:
    """The contents of a batch, for sources and converters that hold whole columns of spellings."""

    labels: LabelBuilder
    _columns: list[tuple[_Group, pa.Array]] = field(default_factory=list)

    def add(
        self, kind: ContentKind, lexicals: pa.Array, *, datatype: str | None = None, scope: str | None = None
    ) -> int:
        """Add a large_string column (nulls stand for no content); return its number in what `finish` gives."""
        group = _Group(
            kind=kind,
            datatype=None if datatype is None else self.labels.code(LabelKind.DATATYPE, datatype),
            scope=None if scope is None else self.labels.code(LabelKind.SCOPE, scope),
        )
        self._columns.append((group, lexicals))
        return len(self._columns) - 1

    def finish(self) -> tuple[pa.RecordBatch, list[UInt32]]:
        """Return the distinct contents (CONTENTS schema), and each column's rows in them (NO_ROW for null)."""
        groups: dict[_Group, list[int]] = {}
        for number, (group, _) in enumerate(self._columns):
            groups.setdefault(group, []).append(number)
        rows: dict[int, UInt32] = {}
        lexicals: list[pa.Array] = []
        first = 0
        for numbers in groups.values():
            distinct, codes = _number_together([self._columns[number][1] for number in numbers])
            for number, code in zip(numbers, codes, strict=True):
                rows[number] = np.where(code < 0, NO_ROW, code + first).astype(np.uint32)
            lexicals.append(distinct)
            first += len(distinct)
        contents = self._to_arrow(list(groups), lexicals)
        return contents, [rows[number] for number in range(len(self._columns))]

    def _to_arrow(self, groups: list[_Group], lexicals: list[pa.Array]) -> pa.RecordBatch:
        from lisdata.kernels.keys import keys_of_contents

        sizes = [len(distinct) for distinct in lexicals]
        lexical = pa.concat_arrays([pa.array([], pa.large_string()), *lexicals]).cast(pa.large_binary())
        columns = {
            "kind": np.repeat(np.array([g.kind for g in groups], np.uint8), sizes),
            "lexical": lexical,
            "datatype": _repeat([g.datatype for g in groups], sizes),
            "language": pa.nulls(len(lexical), pa.uint32()),
            "scope": _repeat([g.scope for g in groups], sizes),
        }
        fields = {column.name: column for column in CONTENTS}
        keyless = pa.RecordBatch.from_arrays(
            [pa.array(values, fields[name].type) for name, values in columns.items()], names=list(columns)
        )
        keys = keys_of_contents(keyless, self.labels.to_arrow())
        return pa.RecordBatch.from_arrays([keys, *keyless.columns], schema=CONTENTS)


def _number_together(columns: list[pa.Array]) -> tuple[pa.Array, list[npt.NDArray[np.int64]]]:
    """Return the distinct values of several columns, and the number of each value, -1 for null."""
    encoded = [column.dictionary_encode() for column in columns]
    codes = [np.asarray(e.indices.fill_null(-1)).astype(np.int64) for e in encoded]
    if len(encoded) == 1:
        return encoded[0].dictionary, codes
    together = pa.concat_arrays([e.dictionary for e in encoded]).dictionary_encode()
    numbers = np.asarray(together.indices).astype(np.int64)
    ends = np.cumsum([len(e.dictionary) for e in encoded])
    starts = ends - [len(e.dictionary) for e in encoded]
    return together.dictionary, [
        np.where(code < 0, -1, np.append(numbers[start:end], -1)[code])
        for code, start, end in zip(codes, starts, ends, strict=True)
    ]


def _repeat(codes: list[int | None], sizes: list[int]) -> pa.Array:
    values = np.repeat(np.array([NO_ROW if code is None else code for code in codes], np.uint32), sizes)
    return pa.array(values, mask=values == NO_ROW)
