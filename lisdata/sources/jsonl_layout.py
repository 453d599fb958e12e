"""How a JSONL record is written: what its members do not say, so that the line comes back byte for byte."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lisdata.sources.json_text import STYLES, write_json

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

    def __post_init__(self) -> None:
        if self.text_field == self.entities_field:
            raise ValueError(f"text and entities stand in two members, got {self.text_field!r} for both")


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
        return (write_json(dict(members), STYLES[self.style]) + self.ending).encode()


def find_layout(line: str, record: dict[str, Any], options: JsonlOptions) -> LineLayout | None:
    """Return the layout that writes `record` as `line`, None when there is none.

    `record` is what `line` holds, its entities objects with start, end and id.
    """
    body = line.rstrip("\r\n")
    entities = record.get(options.entities_field, [])
    names = list(record)
    text_at = names.index(options.text_field)
    entities_at = names.index(options.entities_field) if options.entities_field in record else None
    keys = {tuple(entity) for entity in entities}
    if all(key[:3] == ENTITY_KEYS for key in keys):
        keys = {()}
    style = next((name for name in _likely_styles(body) if write_json(record, STYLES[name]) == body), None)
    if style is None or len(keys) > 1:
        return None
    return LineLayout(
        style=style,
        ending=line[len(body) :],
        text_at=text_at,
        entities_at=None if entities and entities_at == text_at + 1 else entities_at,
        entity_keys=keys.pop(),
    )


def _likely_styles(body: str) -> list[str]:
    spacings = ("spaced", "compact") if '": ' in body else ("compact",)
    escapings = ("-ascii", "") if "\\u" in body and body.isascii() else ("",)
    return [spacing + escaping for spacing in spacings for escaping in escapings]
