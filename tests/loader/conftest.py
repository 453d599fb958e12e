"""Small token datasets for the tests of the loader."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lisdata.shards.manifest import write_manifest
from lisdata.token_shards import TokenDataset, TokenSchema, TokenShardWriter, token_manifest, write_tokens

COLUMNS = ("input_ids", "role", "terminal", "content", "document", "token_kind")

DatasetOfSize = Callable[[int], TokenDataset]


@pytest.fixture(scope="session")
def dataset_of_size(tmp_path_factory: pytest.TempPathFactory) -> DatasetOfSize:
    """What makes (once) a dataset of so many rows of one token, which is the number of the row."""

    @cache
    def dataset(num_rows: int) -> TokenDataset:
        directory = tmp_path_factory.mktemp(f"rows-{num_rows}")
        write_tokens(directory, ([row] for row in range(num_rows)), vocab_size=max(num_rows, 1), tokens_per_part=40)
        return TokenDataset(directory)

    return dataset


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> TokenDataset:
    """30 rows of 0 to 9 tokens, of several kinds, with packed structures, in two parts."""
    directory: Path = tmp_path_factory.mktemp("mixed")
    schema = TokenSchema.choose(1000, columns=COLUMNS, num_roles=50)
    generator = np.random.default_rng(5)
    commits = []
    for part in ("a", "b"):
        with TokenShardWriter(directory, part, schema, rows_per_batch=6) as writer:
            for number in range(15):
                length = int(generator.integers(0, 10))
                row = {
                    "input_ids": generator.integers(0, 1000, length),
                    "role": generator.integers(0, 50, length),
                    "terminal": generator.integers(-100, 8, length),
                    "content": generator.integers(-(2**63), 2**63, length),
                    "document": np.arange(length) // 4,
                    "token_kind": generator.integers(0, 6, length),
                }
                writer.append(row, kind=number % 7)
            commits.append(writer.close())
    write_manifest(directory, token_manifest(directory, commits, {}))
    return TokenDataset(directory)
