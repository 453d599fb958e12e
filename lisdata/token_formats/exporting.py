"""`export` of a token dataset: its rows in the format of another loader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lisdata.errors import ExportError
from lisdata.paths import StrPath
from lisdata.registry import ExportReport
from lisdata.storage.staging import staged_folder
from lisdata.token_formats.formats import load_exported
from lisdata.token_formats.notes import has_notes, write_notes
from lisdata.token_shards import TokenDataset


def export_tokens(
    dataset: TokenDataset,
    to: StrPath,
    format: str,  # noqa: A002
    *,
    force: bool = False,
) -> ExportReport:
    """Write the rows of `dataset` into the folder `to`, which appears whole or not at all.

    What the format has no place for is in the report's `losses`. Its schema, role labels and tokenizer go into the
    folder `_lisdata` there, from which `import_tokens` takes them. ExportError for a folder that holds something,
    unless it is an export too and `force` says to replace it.
    """
    exporter, target = load_exported(format), Path(to)
    if target.resolve().is_relative_to(dataset.path.resolve()):
        raise ExportError(f"{target}: expected a place outside the dataset {dataset.path}")
    if target.exists() and not target.is_dir():
        raise ExportError(f"{target}: expected a folder, or none yet, found a file")
    if target.exists() and any(target.iterdir()) and not (force and has_notes(target)):
        advice = "--force replaces it" if has_notes(target) else "choose another place"
        raise ExportError(f"{target}: expected a new or empty folder, found files in it; {advice}")
    with staged_folder(target, "another export") as making:
        report = exporter.export(dataset, making)
        write_notes(dataset, making)
    return replace(report, files=tuple(target / path.relative_to(making) for path in report.files))
