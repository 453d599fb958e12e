"""Identity of contents: the 128-bit key, and the tables of contents and labels that structures refer to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import xxhash

from lisdata.schema import CONTENTS, KEY_TYPE, LABELS, ContentKind, LabelKind


def key_message(
    kind: int, lexical: bytes, datatype: bytes | None, language: bytes | None, scope: bytes | None
) -> bytes:
    """Return what the key is the XXH3-128 of: kind, then each field as 0x00 (null) or 0x01, length u64 LE, bytes."""
    parts = [bytes((kind,))]
    for value in (lexical, datatype, language, scope):
        parts.append(b"\x00" if value is None else b"\x01" + len(value).to_bytes(8, "little") + value)
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class Content:
    """One content c of C: exact lexical bytes (UTF-8; lone surrogates as WTF-8), never a normalised value.

    `scope` keeps local names apart (blank nodes of a file, keys of a table); None is global.
    """

    kind: ContentKind
    lexical: bytes
    datatype: str | None = None
    language: str | None = None
    scope: str | None = None

    @property
    def key(self) -> bytes:
        """The 16-byte key, canonical (big-endian) XXH3-128 of `key_message`."""
        symbols = [None if s is None else s.encode() for s in (self.datatype, self.language, self.scope)]
        return xxhash.xxh3_128_digest(key_message(self.kind, self.lexical, *symbols))

    @property
    def text(self) -> str:
        """The lexical form for people; bytes that are not UTF-8 show as escapes."""
        return self.lexical.decode("utf-8", errors="backslashreplace")


def entity(name: str) -> Content:
    """Return the global entity called `name` (an IRI, a linked mention, a declared name)."""
    return Content(ContentKind.ENTITY, encode_text(name))


def word(text: str) -> Content:
    """Return the content of a running-text token."""
    return Content(ContentKind.WORD, encode_text(text))


def encode_text(text: str) -> bytes:
    """Return UTF-8, keeping lone surrogates (they occur in JSON) instead of failing on them."""
    return text.encode("utf-8", errors="surrogatepass")


def decode_text(data: bytes) -> str:
    """Undo `encode_text`."""
    return data.decode("utf-8", errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class Role:
    """A role label s of S: a relation and a side of it, written relation#side."""

    relation: str
    side: str

    @property
    def label(self) -> str:
        """The full label; unique for a (relation, side) pair because sides hold no '#'."""
        return f"{self.relation}#{self.side}"

    def __post_init__(self) -> None:
        if "#" in self.side:
            raise ValueError(f"the side of a role holds no '#', got {self.side!r}")


@dataclass(slots=True)
class LabelBuilder:
    """The label list of a batch: one row a distinct label, numbered by first appearance."""

    _codes: dict[tuple[int, str], int] = field(default_factory=dict)
    _rows: list[tuple[int, str, str | None, str | None]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._rows)

    def code(self, kind: LabelKind, label: str) -> int:
        """Return the code of a label that is not a role."""
        return self._code(kind, label, None, None)

    def role(self, role: Role) -> int:
        """Return the code of a role."""
        return self._code(LabelKind.ROLE, role.label, role.relation, role.side)

    def add_all(self, others: LabelBuilder) -> list[int]:
        """Return the code here of each label of `others`, in order."""
        return [self._code(*row) for row in others._rows]

    def _code(self, kind: int, label: str, relation: str | None, side: str | None) -> int:
        code = self._codes.setdefault((int(kind), label), len(self._rows))
        if code == len(self._rows):
            self._rows.append((int(kind), label, relation, side))
        return code

    def to_arrow(self) -> pa.RecordBatch:
        """Return the list as a batch of the LABELS schema."""
        columns = list(zip(*self._rows, strict=True)) or [(), (), (), ()]
        arrays = [pa.array(list(c), f.type) for c, f in zip(columns, LABELS, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=LABELS)


@dataclass(slots=True)
class ContentBuilder:
    """The contents of a batch: one row a distinct content, numbered by first appearance."""

    labels: LabelBuilder
    _codes: dict[tuple[int, bytes, str | None, str | None, str | None], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._codes)

    def add(
        self,
        kind: ContentKind,
        lexical: bytes,
        datatype: str | None = None,
        language: str | None = None,
        scope: str | None = None,
    ) -> int:
        """Return the row of a content, adding it when new."""
        return self._codes.setdefault((int(kind), lexical, datatype, language, scope), len(self._codes))

    def add_content(self, content: Content) -> int:
        """Return the row of `content`, adding it when new."""
        return self.add(content.kind, content.lexical, content.datatype, content.language, content.scope)

    def add_all(self, others: ContentBuilder) -> list[int]:
        """Return the row here of each content of `others`, in order."""
        return [self._codes.setdefault(identity, len(self._codes)) for identity in others._codes]

    def to_arrow(self) -> pa.RecordBatch:
        """Return the contents as a batch of the CONTENTS schema, keys computed."""
        rows = list(self._codes)
        kinds, lexicals, *symbols = list(zip(*rows, strict=True)) or [(), (), (), (), ()]
        kinds_by_symbol = (LabelKind.DATATYPE, LabelKind.LANGUAGE, LabelKind.SCOPE)
        codes = [
            pa.array([None if s is None else self.labels.code(k, s) for s in column], pa.uint32())
            for k, column in zip(kinds_by_symbol, symbols, strict=True)
        ]
        keys = [
            xxhash.xxh3_128_digest(key_message(row[0], row[1], *(None if s is None else s.encode() for s in row[2:])))
            for row in rows
        ]
        arrays = [
            pa.array(keys, KEY_TYPE),
            pa.array(np.array(kinds, np.uint8)),
            pa.array(list(lexicals), pa.large_binary()),
            *codes,
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=CONTENTS)
