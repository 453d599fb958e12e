"""WebDataset's shards are, byte for byte, what tarfile and NumPy write."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.token_formats import webdataset
from lisdata.token_formats.row_blocks import RowBlock

ENDS = st.text("abz_9", min_size=1, max_size=12).map(lambda name: f"{name}.npy")
SAMPLES = st.lists(st.dictionaries(ENDS, st.binary(max_size=1100), min_size=1, max_size=3), max_size=4)


@given(samples=SAMPLES, number=st.integers(0, 10**12 - 10))
@settings(max_examples=80, deadline=None)
def test_a_shard_has_the_bytes_of_tarfile(
    tmp_path_factory: pytest.TempPathFactory, samples: list[dict[str, bytes]], number: int
) -> None:
    folder = tmp_path_factory.mktemp("tar")
    with tarfile.open(folder / "expected.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for at, sample in enumerate(samples, start=number):
            for end, data in sample.items():
                member = tarfile.TarInfo(f"{at:012d}.{end}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    assert webdataset._write_shard(folder / "found.tar", iter(samples), number) == (number + len(samples), True)

    assert (folder / "found.tar").read_bytes() == (folder / "expected.tar").read_bytes()


@given(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=5), type_=st.sampled_from(["i1", "<u2", "<i4", "<i8"]))
@settings(max_examples=40, deadline=None)
def test_members_have_the_bytes_of_numpy(sizes: list[int], type_: str) -> None:
    values = np.arange(sum(sizes)).astype(type_)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    samples = list(webdataset._iter_samples(RowBlock(offsets=offsets, columns={"input_ids": values})))

    assert len(samples) == len(sizes)
    for sample, begin, end in zip(samples, offsets[:-1], offsets[1:], strict=True):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, values[begin:end], version=(1, 0), allow_pickle=False)
        assert sample == {"input_ids.npy": stream.getvalue()}


def test_a_shard_ends_with_the_sample_that_reaches_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webdataset, "SHARD_BYTES", 10)
    samples = iter([{"a.npy": b"123456"}] * 3)

    assert webdataset._write_shard(tmp_path / "0.tar", samples, 0) == (2, False)
    assert webdataset._write_shard(tmp_path / "1.tar", samples, 2) == (3, True)
    with tarfile.open(tmp_path / "1.tar") as archive:
        assert archive.getnames() == ["000000000002.a.npy"]
