"""What the tests of encoding share: parts in memory, and a tokenizer whose pieces know nothing of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.part_encoder import PartEncoder
from lisdata.encoding.pieces import Pieces, offsets_of
from lisdata.encoding.surfaces import LexicalSpeller
from lisdata.encoding.token_rows import TokenRows
from lisdata.structure import Structure
from lisdata.vocabulary import RoleVocabulary


class MemoryPart:
    """A part of a dataset that was never written."""

    def __init__(self, structures: Sequence[Structure], rows_per_batch: int = 3) -> None:
        batch = Structure.to_arrow(list(structures))
        self.contents = pa.Table.from_batches([batch.contents])
        self.labels = pa.Table.from_batches([batch.labels])
        self._batches = pa.Table.from_batches([batch.structures]).to_batches(max_chunksize=rows_per_batch)
        self._schema = batch.structures.schema

    def iter_batches(self, table: str, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        assert table == "structures"
        for batch in self._batches:
            yield batch.select(list(columns))

    def read(self, table: str, columns: tuple[str, ...]) -> pa.Table:
        schema = pa.schema([self._schema.field(name) for name in columns])
        return pa.Table.from_batches(self.iter_batches(table, columns), schema)

    def release(self) -> None:
        pass


class ChunkTokenizer:
    """Cuts text every `width` characters; the id is the piece's last code point."""

    file_name = "chunks.json"
    vocab_size = 0x110000
    pad_id = None
    unk_id = None

    def __init__(self, width: int) -> None:
        self.width = width

    def encode_batch(self, texts: Sequence[str], *, special_tokens: bool = False) -> Pieces:
        cuts = [[(b, min(b + self.width, len(t))) for b in range(0, len(t), self.width)] for t in texts]
        flat = np.array([cut for row in cuts for cut in row], np.int64).reshape(-1, 2)
        ids = [ord(t[end - 1]) for t, row in zip(texts, cuts, strict=True) for _, end in row]
        offsets = offsets_of(np.array([len(row) for row in cuts], np.int64))
        return Pieces(offsets=offsets, ids=np.array(ids, np.int32), begin=flat[:, 0], end=flat[:, 1])


def encode_structures(
    structures: Sequence[Structure], tokenizer: Any, *, rows_per_batch: int = 3, **settings: Any
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the rows (columns as lists, with kind and record_id) and the counts of structures in memory."""
    part: Any = MemoryPart(structures, rows_per_batch)
    dataset: Any = type("Dataset", (), {"parts": [part]})
    roles = RoleVocabulary.from_dataset(dataset)
    encoder = PartEncoder(part, EncodeConfig(**settings), tokenizer, roles, LexicalSpeller())
    rows = [row | {"roles": roles.roles} for block in encoder for row in rows_of(block)]
    return rows, encoder.counts.to_dict()


def rows_of(block: TokenRows) -> Iterator[dict[str, Any]]:
    """Yield the rows of a block as plain lists."""
    for row in range(block.num_rows):
        inside = slice(*block.offsets[row : row + 2])
        columns = {name: values[inside].tolist() for name, values in block.columns.items()}
        yield columns | {"kind": int(block.kinds[row]), "record_id": block.record_ids[row].as_py()}


@pytest.fixture
def encode_in_memory() -> Callable[..., tuple[list[dict[str, Any]], dict[str, int]]]:
    return encode_structures


@pytest.fixture
def memory_part() -> type[MemoryPart]:
    return MemoryPart


@pytest.fixture
def chunk_tokenizer() -> type[ChunkTokenizer]:
    return ChunkTokenizer
