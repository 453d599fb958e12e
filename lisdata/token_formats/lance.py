"""Lance: a dataset of the columnar format of that name, written by its library."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from lisdata.errors import PlanError
from lisdata.registry import ExportReport
from lisdata.token_shards import TokenDataset

_FOLDER = "tokens.lance"


class LanceFormat:
    """`tokens.lance`, which `lance.dataset` opens: all columns. The library names its files anew each time."""

    name = "lance"
    summary = "Lance dataset: all columns; needs the extra lance"

    def export(self, dataset: TokenDataset, target: Path) -> ExportReport:
        """Write one Lance dataset."""
        try:
            import lance
        except ImportError as error:
            raise PlanError('Lance needs its library: pip install "lisdata[lance]"') from error
        batches = pa.RecordBatchReader.from_batches(dataset.schema.to_arrow(), iter(dataset.segments.owners))
        lance.write_dataset(batches, str(target / _FOLDER), mode="create")
        return ExportReport(files=(target / _FOLDER,), num_records=len(dataset), losses={})


LANCE = LanceFormat()
