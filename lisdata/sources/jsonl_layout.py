"""How a JSONL record is written: what its members do not say, so that the line comes back byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lisdata.sources.json_text import STYLES, JsonStyle, write_json

ENTITY_KEYS = ("start", "end", "id")
# sides of roles (relation "record", and "field:", "fields" also with relation "mention")
FIELD, FIELDS, LAYOUT, LINE = "field:", "fields", "layout", "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonlOptions:
    """Options of source jsonl."""

    text_field: str = field(default="text", metadata={"help": "Member that holds the text."})
    entities_field: str = field(
        default="entities",
        metadata={"help": "Member that lists linked mentions: objects with start, end (in characters) and id."},
    )
    id_prefix: tuple[str, ...] = field(
        default=(),
        metadata={"help": "PREFIX=IRI: an id of PREFIX and digits is IRI with the id behind it (repeatable)."},
    )
    max_document_bytes: int = field(
        default=256 << 20, metadata={"help": "Refuse a longer record, which would have to be held in memory whole."}
    )

    def __post_init__(self) -> None:
        if self.text_field == self.entities_field:
            raise ValueError(f"text and entities stand in two members, got {self.text_field!r} for both")
        if self.max_document_bytes < 1:
            raise ValueError(f"expected a limit of at least 1 byte, got {self.max_document_bytes=}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLayout:
    """A line's style, its end, and where its members stand; the defaults are what most files have.

    `text_at` and `entities_at` count the record's members; None for entities is right behind the text, or nowhere when
    there are none. `entity_keys` is the order of members in each entity when it is not start, end, id and the rest.
    """

    style: str = "spaced"
    ending: str = "\n"
    text_at: int = 0
    entities_at: int | None = None
    entity_keys: tuple[str, ...] = ()

    def entity(self, members: dict[str, Any]) -> dict[str, Any]:
        """Return an entity's members (start, end, id, then the rest) in the order they are written in."""
        return {name: members[name] for name in self.entity_keys} if self.entity_keys else members

    def write(self, text: str, entities: list[dict[str, Any]], rest: dict[str, Any], options: JsonlOptions) -> bytes:
        """Return the line of a record; `rest` are its other members, in order."""
        members = list(rest.items())
        at = self.entities_at
        if at is None and entities:
            at = self.text_at + 1
        places: list[tuple[int, str, Any]] = [(self.text_at, options.text_field, text)]
        if at is not None:
            places.append((at, options.entities_field, [self.entity(e) for e in entities]))
        for place, name, value in sorted(places):
            members.insert(place, (name, value))
        return b"".join([*_pieces(dict(members), STYLES[self.style]), b"}", self.ending.encode()])


def find_layout(line: bytes, record: dict[str, Any], options: JsonlOptions) -> LineLayout | None:
    """Return the layout that writes `record` as `line`, None when there is none.

    `record` is what `line` holds, its entities objects with start, end and id.
    """
    for style in likely_styles(line):
        ending = _ending(line, record, STYLES[style])
        if ending is not None:
            return layout_of(record, options, style, ending)
    return None


def layout_of(record: dict[str, Any], options: JsonlOptions, style: str, ending: str) -> LineLayout | None:
    """Return the layout of a record in a style; None when its entities have their members in several orders."""
    entities = record.get(options.entities_field, [])
    names = list(record)
    text_at = names.index(options.text_field)
    entities_at = names.index(options.entities_field) if options.entities_field in record else None
    keys = {tuple(entity) for entity in entities}
    if all(key[:3] == ENTITY_KEYS for key in keys):
        keys = {()}
    if len(keys) > 1:
        return None
    return LineLayout(
        style=style,
        ending=ending,
        text_at=text_at,
        entities_at=None if entities and entities_at == text_at + 1 else entities_at,
        entity_keys=keys.pop(),
    )


def likely_styles(line: bytes) -> list[str]:
    """Return the names of the styles that a line may be written in, the likeliest first."""
    spacings = ("spaced", "compact") if b'": ' in line else ("compact",)
    escapings = ("-ascii", "") if b"\\u" in line and line.isascii() else ("",)
    return [spacing + escaping for spacing in spacings for escaping in escapings]


def _ending(line: bytes, record: dict[str, Any], style: JsonStyle) -> str | None:
    """Return the line ends behind `record` if `line` has it in this style, else None.

    It is compared piece by piece: the text may be long, and most styles differ early.
    """
    at = 0
    for piece in _pieces(record, style):
        if not line.startswith(piece, at):
            return None
        at += len(piece)
    ending = line[at + 1 :]
    return ending.decode() if line.startswith(b"}", at) and not ending.strip(b"\r\n") else None


def _pieces(record: dict[str, Any], style: JsonStyle) -> Iterator[bytes]:
    """Yield the text of an object with members, a name or a value at a time, without the last brace."""
    before = "{"
    for name, value in record.items():
        yield f"{before}{style.quote(name)}{style.name_separator}".encode()
        yield write_json(value, style).encode()
        before = style.item_separator
