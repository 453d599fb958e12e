"""Which columns of another format become columns of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lisdata.errors import SchemaError
from lisdata.token_formats.formats import ImportOptions
from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoice:
    """What is taken: `arrays` (name here -> name there), whether kinds and record ids are; and what is left out."""

    arrays: dict[str, str]
    has_kind: bool
    has_record_id: bool
    left_out: tuple[str, ...]

    @property
    def stored(self) -> list[str]:
        """The names there of all that is taken."""
        return [*self.arrays.values(), *_row_columns(self.has_kind, self.has_record_id)]

    def losses(self, num_rows: int) -> dict[str, int]:
        """Return the columns left out, with the rows that had them."""
        return {f"column {name}": num_rows for name in self.left_out} if num_rows else {}


def choose_columns(
    names: Sequence[str],
    integers: Sequence[str],
    options: ImportOptions,
    *,
    has_kind: bool,
    has_record_id: bool,
    origin: str,
    describe: Callable[[str], str],
) -> ColumnChoice:
    """Choose among `names`, of which `integers` are arrays of such: all of them, or those that `options` ask for.

    `describe` says what another column is, in the SchemaError for one that was asked for.
    """
    for name in (options.input_ids, *options.column):
        if name not in integers:
            found = f"{name!r}, {describe(name)}" if name in names else f"no {name!r}"
            raise SchemaError(f"{origin}: expected a column of arrays of integers, found {found}; there are {names}")
    others = [name for name in options.column or integers if name != options.input_ids]
    if INPUT_IDS in others:
        raise SchemaError(f"{origin}: expected one column of ids, found {INPUT_IDS!r} beside {options.input_ids!r}")
    taken = {options.input_ids, *others, *_row_columns(has_kind, has_record_id)}
    return ColumnChoice(
        arrays={INPUT_IDS: options.input_ids} | {name: name for name in others},
        has_kind=has_kind,
        has_record_id=has_record_id,
        left_out=tuple(name for name in names if name not in taken),
    )


def _row_columns(has_kind: bool, has_record_id: bool) -> list[str]:
    return [name for name, is_there in ((KIND, has_kind), (RECORD_ID, has_record_id)) if is_there]
