"""`audit` of token datasets: rows that one has and another has not, or that an export did not keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xxhash

from lisdata.alignment.audit_report import AuditReport, LevelReport
from lisdata.alignment.fact_files import FactFiles, Place
from lisdata.alignment.facts import TOKEN_LEVELS, Facts, UInt64
from lisdata.errors import SchemaError
from lisdata.paths import StrPath
from lisdata.shards.manifest import MANIFEST, TOKEN_FORMAT, read_manifest
from lisdata.storage import local_folder
from lisdata.token_formats import IMPORTED, import_tokens
from lisdata.token_formats.row_blocks import RowBlock, iter_blocks
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID

_MARKS = {"parquet": "*.parquet", "hf": "state.json", "mds": "index.json", "megatron": "*.idx"}
"""A file that each format which can be imported has in its folder."""

_MAX_IDS = 12


def is_token_dataset(path: StrPath) -> bool:
    """Tell whether a token dataset is there."""
    folder = local_folder(path)
    return (folder / MANIFEST).exists() and read_manifest(folder)["format"] == TOKEN_FORMAT


def audit_tokens(before: StrPath, after: StrPath, *, num_examples: int = 5) -> AuditReport:
    """Compare the rows of a token dataset, as a multiset, with those of another or of an export for another loader.

    Level "rows" compares all columns that both have, kinds and record ids too; "tokens" the ids alone, which tells
    whether it is these or the columns beside them that differ; "columns" what one of them does not have at all; "roles"
    the numbered labels; "tokenizer" what the ids were made by. An export is imported into a temporary folder. Which
    number a row has does not matter.
    """
    first = TokenDataset(local_folder(before))
    with TemporaryDirectory(prefix="lisdata-audit.") as folder:
        second = TokenDataset(_dataset_of(Path(after), Path(folder) / "again"))
        (Path(folder) / "facts").mkdir()
        files = FactFiles(Path(folder) / "facts", len(first) + len(second))
        sides = (first, second)
        columns = [set(_columns(side)) for side in sides]
        common = [name for name in _columns(first) if name in columns[1]]
        for number, side in enumerate(sides):
            for facts in _iter_facts(side, common):
                files.add(number, 0, facts)
        levels = [_compared(files, level, sides, num_examples) for level in TOKEN_LEVELS]
        roles = [[f"{number} {label}" for number, label in enumerate(side.roles)] for side in sides]
        levels.append(_difference("columns", (sorted(columns[0]), sorted(columns[1])), num_examples))
        levels.append(_difference("roles", (roles[0], roles[1]), num_examples))
        levels.append(_difference("tokenizer", (_tokenizer(first), _tokenizer(second)), num_examples))
    return AuditReport(
        names=(str(first.path), str(after)), counts=(len(first), len(second)), levels=tuple(levels), counted="rows"
    )


def _dataset_of(path: Path, to: Path) -> Path:
    """Return the token dataset at `path`, or that of the export there, imported to `to`."""
    if (path / MANIFEST).exists():
        if not is_token_dataset(path):
            raise ValueError(f"{path} holds structures, not rows of tokens: compare what is of one kind")
        return path
    found = [name for name in IMPORTED if path.is_dir() and any(path.glob(_MARKS[name]))]
    if len(found) != 1:
        raise SchemaError(
            f"{path}: expected a token dataset, or the folder of an export that can be imported again "
            f"({', '.join(IMPORTED)}), found {' and '.join(found) or 'neither'}"
        )
    import_tokens(found[0], path, to)
    return to


def _tokenizer(dataset: TokenDataset) -> list[str]:
    """Return what the manifest says of the tokenizer, its hash among it; nothing where it knows none."""
    return [f"{name} {value}" for name, value in sorted(dataset.manifest.get("tokenizer", {}).items())]


def _columns(dataset: TokenDataset) -> list[str]:
    return [*dataset.schema.names, KIND, *([RECORD_ID] if dataset.schema.has_record_id else [])]


def _iter_facts(dataset: TokenDataset, columns: Sequence[str]) -> Iterator[Facts]:
    """Yield the digests of rows by `columns`, and by their tokens alone."""
    first_row = 0
    for block in iter_blocks(dataset):
        rows = np.arange(first_row, first_row + block.num_rows)
        first_row += block.num_rows
        for level, chosen in zip(TOKEN_LEVELS, (columns, [INPUT_IDS]), strict=True):
            digest = _digests(block, chosen, kind=dataset.schema.kind)
            nothing = np.zeros(len(rows), np.int64)
            yield Facts(level=level, digest=digest, row=rows, item=nothing, is_once=np.zeros(len(rows), np.bool_))


def _digests(block: RowBlock, columns: Sequence[str], *, kind: int | None) -> UInt64:
    """Return 128 bits of each row, (N, 2); integers count by their value, whatever type they are stored in."""
    values = [block.columns[name].astype("<i8") for name in columns if name in block.columns]
    found = np.empty((block.num_rows, 2), np.uint64)
    for row in range(block.num_rows):
        here = slice(int(block.offsets[row]), int(block.offsets[row + 1]))
        state = xxhash.xxh3_128((here.stop - here.start).to_bytes(8, "little"))
        for column in values:
            state.update(column[here].tobytes())
        if KIND in columns:
            state.update(bytes([int(block.kinds[row]) if block.kinds is not None else int(kind or 0)]))
        if RECORD_ID in columns and block.record_ids is not None:
            state.update(block.record_ids[row].as_py().encode(errors="surrogatepass"))
        found[row] = np.frombuffer(state.digest(), "<u8")
    return found


def _compared(files: FactFiles, level: str, sides: tuple[TokenDataset, TokenDataset], num_examples: int) -> LevelReport:
    found = files.compare(level, num_examples)
    return LevelReport(
        level=level,
        totals=found.totals,
        duplicates=found.duplicates,
        lost=found.lost,
        added=found.added,
        lost_examples=tuple(_describe(sides[0], place) for place in found.lost_places),
        added_examples=tuple(_describe(sides[1], place) for place in found.added_places),
    )


def _difference(level: str, names: tuple[list[str], list[str]], num_examples: int) -> LevelReport:
    first, second = names
    known = set(first), set(second)
    lost, added = [n for n in first if n not in known[1]], [n for n in second if n not in known[0]]
    return LevelReport(
        level=level,
        totals=(len(first), len(second)),
        duplicates=(0, 0),
        lost=len(lost),
        added=len(added),
        lost_examples=tuple(lost[:num_examples]),
        added_examples=tuple(added[:num_examples]),
    )


def _describe(dataset: TokenDataset, place: Place) -> str:
    row = dataset[place[1]]
    ids = row[INPUT_IDS]
    record = f" of {row[RECORD_ID]}" if RECORD_ID in row else ""
    rest = ", ..." if len(ids) > _MAX_IDS else ""
    return f"row {place[1]}{record}: {len(ids)} tokens, {', '.join(map(str, ids[:_MAX_IDS].tolist()))}{rest}"
