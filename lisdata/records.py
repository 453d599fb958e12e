"""The small tables that sources yield and converters read: one class a kind, flat arrays, no object per fact.

Numbers called `*_content` are rows of the table's own `contents` (CONTENTS schema), `*_role` and `*_label` are rows of
its `labels` (LABELS schema); `contents` refers to `labels` too. `begin` and `end` are bytes of the decompressed input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.inputs import InputFile

UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Int8 = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleRecords:
    """N triples or quads; `graph` is None, or has NO_ROW where a triple stands in the default graph.

    Structure g holds triples structure_offsets[g] : structure_offsets[g + 1]. `ordinal` numbers the triples of the file
    where the parser does not tell their bytes: then `begin` and `end` are only bounds of where they stand. The columns
    of `triple_terms` (4, T) are the contents of an RDF 1.2 triple term and of its subject, predicate and object.
    `counts` says what happened on the way, by name, for the manifest; `prefixes` are those that the file has declared
    up to here, IRIs by name.
    """

    file: InputFile
    contents: pa.RecordBatch
    labels: pa.RecordBatch
    subject_content: UInt32
    predicate_content: UInt32
    object_content: UInt32
    graph_content: UInt32 | None
    structure_offsets: Int64
    begin: UInt64
    end: UInt64
    ordinal: UInt64 | None = None
    triple_terms: UInt32 | None = None
    counts: dict[str, int] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)

    @property
    def num_records(self) -> int:
        """Triples."""
        return len(self.subject_content)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRecords:
    """N units of running text.

    `documents` holds each unit's exact bytes (UTF-8; a lone surrogate as three bytes). Mentions are spans (bytes inside
    the unit, on character borders) that show an entity; those of unit n are rows mention_offsets[n] :
    mention_offsets[n + 1], in the source's order, and so for fields: further facts, each a role and a content.
    `field_mention` is the row of the mention that a field is about, -1 where it is about the unit itself. No content is
    a word: words are found by the converter.
    """

    file: InputFile
    unit: str
    documents: pa.LargeBinaryArray
    begin: UInt64
    end: UInt64
    contents: pa.RecordBatch
    labels: pa.RecordBatch
    mention_offsets: Int64
    mention_begin: UInt64
    mention_end: UInt64
    mention_content: UInt32
    field_offsets: Int64
    field_role: UInt32
    field_content: UInt32
    field_mention: Int64

    @property
    def num_records(self) -> int:
        """Units."""
        return len(self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRecords:
    """N sentences, each with its words and (maybe) a dependency tree over them.

    `documents` holds each sentence's surface as bytes. Words of sentence n are rows word_offsets[n] :
    word_offsets[n + 1]; `word_content` is a word's form; `word_begin` and `word_end` are bytes of the document (words
    of one multiword token may share its span). `head` is 1-based inside the sentence, 0 = root, -1 = no tree;
    `deprel_label` has NO_ROW where there is none. `terminal` and `nonterminal` are hexatags of the tree (of the lifted
    tree where it is not projective), -100 where untagged. Notes are further facts of sentence n, rows
    note_offsets[n] : note_offsets[n + 1] in order: a role, a position and a content. `counts` says what happened on the
    way (lifted arcs, dropped sentences), by name, for the manifest.
    """

    file: InputFile
    documents: pa.LargeBinaryArray
    begin: UInt64
    end: UInt64
    contents: pa.RecordBatch
    labels: pa.RecordBatch
    word_offsets: Int64
    word_content: UInt32
    word_begin: UInt64
    word_end: UInt64
    head: Int32
    deprel_label: UInt32
    terminal: Int8
    nonterminal: Int8
    note_offsets: Int64
    note_role: UInt32
    note_position: Int64
    note_content: UInt32
    counts: dict[str, int]

    @property
    def num_records(self) -> int:
        """Sentences."""
        return len(self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRecords:
    """Facts with any number of participants (hyperedges, n-ary facts), grouped into structures.

    Structure g holds facts structure_offsets[g] : structure_offsets[g + 1]; fact f holds participants
    participant_offsets[f] : participant_offsets[f + 1]. `begin` and `end` are those of structures. `fact_handle` has
    NO_ROW where a fact has no name. A content that is no participant is an isolated one. `counts` says what was found
    on the way, by name, for the manifest. Where structures are of several files, `files` has that of each.
    """

    file: InputFile
    contents: pa.RecordBatch
    labels: pa.RecordBatch
    structure_offsets: Int64
    fact_label: UInt32
    fact_handle: UInt32
    fact_ordinal: UInt64
    begin: UInt64
    end: UInt64
    participant_offsets: Int64
    participant_content: UInt32
    participant_role: UInt32
    participant_position: Int64
    num_records: int
    counts: dict[str, int] = field(default_factory=dict)
    files: tuple[InputFile, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTextRecords:
    """N texts, each with facts that it says: text n belongs to structure n of `facts`.

    Both refer to the same contents and labels.
    """

    facts: FactRecords
    text: TextRecords

    @property
    def file(self) -> InputFile:
        """The input."""
        return self.text.file

    @property
    def begin(self) -> UInt64:
        """Where each record begins."""
        return self.text.begin

    @property
    def end(self) -> UInt64:
        """Where each record ends."""
        return self.text.end

    @property
    def num_records(self) -> int:
        """Texts."""
        return self.text.num_records


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRecords:
    """T rooted, ordered trees.

    Tree t holds nodes node_offsets[t] : node_offsets[t + 1] in document order; `node_parent` is a number inside the
    tree, -1 at a root (a forest has several). `node_span_begin/_end` are bytes of the document, or None where the
    parser knows none. Node n holds attributes attribute_offsets[n] : attribute_offsets[n + 1] in order. `node_key` is
    the content of the name that a node has in its parent (a member of a JSON object), NO_ROW where it has none.
    `node_role` is the role in which a node is placed, NO_ROW where it is the usual one. `counts` says what was found on
    the way, by name, for the manifest. Where each tree is a file of its own, these are `files`, `file` the first.
    """

    file: InputFile
    label: str
    documents: pa.LargeBinaryArray
    begin: UInt64
    end: UInt64
    contents: pa.RecordBatch
    labels: pa.RecordBatch
    node_offsets: Int64
    node_parent: Int64
    node_content: UInt32
    node_span_begin: UInt64 | None
    node_span_end: UInt64 | None
    attribute_offsets: Int64
    attribute_role: UInt32
    attribute_content: UInt32
    node_key: UInt32 | None = None
    node_role: UInt32 | None = None
    files: tuple[InputFile, ...] | None = None
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def num_records(self) -> int:
        """Trees."""
        return len(self.node_offsets) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A file that was parsed as one document of `size` bytes, on its way into the records of several.

    `parsed` is what its source made of it; `data` its bytes, None where they are not kept. `counts` is as in
    `TreeRecords`.
    """

    file: InputFile
    size: int
    data: bytes | None
    parsed: Any
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def num_records(self) -> int:
        """One document."""
        return 1

    @property
    def end(self) -> UInt64:
        """Where the document ends, as in records."""
        return np.array([self.size], np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecords:
    """N documents, each a tree of units (sections, paragraphs, sentences ...) whose running text is in segments.

    Document n has units unit_offsets[n] : unit_offsets[n + 1], parents before children, in document order; the first is
    the document. `unit_parent` is a number inside the document, -1 at the first; `unit_label` a row of `unit_labels`.
    Segments, ascending and apart, are bytes of the document whose words belong to `segment_unit`, a number inside the
    document: rows segment_offsets[n] : segment_offsets[n + 1]. Where each document is a file of its own, these are
    `files`, `file` the first.
    """

    file: InputFile
    documents: pa.LargeBinaryArray
    begin: UInt64
    end: UInt64
    unit_labels: tuple[str, ...]
    unit_offsets: Int64
    unit_label: Int64
    unit_parent: Int64
    unit_begin: Int64
    unit_end: Int64
    segment_offsets: Int64
    segment_unit: Int64
    segment_begin: Int64
    segment_end: Int64
    files: tuple[InputFile, ...] | None = None

    @property
    def num_records(self) -> int:
        """Documents."""
        return len(self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Columns of a table that name a row of another (or the same) table by its key columns."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """Names, types and keys of one table; types are those of Table Schema (string, integer, number, boolean, ...).

    Its keys, and those that it refers to, are names in `namespace`: None is the one of all tables of that name.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    namespace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRecords:
    """N rows of one table: cells as exact text (large_string; bytes large_binary), null where the table says NULL.

    `cell_types` has, for a column whose cells are not all of its type, the type of each cell (strings, as a dictionary
    array). In formats without bytes of a row `begin` and `end` count those of the cells' texts. `counts` says what the
    source counted on the way, by name, for the manifest.
    """

    file: InputFile
    table: TableSchema
    cells: pa.RecordBatch
    ordinal: UInt64
    begin: UInt64
    end: UInt64
    dialect: dict[str, Any]
    cell_types: dict[str, pa.DictionaryArray] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def num_records(self) -> int:
        """Rows."""
        return int(self.cells.num_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRecords:
    """N arrays of any rank, dtype and shape, each with a name and the bytes of its source.

    `notes`, where there are any, say of each array what its values do not: JSON, of few different forms in all.
    """

    file: InputFile
    names: tuple[str, ...]
    arrays: tuple[npt.NDArray[Any], ...]
    begin: UInt64
    end: UInt64
    notes: tuple[dict[str, Any], ...] = ()

    @property
    def num_records(self) -> int:
        """Arrays."""
        return len(self.arrays)


Records = (
    TripleRecords
    | TextRecords
    | DocumentRecords
    | SentenceRecords
    | FactRecords
    | FactTextRecords
    | TreeRecords
    | RowRecords
    | GridRecords
)
