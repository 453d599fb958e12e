"""Members of entities that a compiled scan adds to the columns of a batch, without a Python object a value."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from lisdata.contents import Role
from lisdata.kernels import wikidata_names as names
from lisdata.kernels.json_members import ARRAY, FOLLOWING, KIND, OBJECT, Tokens, tokens_for_kernels
from lisdata.kernels.json_scan import scan_json
from lisdata.kernels.wikidata_facts import NO_HANDLE
from lisdata.kernels.wikidata_members import AddedMembers, MemberScanner
from lisdata.kernels.wikidata_scan import list_members
from lisdata.schema import NO_ROW, LabelKind
from lisdata.sources.wikidata_columns import EntityColumns
from lisdata.sources.wikidata_layout import (
    BADGE,
    COMMONS_DATA,
    COMMONS_FILE,
    FLAGS,
    PARTS,
    QUALIFIER,
    RANK,
    REFERENCE,
    SITE,
    SITELINK,
    STATEMENT,
    STATEMENT_MAPS,
    SUBJECT,
    TERMS,
    TITLE,
    VALUE,
    WikidataOptions,
)
from lisdata.sources.wikidata_layout import OBJECT as OBJECT_SIDE
from lisdata.sources.wikidata_parsing import read_fast

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]

_WINDOW_BYTES = 1 << 20  # of records scanned at once: their tokens stay in the processor's caches
_PADDING = bytes(16)
_MAX_MEMBERS = 64
_ELSEWHERE = frozenset(("redirect", *PARTS))  # members of records that are not scanned
_LOST_NUMBER = b"-0"  # an integer, which the fast parser makes 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedMember:
    """Stands for a member's value, an object that is not empty, which the scanner may add: a kind and a token."""

    kind: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """Records first .. end - 1, scanned together; the tokens of record r begin at offsets[r - first]."""

    first: int
    end: int
    data: bytes
    tokens: Tokens
    offsets: Int64


class EntityScanner:
    """Finds the members of a block's records, and adds those that it can to the columns of a batch.

    `data` is the block, `records` are (begin, end) of each record's JSON in it, ascending. `groups` has the number of
    each group of contents of `names.GROUPS` in `columns`, and `languages` those of texts in a language.
    """

    def __init__(
        self,
        columns: EntityColumns,
        options: WikidataOptions,
        groups: tuple[Mapping[str, int], Mapping[str, int]],
        data: bytes,
        records: Sequence[tuple[int, int]],
    ) -> None:
        self._columns, self._options = columns, options
        self._data, self._records = data, records
        self._kinds = _scanned_kinds(options)
        pieces = (options.entity_iri, options.reference_iri, COMMONS_FILE, COMMONS_DATA, "null", "Point(")
        self._scanner = MemberScanner(data, tuple(piece.encode() for piece in pieces))
        fixed, self._languages = groups
        self._group_of = np.array([fixed[name] for name in names.GROUPS], np.uint32)  # by the scanner's numbers
        self._numbers, self._codes = array("I"), array("I")  # of contents and labels, by the scanner's numbers
        self._window, self._entity, self._name = self._scanned(0), 0, 0
        self._room = np.empty(_MAX_MEMBERS, np.int64)

    def members(self, record: int) -> dict[str, Any] | None:
        """Return the members of a record, one after those asked for before; None where it has to be read otherwise.

        Values are as the fast parser gives them, or a `ScannedMember`.
        """
        while record >= self._window.end:
            self._window = self._scanned(self._window.end)
        window = self._window
        self._entity, end = window.offsets[record - window.first :][:2].tolist()
        if self._entity == end or window.tokens.rows[self._entity, KIND] != OBJECT:
            return None
        keys = list_members(window.tokens, self._entity, self._room)
        if keys is None:
            return None
        tokens = {self._text(key)[1:-1].decode(): key + 1 for key in keys}
        if len(tokens) < len(keys) or "id" not in tokens or not _ELSEWHERE.isdisjoint(tokens):
            return None
        self._name = tokens["id"]
        return self._values(tokens)

    def _values(self, tokens: dict[str, int]) -> dict[str, Any] | None:
        """Return the values of members; None where the fast parser does not keep all of one, or a name has escapes."""
        rows, values = self._window.tokens.rows, {}
        statements = next((member for member in STATEMENT_MAPS if member in tokens), None)
        for member, token in tokens.items():
            kind = self._kinds.get(member)
            if (
                kind is not None
                and rows[token, KIND] == OBJECT
                and rows[token, FOLLOWING] > token + 1
                and (kind != names.CLAIMS or member == statements)
            ):
                values[member] = ScannedMember(kind=kind, token=token)
                continue
            text = self._text(token)
            is_simple = rows[token, KIND] not in (OBJECT, ARRAY)
            value = values[member] = orjson.loads(text) if is_simple else read_fast(text)
            if "\\" in member or text == _LOST_NUMBER or (value is None and not is_simple):
                return None
        return values

    def value(self, member: ScannedMember) -> Any:
        """Return a member's value as the fast parser gives it; None where that does not keep all of it."""
        return read_fast(self._text(member.token))

    def add(self, wanted: list[ScannedMember], offset: int) -> tuple[int, int]:
        """Add members of the record in hand, whose bytes begin at `offset` of the file, one after the other.

        Returns how many were added before one that has to be added otherwise, of which nothing is added, and how many
        hashes were left out.
        """
        members = [(member.kind, member.token) for member in wanted]
        added = self._scanner.add(
            self._window.tokens, self._entity, self._name, members, offset, keeps_hashes=self._options.hashes
        )
        self._append(added)
        return added.count, added.num_hashes

    def _append(self, added: AddedMembers) -> None:
        """Append what was added to the columns, in their numbers."""
        columns = self._columns
        groups = self._groups_of(added.content_groups)
        first = columns.add_encoded(groups, added.content_ends, added.content_data)
        self._numbers.extend(range(first, first + len(groups)))
        self._codes.extend(self._code(symbol, number) for symbol, number in added.labels)
        numbers, codes = np.frombuffer(self._numbers, np.uint32), np.frombuffer(self._codes, np.uint32)
        content, role, position = added.participants.T
        label, handle, ends = added.facts.T
        handles = np.where(handle == NO_HANDLE, NO_ROW, numbers[handle]).astype(np.uint32)
        columns.add_facts((numbers[content], codes[role], position), codes[label], handles, ends)

    def _groups_of(self, groups: Int64) -> UInt32:
        """Return the columns' numbers of groups of the scanner, those of texts in languages made when first needed."""
        if len(groups) and (more := int(groups.max()) + 1 - len(self._group_of)) > 0:
            self._group_of = np.append(self._group_of, np.full(more, NO_ROW, np.uint32))
        for group in dict.fromkeys(groups[self._group_of[groups] == NO_ROW].tolist()):
            language = self._scanner.symbol(group - names.FIRST_LANGUAGE)
            self._group_of[group] = self._languages[language]
        return self._group_of[groups]

    def _code(self, symbol: int, number: int) -> int:
        """Return the code of a label: one of a property, or number `number` of those that need none."""
        labels = self._columns.labels
        if symbol:
            relation = self._options.entity_iri + self._scanner.symbol(symbol)
            side = "" if number == names.INSTANCE_OF else _SIDES_OF_PROPERTIES[number]
        else:
            relation, side = _GENERAL[number]
        return labels.role(Role(relation, side)) if side else labels.code(LabelKind.INSTANCE, relation)

    def _text(self, token: int) -> bytes:
        _, begin, end, _, _ = self._window.tokens.rows[token].tolist()
        return self._window.data[begin:end]

    def _scanned(self, first: int) -> _Window:
        """Scan the records from `first` on; where they are no UTF-8, none of them has tokens."""
        end, begin = first, self._records[first][0] if first < len(self._records) else 0
        while end < len(self._records) and (end == first or self._records[end][1] - begin <= _WINDOW_BYTES):
            end += 1
        data = self._data[begin : self._records[end - 1][1]] if end > first else b""
        bounds = np.array(self._records[first:end], np.int64).reshape(-1, 2) - begin
        if not _is_utf8(data):
            bounds[:, 1] = bounds[:, 0]
        units = np.frombuffer(data + _PADDING, np.uint8)
        tokens = scan_json(units, np.ascontiguousarray(bounds[:, 0]), np.ascontiguousarray(bounds[:, 1]))
        return _Window(
            first=first, end=end, data=data, tokens=tokens_for_kernels(units, tokens), offsets=tokens.offsets
        )


def _is_utf8(data: bytes) -> bool:
    try:
        pa.array([data], pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def _scanned_kinds(options: WikidataOptions) -> dict[str, int]:
    """Return the kinds of the members that the scanner can add under these options."""
    kinds = {}
    if not options.language:
        kinds = {name: kind for kind, name in enumerate(names.MAPS) if name in TERMS and getattr(options, FLAGS[name])}
    if options.sitelinks:
        kinds["sitelinks"] = names.SITELINKS
    if options.group == "entity" and not options.truthy and not options.property:
        kinds |= dict.fromkeys(STATEMENT_MAPS, names.CLAIMS)
    return kinds


def _labels_of_maps() -> Iterator[tuple[str, str]]:
    """Yield relation and side of the labels of each of names.MAPS."""
    for name in names.MAPS:
        is_sitelinks = name == "sitelinks"
        relation = SITELINK if is_sitelinks else TERMS[name]
        for side in (SUBJECT, "", TITLE if is_sitelinks else OBJECT_SIDE, SITE, BADGE):
            yield relation, side


# Relation and side by number, as in `wikidata_names`; an instance has no side.
_GENERAL = ((STATEMENT, RANK), (STATEMENT, REFERENCE), (REFERENCE, ""), *_labels_of_maps())
_SIDES_OF_PROPERTIES = (
    *(f"{side}.{detail}" if detail else side for side, detail in product((VALUE, QUALIFIER, REFERENCE), names.DETAILS)),
    SUBJECT,
)
