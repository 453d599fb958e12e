"""Hugging Face `datasets`: objects in memory and folders of `save_to_disk`, both ways, by the library itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from lisdata.errors import DamagedShardError, ExportError, PlanError, SchemaError
from lisdata.json_shape import find_mismatch, shown
from lisdata.paths import StrPath
from lisdata.registry import ExportReport
from lisdata.settings import build_settings
from lisdata.shards.manifest import check_linked_inside
from lisdata.token_formats.arrow_tables import find_columns, iter_rows
from lisdata.token_formats.formats import ImportOptions
from lisdata.token_formats.importing import write_rows
from lisdata.token_formats.row_blocks import ForeignRows
from lisdata.token_shards import TokenDataset

if TYPE_CHECKING:
    import datasets

_STATE, _SPLITS = "state.json", "dataset_dict.json"
_STATE_SHAPE = {"_data_files": [{"filename": str}]}
# What the library raises, on purpose or not, for a folder that is wrong.
_LIBRARY_ERRORS = (pa.ArrowException, OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError)
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_ROWS_AT_ONCE = 1 << 12


class HuggingFaceFormat:
    """A folder that `datasets.load_from_disk` opens: all columns."""

    name = "hf"
    summary = "folder of Hugging Face datasets (load_from_disk): all columns; needs the extra hf"
    options_type = ImportOptions

    def export(self, dataset: TokenDataset, target: Path) -> ExportReport:
        """Write what `Dataset.save_to_disk` writes."""
        if not len(dataset):
            raise ExportError(f"{dataset.path}: expected rows: datasets.save_to_disk fails without any")
        to_hf_dataset(dataset).save_to_disk(target)
        return ExportReport(files=tuple(sorted(target.iterdir())), num_records=len(dataset), losses={})

    def open(self, source: Path, options: ImportOptions) -> ForeignRows:
        """Open a folder of `save_to_disk`; DamagedShardError for a file of it that is cut or not there."""
        datasets = _library()
        _check_folder(source)
        try:
            found = datasets.load_from_disk(source)
        except _LIBRARY_ERRORS as error:
            raise DamagedShardError(f"{source}: expected a folder of datasets.save_to_disk, found {error}") from error
        return _rows_of(found, options, str(source))


HF = HuggingFaceFormat()


def to_hf_dataset(dataset: TokenDataset) -> datasets.Dataset:
    """Return the rows as a `datasets.Dataset` over the mapped shards: nothing is copied."""
    datasets = _library()
    from datasets.table import InMemoryTable

    schema = dataset.schema.to_arrow()
    batches = dataset.segments.owners or [pa.RecordBatch.from_pylist([], schema)]  # the library wants one at least
    table = pa.Table.from_batches(batches, schema)
    return datasets.Dataset(InMemoryTable(table), fingerprint=dataset.fingerprint[:16])


def from_hf_dataset(dataset: datasets.Dataset, to: StrPath, **options: Any) -> dict[str, Any]:
    """Write a `datasets.Dataset` that has lists of integers as the token dataset `to`; return its manifest.

    `options` are those of `ImportOptions`; the manifest's `report` counts the columns that were left out.
    """
    settings = build_settings(ImportOptions, options, "from_hf_dataset")
    if not isinstance(dataset, _library().Dataset):
        advice = (
            "one split of it" if isinstance(dataset, dict) else "one whose rows are there, such as load_dataset gives"
        )
        raise ValueError(f"expected a datasets.Dataset, got {type(dataset).__name__}: give {advice}")
    return write_rows(_rows_of(dataset, settings, "the dataset"), to, vocab_size=settings.vocab_size)


def _library() -> ModuleType:
    try:
        import datasets
    except ImportError as error:
        raise PlanError('Hugging Face datasets need their library: pip install "lisdata[hf]"') from error
    found: ModuleType = datasets
    return found


def _rows_of(dataset: datasets.Dataset, options: ImportOptions, origin: str) -> ForeignRows:
    schema = dataset.features.arrow_schema
    columns = find_columns(schema, options, origin)

    def iter_batches() -> Iterator[pa.RecordBatch]:
        for table in dataset.select_columns(columns.stored).with_format("arrow").iter(_ROWS_AT_ONCE):
            yield from table.to_batches()

    return ForeignRows(
        origin=origin,
        columns=tuple(columns.arrays),
        iter_blocks=lambda: iter_rows(iter_batches(), columns, origin),
        has_kind=columns.has_kind,
        has_record_id=columns.has_record_id,
        losses=columns.losses(len(dataset)),
    )


def _check_folder(source: Path) -> None:
    """Raise unless the Arrow files of a folder are all there and whole: the library reads a cut one as a short one."""
    if (source / _SPLITS).is_file():
        splits = sorted(path.name for path in source.iterdir() if path.is_dir())
        raise SchemaError(f"{source}: expected the folder of one dataset, found those of {', '.join(splits)}")
    if not (source / _STATE).is_file():
        raise DamagedShardError(f"{source / _STATE}: expected this file of datasets.save_to_disk, found none")
    try:
        state = orjson.loads((source / _STATE).read_bytes())
    except orjson.JSONDecodeError as error:
        raise DamagedShardError(f"{source / _STATE}: expected JSON, found {error}") from error
    problem = find_mismatch(state, _STATE_SHAPE)
    if problem is not None:
        raise DamagedShardError(f"{source / _STATE}: {problem}")
    names = [entry["filename"] for entry in state["_data_files"]]
    if not names or len(set(names)) != len(names):
        raise DamagedShardError(
            f"{source / _STATE}: expected data files of datasets.save_to_disk, each once, found {shown(names)}"
        )
    for name in names:
        # The library would follow a path out of the folder.
        if len(Path(name).parts) != 1:
            raise SchemaError(f"{source / _STATE}: expected names of files in this folder, found {name!r}")
        path = check_linked_inside(source, name)
        if not path.is_file() or _last_bytes(path, len(_END_OF_STREAM)) != _END_OF_STREAM:
            raise DamagedShardError(f"{path}: expected an Arrow stream, whole to its end, found none")


def _last_bytes(path: Path, count: int) -> bytes:
    with path.open("rb") as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - count, 0))
        return stream.read()
