"""`inspect` of token shards: the rows a model reads, a token a line."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.cli.printing import counted, print_rows
from lisdata.cli.terminal import say
from lisdata.errors import LisDataError
from lisdata.schema import StructureKind
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.schema import RECORD_ID

MAX_TOKENS = 64  # of a row, in the table
_NUMBERS = ("instance", "position", "occurrence", "document", "terminal", "nonterminal", "target")


def print_token_rows(dataset: TokenDataset, *, record: str | None, limit: int, as_json: bool) -> None:
    """Print the rows of one record, or the first `limit`: each token decoded, with its role and numbers."""
    rows = range(min(limit, len(dataset))) if record is None else _rows_of(dataset, record)[:limit]
    spell = _speller(dataset)
    if as_json:
        for row in rows:
            click.echo(orjson.dumps(_row_to_dict(dataset, row, spell)).decode())
        return
    if record is None:
        say(f"{dataset.path}: {counted(len(dataset), 'rows')}, the first {len(rows)}", err=True)
    columns = [name for name in ("role", *_NUMBERS) if name in dataset.schema.names]
    print_rows(
        ("row", "kind", "id", "token", *columns),
        [line for row in rows for line in _lines(dataset, row, spell, columns)],
    )


def _rows_of(dataset: TokenDataset, record: str) -> list[int]:
    if not dataset.schema.has_record_id:
        raise LisDataError(f"{dataset.path}: its rows have no record ids (encode with --record-ids stores them)")
    found: list[int] = []
    wanted = pa.scalar(record, pa.large_string())
    for first, batch in zip(dataset.segments.first_row, dataset.segments.owners, strict=False):
        found.extend(np.flatnonzero(np.asarray(pc.equal(batch.column(RECORD_ID), wanted))) + int(first))
    if not found:
        raise LisDataError(f"{dataset.path}: no row is of a record called {record!r}")
    return [int(row) for row in found]


def _speller(dataset: TokenDataset) -> Any:
    """Return a function from ids to text: the dataset's tokenizer, or the numbers where it has none."""
    tokenizer = dataset.manifest.get("tokenizer")
    if tokenizer is None:
        return lambda ids: " ".join(map(str, ids))
    from lisdata.encoding import load_tokenizer

    return load_tokenizer(dataset.path / tokenizer["file"]).decode


def _lines(dataset: TokenDataset, row: int, spell: Any, columns: list[str]) -> list[tuple[str, ...]]:
    found = dataset[row]
    kind, ids = StructureKind(found["kind"]).label, found["input_ids"]
    lines: list[tuple[str, ...]] = []
    for place in range(min(len(ids), MAX_TOKENS)):
        numbers = {name: int(found[name][place]) for name in columns}
        shown = (_role(dataset, n) if name == "role" else str(n) for name, n in numbers.items())
        lines.append((str(row), kind, str(ids[place]), repr(spell([int(ids[place])])), *shown))
    if not lines or len(ids) > MAX_TOKENS:
        rest = counted(len(ids) - MAX_TOKENS, "more tokens") if lines else "no tokens"
        lines.append((str(row), kind, "", rest, *("" for _ in columns)))
    return lines


def _role(dataset: TokenDataset, number: int) -> str:
    return dataset.roles[number] if number < len(dataset.roles) else str(number)


def _row_to_dict(dataset: TokenDataset, row: int, spell: Any) -> dict[str, Any]:
    found = dataset[row]
    columns = {name: found[name].tolist() for name in dataset.schema.names}
    if "role" in columns:
        columns["role"] = [_role(dataset, number) for number in columns["role"]]
    record = {RECORD_ID: found[RECORD_ID]} if RECORD_ID in found else {}
    text = spell(columns["input_ids"])
    return {"row": row, "kind": StructureKind(found["kind"]).label, **record, "text": text, **columns}
