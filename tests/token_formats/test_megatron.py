"""Megatron's indexed datasets are read and written as Megatron-Core does."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from drawn_tokens import rows_of, small_dataset

import lisdata
from lisdata.errors import DamagedShardError, SchemaError
from lisdata.token_formats import export_tokens, import_tokens
from lisdata.token_shards import TokenColumn, TokenDataset, TokenSchema

GOLDEN = Path(__file__).parents[1] / "golden" / "token_formats"
ROWS = json.loads((GOLDEN / "rows.json").read_text())["input_ids"]


@pytest.mark.parametrize("source", ["", "corpus", "corpus.idx", "corpus.bin"])
def test_a_dataset_of_megatron_core_is_read_by_any_of_its_names(source: str, tmp_path: Path) -> None:
    manifest = import_tokens("megatron", GOLDEN / "megatron" / source, tmp_path / "after")

    assert [row["input_ids"].tolist() for row in TokenDataset(tmp_path / "after")] == ROWS
    assert manifest["report"] == {"left out documents of other than one sequence": 2}


def test_the_sequences_of_a_document_can_be_one_row(tmp_path: Path) -> None:
    manifest = import_tokens("megatron", GOLDEN / "megatron", tmp_path / "after", rows="document")

    first, second, *rest = ROWS
    joined = [first + second, rest[0], [*rest[1], *rest[2], *rest[3]]]
    assert [row["input_ids"].tolist() for row in TokenDataset(tmp_path / "after")] == joined
    assert manifest["report"] == {}


def test_our_files_are_those_that_megatron_core_would_write(tmp_path: Path) -> None:
    import_tokens("megatron", GOLDEN / "megatron", tmp_path / "rows", rows="sequence")

    export_tokens(TokenDataset(tmp_path / "rows"), tmp_path / "there", "megatron")

    theirs = GOLDEN / "megatron"
    assert (tmp_path / "there" / "tokens.bin").read_bytes() == (theirs / "corpus.bin").read_bytes()
    index, expected = (tmp_path / "there" / "tokens.idx").read_bytes(), (theirs / "corpus.idx").read_bytes()
    num_documents = slice(26, 34)  # there: each row a document; in theirs, three of six
    same = slice(34, 34 + 12 * len(ROWS))
    assert index[:26] == expected[:26]
    assert index[same] == expected[same]
    assert struct.unpack("<Q", index[num_documents])[0] == len(ROWS) + 1


def test_megatron_core_reads_our_files(tmp_path: Path) -> None:
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset", reason="needs megatron-core")
    dataset = small_dataset(tmp_path / "before")
    export_tokens(dataset, tmp_path / "there", "megatron")

    found = indexed.IndexedDataset(str(tmp_path / "there" / "tokens"))

    assert [found[number].tolist() for number in range(len(found))] == [
        row["input_ids"] for row in rows_of(dataset, ("input_ids",))
    ]
    assert found.document_indices.tolist() == list(range(len(dataset) + 1))


@pytest.mark.parametrize(("maximum", "code", "size"), [(255, 1, 1), (256, 8, 2), (65_536, 4, 4), (2**31, 5, 8)])
def test_ids_take_the_narrowest_type_that_megatron_has(maximum: int, code: int, size: int, tmp_path: Path) -> None:
    schema = TokenSchema(columns=(TokenColumn.narrowest("input_ids", 0, maximum),), kind=0)
    lisdata.write_tokens(tmp_path / "before", [[maximum, 0]], schema=schema)

    export_tokens(TokenDataset(tmp_path / "before"), tmp_path / "there", "megatron")

    assert (tmp_path / "there" / "tokens.idx").read_bytes()[17] == code
    assert (tmp_path / "there" / "tokens.bin").stat().st_size == 2 * size


def _patch(place: int, data: bytes) -> Callable[[bytes], bytes]:
    return lambda index: index[:place] + data + index[place + len(data) :]


BROKEN = {
    "magic": (_patch(0, b"X"), DamagedShardError, "begins with"),
    "version": (_patch(9, struct.pack("<Q", 2)), SchemaError, "version=2"),
    "floats": (_patch(17, b"\x06"), SchemaError, "code=6"),
    "cut": (lambda index: index[:-3], DamagedShardError, "expected 138 bytes"),
    "no header": (lambda index: index[:9], DamagedShardError, "begins with"),
    "huge count": (_patch(18, struct.pack("<Q", 2**60)), DamagedShardError, "sequences"),
    "lengths": (_patch(34, struct.pack("<i", 4)), DamagedShardError, "follow one another"),
    "negative length": (_patch(34, struct.pack("<i", -4)), DamagedShardError, "follow one another"),
    "pointers": (_patch(58, struct.pack("<q", 8)), DamagedShardError, "follow one another"),
    "documents": (_patch(106, struct.pack("<q", 1)), DamagedShardError, "rise from 0 to 6"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_index_that_does_not_fit_is_refused(name: str, tmp_path: Path) -> None:
    change, error, message = BROKEN[name]
    (tmp_path / "a.bin").write_bytes((GOLDEN / "megatron" / "corpus.bin").read_bytes())
    (tmp_path / "a.idx").write_bytes(change((GOLDEN / "megatron" / "corpus.idx").read_bytes()))

    with pytest.raises(error, match=message):
        import_tokens("megatron", tmp_path / "a", tmp_path / "after")


def test_tokens_that_are_cut_or_missing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.idx").write_bytes((GOLDEN / "megatron" / "corpus.idx").read_bytes())
    with pytest.raises(DamagedShardError, match=r"a\.bin: expected 644 bytes, found none"):
        import_tokens("megatron", tmp_path, tmp_path / "after")

    (tmp_path / "a.bin").write_bytes((GOLDEN / "megatron" / "corpus.bin").read_bytes()[:-2])
    with pytest.raises(DamagedShardError, match=r"a\.bin: expected 644 bytes, found 642"):
        import_tokens("megatron", tmp_path, tmp_path / "after")


def test_modes_of_sequences_are_told_as_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes((GOLDEN / "megatron" / "corpus.bin").read_bytes())
    (tmp_path / "a.idx").write_bytes((GOLDEN / "megatron" / "corpus.idx").read_bytes() + np.zeros(6, np.int8).tobytes())

    manifest = import_tokens("megatron", tmp_path, tmp_path / "after", rows="document")

    assert manifest["report"] == {"left out modes of sequences": 6}


def test_a_folder_with_no_pair_or_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedShardError, match=r"expected one \.idx in the folder, found none"):
        import_tokens("megatron", tmp_path, tmp_path / "after")
    for name in ("a.idx", "b.idx"):
        (tmp_path / name).touch()
    with pytest.raises(DamagedShardError, match=r"found a\.idx, b\.idx"):
        import_tokens("megatron", tmp_path, tmp_path / "after")
    with pytest.raises(DamagedShardError, match=r"c\.idx: expected this file"):
        import_tokens("megatron", tmp_path / "c", tmp_path / "after")
    with pytest.raises(DamagedShardError, match="found none"):
        import_tokens("megatron", tmp_path / "no" / "c", tmp_path / "after")
