"""JSONL: an object a line, with a text and perhaps linked mentions in it; the lines come back byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lisdata.contents import ContentBuilder, LabelBuilder, Role, encode_text
from lisdata.errors import BadRecordError
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import TextRecords
from lisdata.registry import Reject
from lisdata.schema import ContentKind
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_contents import is_side, json_to_content
from lisdata.sources.json_text import byte_offsets
from lisdata.sources.jsonl_layout import FIELD, FIELDS, LAYOUT, LINE, JsonlOptions
from lisdata.sources.jsonl_record import JsonlRecord, LineError, Mention, parse_line
from lisdata.sources.lines import LineBlocks, find_line, line_bounds

UNIT, MENTION = "record", "mention"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class JsonlSource:
    """Reads JSON Lines.

    Members of a record other than the text and the entities are fields of it (role record#field:NAME), those of an
    entity other than start, end and id are fields of the mention (mention#field:NAME); where a name cannot stand in a
    role, all of them together are one JSON content (record#fields). record#layout and record#line say how a line is
    written when it is not the usual way.
    """

    name: str = "jsonl"
    summary: str = "JSON Lines with a text a record and linked mentions in it"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")
    converter: str = "text"
    exporter: str = "jsonl"
    splits: bool = True
    options_type: type[JsonlOptions] = JsonlOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: JsonlOptions) -> int:
        """Return where a line begins."""
        return find_line(piece, wanted)

    def read(self, piece: InputSlice, options: JsonlOptions, reject: Reject) -> Iterator[TextRecords]:
        """Yield the records of `piece`; a line that is none is rejected."""
        prefixes = IdPrefixes.parse(options.id_prefix)
        blocks = LineBlocks(piece)
        for offset, data in blocks:
            batch = _Batch()
            bounds = line_bounds(data).tolist()
            for begin, end in pairwise(bounds):
                line = data[begin:end]
                try:
                    record = _parse(line, offset + begin, options, prefixes)
                except LineError as error:
                    place = blocks.place(offset + begin + error.at)
                    reject(
                        BadRecordError(
                            place,
                            expected=error.expected,
                            found=error.found,
                            begin=offset + begin,
                            end=offset + end,
                            data=line,
                        )
                    )
                else:
                    batch.append(record, offset + begin, offset + end)
            if batch.documents:
                yield batch.to_records(piece.file)


def _parse(line: bytes, offset: int, options: JsonlOptions, prefixes: IdPrefixes) -> JsonlRecord:
    if offset or not line.startswith(_BOM):
        return parse_line(line, options, prefixes)
    try:
        record = parse_line(line[len(_BOM) :], options, prefixes)
    except LineError as error:
        raise LineError(error.at + len(_BOM), error.expected, error.found) from error
    return JsonlRecord(text=record.text, mentions=record.mentions, members=record.members, line=line)


@dataclass(slots=True)
class _Batch:
    """Flat columns of the records of one block."""

    labels: LabelBuilder = field(default_factory=LabelBuilder)
    documents: list[bytes] = field(default_factory=list)
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    mention_ends: list[int] = field(default_factory=lambda: [0])
    mention_begin: list[int] = field(default_factory=list)
    mention_end: list[int] = field(default_factory=list)
    mention_content: list[int] = field(default_factory=list)
    field_ends: list[int] = field(default_factory=lambda: [0])
    field_role: list[int] = field(default_factory=list)
    field_content: list[int] = field(default_factory=list)
    field_mention: list[int] = field(default_factory=list)
    contents: ContentBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.contents = ContentBuilder(self.labels)

    def append(self, record: JsonlRecord, begin: int, end: int) -> None:
        document = encode_text(record.text)
        self._append_members(UNIT, record.members, -1)
        if record.mentions:
            self._append_mentions(record.mentions, byte_offsets(record.text, document))
        if record.layout is not None:
            self._append_field(Role(UNIT, LAYOUT), (ContentKind.JSON, record.layout.encode()), -1)
        if record.line is not None:
            self._append_field(Role(UNIT, LINE), (ContentKind.BYTES, record.line), -1)
        self.documents.append(document)
        self.begin.append(begin)
        self.end.append(end)
        self.mention_ends.append(len(self.mention_content))
        self.field_ends.append(len(self.field_content))

    def _append_mentions(self, mentions: tuple[Mention, ...], at: Any) -> None:
        for mention in mentions:
            self._append_members(MENTION, mention.members, len(self.mention_content))
            self.mention_begin.append(int(at[mention.begin]))
            self.mention_end.append(int(at[mention.end]))
            self.mention_content.append(self.contents.add(ContentKind.ENTITY, encode_text(mention.name)))

    def _append_members(self, relation: str, members: dict[str, Any], mention: int) -> None:
        if all(map(is_side, members)):
            for name, value in members.items():
                self._append_field(Role(relation, FIELD + name), json_to_content(value), mention)
        else:
            self._append_field(Role(relation, FIELDS), json_to_content(members), mention)

    def _append_field(self, role: Role, content: tuple[ContentKind, bytes], mention: int) -> None:
        self.field_role.append(self.labels.role(role))
        self.field_content.append(self.contents.add(*content))
        self.field_mention.append(mention)

    def to_records(self, file: InputFile) -> TextRecords:
        contents = self.contents.to_arrow()
        return TextRecords(
            file=file,
            unit=UNIT,
            documents=pa.array(self.documents, pa.large_binary()),
            begin=np.array(self.begin, np.uint64),
            end=np.array(self.end, np.uint64),
            contents=contents,
            labels=self.labels.to_arrow(),
            mention_offsets=np.array(self.mention_ends, np.int64),
            mention_begin=np.array(self.mention_begin, np.uint64),
            mention_end=np.array(self.mention_end, np.uint64),
            mention_content=np.array(self.mention_content, np.uint32),
            field_offsets=np.array(self.field_ends, np.int64),
            field_role=np.array(self.field_role, np.uint32),
            field_content=np.array(self.field_content, np.uint32),
            field_mention=np.array(self.field_mention, np.int64),
        )


JSONL = JsonlSource()
