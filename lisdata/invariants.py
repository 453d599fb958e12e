"""What must hold in every structure beyond the Arrow types: checked over whole tables, no Python object a value.

An error names the record, the column, what was expected and what was found.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.content_invariants import check_contents, check_labels, check_nulls, check_valid, first_false
from lisdata.errors import SchemaError
from lisdata.schema import STRUCTURES, UNTAGGED, ContentKind, LabelKind, StructureKind, check_schema
from lisdata.structure import Structure
from lisdata.tensors import check_tensor

Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

TERMINAL_TAGS = (UNTAGGED, 0, 1)
NONTERMINAL_TAGS = (UNTAGGED, 0, 1, 2, 3, 4)
_GRID_LISTS = ("tau", "incidence", "sigma", "position")  # implied by a tensor: null beside one, and only there
_PARALLEL = {
    "span": "tau",
    "terminal": "tau",
    "nonterminal": "tau",
    "head": "tau",
    "deprel": "tau",
    "instance_handle": "instance_label",
    "instance_ordinal": "instance_label",
    "sigma": "incidence",
    "position": "incidence",
}
_CODES = {"instance_label": LabelKind.INSTANCE, "sigma": LabelKind.ROLE, "deprel": LabelKind.DEPREL}


def check_structure(structure: Structure) -> None:
    """Raise SchemaError, naming the record and the column, unless `structure` may stand in a shard."""
    try:
        batch = Structure.to_arrow([structure])
    except UnicodeEncodeError as error:
        raise SchemaError(f"{structure.record_id}: expected labels of UTF-8 text, found {error}") from error
    except (pa.ArrowInvalid, OverflowError) as error:  # a number does not fit its column
        raise SchemaError(f"{structure.record_id}: expected numbers of the schema's types, found {error}") from error
    rows, contents, labels = (pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels))
    check_structures(rows, contents, labels, "structure")


def check_structures(table: pa.Table, contents: pa.Table, labels: pa.Table, what: str) -> None:
    """Raise SchemaError at the first row of a shard that breaks an invariant; `what` opens the message.

    The tables have the schemas STRUCTURES, CONTENTS and LABELS; numbers in `table` are rows of the other two.
    """
    check_schema(table.schema, STRUCTURES, what)
    label_kinds = check_labels(labels, f"{what} labels")
    content_kinds = check_contents(contents, labels, f"{what} contents")
    for batch in table.to_batches():
        if batch.num_rows:
            check_valid(batch, what)
            check_nulls(batch, STRUCTURES, what)
            rows = _Rows(batch, what)
            _check_scalars(rows)
            _check_tensors(rows)
            _check_lengths(rows)
            _check_codes(rows, label_kinds)
            _check_content_numbers(rows, content_kinds)
            _check_incidences(rows)
            _check_spans(rows)
            _check_tags(rows)
            _check_heads(rows)
    _check_unique(table, what)


class _Rows:
    """A batch of rows under check: the flat values of its list columns, and the row that each value belongs to."""

    def __init__(self, batch: pa.RecordBatch, what: str) -> None:
        self.batch, self.what = batch, what

    def column(self, name: str) -> pa.Array:
        return self.batch.column(name)

    def is_null(self, name: str) -> Bools:
        return np.asarray(self.column(name).is_null())

    def lengths(self, name: str) -> Int64:
        """Return the length of each row's list, 0 where it is null."""
        return np.asarray(pc.list_value_length(self.column(name)).fill_null(0))

    def is_present(self, name: str) -> Bools:
        """Return which flat values of a list column are not null."""
        return np.asarray(self.column(name).flatten().is_valid())

    def numbers(self, name: str, field: str | None = None) -> Int64:
        """Return a list column's flat values (or a field of its structs) as int64, nulls as 0.

        Unsigned values from 2^63 become negative, which every check refuses.
        """
        values = self.column(name).flatten()
        if field is not None:
            values = pc.struct_field(values, field)
        return np.asarray(values.fill_null(0)).astype(np.int64)

    def row_of(self, name: str) -> Int64:
        """Return the row of each flat value of a list column."""
        return np.repeat(np.arange(self.batch.num_rows), self.lengths(name))

    def record_id(self, row: int) -> str:
        return str(self.column("record_id")[row])

    def fail(self, row: int, name: str, expected: str, found: object) -> NoReturn:
        raise SchemaError(f"{self.what}: {self.record_id(row)}: {name}: expected {expected}, found {found}")


def _check_scalars(rows: _Rows) -> None:
    kinds = np.asarray(rows.column("kind"))
    if (i := first_false(kinds < len(StructureKind))) >= 0:
        rows.fail(i, "kind", f"a kind below {len(StructureKind)}", kinds[i])
    begin, end = (np.asarray(pc.struct_field(rows.column("source"), name)) for name in ("begin", "end"))
    if (i := first_false(begin <= end)) >= 0:
        rows.fail(i, "source", "begin <= end", f"[{begin[i]}, {end[i]})")
    if (i := first_false(np.asarray(pc.binary_length(rows.column("record_id"))) > 0)) >= 0:
        rows.fail(i, "record_id", "a name", f"an empty one in row {i}")


def _check_tensors(rows: _Rows) -> None:
    """A tensor stands for exactly what is not listed, in one instance, and has the bytes of its shape and dtype."""
    is_grid = ~rows.is_null("tensor")
    for name in _GRID_LISTS:
        if (i := first_false(rows.is_null(name) == is_grid)) >= 0:
            wanted = ("no list beside a tensor", "one") if is_grid[i] else ("a list or a tensor", "neither")
            rows.fail(i, name, *wanted)
    if (i := first_false(rows.is_null("shape") != is_grid)) >= 0:
        rows.fail(i, "shape", "a shape and a tensor, or neither", "one of them")
    if not is_grid.any():
        return
    kinds, num_instances = np.asarray(rows.column("kind")), rows.lengths("instance_label")
    if (i := first_false(~is_grid | np.isin(kinds, (StructureKind.GRID, StructureKind.MIXED)))) >= 0:
        rows.fail(i, "kind", "grid or mixed beside a tensor", StructureKind(kinds[i]).label)
    if (i := first_false(~is_grid | (num_instances == 1))) >= 0:
        rows.fail(i, "instance_label", "one instance beside a tensor", num_instances[i])
    dtypes, data = (pc.struct_field(rows.column("tensor"), name) for name in ("dtype", "bytes"))
    sizes = pc.binary_length(data)
    for row in np.flatnonzero(is_grid).tolist():
        try:
            check_tensor(dtypes[row].as_py(), rows.column("shape")[row].as_py(), sizes[row].as_py())
        except ValueError as error:
            raise SchemaError(f"{rows.what}: {rows.record_id(row)}: tensor: {error}") from error


def _check_lengths(rows: _Rows) -> None:
    for name, leader in _PARALLEL.items():
        found, wanted = rows.lengths(name), rows.lengths(leader)
        if (i := first_false((found == wanted) | rows.is_null(name))) >= 0:
            rows.fail(i, name, f"{wanted[i]} values, as {leader} has", found[i])


def _check_codes(rows: _Rows, label_kinds: UInt8) -> None:
    """Codes are rows of the label list, of the kind that their column holds."""
    for name, kind in _CODES.items():
        codes, absent = rows.numbers(name), ~rows.is_present(name)
        good = (codes >= 0) & (codes < len(label_kinds))
        good[good] = label_kinds[codes[good]] == kind
        if (i := first_false(good | absent)) >= 0:
            expected = f"a row of the {len(label_kinds)} labels, of kind {kind.name.lower()}"
            rows.fail(rows.row_of(name)[i], name, expected, codes[i])


def _check_content_numbers(rows: _Rows, content_kinds: UInt8) -> None:
    shown = rows.numbers("tau")
    if (i := first_false(shown < len(content_kinds))) >= 0:
        rows.fail(rows.row_of("tau")[i], "tau", f"a row of the {len(content_kinds)} contents", shown[i])
    handles, absent = rows.numbers("instance_handle"), ~rows.is_present("instance_handle")
    good = handles < len(content_kinds)
    good[good] = content_kinds[handles[good]] == ContentKind.INSTANCE
    if (i := first_false(good | absent)) >= 0:
        expected = f"a row of the {len(content_kinds)} contents, of kind instance"
        rows.fail(rows.row_of("instance_handle")[i], "instance_handle", expected, handles[i])


def _check_incidences(rows: _Rows) -> None:
    row_of = rows.row_of("incidence")
    for field, leader in (("occurrence", "tau"), ("instance", "instance_label")):
        numbers, limits = rows.numbers("incidence", field), rows.lengths(leader)[row_of]
        if (i := first_false(numbers < limits)) >= 0:
            rows.fail(row_of[i], "incidence", f"an {field} below {limits[i]}", numbers[i])
    positions = rows.numbers("position")
    if (i := first_false(positions >= 0)) >= 0:
        rows.fail(rows.row_of("position")[i], "position", "0 or more", positions[i])


def _check_spans(rows: _Rows) -> None:
    if rows.is_null("span").all():
        return
    row_of, present = rows.row_of("span"), rows.is_present("span")
    begin, end = rows.numbers("span", "begin"), rows.numbers("span", "end")
    sizes = np.asarray(pc.binary_length(rows.column("document")).fill_null(-1))[row_of]
    if (i := first_false(~present | ((begin >= 0) & (begin <= end) & (end <= sizes)))) >= 0:
        expected = "none without a document" if sizes[i] < 0 else f"begin <= end <= {sizes[i]}, the document's bytes"
        rows.fail(row_of[i], "span", expected, f"[{begin[i]}, {end[i]})")


def _check_tags(rows: _Rows) -> None:
    for name, allowed in (("terminal", TERMINAL_TAGS), ("nonterminal", NONTERMINAL_TAGS)):
        tags = rows.numbers(name)
        if (i := first_false(np.isin(tags, allowed))) >= 0:
            rows.fail(rows.row_of(name)[i], name, f"one of {', '.join(map(str, allowed))}", tags[i])


def _check_heads(rows: _Rows) -> None:
    """A head is 0 or a word of the sentence: an instance of the occurrence that holds at least so many words."""
    if rows.is_null("head").all():
        return
    listed = np.repeat(~rows.is_null("head"), rows.lengths("tau"))
    heads, is_word = np.zeros(len(listed), np.int64), np.zeros(len(listed), bool)
    heads[listed], is_word[listed] = rows.numbers("head"), rows.is_present("head")
    sentence_words = _words_beside(rows, is_word)
    if (i := first_false(~is_word | ((heads >= 0) & (heads <= sentence_words)))) >= 0:
        expected = f"0 to {sentence_words[i]}, the words of its sentence"
        rows.fail(rows.row_of("tau")[i], "head", expected, heads[i])


def _words_beside(rows: _Rows, is_word: Bools) -> Int64:
    """Return, for each occurrence, the words in that of its instances which holds most (itself counted, once)."""
    in_row, num_occurrences = rows.row_of("incidence"), len(is_word)
    occurrence, instance = (
        rows.numbers("incidence", field) + (np.cumsum(rows.lengths(leader)) - rows.lengths(leader))[in_row]
        for field, leader in (("occurrence", "tau"), ("instance", "instance_label"))
    )
    members = np.unique((instance * num_occurrences + occurrence)[is_word[occurrence]])
    instance, occurrence = np.divmod(members, max(num_occurrences, 1))
    words = np.zeros(num_occurrences, np.int64)
    np.maximum.at(words, occurrence, np.bincount(instance)[instance])
    return words


def _check_unique(table: pa.Table, what: str) -> None:
    counts = pc.value_counts(table["record_id"])
    if len(counts) < table.num_rows:
        most = pc.max(counts.field("counts"))
        name = counts.field("values")[pc.index(counts.field("counts"), most).as_py()]
        raise SchemaError(f"{what}: {name}: record_id: expected each one once, found it {most} times")
