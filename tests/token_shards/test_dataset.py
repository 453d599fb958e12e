"""Token datasets give back their rows, and refuse to open when they are damaged."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import DamagedShardError, SchemaError
from lisdata.shards.manifest import file_entry, read_manifest, write_manifest
from lisdata.token_shards import (
    TokenDataset,
    TokenSchema,
    TokenShardWriter,
    check_token_part,
    token_manifest,
    write_tokens,
)
from lisdata.vocabulary import RoleVocabulary

COLUMNS = ("input_ids", "role", "content", "document")
SCHEMA = TokenSchema.choose(70_000, columns=COLUMNS, num_roles=300, has_record_id=True)
NUM_ROWS, NUM_PARTS = 31, 3


def row_of(number: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(number)
    length = 0 if number % 7 == 3 else int(generator.integers(1, 20))
    return {
        "input_ids": generator.integers(0, 70_000, length),
        "role": generator.integers(0, 300, length),
        "content": generator.integers(-(2**63), 2**63, length),
        "document": np.arange(length) // 3,
    }


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of three parts, several record batches each, that tests only read."""
    directory = tmp_path_factory.mktemp("whole")
    commits = []
    for part in range(NUM_PARTS):
        with TokenShardWriter(directory, f"p{part}", SCHEMA, rows_per_batch=4) as writer:
            for number in range(part * NUM_ROWS // NUM_PARTS, (part + 1) * NUM_ROWS // NUM_PARTS):
                writer.append(row_of(number), kind=number % 6, record_id=f"r{number}")
            commits.append(writer.close())
    RoleVocabulary.of_labels(["a#b"]).write(directory / "roles.json")
    files = {"roles.json": file_entry(directory / "roles.json")}
    write_manifest(directory, token_manifest(directory, commits, {"files": files}))
    return directory


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    """A copy of `whole` for a test to damage."""
    for path in whole.rglob("*"):
        if path.is_file():
            target = tmp_path / path.relative_to(whole)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    return tmp_path


@settings(deadline=None, max_examples=30)
@given(
    rows=st.lists(st.integers(0, NUM_ROWS - 1), max_size=40),
    columns=st.permutations(COLUMNS),
    cut=st.integers(0, 4),
)
def test_any_rows_are_gathered_in_the_order_asked_for(
    whole: Path, rows: list[int], columns: list[str], cut: int
) -> None:
    batch = TokenDataset(whole).gather(np.array(rows, np.int64), columns[:cut])

    assert batch.row.tolist() == rows
    assert batch.kind.tolist() == [row % 6 for row in rows]
    assert list(batch.columns) == columns[:cut]
    for found, number in zip(batch, rows, strict=True):
        expected = row_of(number)
        assert all(found[name].tolist() == expected[name].tolist() for name in columns[:cut])
    assert batch.length.tolist() == [len(row_of(row)["input_ids"]) for row in rows]


def test_integers_are_widened_to_what_torch_takes(whole: Path) -> None:
    batch = TokenDataset(whole).gather([0])

    assert {name: values.dtype.name for name, values in batch.columns.items()} == {
        "input_ids": "int32",
        "role": "int32",
        "content": "int64",
        "document": "int32",
    }


def test_a_row_is_a_dict_with_its_kind_number_and_record_id(whole: Path) -> None:
    dataset = TokenDataset(whole)

    assert len(dataset) == NUM_ROWS
    assert dataset.num_tokens == sum(len(row_of(n)["input_ids"]) for n in range(NUM_ROWS))
    last = dataset[-1]
    assert (last["kind"], last["row"], last["record_id"]) == ((NUM_ROWS - 1) % 6, NUM_ROWS - 1, f"r{NUM_ROWS - 1}")
    assert [row["row"] for row in dataset] == list(range(NUM_ROWS))
    assert dataset.gather([4, 5])[-1]["row"] == 5
    with pytest.raises(IndexError):
        dataset.gather([4, 5])[2]


@pytest.mark.parametrize("rows", [[NUM_ROWS], [0, -1], [2**40]])
def test_a_row_that_does_not_exist_is_an_index_error(whole: Path, rows: list[int]) -> None:
    with pytest.raises(IndexError):
        TokenDataset(whole).gather(rows)
    with pytest.raises(IndexError):
        TokenDataset(whole)[NUM_ROWS]


def test_columns_are_chosen_when_opening_and_documents_stay(whole: Path) -> None:
    dataset = TokenDataset(whole, columns=("content",))

    assert dataset.columns == ("content", "document")
    assert dataset[0]["content"].tolist() == row_of(0)["content"].tolist()
    with pytest.raises(ValueError, match="no column 'role'"):
        dataset.gather([0], ["role"])
    with pytest.raises(ValueError, match="no column 'x'"):
        TokenDataset(whole, columns=("x",))


def test_roles_are_those_of_the_vocabulary_beside_the_shards(whole: Path, tmp_path: Path) -> None:
    write_tokens(tmp_path / "without", [[1]], vocab_size=2)

    assert TokenDataset(whole).roles == ("<none>", "a#b")
    assert TokenDataset(tmp_path / "without").roles == ()


def test_record_ids_that_are_not_stored_are_not_made_up(tmp_path: Path) -> None:
    write_tokens(tmp_path, [[1]], vocab_size=2)

    with pytest.raises(ValueError, match="no record ids"):
        TokenDataset(tmp_path).record_id(0)


def test_a_dataset_without_rows_opens(tmp_path: Path) -> None:
    write_tokens(tmp_path, [], vocab_size=2)

    dataset = TokenDataset(tmp_path, verify="full")

    assert (len(dataset), dataset.num_tokens, list(dataset)) == (0, 0, [])
    assert len(dataset.gather([])) == 0


def test_the_fingerprint_is_that_of_the_rows_and_their_order(tmp_path: Path) -> None:
    for name, rows in {"a": [[1], [2]], "b": [[1], [2]], "c": [[2], [1]]}.items():
        write_tokens(tmp_path / name, rows, vocab_size=3, body={"made": name})

    a, b, c = (TokenDataset(tmp_path / name).fingerprint for name in "abc")

    assert a == b
    assert a != c


def test_a_copy_for_a_worker_process_has_no_open_maps(whole: Path) -> None:
    dataset = TokenDataset(whole)

    other = copy.copy(dataset)

    assert "segments" in vars(dataset)
    assert "segments" not in vars(other)
    assert other[5]["row"] == 5


def test_no_file_stays_open(whole: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))

    dataset = TokenDataset(whole)

    assert len(os.listdir("/proc/self/fd")) == before
    assert dataset[0]["row"] == 0


def test_opening_imports_neither_torch_nor_numba(whole: Path) -> None:
    script = (
        "import sys, lisdata.token_shards as t; t.TokenDataset(sys.argv[1]); "
        "print([m for m in ('torch', 'numba', 'polars') if m in sys.modules])"
    )

    found = subprocess.run([sys.executable, "-c", script, str(whole)], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


CUTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "without its last byte": lambda data: data[:-1],
    "half": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"\0",
}


@pytest.mark.parametrize("part", range(NUM_PARTS))
@pytest.mark.parametrize("cut", CUTS)
def test_a_shard_of_another_size_is_refused_at_open_by_name(damaged: Path, part: int, cut: str) -> None:
    path = damaged / "tokens" / f"p{part}.arrow"
    path.write_bytes(CUTS[cut](path.read_bytes()))

    with pytest.raises(DamagedShardError, match=f"p{part}.arrow: expected [0-9]+ bytes, found [0-9]+"):
        TokenDataset(damaged)


@pytest.mark.parametrize("name", ["tokens/p1.arrow", "roles.json", "manifest.json"])
def test_a_missing_file_is_refused_at_open_by_name(damaged: Path, name: str) -> None:
    (damaged / name).unlink()

    with pytest.raises(DamagedShardError, match=name):
        TokenDataset(damaged)


def test_without_checks_a_cut_shard_is_refused_at_its_first_use(damaged: Path) -> None:
    path = damaged / "tokens" / "p1.arrow"
    path.write_bytes(path.read_bytes()[:-20])

    dataset = TokenDataset(damaged, verify="none")

    with pytest.raises(DamagedShardError, match=r"p1\.arrow: expected an Arrow file, whole to its footer"):
        dataset[0]


@pytest.mark.parametrize("verify", ["open", "full"])
def test_a_shard_with_other_rows_is_refused_at_open(damaged: Path, verify: str) -> None:
    body = read_manifest(damaged)
    body["parts"][1]["num_rows"] += 1
    body["num_rows"] += 1
    write_manifest(damaged, body)

    with pytest.raises(DamagedShardError, match=r"p1\.arrow: expected 11 rows, found 10"):
        TokenDataset(damaged, verify=verify)


def test_a_shard_of_another_schema_is_refused_at_open(damaged: Path) -> None:
    body = read_manifest(damaged)
    body["schema"]["columns"][1]["type"] = "int32"
    write_manifest(damaged, body)

    with pytest.raises(SchemaError, match=r"p0\.arrow: expected .*role"):
        TokenDataset(damaged)


def test_every_flipped_byte_is_found_by_a_full_check(damaged: Path) -> None:
    for name in ("tokens/p1.arrow", "roles.json", "manifest.json"):
        path = damaged / name
        data = path.read_bytes()
        for place in range(0, len(data), max(1, len(data) // 25)):
            path.write_bytes(data[:place] + bytes((data[place] ^ 0x10,)) + data[place + 1 :])
            with pytest.raises(DamagedShardError, match=name):
                TokenDataset(damaged, verify="full")
        path.write_bytes(data)

    assert len(TokenDataset(damaged, verify="full")) == NUM_ROWS


def change_offset(directory: Path, value: int) -> None:
    """Overwrite the first offset after 0 in part p1."""
    path = directory / "tokens" / "p1.arrow"
    lengths = [len(row_of(n)["input_ids"]) for n in range(10, 14)]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64).tobytes()
    data = path.read_bytes()
    assert offsets in data
    changed = offsets[:8] + np.int64(value).tobytes() + offsets[16:]
    path.write_bytes(data.replace(offsets, changed))


@pytest.mark.parametrize("value", [2**50, -1, -(2**50)])
def test_a_damaged_offset_is_reported_not_followed(damaged: Path, value: int) -> None:
    change_offset(damaged, value)
    dataset = TokenDataset(damaged)

    with pytest.raises(DamagedShardError, match=r"p1\.arrow: the offsets of row 10 leave their column"):
        dataset.gather([2, 10])


def test_a_damaged_record_id_is_reported(damaged: Path) -> None:
    path = damaged / "tokens" / "p0.arrow"
    data = path.read_bytes()
    assert b"r4r5r6r7" in data
    path.write_bytes(data.replace(b"r4r5r6r7", b"r4r5\xff6r7"))

    with pytest.raises(DamagedShardError, match=r"p0\.arrow: the record id of row 6: .*UTF8"):
        TokenDataset(damaged).record_id(6)


def test_rows_that_break_the_schema_are_found_part_by_part(damaged: Path) -> None:
    body = read_manifest(damaged)
    check_token_part(damaged, body, body["parts"][0])
    first, *others = body["schema"]["columns"]
    lower = body | {"schema": body["schema"] | {"columns": [first | {"maximum": 9}, *others]}}
    with pytest.raises(SchemaError, match="input_ids: expected 0 to 9, found"):
        check_token_part(damaged, lower, body["parts"][0])
    shorter = body | {"schema": body["schema"] | {"max_length": 3}}
    with pytest.raises(SchemaError, match="expected at most 3 tokens a row, found"):
        check_token_part(damaged, shorter, body["parts"][0])
    with pytest.raises(DamagedShardError, match="expected 1 tokens"):
        check_token_part(damaged, body, body["parts"][0] | {"num_tokens": 1})
    change_offset(damaged, -5)
    with pytest.raises(DamagedShardError, match=r"p1\.arrow"):
        check_token_part(damaged, body, body["parts"][1])


def write_by_hand(directory: Path, columns: dict[str, list[list[int]]], kinds: list[int]) -> None:
    """Write a dataset whose only part breaks the rules of the writer."""
    schema = TokenSchema.choose(9, columns=("input_ids", "target"))
    (directory / "tokens").mkdir()
    path = directory / "tokens" / "p.arrow"
    arrow = schema.to_arrow()
    arrays = [pa.array(columns[name], arrow.field(name).type) for name in columns]
    batch = pa.RecordBatch.from_arrays([*arrays, pa.array(kinds, pa.uint8())], schema=arrow)
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, arrow) as writer:
        writer.write_batch(batch)
    commit = {
        "part": "p",
        "schema": schema.to_json(),
        "num_rows": len(kinds),
        "num_tokens": sum(map(len, columns["input_ids"])),
        "files": {"tokens/p.arrow": file_entry(path)},
    }
    write_manifest(directory, token_manifest(directory, [commit], {}))


def test_columns_of_other_lengths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sum").mkdir()
    (tmp_path / "row").mkdir()
    write_by_hand(tmp_path / "sum", {"input_ids": [[1], [2]], "target": [[1], [1, 0]]}, [0, 0])
    write_by_hand(tmp_path / "row", {"input_ids": [[1], [2, 3]], "target": [[1, 1], [0]]}, [0, 0])

    with pytest.raises(DamagedShardError, match="columns of one length"):
        TokenDataset(tmp_path / "sum")
    with pytest.raises(SchemaError, match="column target: expected the lengths of input_ids"):
        TokenDataset(tmp_path / "row", verify="full")


def test_an_unknown_kind_is_found_by_a_full_check(tmp_path: Path) -> None:
    write_by_hand(tmp_path, {"input_ids": [[1]], "target": [[1]]}, [9])

    with pytest.raises(SchemaError, match="expected a kind up to 6, found 9"):
        TokenDataset(tmp_path, verify="full")


def test_another_kind_of_check_is_refused(whole: Path) -> None:
    with pytest.raises(ValueError, match="none, open or full"):
        TokenDataset(whole, verify="some")
