"""Lines of names (WD50K, JF17K, triples, HypE) to facts, a block at a time and no Python object a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Role
from lisdata.inputs import InputFile
from lisdata.kernels.groups import rank_in_group
from lisdata.records import FactRecords
from lisdata.schema import ContentKind, LabelKind
from lisdata.sources.delimited_layout import undecodable
from lisdata.sources.fact_columns import ContentColumn, gather_spans
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.nary_facts import LineFacts, LineFault
from lisdata.sources.nary_layout import (
    LINE_ENDING,
    LINE_RELATION,
    QUALIFIER,
    SUBJECT,
    VALUE,
    NaryLayout,
    argument,
    qualifier_written,
    written,
)

Bools = npt.NDArray[np.bool_]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
RoleOf = Callable[[str], Role]

_NEWLINE, _RETURN = 0x0A, 0x0D


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of a block in order: bytes [begin, end) of it, and the line that each stands on.

    Line n is bytes line_begin[n] to line_end[n], its names first[n] : first[n + 1]; behind its last name stands its
    ending, from byte text_end[n] on.
    """

    begin: Int64
    end: Int64
    line: Int64
    first: Int64
    line_begin: Int64
    line_end: Int64
    text_end: Int64

    @property
    def counts(self) -> Int64:
        """How many names each line has."""
        return np.diff(self.first)

    def of_lines(self, is_kept: Bools) -> _Names:
        """Return the names of some of the lines, these numbered anew."""
        if is_kept.all():
            return self
        names = is_kept[self.line]
        return _Names(
            begin=self.begin[names],
            end=self.end[names],
            line=(np.cumsum(is_kept) - 1)[self.line[names]],
            first=np.concatenate(([0], np.cumsum(self.counts[is_kept]))),
            line_begin=self.line_begin[is_kept],
            line_end=self.line_end[is_kept],
            text_end=self.text_end[is_kept],
        )


def read_lines(
    data: bytes,
    base: int,
    layout: NaryLayout,
    told: NaryLayout | None,
    prefixes: IdPrefixes,
    file: InputFile,
    has_ids: bool,
) -> tuple[FactRecords, list[LineFault]]:
    """Return the facts of the good lines of `data`, which begins at byte `base`, and the bad lines."""
    names = _find_names(data, ord(layout.separator), trims=layout.layout == "hype")
    faults = _find_faults(data, names, layout, has_ids=has_ids)
    is_bad = np.zeros(len(names.line_begin), np.bool_)
    is_bad[list(faults)] = True
    names = names.of_lines(~is_bad)
    facts = LineFacts(file, base, names.line_begin, names.line_end, told)
    is_blank = names.counts == 0
    facts.keep_lines(np.flatnonzero(is_blank), data)
    if not is_blank.all():
        _LineReader(data, names, facts, prefixes).read(layout, has_ids=has_ids and layout.layout == "hype")
        _add_endings(data, names, np.flatnonzero(~is_blank), facts, layout.ending.encode())
    return facts.to_records(), [faults[line] for line in sorted(faults)]


def _find_names(data: bytes, separator: int, *, trims: bool) -> _Names:
    """Return the names of all lines; `trims` leaves out empty ones at the end of a line."""
    view = np.frombuffer(data, np.uint8)
    is_end = view == _NEWLINE
    end = np.flatnonzero(is_end | (view == separator))
    closes = is_end[end]
    if len(view) and view[-1] != _NEWLINE:
        end, closes = np.append(end, len(view)), np.append(closes, True)
    begin = np.concatenate(([0], end[:-1] + 1)) if len(end) else end
    last = np.flatnonzero(closes)
    line_end = np.minimum(end[last] + 1, len(view))
    line_begin = np.concatenate(([0], line_end[:-1])) if len(last) else line_end
    has_return = np.zeros(len(last), np.bool_)
    longer = (end[last] > begin[last]) & (end[last] < len(view))
    has_return[longer] = view[end[last[longer]] - 1] == _RETURN
    end[last] -= has_return
    line = np.cumsum(closes) - closes
    is_name = np.ones(len(end), np.bool_)
    counts = np.diff(last, prepend=-1)
    is_name[last[(counts == 1) & (end[last] == begin[last])]] = False  # a blank line
    text_end = end[last].copy()
    if trims:
        for row in np.flatnonzero(is_name[last] & (end[last] == begin[last])).tolist():
            name, stop = int(last[row]), int(last[row] - counts[row])
            while name > stop and begin[name] == end[name]:
                is_name[name] = False
                name -= 1
            text_end[row] = end[name] if name > stop else line_begin[row]
    return _Names(
        begin=begin[is_name],
        end=end[is_name],
        line=line[is_name],
        first=np.concatenate(([0], np.cumsum(np.bincount(line[is_name], minlength=len(last))))),
        line_begin=line_begin,
        line_end=line_end,
        text_end=text_end,
    )


def _find_faults(data: bytes, names: _Names, layout: NaryLayout, *, has_ids: bool) -> dict[int, LineFault]:
    """Return what is wrong, by line."""
    faults: dict[int, LineFault] = {}

    def add(line: int, at: int, expected: str, found: str) -> None:
        fault = LineFault(int(names.line_begin[line]), int(names.line_end[line]), at, expected, found)
        faults.setdefault(line, fault)

    offsets = undecodable(data, "utf-8")
    for at, line in zip(offsets, np.searchsorted(names.line_begin, offsets, side="right") - 1, strict=True):
        add(int(line), int(at), "UTF-8", f"byte 0x{data[at]:02x}")
    for name in np.flatnonzero(names.begin == names.end):
        add(int(names.line[name]), int(names.begin[name]), "a name", "an empty one")
    counts = names.counts
    if layout.layout == "hype":
        wrong, expected = (counts == 1) if has_ids else (counts < 0), "an id, a relation and names"
    elif layout.layout == "triples":
        wrong, expected = (counts > 0) & (counts != 3), "a head, a relation and a tail"
    else:
        wrong = (counts > 0) & ((counts < 3) | (counts % 2 == 0))
        expected = "subject,relation,object and pairs of qualifiers"
    for line in np.flatnonzero(wrong):
        add(int(line), int(names.line_begin[line]), expected, f"{counts[line]} names")
    return faults


def _add_endings(data: bytes, names: _Names, lines: Int64, facts: LineFacts, usual: bytes) -> None:
    """Say of lines that end otherwise than most how they end."""
    view = np.frombuffer(data, np.uint8)
    sizes = (names.line_end - names.text_end)[lines]
    is_odd = sizes != len(usual)
    if len(usual) == 1 and not is_odd.all():
        is_odd[~is_odd] = view[names.text_end[lines[~is_odd]]] != usual[0]
    elif not is_odd.all():
        is_odd[~is_odd] = view[names.text_end[lines[~is_odd]]] != _RETURN
    odd = lines[is_odd]
    if len(odd):
        texts = [data[names.text_end[line] : names.line_end[line]] for line in odd.tolist()]
        facts.say(facts.number[odd], LINE_ENDING, texts)


class _LineReader:
    """Adds the participants of lines to their facts."""

    def __init__(self, data: bytes, names: _Names, facts: LineFacts, prefixes: IdPrefixes) -> None:
        self._names, self._facts = names, facts
        encoded = gather_spans(np.frombuffer(data, np.uint8), names.begin, names.end).dictionary_encode()
        self._texts = encoded.dictionary
        self._code = np.asarray(encoded.indices).astype(np.int64)
        self._iris, self._is_odd = prefixes.expand_all(self._texts)
        self._content = np.zeros(len(self._texts), np.uint32)

    def read(self, layout: NaryLayout, *, has_ids: bool) -> None:
        """Add the participants of all lines that have names."""
        names, lines = self._names, np.flatnonzero(self._names.counts > 0)
        first = names.first[lines]
        if layout.layout == "hype":
            if has_ids:
                self._add_ids(lines, first)
                first = first + 1
            self._read_arguments(lines, first)
            return
        place = np.arange(len(names.line)) - names.first[names.line]
        relation = self._code[first + 1]
        is_value = (place % 2 == 0) & (place > 2)
        self._number_contents(np.concatenate((first, first + 2, np.flatnonzero(is_value))))
        self._add_relations(lines, relation)
        for number, side in ((first, SUBJECT), (first + 2, VALUE)):
            self._add(lines, number, relation, side, 0)
        values = np.flatnonzero(is_value)
        if len(values):
            line, qualifier = names.line[values], self._code[values - 1]
            position = rank_in_group(line * (1 << 32) + self._roles(qualifier, lambda name: Role(name, QUALIFIER)))
            self._add(line, values, qualifier, QUALIFIER, position)
            odd = np.flatnonzero(self._is_odd[qualifier])
            if len(odd):
                roles = self._roles(qualifier[odd], lambda name: qualifier_written(Role(name, QUALIFIER)))
                self._say_names(line[odd], qualifier[odd], roles, position[odd])

    def _read_arguments(self, lines: Int64, first: Int64) -> None:
        """Add the arguments of facts whose relations are the names `first`."""
        names = self._names
        of_line = np.full(len(names.counts), -1, np.int64)
        of_line[lines] = first
        number = np.arange(len(names.line)) - of_line[names.line]
        arguments = np.flatnonzero(number > 0)
        self._number_contents(arguments)
        self._add_relations(lines, self._code[first])
        relation, number = self._code[of_line[names.line[arguments]]], number[arguments]
        pairs, which = np.unique(np.stack((relation, number)), axis=1, return_inverse=True)
        roles = [argument(self._name(int(r)), int(n)) for r, n in pairs.T]
        line = names.line[arguments]
        codes = np.array([self._facts.labels.role(role) for role in roles], np.uint32)[which.reshape(-1)]
        name = self._code[arguments]
        self._facts.participants.add(self._facts.number[line], self._content[name], codes)
        odd = np.flatnonzero(self._is_odd[name])
        if len(odd):
            codes = np.array([self._facts.labels.role(written(role)) for role in roles], np.uint32)[which.reshape(-1)]
            self._say_names(line[odd], name[odd], codes[odd], 0)

    def _add_ids(self, lines: Int64, first: Int64) -> None:
        scope = self._facts.labels.code(LabelKind.SCOPE, self._facts.file.scope)
        ids = self._texts.take(pa.array(self._code[first]))
        at = self._facts.contents.add(ContentColumn.of_kind(ContentKind.INSTANCE, ids, scope=scope))
        self._facts.handle[lines] = at + np.arange(len(ids))

    def _number_contents(self, names: Int64) -> None:
        """Make contents of what the names `names` spell."""
        is_used = np.zeros(len(self._texts), np.bool_)
        is_used[self._code[names]] = True
        at = self._facts.contents.add(ContentColumn.of_kind(ContentKind.ENTITY, self._iris.filter(pa.array(is_used))))
        self._content = (at + np.cumsum(is_used) - 1).astype(np.uint32)

    def _add_relations(self, lines: Int64, relation: Int64) -> None:
        distinct, which = np.unique(relation, return_inverse=True)
        labels = [self._facts.labels.code(LabelKind.INSTANCE, self._name(int(code))) for code in distinct]
        self._facts.label[lines] = np.array(labels, np.uint32)[which]
        odd = np.flatnonzero(self._is_odd[relation])
        if len(odd):
            self._say_names(lines[odd], relation[odd], self._facts.labels.role(LINE_RELATION), 0)

    def _add(self, line: Int64, place: Int64, relation: Int64, side: str, position: Int64 | int) -> None:
        """Add the names at `place`, each in the role of its relation and `side`."""
        name = self._code[place]
        roles = self._roles(relation, lambda label: Role(label, side))
        self._facts.participants.add(self._facts.number[line], self._content[name], roles, position)
        odd = np.flatnonzero(self._is_odd[name])
        if len(odd):
            roles = self._roles(relation[odd], lambda label: written(Role(label, side)))
            at = position[odd] if isinstance(position, np.ndarray) else position
            self._say_names(line[odd], name[odd], roles, at)

    def _roles(self, relation: Int64, role: RoleOf) -> UInt32:
        distinct, which = np.unique(relation, return_inverse=True)
        codes = [self._facts.labels.role(role(self._name(int(code)))) for code in distinct]
        return np.array(codes, np.uint32)[which]

    def _say_names(self, line: Int64, name: Int64, role: UInt32 | int, position: Int64 | int) -> None:
        """Add names as they are written."""
        texts = self._texts.take(pa.array(name))
        at = self._facts.contents.add(ContentColumn.of_kind(ContentKind.TEXT, texts))
        content = np.arange(at, at + len(texts), dtype=np.uint32)
        self._facts.participants.add(self._facts.number[line], content, role, position)

    def _name(self, code: int) -> str:
        text: bytes = self._iris[code].as_py()
        return text.decode()
