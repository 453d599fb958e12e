"""Lines of JSON (WikiPeople, NaLP) to facts: roles and their values, an object a fact."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lisdata.contents import Role, encode_text
from lisdata.inputs import InputFile
from lisdata.records import FactRecords
from lisdata.schema import NO_ROW, ContentKind, LabelKind
from lisdata.sources.fact_columns import ContentColumn
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_contents import is_side
from lisdata.sources.json_text import STYLES, JsonStyle, JsonTextError, NumberText, read_json, write_json
from lisdata.sources.lines import line_bounds
from lisdata.sources.nary_facts import LineFacts, LineFault
from lisdata.sources.nary_layout import (
    ARITY_KEY,
    FACT,
    HEAD_KEY,
    LINE_TEXT,
    QUALIFIER,
    SUBJECT,
    TAIL_KEY,
    TIME,
    VALUE,
    NaryLayout,
)

_TIME = re.compile(r"[+-][0-9]+-[0-9]{2}-[0-9]{2}T[0-9:]+Z(?:#[^#]*)*")

Values = list[tuple[str, str, list[str]]]
"""Of each role the relation, the side and the values."""


class _WrongObjectError(ValueError):
    def __init__(self, expected: str, found: str) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"expected {expected}, found {found}")


def read_objects(
    data: bytes, base: int, layout: NaryLayout, told: NaryLayout | None, prefixes: IdPrefixes, file: InputFile
) -> tuple[FactRecords, list[LineFault]]:
    """Return the facts of the good lines of `data`, which begins at byte `base`, and the bad lines."""
    bounds = line_bounds(data).tolist()
    reader = _ObjectReader(layout, prefixes)
    faults: list[LineFault] = []
    for begin, end in pairwise(bounds):
        try:
            reader.read(data[begin:end], begin)
        except UnicodeDecodeError as error:
            at = begin + error.start
            faults.append(LineFault(begin, end, at, "UTF-8", f"byte 0x{data[at]:02x}"))
        except JsonTextError as error:
            at = begin + len(data[begin:end].decode()[: error.offset].encode())
            faults.append(LineFault(begin, end, at, error.expected, error.found))
        except _WrongObjectError as error:
            faults.append(LineFault(begin, end, begin, error.expected, error.found))
    return reader.to_records(data, base, told, file), faults


@dataclass(slots=True)
class _ObjectReader:
    """Gathers the participants of lines in flat lists."""

    layout: NaryLayout
    prefixes: IdPrefixes
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)  # "" for a blank line
    odd: list[int] = field(default_factory=list)  # lines that would not come back as they are
    fact: list[int] = field(default_factory=list)
    role: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    content: list[int] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)  # values, numbered
    roles: dict[tuple[str, str], int] = field(default_factory=dict)  # relations and sides, numbered
    checked: set[str] = field(default_factory=set)  # names that come back as they are written
    _binary: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._binary = _binary_pattern(STYLES[self.layout.style], self.layout.ending)

    def read(self, line: bytes, begin: int) -> None:
        """Add the fact of one line, its ending included."""
        binary = self._binary.fullmatch(line)
        if binary is not None:
            self._read_binary(binary, begin, line)
            return
        text = line.decode()
        number = len(self.begins)
        if not text.strip():
            self._begin_line("", begin, line)
            return
        relation, values = _read_fact(text)
        is_usual = text == fact_text(relation, values, STYLES[self.layout.style], self.layout.ending)
        names = [relation or FACT, *(v for name, _, named in values for v in (name, *named))]
        if not is_usual or not all(named for _, _, named in values) or not all(map(self._comes_back, names)):
            self.odd.append(number)
        self._begin_line(relation or FACT, begin, line)
        for name, side, named in values:
            role = self.roles.setdefault((name, side), len(self.roles))
            for position, value in enumerate(named):
                self._add(number, role, position, value)

    def _read_binary(self, match: re.Match[bytes], begin: int, line: bytes) -> None:
        """Read the fact of a relation, a subject and a value, as most are."""
        relation, subject, value = (text.decode() for text in match.groups())
        number = len(self.begins)
        if not (self._comes_back(relation) and self._comes_back(subject) and self._comes_back(value)):
            self.odd.append(number)
        self._begin_line(relation, begin, line)
        self._add(number, self.roles.setdefault((relation, SUBJECT), len(self.roles)), 0, subject)
        self._add(number, self.roles.setdefault((relation, VALUE), len(self.roles)), 0, value)

    def _add(self, fact: int, role: int, position: int, value: str) -> None:
        self.fact.append(fact)
        self.role.append(role)
        self.position.append(position)
        self.content.append(self.known.setdefault(value, len(self.known)))

    def _begin_line(self, relation: str, begin: int, line: bytes) -> None:
        self.relations.append(relation)
        self.begins.append(begin)
        self.ends.append(begin + len(line))

    def _comes_back(self, name: str) -> bool:
        """Tell whether a name is the one that its IRI is written as."""
        if not self.prefixes.iris or name in self.checked:
            return True
        if self.prefixes.restore(self.prefixes.expand(name)) != name:
            return False
        self.checked.add(name)
        return True

    def to_records(self, data: bytes, base: int, told: NaryLayout | None, file: InputFile) -> FactRecords:
        """Return the facts; `data` begins at byte `base` of the file."""
        begins, ends = np.array(self.begins, np.int64), np.array(self.ends, np.int64)
        facts = LineFacts(file, base, begins, ends, told)
        blank = np.array([line for line, relation in enumerate(self.relations) if not relation], np.int64)
        labels = {
            name: facts.labels.code(LabelKind.INSTANCE, self.prefixes.expand(name)) for name in self.relations if name
        }
        facts.label[:] = [labels.get(name, 0) for name in self.relations]
        roles = [facts.labels.role(Role(self.prefixes.expand(name), side)) for name, side in self.roles]
        first = facts.contents.add(self._contents(facts))
        content = (first + np.array(self.content, np.int64)).astype(np.uint32)
        fact = facts.number[np.array(self.fact, np.int64)]
        codes = np.array(roles, np.uint32)[np.array(self.role, np.int64)]
        facts.participants.add(fact, content, codes, np.array(self.position, np.int64))
        facts.keep_lines(blank, data)
        if self.odd:
            texts = [data[self.begins[line] : self.ends[line]] for line in self.odd]
            facts.say(facts.number[self.odd], LINE_TEXT, texts)
        return facts.to_records()

    def _contents(self, facts: LineFacts) -> ContentColumn:
        is_time = np.array([_TIME.fullmatch(value) is not None for value in self.known], np.bool_)
        names = [
            value if time else self.prefixes.expand(value) for value, time in zip(self.known, is_time, strict=True)
        ]
        time = facts.labels.code(LabelKind.DATATYPE, TIME) if is_time.any() else NO_ROW
        return ContentColumn(
            kind=np.where(is_time, ContentKind.LITERAL, ContentKind.ENTITY).astype(np.uint8),
            lexical=pa.array([encode_text(name) for name in names], pa.large_binary()),
            datatype=np.where(is_time, time, NO_ROW).astype(np.uint32),
            language=np.full(len(names), NO_ROW, np.uint32),
        )


def _binary_pattern(style: JsonStyle, ending: str) -> re.Pattern[bytes]:
    """Return what the usual line of a fact without qualifiers matches: relation, subject and value, all plain ASCII."""
    text = '"([ !#-[\\]-~]*)"'
    named = '"([ !#-[\\]-~]+)_h"'
    members = (f"{named}:{text}", f'"\\1_t":{text}', '"N":2')
    parts = (re.sub('":', lambda _: f'"{style.name_separator}', member) for member in members)
    return re.compile((r"\{" + style.item_separator.join(parts) + r"\}" + ending).encode())


def _read_fact(text: str) -> tuple[str | None, Values]:
    """Return the relation that NAME_h and NAME_t call, None without them, and the values of all roles."""
    members = read_json(text)
    if not isinstance(members, dict):
        raise _WrongObjectError("an object", _shown(members))
    heads, tails = ([key for key in members if key.endswith(suffix)] for suffix in (HEAD_KEY, TAIL_KEY))
    relation = None
    if heads or tails:
        relation = (heads or tails)[0][: -len(HEAD_KEY)]
        if (heads, tails) != ([relation + HEAD_KEY], [relation + TAIL_KEY]) or not relation:
            raise _WrongObjectError("one NAME_h and one NAME_t of that name", ", ".join(heads + tails))
    arity = members.pop(ARITY_KEY, None)
    if arity is not None and not (isinstance(arity, NumberText) and arity.is_integer):
        raise _WrongObjectError(f"an integer as {ARITY_KEY}", _shown(arity))
    values: Values = []
    for key, value in members.items():
        named = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) and not isinstance(one, NumberText) for one in named):
            raise _WrongObjectError(f"a string or a list of strings as {key}", _shown(value))
        if not key or not is_side(key.replace("#", "")):
            raise _WrongObjectError("roles with a name that UTF-8 can hold", _shown(key))
        values.append(_role_of(key, relation, named))
    if relation is not None and any(len(named) != 1 for _, side, named in values if side != QUALIFIER):
        raise _WrongObjectError(f"one value of {relation}{HEAD_KEY} and {relation}{TAIL_KEY}", _shown(members))
    return relation, values


def _role_of(key: str, relation: str | None, named: list[str]) -> tuple[str, str, list[str]]:
    for suffix, side in ((HEAD_KEY, SUBJECT), (TAIL_KEY, VALUE)):
        if relation is not None and key == relation + suffix:
            return relation, side, named
    return key, QUALIFIER, named


def _shown(value: Any) -> str:
    text = write_json(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def fact_text(relation: str | None, values: Values, style: JsonStyle, ending: str) -> str:
    """Return the line that most files have for a fact: NAME_h, NAME_t, N and the other roles, with lists of values.

    Without a relation N comes last, and one value is no list.
    """
    quote, comma, colon = style.quote, style.item_separator, style.name_separator
    own = [(name, side, named) for name, side, named in values if side != QUALIFIER]
    others = [(name, named) for name, side, named in values if side == QUALIFIER]
    arity = f"{quote(ARITY_KEY)}{colon}{sum(len(named) for _, _, named in values)}"
    members = [
        f"{quote(name + (HEAD_KEY if side == SUBJECT else TAIL_KEY))}{colon}{quote(named[0])}"
        for name, side, named in sorted(own, key=lambda role: role[1])
    ]
    for name, named in others:
        listed = f"[{comma.join(map(quote, named))}]"
        if relation is None and len(named) == 1:
            listed = quote(named[0])
        members.append(f"{quote(name)}{colon}{listed}")
    members.insert(len(members) if relation is None else len(own), arity)
    return "{" + comma.join(members) + "}" + ending
