"""Facts with a text that says them, an object a line (data-to-text corpora, LIS appendix F.3 and F.4).

    {"facts": [{"relation": "work:boss-captain", "participants": [["boss", "ann"], ["captain", "bo"]]}],
     "text": "ann is bo's boss", "entities": [{"start": 0, "end": 3, "id": "ann"}]}

A participant is a role and an entity; entities of the text are mentions of the same entities.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from lisdata.contents import ContentBuilder, LabelBuilder, Role, encode_text
from lisdata.inputs import InputSlice
from lisdata.records import FactTextRecords
from lisdata.registry import Reject
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.fact_columns import FactColumns
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_contents import is_side
from lisdata.sources.json_text import JsonPath, JsonTextError, NumberText, locate, read_json, write_json
from lisdata.sources.jsonl import TextBatch
from lisdata.sources.jsonl_record import JsonlRecord, Mention
from lisdata.sources.lines import LineBlocks, LineError, LineLimit, find_line, iter_parsed

RECORD = "record"
_BLANK = " \t\r\n"
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTextOptions:
    """Options of source fact-text."""

    id_prefix: tuple[str, ...] = field(
        default=(),
        metadata={"help": "PREFIX=IRI: an id of PREFIX and digits is IRI with the id behind it (repeatable)."},
    )
    max_document_bytes: int = field(
        default=64 << 20, metadata={"help": "Refuse a longer record, which would have to be held in memory whole."}
    )

    def __post_init__(self) -> None:
        if self.max_document_bytes < 1:
            raise ValueError(f"expected a limit of at least 1 byte, got {self.max_document_bytes=}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A relation and its participants in order: pairs of role and entity."""

    relation: str
    participants: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FactTextSource:
    """Reads JSON Lines of facts and text.

    A line that is not written in the usual way (this order of members, no white space) is kept beside, so that it
    comes back as it was.
    """

    name: str = "fact-text"
    summary: str = "JSON Lines of facts and a text that says them"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")
    converter: str = "fact-text"
    exporter: str = "fact-text"
    splits: bool = True
    options_type: type[FactTextOptions] = FactTextOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: FactTextOptions) -> int:
        """Return where a line begins."""
        return find_line(piece, wanted)

    def read(self, piece: InputSlice, options: FactTextOptions, reject: Reject) -> Iterator[FactTextRecords]:
        """Yield the records of `piece`; a line that is none is rejected."""
        prefixes = IdPrefixes.parse(options.id_prefix)
        limit = LineLimit(unit=RECORD, max_bytes=options.max_document_bytes, reject=reject)
        blocks = LineBlocks(piece, limit=limit)

        def parse(line: bytes, begin: int) -> tuple[list[Fact], JsonlRecord]:
            return _parse(line, prefixes)

        for offset, data in blocks:
            contents = ContentBuilder(LabelBuilder())
            facts, text = FactColumns(contents), TextBatch(contents)
            for (found, record), begin, end in iter_parsed(blocks, offset, data, limit, parse):
                _add_facts(facts, found, prefixes, (begin, end))
                text.append(record, begin, end)
            num_records = len(text.documents)
            if num_records:
                yield FactTextRecords(
                    facts=facts.to_records(blocks.file, num_records=num_records), text=text.to_records(blocks.file)
                )


def _add_facts(columns: FactColumns, facts: list[Fact], prefixes: IdPrefixes, place: tuple[int, int]) -> None:
    for number, fact in enumerate(facts):
        columns.add_fact(fact.relation, NO_ROW, number)
        positions: dict[str, int] = {}
        for role, entity in fact.participants:
            position = positions[role] = positions.get(role, -1) + 1
            content = columns.contents.add(ContentKind.ENTITY, encode_text(prefixes.expand(entity)))
            columns.add_participant(Role(fact.relation, role), content, position)
    columns.end_structure(*place)


def write_line(facts: list[Fact], text: str, entities: list[tuple[int, int, str]]) -> bytes:
    """Return the usual line of a record; entities are begin and end, in characters of the text, and the id."""
    members = {
        "facts": [{"relation": f.relation, "participants": f.participants} for f in facts],
        "text": text,
        "entities": [{"start": begin, "end": end, "id": name} for begin, end, name in entities],
    }
    try:
        return orjson.dumps(members) + b"\n"
    except orjson.JSONEncodeError:  # a lone surrogate, which is no UTF-8: written as an escape
        return json.dumps(members, separators=(",", ":")).encode() + b"\n"


# -- one line --------------------------------------------------------------------------------------------------------


class _WrongValueError(ValueError):
    """A value of a record is not what it has to be; `path` leads to it."""

    def __init__(self, path: JsonPath, expected: str, found: Any) -> None:
        self.path, self.expected, self.found = path, expected, found
        super().__init__(expected)


def _parse(line: bytes, prefixes: IdPrefixes) -> tuple[list[Fact], JsonlRecord]:
    """Return the facts of a line, and its text with mentions; LineError says where and how it is none."""
    try:
        facts, record = _to_record(line, orjson.loads(line), prefixes)
    except (orjson.JSONDecodeError, _WrongValueError):
        pass  # the exact parser reads what the fast one cannot, or says where it is wrong
    else:
        if record.line is None:
            return facts, record  # the usual line: no member twice, no number but plain ones
    try:
        text = line.decode("utf-8")
        value = read_json(text.rstrip(_BLANK) or text)
        return _to_record(line, value, prefixes)
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02x} ({error.reason})"
        raise LineError(error.start, "UTF-8", found) from error
    except JsonTextError as error:
        raise LineError(len(text[: error.offset].encode()), error.expected, error.found) from error
    except _WrongValueError as error:
        at = len(text[: locate(text, error.path)].encode())
        found = write_json(error.found)
        found = found if len(found) <= _SHOWN_CHARACTERS else f"{found[:_SHOWN_CHARACTERS]}..."
        raise LineError(at, error.expected, found) from error
    except RecursionError as error:
        raise LineError(0, "JSON of fewer levels", "values too deep in each other to be read") from error


def _to_record(line: bytes, value: Any, prefixes: IdPrefixes) -> tuple[list[Fact], JsonlRecord]:
    if not isinstance(value, dict) or not {"facts", "text"} <= value.keys() <= {"facts", "text", "entities"}:
        raise _WrongValueError((), 'an object with "facts", "text" and perhaps "entities"', value)
    listed, entities = value["facts"], value.get("entities", [])
    text = _string(("text",), value["text"])
    for name, items in (("facts", listed), ("entities", entities)):
        if not isinstance(items, list):
            raise _WrongValueError((name,), "an array", items)
    facts = [_fact(("facts", number), fact) for number, fact in enumerate(listed)]
    mentions = tuple(_mention(("entities", n), entity, len(text), prefixes) for n, entity in enumerate(entities))
    usual = write_line(facts, text, [(m.begin, m.end, prefixes.restore(m.name)) for m in mentions])
    is_usual = line == usual and all(
        prefixes.restore(prefixes.expand(e)) == e for f in facts for _, e in f.participants
    )
    record = JsonlRecord(text=text, mentions=mentions, members={}, line=None if is_usual else line)
    return facts, record


def _fact(path: JsonPath, fact: Any) -> Fact:
    if not isinstance(fact, dict) or fact.keys() != {"relation", "participants"}:
        raise _WrongValueError(path, 'an object with "relation" and "participants"', fact)
    listed = fact["participants"]
    if not isinstance(listed, list):
        raise _WrongValueError((*path, "participants"), "an array", listed)
    participants = [_participant((*path, "participants", n), pair) for n, pair in enumerate(listed)]
    return Fact(relation=_string((*path, "relation"), fact["relation"]), participants=tuple(participants))


def _participant(path: JsonPath, pair: Any) -> tuple[str, str]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise _WrongValueError(path, "a pair of role and entity", pair)
    role, entity = (_string((*path, number), value) for number, value in enumerate(pair))
    if not is_side(role):
        raise _WrongValueError((*path, 0), "a role without '#'", role)
    return role, entity


def _mention(path: JsonPath, entity: Any, length: int, prefixes: IdPrefixes) -> Mention:
    if not isinstance(entity, dict) or entity.keys() != {"start", "end", "id"}:
        raise _WrongValueError(path, 'an object with "start", "end" and "id"', entity)
    begin = _offset((*path, "start"), entity["start"], 0, length)
    end = _offset((*path, "end"), entity["end"], begin, length)
    name = prefixes.expand(_string((*path, "id"), entity["id"]))
    return Mention(begin=begin, end=end, name=name, members={})


def _string(path: JsonPath, value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, NumberText):
        raise _WrongValueError(path, "a string", value)
    return value


def _offset(path: JsonPath, value: Any, first: int, last: int) -> int:
    if isinstance(value, NumberText) and value.is_integer and len(value) <= len(str(last)):
        value = int(value)
    if type(value) is not int or not first <= value <= last:
        found = NumberText(value) if type(value) is int else value
        raise _WrongValueError(path, f"an offset from {first} to {last}, in characters", found)
    return value


FACT_TEXT = FactTextSource()
