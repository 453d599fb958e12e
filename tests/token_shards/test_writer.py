"""Rows go into token shards whole, checked, and the same however they are handed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.errors import DamagedShardError, PlanError, SchemaError
from lisdata.schema import StructureKind
from lisdata.shards.manifest import read_manifest, write_manifest
from lisdata.token_shards import TokenDataset, TokenSchema, TokenShardWriter, token_manifest, write_tokens

SCHEMA = TokenSchema.choose(
    1000, columns=("input_ids", "role", "terminal"), num_roles=7, max_length=100, has_record_id=True
)
Rows = list[dict[str, Any]]


def some_rows(lengths: list[int]) -> Rows:
    generator = np.random.default_rng(len(lengths))
    return [
        {
            "input_ids": generator.integers(0, 1000, length),
            "role": generator.integers(0, 7, length),
            "terminal": generator.integers(-100, 3, length),
        }
        for length in lengths
    ]


def flat(rows: Rows) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    offsets = np.concatenate(([0], np.cumsum([len(row["input_ids"]) for row in rows]))).astype(np.int64)
    columns = {name: np.concatenate([np.zeros(0, np.int64), *(row[name] for row in rows)]) for name in SCHEMA.names}
    return offsets, columns


def write_in_chunks(directory: Path, rows: Rows, chunks: list[tuple[int, bool]]) -> bytes:
    """Write rows in chunks of (size, as flat arrays or one by one); return the bytes of the part."""
    with TokenShardWriter(directory, "p", SCHEMA, rows_per_batch=5, tokens_per_batch=90) as writer:
        begin = 0
        for size, is_batch in [*chunks, (len(rows), True)]:
            some, first = rows[begin : begin + size], begin
            begin += size
            ids = [f"r{first + n}" for n in range(len(some))]
            kinds = (first + np.arange(len(some))) % 7
            if is_batch:
                writer.append_batch(*flat(some), kind=kinds, record_ids=ids)
            else:
                for row, kind, record_id in zip(some, kinds, ids, strict=True):
                    writer.append(row, kind=int(kind), record_id=record_id)
        writer.close()
    return (directory / "tokens" / "p.arrow").read_bytes()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.integers(0, 60), max_size=30),
    chunks=st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=6),
)
def test_the_bytes_do_not_depend_on_how_the_rows_are_handed_over(
    tmp_path: Path, lengths: list[int], chunks: list[tuple[int, bool]]
) -> None:
    rows = some_rows(lengths)

    assert write_in_chunks(tmp_path, rows, chunks) == write_in_chunks(tmp_path, rows, [])


def test_rows_come_back_with_their_kinds_and_record_ids(tmp_path: Path) -> None:
    rows = some_rows([3, 0, 5])
    with TokenShardWriter(tmp_path, "a", SCHEMA) as writer:
        writer.append_batch(
            *flat(rows), kind=np.array([0, 3, 6], np.uint8), record_ids=pa.array(["x", "", "é"], pa.string())
        )
        commit = writer.close()
    write_manifest(tmp_path, token_manifest(tmp_path, [commit], {"view": "sequence"}))

    found = list(TokenDataset(tmp_path))

    assert [row["record_id"] for row in found] == ["x", "", "é"]
    assert [row["kind"] for row in found] == [0, 3, 6]
    for row, expected in zip(found, rows, strict=True):
        assert all(row[name].tolist() == expected[name].tolist() for name in expected)
    assert read_manifest(tmp_path)["view"] == "sequence"


def test_a_row_longer_than_the_stage_is_written_at_once(tmp_path: Path) -> None:
    long = np.arange(200_000) % 50_000

    write_tokens(tmp_path, [np.array([7]), long, np.array([8])], vocab_size=50_000)

    dataset = TokenDataset(tmp_path)
    assert [len(row["input_ids"]) for row in dataset] == [1, 200_000, 1]
    assert (dataset[1]["input_ids"] == long).all()


def test_the_caller_may_reuse_its_arrays(tmp_path: Path) -> None:
    row = np.zeros(3, np.int64)

    def rows() -> Any:
        for value in range(4):
            row[:] = value
            yield row

    write_tokens(tmp_path, rows(), vocab_size=4)

    assert [found["input_ids"].tolist() for found in TokenDataset(tmp_path)] == [[v] * 3 for v in range(4)]


def test_lists_and_unsigned_arrays_are_taken_as_well(tmp_path: Path) -> None:
    write_tokens(tmp_path, [[1, 2], [], np.array([3], np.uint64), {"input_ids": [True]}], vocab_size=9)

    assert [found["input_ids"].tolist() for found in TokenDataset(tmp_path)] == [[1, 2], [], [3], [1]]


@pytest.mark.parametrize(
    ("column", "value", "limit"),
    [
        ("input_ids", 1000, "0 to 999"),
        ("input_ids", -1, "0 to 999"),
        ("role", 7, "0 to 6"),
        ("terminal", -101, "-100 to 127"),
    ],
)
@pytest.mark.parametrize("chunks", [[(3, False)], [(3, True)]])
def test_a_value_outside_its_limits_is_refused_with_record_column_value_and_limit(
    tmp_path: Path, column: str, value: int, limit: str, chunks: list[tuple[int, bool]]
) -> None:
    rows = some_rows([4, 3, 5])
    rows[1][column][2] = value

    with pytest.raises(SchemaError) as caught:
        write_in_chunks(tmp_path, rows, chunks)

    message = str(caught.value)
    assert all(part in message for part in ("record 'r1'", "row 1", f"column {column}", limit, f"found {value}"))


def test_an_id_beyond_the_type_is_refused_not_wrapped(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"row 0: column input_ids: expected 0 to 255 .stored as uint8., found 256"):
        write_tokens(tmp_path / "a", [np.array([256])], vocab_size=256)
    with pytest.raises(SchemaError, match="column input_ids: expected values up to"):
        write_tokens(tmp_path / "b", [np.array([2**63], np.uint64)], vocab_size=256)


@pytest.mark.parametrize(
    "row",
    [
        {"input_ids": [1, 2], "role": [1], "terminal": [0, 0]},
        {"input_ids": [1], "role": [1]},
        {"input_ids": [1], "role": [1], "other": [0]},
        {"input_ids": [1.5], "role": [1], "terminal": [0]},
        {"input_ids": [[1]], "role": [[1]], "terminal": [[0]]},
        {"input_ids": [1], "role": ["x"], "terminal": [0]},
    ],
)
def test_a_row_of_another_form_is_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    with TokenShardWriter(tmp_path, "p", SCHEMA) as writer, pytest.raises(SchemaError):
        writer.append(row, kind=0, record_id="x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [1, 2]}, "offsets that begin at 0"),
        ({"offsets": [0, 2, 1]}, "never decrease"),
        ({"offsets": [0, 3]}, "expected 3 values, found 2"),
        ({"kind": [0, 0]}, "expected 1 kinds, found 2"),
        ({"kind": [7]}, "expected a kind up to 6, found 7"),
        ({"record_ids": []}, "expected 1 record ids, found 0"),
        ({"record_ids": pa.array([None], pa.string())}, "found 1 nulls"),
        ({"columns": {"input_ids": np.zeros(2, int)}}, "expected the columns"),
    ],
)
def test_flat_rows_of_another_form_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    columns = {name: np.zeros(2, np.int64) for name in SCHEMA.names}
    given_ = {"offsets": [0, 2], "columns": columns, "kind": [0], "record_ids": ["x"]} | change
    kinds = np.array(given_["kind"])

    with TokenShardWriter(tmp_path, "p", SCHEMA) as writer, pytest.raises(SchemaError, match=message):
        writer.append_batch(np.array(given_["offsets"]), given_["columns"], kind=kinds, record_ids=given_["record_ids"])


def test_a_row_longer_than_the_limit_is_refused(tmp_path: Path) -> None:
    rows = some_rows([100, 101])

    with (
        TokenShardWriter(tmp_path, "p", SCHEMA) as writer,
        pytest.raises(SchemaError, match=r"'b'.*at most 100 tokens, found 101"),
    ):
        writer.append_batch(*flat(rows), kind=np.zeros(2, np.uint8), record_ids=["a", "b"])


def test_kinds_and_ids_are_given_where_the_schema_stores_them_and_only_there(tmp_path: Path) -> None:
    plain = TokenSchema.choose(9, kind=StructureKind.TEXT)

    with TokenShardWriter(tmp_path, "p", SCHEMA) as writer:
        with pytest.raises(ValueError, match="a kind"):
            writer.append({}, record_id="x")
        with pytest.raises(ValueError, match="a record id"):
            writer.append({}, kind=0)
    with TokenShardWriter(tmp_path, "q", plain) as writer:
        with pytest.raises(ValueError, match="no kind"):
            writer.append({"input_ids": [1]}, kind=0)
        with pytest.raises(ValueError, match="no record id"):
            writer.append({"input_ids": [1]}, record_id="x")


def test_a_writer_that_is_not_closed_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SchemaError), TokenShardWriter(tmp_path, "p", SCHEMA) as writer:
        writer.append({"input_ids": [1]}, kind=0, record_id="x")

    assert list((tmp_path / "tokens").iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        writer.append({"input_ids": [1]}, kind=0, record_id="x")


def test_wrong_arguments_of_the_writer_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1 a batch"):
        TokenShardWriter(tmp_path, "p", SCHEMA, rows_per_batch=0)
    with pytest.raises(ValueError, match="without folders"):
        TokenShardWriter(tmp_path, "../p", SCHEMA)


def test_the_manifest_puts_parts_in_the_order_of_their_names(tmp_path: Path) -> None:
    schema = TokenSchema.choose(9, kind=0)
    commits = []
    for part, token in (("p2", 2), ("p1", 1)):
        with TokenShardWriter(tmp_path, part, schema) as writer:
            writer.append({"input_ids": [token]})
            commits.append(writer.close())

    write_manifest(tmp_path, token_manifest(tmp_path, commits, {}))

    assert [row["input_ids"].tolist() for row in TokenDataset(tmp_path, verify="full")] == [[1], [2]]


def test_parts_that_do_not_belong_together_make_no_manifest(tmp_path: Path) -> None:
    commits = []
    for part, vocab_size in (("a", 9), ("b", 10)):
        with TokenShardWriter(tmp_path, part, TokenSchema.choose(vocab_size, kind=0)) as writer:
            commits.append(writer.close())

    with pytest.raises(SchemaError, match="part b"):
        token_manifest(tmp_path, commits, {})
    with pytest.raises(ValueError, match="at least one part"):
        token_manifest(tmp_path, [], {})
    (tmp_path / "tokens" / "a.arrow").unlink()
    with pytest.raises(DamagedShardError, match=r"a\.arrow"):
        token_manifest(tmp_path, commits[:1], {})


def test_rows_in_memory_are_cut_into_parts(tmp_path: Path) -> None:
    rows = ([number] * 4 for number in range(10))

    body = write_tokens(tmp_path, rows, vocab_size=10, tokens_per_part=12, body={"made": "here"})

    assert [part["num_rows"] for part in body["parts"]] == [3, 3, 3, 1]
    assert read_manifest(tmp_path)["made"] == "here"
    assert [row["input_ids"][0] for row in TokenDataset(tmp_path)] == list(range(10))


def test_rows_in_memory_are_never_written_over_a_dataset(tmp_path: Path) -> None:
    write_tokens(tmp_path, [[1]], vocab_size=2)

    with pytest.raises(PlanError, match="expected a new folder"):
        write_tokens(tmp_path, [[1]], vocab_size=2)
    with pytest.raises(ValueError, match="either"):
        write_tokens(tmp_path / "new", [[1]])
