"""The columns of token shards: which there are, what they may hold, and the integer type that follows from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lisdata.errors import SchemaError
from lisdata.schema import UNTAGGED, StructureKind, list_of

INPUT_IDS, KIND, RECORD_ID = "input_ids", "kind", "record_id"
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
# The narrowest type that holds a range is the first of these that does.
_TYPES = ("uint8", "int8", "uint16", "int16", "int32", "uint32", "int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenColumn:
    """A column with one integer a token, all of them from `minimum` to `maximum`, stored as `type`."""

    name: str
    minimum: int
    maximum: int
    type: str

    def __post_init__(self) -> None:
        if self.type not in _TYPES:
            raise ValueError(f"column {self.name}: expected a type of {', '.join(_TYPES)}, got {self.type!r}")
        limits = np.iinfo(self.type)
        if not limits.min <= self.minimum <= self.maximum <= limits.max:
            raise ValueError(f"column {self.name}: {self.type} does not hold {self.minimum} to {self.maximum}")

    @classmethod
    def narrowest(cls, name: str, minimum: int, maximum: int) -> TokenColumn:
        """Return a column of the narrowest type that holds `minimum` to `maximum`."""
        for type_ in _TYPES:
            if np.iinfo(type_).min <= minimum and maximum <= np.iinfo(type_).max:
                return cls(name=name, minimum=minimum, maximum=maximum, type=type_)
        raise ValueError(f"column {name}: no integer type holds {minimum} to {maximum}")

    @property
    def is_wide(self) -> bool:
        """Whether values may need more than an int32."""
        return self.maximum > INT32_MAX or self.minimum < -INT32_MAX - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSchema:
    """What the rows of a token dataset hold: fixed before the first row, never inferred from rows.

    Each of `columns` is a list a row, all lists of a row equally long (at most `max_length`). `kind` is the one
    StructureKind of all rows; None stores one a row. `has_record_id` stores a string a row.
    """

    columns: tuple[TokenColumn, ...]
    max_length: int | None = None
    kind: int | None = None
    has_record_id: bool = False

    def __post_init__(self) -> None:
        names = self.names
        if INPUT_IDS not in names:
            raise ValueError(f"expected a column {INPUT_IDS}, got {', '.join(names) or 'none'}")
        if len({*names, KIND, RECORD_ID}) != len(names) + 2:
            raise ValueError(f"expected distinct columns other than {KIND} and {RECORD_ID}, got {', '.join(names)}")
        if self.max_length is not None and self.max_length < 0:
            raise ValueError(f"{self.max_length=} is negative")
        if self.kind is not None:
            StructureKind(self.kind)

    @classmethod
    def choose(
        cls,
        vocab_size: int,
        *,
        columns: Sequence[str] = (INPUT_IDS,),
        num_roles: int | None = None,
        max_length: int | None = None,
        limits: Mapping[str, tuple[int, int]] | None = None,
        kind: int | None = None,
        has_record_id: bool = False,
    ) -> TokenSchema:
        """Choose the narrowest types for ids below `vocab_size`, roles below `num_roles`, rows up to `max_length`.

        `limits` (column -> smallest, largest value) goes before the usual limits of a column, and is needed for a
        column that DESIGN does not name.
        """
        if vocab_size < 1:
            raise ValueError(f"expected a vocabulary of at least 1 token, got {vocab_size=}")
        usual = _usual_limits(vocab_size, num_roles, max_length)
        ranges = {**usual, **(limits or {})}
        unknown = [name for name in columns if name not in ranges]
        if unknown:
            hint = "num_roles" if unknown == ["role"] else f"limits, or a column of {', '.join(usual)}"
            raise ValueError(f"column {unknown[0]!r}: give its {hint}")
        chosen = tuple(TokenColumn.narrowest(name, *ranges[name]) for name in columns)
        return cls(columns=chosen, max_length=max_length, kind=kind, has_record_id=has_record_id)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the list columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> TokenColumn:
        """Return the column called `name`; raise ValueError when there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise ValueError(f"no column {name!r}: expected one of {', '.join(self.names)}")

    def to_arrow(self) -> pa.Schema:
        """Return the schema of the Arrow files: large lists of the columns' types, nothing nullable."""
        fields = [pa.field(c.name, list_of(pa.type_for_alias(c.type)), nullable=False) for c in self.columns]
        if self.kind is None:
            fields.append(pa.field(KIND, pa.uint8(), nullable=False))
        if self.has_record_id:
            fields.append(pa.field(RECORD_ID, pa.large_string(), nullable=False))
        return pa.schema(fields)

    def to_json(self) -> dict[str, Any]:
        """Return what the manifest keeps."""
        columns = [{"name": c.name, "minimum": c.minimum, "maximum": c.maximum, "type": c.type} for c in self.columns]
        return {
            "columns": columns,
            "max_length": self.max_length,
            "kind": self.kind,
            "has_record_id": self.has_record_id,
        }

    @classmethod
    def from_json(cls, data: Any, what: str) -> TokenSchema:
        """Undo `to_json`; `what` names the file in errors."""
        try:
            columns = tuple(TokenColumn(**column) for column in data["columns"])
            return cls(**{**data, "columns": columns})
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaError(f"{what}: expected the schema of a token dataset, found {error}") from error


def _usual_limits(vocab_size: int, num_roles: int | None, max_length: int | None) -> dict[str, tuple[int, int]]:
    """Return column -> (smallest, largest value); -1 in `instance` and `occurrence` stands for none."""
    last = INT32_MAX if max_length is None else max(max_length - 1, 0)
    limits = {
        INPUT_IDS: (0, vocab_size - 1),
        "instance": (-1, last),
        "position": (0, last),
        "terminal": (UNTAGGED, 127),
        "nonterminal": (UNTAGGED, 127),
        "target": (0, 1),
        "occurrence": (-1, last),
        "content": (-INT64_MAX - 1, INT64_MAX),
        "document": (0, last),
        "token_kind": (0, max(StructureKind)),
    }
    return limits if num_roles is None else limits | {"role": (0, num_roles - 1)}
