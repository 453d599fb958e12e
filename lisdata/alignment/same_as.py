"""Rows of `same_as` from files of pairs and from triples, written as a table in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lisdata.atomic import sync_path
from lisdata.contents import Content, encode_text
from lisdata.encoding.structure_rows import StructureRows, iter_slices
from lisdata.errors import LisDataError, PlanError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.paths import StrPath
from lisdata.schema import SAME_AS, ContentKind
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.manifest import INCIDENCE_FORMAT, MANIFEST, file_entry, write_manifest
from lisdata.shards.same_as import FOLDER, same_as_rows, same_as_table
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.vocabulary import role_codes

PREDICATES = {
    "owl:sameAs": "http://www.w3.org/2002/07/owl#sameAs",
    "skos:exactMatch": "http://www.w3.org/2004/02/skos/core#exactMatch",
}
_BOM = b"\xef\xbb\xbf"


def collect_same_as(
    wanted: Sequence[str],
    datasets: Sequence[IncidenceDataset],
    *,
    id_prefix: Sequence[str] = (),
    key_scope: str | None = None,
) -> Iterator[pa.Table]:
    """Yield rows of the schema SAME_AS, a piece at a time, from each of `wanted`.

    It is a file of pairs (see `read_pairs`), a dataset or folder that has such a table, or a predicate (owl:sameAs,
    skos:exactMatch or an IRI) whose triples in `datasets` say it: the subject is shown as the object.
    """
    prefixes = IdPrefixes.parse(id_prefix)
    for name in wanted:
        path = Path(name)
        if path.is_dir():
            yield same_as_table(IncidenceDataset(path))
        elif path.exists():
            yield from read_pairs(path, prefixes, key_scope=key_scope)
        elif name in PREDICATES or "://" in name or name.startswith("urn:"):
            yield from find_pairs(datasets, PREDICATES.get(name, name))
        else:
            raise PlanError(f"{name}: expected a file, a folder, {', '.join(PREDICATES)} or an IRI, found none of them")


def read_pairs(path: Path, prefixes: IdPrefixes, *, key_scope: str | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a file of pairs, in UTF-8, perhaps compressed: a line `NAME<TAB>NAME[<TAB>SOURCE]` each.

    The first entity is shown as the second; the source is the file's name where a line has none. Names are exact, but
    that `prefixes` expand them. With `key_scope` the first is a local name: of a table's keys, whose scope is
    table:TABLE.COLUMN, or of a file. LisDataError names the line that is no pair.
    """
    (file,) = find_inputs([str(path)], suffixes=("",))
    line_number = 0
    for offset, data in InputSlice(file=file).blocks():
        pairs: dict[str, list[tuple[bytes, bytes]]] = {}
        for line in (data if offset else data.removeprefix(_BOM)).splitlines():
            line_number += 1
            if not line:
                continue
            left, right, source = _parse_pair(line, f"{file.name}:{line_number}", file.name)
            first = left if key_scope is not None else prefixes.expand(left)
            keys = _entity_key(first, key_scope), _entity_key(prefixes.expand(right), None)
            pairs.setdefault(source, []).append(keys)
        for source, found in pairs.items():
            yield same_as_rows(found, source)


def _parse_pair(line: bytes, place: str, name: str) -> tuple[str, str, str]:
    try:
        cells = line.decode("utf-8").split("\t")
    except UnicodeDecodeError as error:
        raise LisDataError(f"{place}: expected UTF-8, found byte 0x{line[error.start]:02x}") from error
    if len(cells) not in (2, 3) or not all(cells[:2]):
        raise LisDataError(f"{place}: expected NAME, a tab and NAME (a tab and SOURCE), found {line[:80]!r}")
    return cells[0], cells[1], cells[2] if len(cells) == 3 else name


def _entity_key(name: str, scope: str | None) -> bytes:
    return Content(ContentKind.ENTITY, encode_text(name), scope=scope).key


def find_pairs(datasets: Iterable[IncidenceDataset], predicate: str) -> Iterator[pa.Table]:
    """Yield the rows that triples of a predicate say, wherever datasets have them."""
    for dataset in datasets:
        for part in dataset.parts:
            codes = {label: code for code, label in role_codes(part).items()}
            sides = [codes.get(f"{predicate}#{side}") for side in ("subject", "object")]
            if None not in sides:
                for rows in iter_slices(part, ("tau", "instance_label", "incidence", "sigma")):
                    yield _pairs_of_rows(rows, part, [side for side in sides if side is not None], predicate)
            part.release()


def _pairs_of_rows(rows: StructureRows, part: Part, sides: list[int], predicate: str) -> pa.Table:
    """Return the pairs of instances that have one subject and one object."""
    content, instance = [], []
    for code in sides:
        at = np.flatnonzero(rows.sigma == code)
        order = at[np.argsort(rows.incidence_instance[at], kind="stable")]
        content.append(rows.tau[rows.incidence_occurrence[order]])
        instance.append(rows.incidence_instance[order])
    _, left, right = np.intersect1d(instance[0], instance[1], return_indices=True)
    keys = part.contents.column("key").combine_chunks()
    columns = [keys.take(pa.array(found[at])) for found, at in zip(content, (left, right), strict=True)]
    source = pa.array([predicate] * len(left), pa.large_string())
    return pa.Table.from_arrays([*columns, source], schema=SAME_AS)


def write_same_as(tables: Iterable[pa.Table], to: StrPath) -> int:
    """Write rows as a dataset that holds nothing else, and return how many; `lisdata merge` puts it beside shards.

    PlanError where the folder holds files already.
    """
    target = Path(to)
    if target.exists() and any(target.iterdir()):
        raise PlanError(f"{target}: expected a new or empty folder, found files in it")
    name = f"{FOLDER}/part-00000.arrow"
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    num_rows = 0
    try:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, SAME_AS, options=options) as writer:
            for table in tables:
                writer.write_table(table)
                num_rows += table.num_rows
        sync_path(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    body = {"format": INCIDENCE_FORMAT, "origins": [], "inputs": [], "parts": [], "counts": {}, "kinds": {}}
    write_manifest(target, body | {"files": {name: file_entry(target / name)}})
    sync_path(target / MANIFEST)
    return num_rows
