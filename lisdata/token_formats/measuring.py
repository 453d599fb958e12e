"""The schema of rows that come from elsewhere: as their export noted it, or as all of their values show."""

from __future__ import annotations

import numpy as np

from lisdata.errors import SchemaError
from lisdata.schema import StructureKind
from lisdata.token_formats.row_blocks import ForeignRows
from lisdata.token_shards import TokenColumn, TokenSchema
from lisdata.token_shards.checks import integers
from lisdata.token_shards.schema import INPUT_IDS


def choose_schema(rows: ForeignRows, noted: TokenSchema | None, vocab_size: int | None) -> TokenSchema:
    """Return the schema to store `rows` by; their values are looked through where `noted` does not tell them all."""
    names = rows.columns
    known: dict[str, TokenColumn] = {}
    max_length = kind = None
    if noted is not None:
        known = {column.name: column for column in noted.columns if column.name in names}
        names = (*known, *(name for name in names if name not in known))
        max_length, kind = noted.max_length, noted.kind
    if vocab_size is not None:
        known[INPUT_IDS] = TokenColumn.narrowest(INPUT_IDS, 0, vocab_size - 1)
    missing = [name for name in names if name not in known]
    if missing:
        known |= _measure(rows, missing)
    return TokenSchema(
        columns=tuple(known[name] for name in names),
        max_length=max_length,
        kind=None if rows.has_kind else int(StructureKind.TEXT) if kind is None else kind,
        has_record_id=rows.has_record_id,
    )


def _measure(rows: ForeignRows, names: list[str]) -> dict[str, TokenColumn]:
    """Return the narrowest columns that hold all values; ids from 0 on."""
    lowest, highest = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for block in rows.iter_blocks():
        for name in names:
            values = integers(name, block.columns[name])
            if len(values):
                lowest[name] = min(lowest[name], int(np.min(values)))
                highest[name] = max(highest[name], int(np.max(values)))
    if lowest.get(INPUT_IDS, 0) < 0:
        raise SchemaError(f"{rows.origin}: expected token ids from 0 on, found {lowest[INPUT_IDS]}")
    return {name: TokenColumn.narrowest(name, lowest[name], highest[name]) for name in names}
