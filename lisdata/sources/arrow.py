"""Arrow IPC files and streams, Feather among them: typed columns batch by batch, the schema kept for the way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from lisdata.errors import BadRecordError, Place, SchemaError
from lisdata.inputs import InputSlice
from lisdata.records import RowRecords
from lisdata.registry import Reject
from lisdata.sources.arrow_rows import ColumnarOptions, RowMaker, bad_file, iter_slices, schema_text, table_of
from lisdata.sources.random_access import local_path

_FILE_MAGIC, _FEATHER_1_MAGIC = b"ARROW1", b"FEA1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowOptions(ColumnarOptions):
    """Options of source arrow."""


@dataclass(frozen=True, slots=True)
class ArrowSource:
    """Reads Arrow IPC files (Feather 2) and streams, one record batch after another, from mapped memory."""

    name: str = "arrow"
    summary: str = "Arrow IPC files, streams and Feather: exact typed cells, nested ones as JSON, NULLs, metadata"
    suffixes: tuple[str, ...] = (".arrow", ".feather", ".arrows", ".ipc")
    converter: str = "tables"
    exporter: str = "arrow"
    splits: bool = False
    options_type: type[ArrowOptions] = ArrowOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: ArrowOptions) -> int:
        """Raise ValueError: an Arrow file is never cut."""
        raise ValueError(f"an Arrow file is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: ArrowOptions, reject: Reject) -> Iterator[RowRecords]:
        """Yield the rows of `piece`, at most 8 MiB at a time.

        A value that is none of its type makes a bad record of its row; a damaged batch is one bad record (in a stream,
        with all that follows), and so is a file that is not Arrow or has two columns of a name.
        """
        with ExitStack() as stack:
            path = stack.enter_context(local_path(piece.file, options.max_copy_mib))
            try:
                data = stack.enter_context(pa.memory_map(path))
                reader, batches = _open(data)
                table = table_of(reader.schema, piece.file, options)
            except SchemaError as error:
                reject(bad_file(piece, "columns that can be a table", str(error)))
                return
            except (pa.ArrowException, OSError) as error:
                reject(bad_file(piece, "an Arrow IPC file or stream", str(error)))
                return
            form = "file" if batches is not None else "stream"
            facts = {"format": "arrow", "form": form, "arrow_schema": schema_text(reader.schema)}
            maker = RowMaker(file=piece.file, table=table, facts=facts, reject=reject)
            numbers = range(batches) if batches is not None else None
            yield from _read_batches(reader, numbers, maker, piece.file.size)


def _open(
    data: pa.MemoryMappedFile,
) -> tuple[pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader, int | None]:
    """Return a reader, and how many batches there are, None in a stream."""
    magic = data.read(len(_FILE_MAGIC))
    data.seek(0)
    if magic.startswith(_FEATHER_1_MAGIC):
        raise pa.ArrowInvalid("Feather version 1, which is no Arrow file: rewrite it as version 2")
    if magic != _FILE_MAGIC:
        return pa.ipc.open_stream(data), None
    reader = pa.ipc.open_file(data)
    return reader, reader.num_record_batches


def _read_batches(
    reader: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
    numbers: range | None,
    maker: RowMaker,
    size: int,
) -> Iterator[RowRecords]:
    has_any = False
    for number, batch in _iter_batches(reader, numbers, maker, size):
        for piece in iter_slices(batch):
            has_any = True
            yield maker.rows(piece, group=number + 1)
    if not has_any:
        yield maker.rows(pa.RecordBatch.from_pylist([], reader.schema))


def _iter_batches(
    reader: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
    numbers: range | None,
    maker: RowMaker,
    size: int,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield (number, batch) of the batches that are whole."""
    number = 0
    while numbers is None or number < len(numbers):
        try:
            batch = reader.read_next_batch() if numbers is None else reader.get_batch(number)
            batch.validate()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            place = Place(maker.file.name, offset=0)
            expected = f"a whole record batch {number}"
            maker.reject(BadRecordError(place, expected=expected, found=str(error), begin=0, end=size))
            if numbers is None:
                return
        else:
            yield number, batch
        number += 1


ARROW = ArrowSource()
