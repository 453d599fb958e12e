"""Columns of expressions that are called as roles are: what a structure shows in a role, or a member of it as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.encoding.structure_rows import StructureRows
from lisdata.kernels.arrays import one_array
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, Part
from lisdata.sources.json_text import STYLES, JsonTextError, read_json, write_json
from lisdata.vocabulary import role_codes

_MAX_SHOWN = 20


def is_role(name: str) -> bool:
    """Tell whether a column is called as roles are: RELATION#SIDE."""
    return "#" in name


def role_column(part: Part, batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return the spelling of the first content that each structure shows in the role `name`, null where there is none.

    Of the batch it reads tau, incidence, sigma and shape.

    Where no such role is in a structure, but one that is `name` up to a dot, it is the member of the content, which is
    an object of JSON, that the rest names: record#field:metadata.lang. A null of the source is null, and so are bytes
    that are not UTF-8; arrays and objects are JSON.
    """
    codes = {label: code for code, label in role_codes(part).items()}
    rows = StructureRows(batch)
    found = pa.nulls(batch.num_rows, pa.large_string())
    for role, path in _readings(name):
        if role in codes and found.null_count:
            contents = _first_contents(rows, codes[role])
            texts = _spelled(part, contents) if not path else _members(part, contents, path)
            found = pc.coalesce(found, texts)
    return found


def refuse_unknown_roles(dataset: IncidenceDataset, names: Iterable[str]) -> None:
    """Raise ValueError for a name that is neither a role of the dataset nor of a member of what is in one."""
    wanted = [name for name in names if is_role(name)]
    if not wanted:
        return
    known = {label for part in dataset.parts for label in role_codes(part).values()}
    for name in wanted:
        if not any(role in known for role, _ in _readings(name)):
            shown = ", ".join(sorted(known)[:_MAX_SHOWN]) + (", ..." if len(known) > _MAX_SHOWN else "")
            raise ValueError(f"no structure has the role {name!r}; there are {shown or 'none'}")


def _readings(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the role and the path of members that a name may mean, the longest role first."""
    yield name, []
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        yield ".".join(parts[:size]), parts[size:]


def _first_contents(rows: StructureRows, code: int) -> pa.Array:
    """Return the number of the first content in a role, for each structure; null where it has none."""
    at = np.flatnonzero(rows.sigma == code)
    having, first = np.unique(rows.incidence_row[at], return_index=True)
    contents = np.zeros(rows.num_rows, np.int64)
    contents[having] = rows.tau[rows.incidence_occurrence[at[first]]]
    is_missing = np.ones(rows.num_rows, np.bool_)
    is_missing[having] = False
    return pa.array(contents, mask=is_missing)


def _spelled(part: Part, contents: pa.Array) -> pa.Array:
    return part.derived(_texts).take(contents)


def _texts(part: Part) -> pa.Array:
    """Return the text of each content; null for NULL, and for bytes that are not UTF-8."""
    lexical, kind = (one_array(part.contents.column(name)) for name in ("lexical", "kind"))
    texts = spelled(lexical)
    return pc.if_else(pc.equal(kind, pa.scalar(int(ContentKind.NULL), pa.uint8())), pa.scalar(None, texts.type), texts)


def spelled(binary: pa.Array) -> pa.Array:
    """Return the bytes as text, null where they are not UTF-8."""
    try:
        return binary.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([_decoded(value.as_py()) for value in binary], pa.large_string())


def _decoded(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def _members(part: Part, contents: pa.Array, path: list[str]) -> pa.Array:
    """Return a member of the JSON that each content is, as text; each content is read once."""
    kind = one_array(part.contents.column("kind"))
    is_json = pc.equal(kind.take(contents), pa.scalar(int(ContentKind.JSON), pa.uint8()))
    chosen = pc.if_else(is_json, contents, pa.scalar(None, contents.type)).dictionary_encode()
    lexical = one_array(part.contents.column("lexical")).take(chosen.dictionary)
    values = pa.array([_member(value.as_py(), path) for value in lexical], pa.large_string())
    return values.take(chosen.indices)


def _member(text: bytes, path: list[str]) -> str | None:
    """Return a member, found by names one inside the other or by a name with dots; None where there is none."""
    try:
        value = read_json(text.decode())
    except (JsonTextError, UnicodeDecodeError):  # contents that others made, or that nest too deep
        return None
    waiting = [(value, path)]
    while waiting:
        value, rest = waiting.pop()
        if not rest and value is not None:
            return _text(value)
        if rest and isinstance(value, dict):
            names = [(".".join(rest[:size]), rest[size:]) for size in range(1, len(rest) + 1)]
            waiting += [(value[name], left) for name, left in reversed(names) if name in value]
    return None


def _text(value: object) -> str | None:
    """Return a value as text, numbers as they are written; None for one that is no UTF-8 or nests too deep."""
    try:
        text = str(value) if isinstance(value, str) else write_json(value, STYLES["compact"])
        text.encode()
    except (UnicodeEncodeError, RecursionError):
        return None
    return text
