"""Audits of token datasets: what is planted is found, level by level; exports are read again by what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lisdata import audit, encode, export, open, write_tokens  # noqa: A004
from lisdata.conversion import convert
from lisdata.errors import SchemaError
from lisdata.shards.manifest import write_manifest
from lisdata.token_shards import TokenDataset, TokenSchema, TokenShardWriter, token_manifest

ROWS = ([1, 2, 3], [4, 5], [], [1, 2, 3], [6])


@pytest.fixture(scope="module")
def encoded(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tokens of the sample text, with all columns."""
    folder = tmp_path_factory.mktemp("encoded")
    convert("text", [root / "sample_data" / "text"], folder / "text.lis")
    encode(folder / "text.lis", folder / "text.tok")
    return folder / "text.tok"


def levels(before: Path, after: Path) -> dict[str, tuple[int, int]]:
    return {level.level: (level.lost, level.added) for level in audit(before, after).levels}


def with_roles(to: Path, roles: list[int], *, ids: tuple[int, ...] = (1, 2, 3)) -> Path:
    with TokenShardWriter(to, "a", TokenSchema.choose(9, columns=("input_ids", "role"), num_roles=5, kind=0)) as writer:
        writer.append({"input_ids": np.array(ids), "role": np.array(roles)})
        commit = writer.close()
    write_manifest(to, token_manifest(to, [commit], {}))
    return to


def test_the_same_rows_in_another_order_and_other_types_are_equal(tmp_path: Path) -> None:
    write_tokens(tmp_path / "a", ROWS, vocab_size=9, tokens_per_part=4)
    write_tokens(tmp_path / "b", reversed(ROWS), vocab_size=1 << 20)

    report = audit(tmp_path / "a", tmp_path / "b")

    assert report.ok
    assert report.counts == (5, 5)
    assert next(level for level in report.levels if level.level == "rows").duplicates == (1, 1)


def test_a_lost_repeat_and_an_added_row_are_found_and_shown(tmp_path: Path) -> None:
    write_tokens(tmp_path / "a", ROWS, vocab_size=9)
    write_tokens(tmp_path / "b", [*ROWS[1:], [7]], vocab_size=9)

    report = audit(tmp_path / "a", tmp_path / "b")

    rows = next(level for level in report.levels if level.level == "rows")
    assert (rows.lost, rows.added) == (1, 1)
    assert rows.lost_examples == ("row 3: 3 tokens, 1, 2, 3",)
    assert rows.added_examples == ("row 4: 1 tokens, 7",)
    assert report.to_dict()["datasets"][0] == {"name": str(tmp_path / "a"), "rows": 5}


def test_a_change_beside_the_tokens_is_told_apart_from_one_of_them(tmp_path: Path) -> None:
    first = with_roles(tmp_path / "a", [0, 1, 2])

    assert levels(first, with_roles(tmp_path / "b", [0, 1, 3])) == {
        "rows": (1, 1), "tokens": (0, 0), "columns": (0, 0), "roles": (0, 0), "tokenizer": (0, 0),
    }  # fmt: skip
    assert levels(first, with_roles(tmp_path / "c", [0, 1, 2], ids=(1, 2, 4)))["tokens"] == (1, 1)


def test_ids_of_another_tokenizer_are_not_the_same_tokens(root: Path, tmp_path: Path) -> None:
    columns = ("input_ids", "role")  # no content, which would tell the texts apart
    for name, text in (("a", "abba\n"), ("b", "cddc\n")):
        (tmp_path / "t.txt").write_text(text)
        convert("text", tmp_path / "t.txt", tmp_path / f"{name}.lis")
        encode(tmp_path / f"{name}.lis", tmp_path / f"{name}.tok", record_ids=False, columns=columns)
    write_tokens(tmp_path / "none.tok", [row["input_ids"] for row in open(tmp_path / "a.tok")], vocab_size=9)

    report = audit(tmp_path / "a.tok", tmp_path / "b.tok")

    assert {level.level: (level.lost, level.added) for level in report.levels if level.lost or level.added} == {
        "tokenizer": (1, 1)
    }
    (tokenizer,) = (level for level in report.levels if level.level == "tokenizer")
    assert tokenizer.lost_examples[0].startswith("sha256 ")
    assert not report.ok
    assert levels(tmp_path / "a.tok", tmp_path / "none.tok")["tokenizer"] == (5, 0)


@pytest.mark.parametrize("format_", ["parquet", "mds", "hf"])
def test_an_export_with_all_columns_is_equal(format_: str, encoded: Path, tmp_path: Path) -> None:
    if format_ == "hf":
        pytest.importorskip("datasets", reason="the format of datasets, which is not installed")
    export(encoded, tmp_path / "out", format=format_)

    assert audit(encoded, tmp_path / "out").ok


def test_what_megatron_has_no_place_for_is_told_by_column_and_its_tokens_are_equal(
    encoded: Path, tmp_path: Path
) -> None:
    export(encoded, tmp_path / "out", format="megatron")

    found = levels(encoded, tmp_path / "out")

    stored = open(encoded)
    assert isinstance(stored, TokenDataset)
    assert found == {
        "rows": (0, 0), "tokens": (0, 0), "columns": (len(stored.schema.names), 0), "roles": (0, 0),
        "tokenizer": (0, 0),
    }  # fmt: skip


@pytest.mark.parametrize("options", [{"match_scopes": True}, {"ordinals": True}, {"options": {"schema": "x"}}])
def test_settings_of_structures_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    write_tokens(tmp_path / "a", ROWS, vocab_size=9)

    with pytest.raises(ValueError, match="not for tokens"):
        audit(tmp_path / "a", tmp_path / "a", **options)


def test_a_folder_that_is_no_export_is_refused_with_what_would_be(tmp_path: Path) -> None:
    write_tokens(tmp_path / "a", ROWS, vocab_size=9)
    (tmp_path / "empty").mkdir()

    with pytest.raises(SchemaError, match=r"hf, mds, megatron, parquet\), found neither"):
        audit(tmp_path / "a", tmp_path / "empty")


def test_tokens_and_structures_do_not_compare(encoded: Path, tmp_path: Path) -> None:
    structures = encoded.with_name("text.lis")

    with pytest.raises(ValueError, match="holds structures, not rows of tokens"):
        audit(encoded, structures)
    with pytest.raises(ValueError, match="holds rows of tokens"):
        audit(structures, encoded)
