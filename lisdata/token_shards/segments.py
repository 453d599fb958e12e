"""Mapped token shards as tables of buffer addresses, and how rows are found and copied from them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import DamagedShardError
from lisdata.schema import UNTAGGED, check_schema
from lisdata.token_shards.mapping import let_go
from lisdata.token_shards.schema import INPUT_IDS, INT64_MAX, KIND, RECORD_ID, TokenSchema

Int64 = npt.NDArray[np.int64]

DOCUMENT, TOKEN_KIND = "document", "token_kind"
# What fills a column up to the width of a padded batch; 0 in every other one.
PADDING = {"terminal": UNTAGGED, "nonterminal": UNTAGGED, DOCUMENT: -1}


class Located(NamedTuple):
    """Where B rows are: `table` (5, B) of `kernels.gather.locate`, and the sum and the maximum of their lengths."""

    table: Int64
    total: int
    longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Columns to copy: their type codes (C), addresses by segment (C, S) and padding (C).

    The first `num_wide` of `names` need an int64, the others fit an int32.
    """

    names: tuple[str, ...]
    num_wide: int
    codes: Int64
    values_at: Int64
    padding: Int64


class Segments:
    """Runs of rows that lie in one record batch each, in the order of their rows.

    `types` gives each column's integer type; `wide` are the columns whose values may need an int64; `kind` is the kind
    of rows without a kind of their own. `owners` keeps the buffers alive.
    """

    def __init__(
        self,
        *,
        types: Mapping[str, str],
        wide: Container[str],
        kind: int | None,
        places: Sequence[str],
        owners: Sequence[Any],
        num_rows: Sequence[int],
        num_values: Sequence[int],
        offsets_at: Sequence[int],
        kinds_at: Sequence[int],
        values_at: Mapping[str, Sequence[int]],
    ) -> None:
        self.places, self.owners = places, owners
        self._types, self._wide, self._kind = types, wide, 0 if kind is None else kind
        self.first_row = np.concatenate(([0], np.cumsum(num_rows, dtype=np.int64)))
        self._num_values = np.array(num_values, np.int64)
        self._offsets_at = np.array(offsets_at, np.int64)
        self._kinds_at = np.array(kinds_at, np.int64)
        self._values_at = {name: np.array(addresses, np.int64) for name, addresses in values_at.items()}

    def locate(self, rows: Int64, max_length: int | None = None) -> Located:
        """Find rows (int64, contiguous); lengths are cut to `max_length`.

        Raises IndexError for a row that does not exist, DamagedShardError for offsets that leave their column.
        """
        from lisdata.kernels.gather import locate

        table = np.empty((5, len(rows)), np.int64)
        limit = INT64_MAX if max_length is None else max_length
        addresses = (self._offsets_at, self._num_values, self._kinds_at)
        bad, total, longest = locate(rows, self.first_row, *addresses, self._kind, limit, table)
        if bad >= 0:
            row, num_rows = int(rows[bad]), int(self.first_row[-1])
            if not 0 <= row < num_rows:
                raise IndexError(f"row {row} of {num_rows}")
            raise DamagedShardError(f"{self.places[self.segment_of(row)]}: the offsets of row {row} leave their column")
        return Located(table, total, longest)

    def segment_of(self, row: int) -> int:
        """Return the number of the segment that holds a row."""
        return bisect_right(self.first_row, row) - 1

    def select(self, names: Sequence[str], *, all_wide: bool, pad_id: int = 0) -> Selection:
        """Choose columns; `document` and `token_kind` may be asked for where they are not stored.

        Without a `document` column a row is one structure (0), without `token_kind` tokens have the kind of their row.
        """
        from lisdata.kernels.gather import ROW_KIND, TYPE_CODES, ZEROS

        codes = {DOCUMENT: ZEROS, TOKEN_KIND: ROW_KIND}
        codes |= {name: TYPE_CODES[type_] for name, type_ in self._types.items()}

        def is_wide(name: str) -> bool:
            return all_wide or name in self._wide

        ordered = sorted(names, key=lambda name: not is_wide(name))
        no_values = np.zeros(len(self.places), np.int64)
        addresses = [self._values_at.get(name, no_values) for name in ordered]
        padding = [pad_id if name == INPUT_IDS else PADDING.get(name, 0) for name in ordered]
        return Selection(
            names=tuple(ordered),
            num_wide=sum(map(is_wide, ordered)),
            codes=np.array([codes[name] for name in ordered], np.int64),
            values_at=np.array(addresses, np.int64).reshape(len(ordered), len(self.places)),
            padding=np.array(padding, np.int64),
        )


def copy_rows(selection: Selection, located: Located, width: int, wide: Int64, narrow: npt.NDArray[np.int32]) -> None:
    """Copy located rows of the wide columns to `wide` and of the others to `narrow`, both flat, column after column.

    Rows are padded to `width`; 0 lays them end to end.
    """
    from lisdata.kernels.gather import copy_columns

    cut = selection.num_wide
    for columns, target in ((slice(0, cut), wide), (slice(cut, None), narrow)):
        if len(target):
            codes, values_at = selection.codes[columns], selection.values_at[columns]
            copy_columns(codes, values_at, selection.padding[columns], located.table, width, target)


def map_segments(paths: Sequence[tuple[Path, int]], schema: TokenSchema, names: Sequence[str]) -> Segments:
    """Map files, given with their numbers of rows; raise DamagedShardError or SchemaError where one is not as expected.

    Only `names` of the columns are looked at, and `input_ids` for the offsets that all share.
    """
    places: list[str] = []
    batches: list[pa.RecordBatch] = []
    for path, num_rows in paths:
        found = _read_batches(path, schema.to_arrow())
        if sum(batch.num_rows for batch in found) != num_rows:
            counted = sum(batch.num_rows for batch in found)
            raise DamagedShardError(f"{path}: expected {num_rows} rows, found {counted}")
        places.extend([str(path)] * len(found))
        batches.extend(found)
    first = [batch.column(INPUT_IDS) for batch in batches]
    columns = {name: [batch.column(name) for batch in batches] for name in names}
    return Segments(
        types={name: schema.column(name).type for name in names},
        wide={name for name in names if schema.column(name).is_wide},
        kind=schema.kind,
        places=places,
        owners=batches,
        num_rows=[batch.num_rows for batch in batches],
        num_values=[_num_values(batch, place) for batch, place in zip(batches, places, strict=True)],
        offsets_at=[_address(array.buffers()[1]) for array in first],
        kinds_at=[0 if schema.kind is not None else _address(batch.column(KIND).buffers()[1]) for batch in batches],
        values_at={name: [_address(array.buffers()[3]) for array in arrays] for name, arrays in columns.items()},
    )


def _read_batches(path: Path, schema: pa.Schema) -> list[pa.RecordBatch]:
    try:
        # The buffers keep the map alive; closing the file here lets its descriptor go.
        with pa.memory_map(str(path)) as mapped:
            whole = mapped.read_buffer()
            reader = pa.ipc.open_file(mapped)
            check_schema(reader.schema, schema, str(path))
            batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        for batch in batches:
            batch.validate()
        let_go(whole)
    except (pa.ArrowException, OSError) as error:
        raise DamagedShardError(f"{path}: expected an Arrow file, whole to its footer, found {error}") from error
    return [batch for batch in batches if batch.num_rows]


def _num_values(batch: pa.RecordBatch, place: str) -> int:
    """Return how many tokens a record batch has; its list columns must agree."""
    lists = [column for column in batch.columns if pa.types.is_large_list(column.type)]
    lengths = {len(column.values) for column in lists}
    if len(lengths) != 1 or any(column.offset or column.values.offset for column in lists):
        raise DamagedShardError(f"{place}: expected columns of one length, found {sorted(lengths)} values")
    return lengths.pop()


def _address(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.address)


def segments_of_arrays(
    offsets: Int64, columns: Mapping[str, npt.NDArray[Any]], kinds: npt.NDArray[np.uint8]
) -> Segments:
    """Return rows in memory as one segment; `columns` are flat, contiguous arrays of int32 or int64 (wide)."""
    return Segments(
        types={name: values.dtype.name for name, values in columns.items()},
        wide={name for name, values in columns.items() if values.dtype == np.int64},
        kind=None,
        places=["rows in memory"],
        owners=[offsets, dict(columns), kinds],
        num_rows=[len(kinds)],
        num_values=[int(offsets[-1])],
        offsets_at=[offsets.ctypes.data],
        kinds_at=[kinds.ctypes.data],
        values_at={name: [values.ctypes.data] for name, values in columns.items()},
    )


def record_id_of(segments: Segments, row: int) -> str:
    """Return the record id of a row; raise DamagedShardError when its bytes cannot be it."""
    number = segments.segment_of(row)
    local = row - int(segments.first_row[number])
    found = segments.owners[number].column(RECORD_ID).slice(local, 1)
    try:
        found.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DamagedShardError(f"{segments.places[number]}: the record id of row {row}: {error}") from error
    return str(found[0])
