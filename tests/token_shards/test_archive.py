"""An archive of token shards is small, checked like any dataset, and unpacks to the bytes that it was made from."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_tokens import small_dataset, token_rows, write
from hypothesis import HealthCheck, given, settings

import lisdata
from lisdata.errors import DamagedShardError, PlanError, SchemaError
from lisdata.token_shards import TokenDataset, TokenSchema
from lisdata.token_shards.archive import archive_tokens


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=token_rows())
def test_an_archive_unpacks_to_the_bytes_it_was_made_from(drawn: tuple[TokenSchema, list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before = write(Path(folder, "before"), drawn, tokens_per_part=30).path

        archive_tokens(before, Path(folder, "archive"))
        archive_tokens(Path(folder, "archive"), Path(folder, "after"), compression="none")

        assert files_of(Path(folder, "after")) == files_of(before)
        assert lisdata.verify(Path(folder, "archive")).ok


def test_an_archive_of_text_is_smaller(tmp_path: Path) -> None:
    ids = np.random.default_rng(0).zipf(1.5, 200_000) % 5000
    lisdata.write_tokens(tmp_path / "before", [ids], vocab_size=5000)

    archive_tokens(tmp_path / "before", tmp_path / "archive")

    before, archive = (sum(map(len, files_of(tmp_path / name).values())) for name in ("before", "archive"))
    assert archive < 0.7 * before


def test_an_archive_is_not_opened_by_mistake(tmp_path: Path) -> None:
    archive_tokens(small_dataset(tmp_path / "before").path, tmp_path / "archive")

    with pytest.raises(PlanError, match="lisdata archive --unpack"):
        TokenDataset(tmp_path / "archive")


@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_a_byte_that_changed_in_an_archive_is_found(place: float, tmp_path: Path) -> None:
    archive_tokens(small_dataset(tmp_path / "before").path, tmp_path / "archive")
    path = next((tmp_path / "archive" / "tokens").iterdir())
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)

    with pytest.raises(DamagedShardError, match="expected sha256"):
        archive_tokens(tmp_path / "archive", tmp_path / "after", compression="none")

    assert not lisdata.verify(tmp_path / "archive").ok
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "before"]


def test_what_cannot_be_archived_is_refused(tmp_path: Path) -> None:
    before = small_dataset(tmp_path / "before").path
    with pytest.raises(PlanError, match="new or empty"):
        archive_tokens(before, before)
    with pytest.raises(ValueError, match="zstd or none"):
        archive_tokens(before, tmp_path / "archive", compression="gzip")  # type: ignore[arg-type]
    lisdata.convert("hif", Path(__file__).parents[2] / "sample_data/table2/interaction.hif.json", tmp_path / "edge.lis")
    with pytest.raises(SchemaError, match="lisdata-tokens"):
        archive_tokens(tmp_path / "edge.lis", tmp_path / "archive")
