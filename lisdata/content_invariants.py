"""What must hold in a shard's contents and labels beyond the Arrow types, checked over whole tables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import SchemaError
from lisdata.schema import CONTENTS, LABELS, NO_LABELS, ContentKind, LabelKind, check_schema

UInt8 = npt.NDArray[np.uint8]

_SYMBOLS = {"datatype": LabelKind.DATATYPE, "language": LabelKind.LANGUAGE, "scope": LabelKind.SCOPE}


def first_false(good: npt.NDArray[np.bool_]) -> int:
    """Return the first index that is not good, or -1."""
    return -1 if good.all() else int(good.argmin())


def check_valid(data: pa.RecordBatch | pa.Table, what: str) -> None:
    """Raise SchemaError unless offsets lie inside their buffers and strings are UTF-8."""
    try:
        data.validate(full=True)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"{what}: expected a valid Arrow table, found {error}") from error


def check_nulls(batch: pa.RecordBatch, schema: pa.Schema, what: str) -> None:
    """Raise SchemaError at a null where the schema allows none: Arrow itself does not refuse them."""
    for field in schema:
        _refuse_nulls(batch.column(field.name), field, f"{what}: {field.name}")


def _refuse_nulls(array: pa.Array, field: pa.Field, where: str) -> None:
    if not field.nullable and array.null_count:
        row = pc.index(array.is_null(), True).as_py()
        raise SchemaError(f"{where}: expected no null, found one at {row}")
    if pa.types.is_large_list(field.type):
        _refuse_nulls(array.flatten(), field.type.value_field, f"{where} item")
    elif pa.types.is_struct(field.type):
        present = array.drop_null()
        for index, child in enumerate(field.type):
            _refuse_nulls(present.field(index), child, f"{where}.{child.name}")


def check_labels(labels: pa.Table, what: str) -> UInt8:
    """Return the kind of each label; raise SchemaError where a label comes twice or a role is not relation#side."""
    check_schema(labels.schema, LABELS, what)
    if labels.num_rows == 0:
        return np.empty(0, np.uint8)
    batch = labels.combine_chunks().to_batches()[0]
    check_valid(batch, what)
    check_nulls(batch, LABELS, what)
    kinds = np.asarray(batch.column("kind"))
    _check_kinds(kinds, len(LabelKind), what)
    label, relation, side = (batch.column(name) for name in ("label", "relation", "side"))
    is_role = kinds == LabelKind.ROLE
    for name, column in (("relation", relation), ("side", side)):
        if (row := first_false(np.asarray(column.is_valid()) == is_role)) >= 0:
            expected = f"a {name}" if is_role[row] else f"no {name}"
            raise SchemaError(f"{what}: row {row} ({label[row]}): expected {expected}, found {column[row]}")
    roles = pc.binary_join_element_wise(relation, side, pa.scalar("#", pa.large_string()))
    _require(pc.equal(roles, label).fill_null(True), label, "label", "relation#side", what)
    _require(pc.invert(pc.match_substring(side, "#")).fill_null(True), side, "side", "no '#'", what)
    counts = labels.group_by(["kind", "label"]).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts["count_all"], 1))
    if twice.num_rows:
        kind, name = LabelKind(twice["kind"][0].as_py()).name.lower(), twice["label"][0]
        raise SchemaError(f"{what}: expected each label once, found {kind} {name} {twice['count_all'][0]} times")
    return kinds


def check_contents(contents: pa.Table, labels: pa.Table, what: str) -> UInt8:
    """Return the kind of each content; raise SchemaError where a key is not the content's, or comes twice.

    `labels` has passed `check_labels`.
    """
    check_schema(contents.schema, CONTENTS, what)
    if contents.num_rows == 0:
        return np.empty(0, np.uint8)
    batch = contents.combine_chunks().to_batches()[0]
    check_valid(batch, what)
    check_nulls(batch, CONTENTS, what)
    kinds = np.asarray(batch.column("kind"))
    _check_kinds(kinds, len(ContentKind), what)
    label_kinds = np.asarray(labels["kind"])
    for name, kind in _SYMBOLS.items():
        absent = np.asarray(batch.column(name).is_null())
        codes = np.asarray(batch.column(name).fill_null(0))
        good = codes < len(label_kinds)
        good[good] = label_kinds[codes[good]] == kind
        if (row := first_false(good | absent)) >= 0:
            expected = f"a row of the {len(label_kinds)} labels, of kind {name}"
            raise SchemaError(f"{what}: row {row}: {name}: expected {expected}, found {codes[row]}")
    _check_keys(batch, labels, what)
    return kinds


def _check_keys(contents: pa.RecordBatch, labels: pa.Table, what: str) -> None:
    from lisdata.kernels.keys import keys_of_contents

    label_batches = labels.combine_chunks().to_batches() or [NO_LABELS]
    expected, found = keys_of_contents(contents, label_batches[0]), contents.column("key")
    if (row := first_false(np.asarray(pc.equal(expected, found)))) >= 0:
        wanted, is_there = expected[row].as_py().hex(), found[row].as_py().hex()
        raise SchemaError(f"{what}: row {row}: key: expected {wanted} for its fields, found {is_there}")
    counts = pc.value_counts(found)
    most = pc.max(counts.field("counts")).as_py()
    if most > 1:
        key = counts.field("values")[pc.index(counts.field("counts"), most).as_py()].as_py().hex()
        raise SchemaError(f"{what}: key: expected each content once, found {key} {most} times")


def _check_kinds(kinds: UInt8, num_kinds: int, what: str) -> None:
    if (row := first_false(kinds < num_kinds)) >= 0:
        raise SchemaError(f"{what}: row {row}: kind: expected a kind below {num_kinds}, found {kinds[row]}")


def _require(good: pa.Array, found: pa.Array, column: str, expected: str, what: str) -> None:
    row = pc.index(good, False).as_py()
    if row >= 0:
        raise SchemaError(f"{what}: row {row}: {column}: expected {expected}, found {found[row].as_py()!r}")
