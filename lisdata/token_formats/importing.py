"""`import`: rows of another format become a token dataset, in two passes: limits first, then the shards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lisdata.errors import DamagedShardError, PlanError
from lisdata.paths import StrPath
from lisdata.settings import build_settings
from lisdata.shards.manifest import write_manifest
from lisdata.storage.staging import staged_folder
from lisdata.token_formats.formats import load_imported
from lisdata.token_formats.measuring import choose_schema
from lisdata.token_formats.notes import Notes, read_notes
from lisdata.token_formats.row_blocks import ForeignRows, RowBlock
from lisdata.token_shards import TokenSchema, TokenShardWriter, token_manifest

TOKENS_PER_PART = 1 << 27


def import_tokens(
    format: str,  # noqa: A002
    source: StrPath,
    to: StrPath,
    **options: Any,
) -> dict[str, Any]:
    """Make a token dataset at `to` from files of another format; return its manifest.

    `options` are the fields of the format's `options_type`. Where `lisdata export` made the files, schema, roles and
    tokenizer are those of that dataset; else the types are the narrowest for all values there are, and rows are of
    kind text. The manifest's `report` counts what was left out. PlanError for a folder that holds something.
    """
    reader, path = load_imported(format), Path(source)
    settings = build_settings(reader.options_type, options, f"import {format}")
    if not path.exists() and not path.parent.is_dir():
        raise DamagedShardError(f"{path}: expected files of {format}, found none")
    rows = reader.open(path, settings)
    notes = read_notes(path if path.is_dir() else path.parent)
    return write_rows(rows, to, notes=notes, vocab_size=settings.vocab_size)


def write_rows(
    rows: ForeignRows, to: StrPath, *, notes: Notes | None = None, vocab_size: int | None = None
) -> dict[str, Any]:
    """Write rows of another format as the token dataset `to`, and return its manifest."""
    target = Path(to)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PlanError(f"{target}: expected a new or empty folder, found something there")
    schema = choose_schema(rows, None if notes is None else notes.schema, vocab_size)
    with staged_folder(target, "another import") as making:
        commits = _write_parts(rows.iter_blocks(), making, schema)
        num_rows, num_tokens = (sum(commit[name] for commit in commits) for name in ("num_rows", "num_tokens"))
        body: dict[str, Any] = {"counts": {"rows": num_rows, "tokens": num_tokens}, "report": {}}
        if notes is not None:
            notes.check_counts(num_rows, num_tokens, rows.origin)
            notes.copy_files(making)
            body |= notes.manifest | {"files": notes.files}
        body["report"] = body["report"] | {f"left out {name}": count for name, count in rows.losses.items()}
        manifest = token_manifest(making, commits, body)
        if notes is not None:
            notes.check_manifest(manifest)
        return write_manifest(making, manifest)


def _write_parts(blocks: Iterator[RowBlock], target: Path, schema: TokenSchema) -> list[dict[str, Any]]:
    commits: list[dict[str, Any]] = []
    finished = False
    while not finished:
        with TokenShardWriter(target, f"part-{len(commits):05d}", schema) as writer:
            finished = _fill_part(writer, blocks, schema)
            commits.append(writer.close())
    return commits


def _fill_part(writer: TokenShardWriter, blocks: Iterator[RowBlock], schema: TokenSchema) -> bool:
    """Append blocks until the part is full; return whether they ended."""
    appended = 0
    for block in blocks:
        writer.append_batch(
            block.offsets,
            {name: block.columns[name] for name in schema.names},
            kind=block.kinds if schema.kind is None else None,
            record_ids=block.record_ids if schema.has_record_id else None,
        )
        appended += int(block.offsets[-1])
        if appended >= TOKENS_PER_PART:
            return False
    return True
