"""The formats of tokens by name; each is one file, loaded when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lisdata.registry import ExportReport
    from lisdata.token_formats.row_blocks import ForeignRows
    from lisdata.token_shards import TokenDataset


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What every import of tokens can be told."""

    input_ids: str = field(default="input_ids", metadata={"help": "Name of the column of token ids there."})
    column: tuple[str, ...] = field(
        default=(), metadata={"help": "Take this column of integers too; default: all that there are."}
    )
    vocab_size: int | None = field(
        default=None, metadata={"help": "Ids are below this; default: as the export noted, or as the ids show."}
    )


class ExportedFormat(Protocol):
    """A format that a token dataset can be written in."""

    name: str
    summary: str

    def export(self, dataset: TokenDataset, target: Path) -> ExportReport:
        """Write the rows into the empty folder `target`; count in `losses` what the format cannot hold."""


class ImportedFormat(Protocol):
    """A format that a token dataset can be made from; the fields of `options_type` carry their help."""

    name: str
    summary: str
    options_type: type[Any]

    def open(self, source: Path, options: Any) -> ForeignRows:
        """Look at the files at `source` and return their rows; LisDataError where they are not of the format."""


# name -> module:attribute; adding one touches these lines and the new file.
EXPORTED = {
    "hf": "lisdata.token_formats.hf:HF",
    "lance": "lisdata.token_formats.lance:LANCE",
    "mds": "lisdata.token_formats.mds:MDS",
    "megatron": "lisdata.token_formats.megatron:MEGATRON",
    "parquet": "lisdata.token_formats.parquet:PARQUET",
    "webdataset": "lisdata.token_formats.webdataset:WEBDATASET",
}
IMPORTED = {name: EXPORTED[name] for name in ("hf", "mds", "megatron", "parquet")}


def _load(table: dict[str, str], name: str) -> Any:
    if name not in table:
        raise ValueError(f"no format of tokens is called {name!r}: expected one of {', '.join(table)}")
    module, attribute = table[name].split(":")
    return getattr(import_module(module), attribute)


def load_exported(name: str) -> ExportedFormat:
    """Return the format called `name`, to write; raise ValueError where there is none."""
    found: ExportedFormat = _load(EXPORTED, name)
    return found


def load_imported(name: str) -> ImportedFormat:
    """Return the format called `name`, to read; raise ValueError where there is none."""
    found: ImportedFormat = _load(IMPORTED, name)
    return found
